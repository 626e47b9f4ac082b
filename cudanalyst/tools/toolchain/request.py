"""The request that the runner reads (engine/REPORT.md): pure rendering, and the files that go with it."""

from cudanalyst.errors import BadRequest
from cudanalyst.tools.toolchain.protocol import BufferSpec, CandidateRequest


def check_request(request: CandidateRequest) -> None:
    """Whether every call gives what the parameters need.

    Raises:
        BadRequest: A call lacks a parameter, or a buffer's contents have the wrong length.
    """
    for index, call in enumerate(request.calls):
        for parameter in request.parameters:
            if not isinstance(parameter, BufferSpec):
                if parameter.name not in call.scalars:
                    raise BadRequest(f"call {index} gives no value for {parameter.name!r}")
                continue
            if parameter.name not in call.buffers:
                raise BadRequest(f"call {index} gives no buffer {parameter.name!r}")
            size, contents = call.buffers[parameter.name]
            if contents is not None and len(contents) != size + 2 * request.guard_bytes:
                raise BadRequest(
                    f"call {index}: buffer {parameter.name!r} needs {size} bytes and two guards of "
                    f"{request.guard_bytes}, got {len(contents)}"
                )


def render_request(library: str, request: CandidateRequest) -> tuple[str, dict[str, bytes]]:
    """Text of the request, and input files by the name that the text uses.

    Raises:
        BadRequest: A call lacks a parameter, or a buffer's contents have the wrong length.
    """
    check_request(request)
    lines = [f"library {library}"]
    lines.append("sizes " + " ".join(f"{name}={value}" for name, value in request.sizes.items()))
    for parameter in request.parameters:
        if isinstance(parameter, BufferSpec):
            lines.append(f"param buffer {parameter.name} {parameter.dtype} {parameter.role}")
        else:
            lines.append(f"param {parameter.ctype} {parameter.name}")
    lines += ["workspace yes", f"guard {request.guard_bytes}"]
    files: dict[str, bytes] = {}
    for index, call in enumerate(request.calls):
        lines.append("call")
        for parameter in request.parameters:
            if isinstance(parameter, BufferSpec):
                size, contents = call.buffers[parameter.name]
                file = "-"
                if contents is not None:
                    file = f"in/{parameter.name}.{index}.bin"
                    files[file] = contents
                lines.append(f"buffer {parameter.name} {size} {file}")
            else:
                value = call.scalars[parameter.name]
                text = float(value).hex() if parameter.ctype in {"float", "double"} else str(int(value))
                lines.append(f"value {parameter.name} {text}")
        lines += [f"download {name} {download_file(name, index)}" for name in call.download]
    return "\n".join(lines) + "\n", files


def download_file(name: str, index: int) -> str:
    """Where the runner writes a buffer after a call."""
    return f"out/{name}.{index}.bin"
