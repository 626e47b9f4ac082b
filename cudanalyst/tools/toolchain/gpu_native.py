"""Runs host code of an agent on the real device: programs, and candidates whose calls cannot be recorded. Labelled `native`.

The process is in the sandbox as on the CPU engine, with NVIDIA's device files and what its driver library reads let in. Candidates have no
engine around them here, so their contract (no host waiting, joined streams) is not watched, and their clock is their own.
"""

import re
from dataclasses import replace
from pathlib import Path
from typing import Final

from cudanalyst.errors import Unavailable
from cudanalyst.tools.toolchain import seal
from cudanalyst.tools.toolchain.execution import REPORT, RUN_OUTPUT_LIMIT, read_execution, unavailable
from cudanalyst.tools.toolchain.gpu_parts import GpuParts
from cudanalyst.tools.toolchain.nvcc import RUNTIME
from cudanalyst.tools.toolchain.paths import PathNames
from cudanalyst.tools.toolchain.protocol import Build, CandidateRequest, Execution, ExecutionRequest
from cudanalyst.tools.toolchain.request import render_request
from cudanalyst.tools.toolchain.workspace import workspace

NO_ADDRESS_LIMIT: Final = 0
"""The driver reserves addresses for all memory of all devices: a limit on them would keep it from starting. Memory in use is bounded instead."""
STARTING_S: Final = 15.0
"""What the driver may take to start in a process of its own, which is no time of the candidate's: 0.4 s on an idle H200, several seconds where others start too."""
NO_DRIVER_CODES: Final = (
    "cudaErrorNoDevice",
    "cudaErrorInsufficientDriver",
    "cudaErrorInitializationError",
    "cudaErrorSystemDriverMismatch",
    "cudaErrorOperatingSystem",
)
USED_UP: Final = (
    "the device gave the process no stream, so something else may use all of it; see `nvidia-smi`, and run it again"
)
_NO_STREAM: Final = re.compile(r"cudanalyst-runner: no stream: (cudaError\w{1,60})")
SANDBOXED: Final = (
    "the sandbox may keep NVIDIA's driver from starting on this system (the executor, which runs outside it, can use the GPU); "
    "please report what `cudanalyst doctor` says, or start with --allow-unsandboxed if every source is trusted"
)


async def run_native(parts: GpuParts, build: Build, request: ExecutionRequest, uuid: str, scratch: Path) -> Execution:
    """Runs a program, or a candidate's calls, in one process on the device `uuid`, which the caller holds."""
    if build.binary is None:
        return unavailable(f"there is no binary to run: the build's status is {build.status}")
    candidate = isinstance(request, CandidateRequest)
    if candidate and parts.runtime is None:
        return unavailable(
            f"{RUNTIME} is not in the toolkit {parts.toolkit.root}; install nvidia-cuda-runtime 13, or a whole toolkit"
        )
    key = seal.new_key() if candidate else None
    with workspace(scratch) as work:
        environment = {**parts.environment(uuid), "TMPDIR": str(work.path)}
        if isinstance(request, CandidateRequest):
            text, files = render_request(str(build.binary), request)
            work.write({"request.txt": text.encode(), **files})
            argv: list[str | Path] = [parts.engine.native, "--native", "request.txt"]
            environment["CUDANALYST_REPORT"] = str(work.path / REPORT)
            stdin = b""
        else:
            argv = [build.binary, *request.arguments]
            stdin = request.stdin
        if key is not None:
            environment[seal.VARIABLE] = key.hex()
        try:
            process = await parts.confinement.run(
                argv,
                work=work.path,
                readable=parts.readable(build.binary.parent),
                env=environment,
                timeout_s=request.timeout_s + (STARTING_S if candidate else 0.0),
                memory_bytes=NO_ADDRESS_LIMIT,
                purpose="gpu",
                stdin=stdin,
                output_limit=RUN_OUTPUT_LIMIT,
            )
        except Unavailable as error:
            return unavailable(str(error))
        names = PathNames(
            "candidate.cu" if candidate else "program.cu",
            {str(parts.toolkit.root): "<toolkit>", str(scratch): "<work>"},
        )
        execution = read_execution(process, work, request, names, parts.confinement.level, key)
    return _with_trust(execution, sandboxed=parts.confinement.level != "none")


def _with_trust(execution: Execution, *, sandboxed: bool) -> Execution:
    """Says how far the result can be trusted, and where the driver did not start in the sandbox, that this was no fault of the code."""
    if sandboxed and execution.how != "unavailable" and (error := driver_did_not_start(execution)) is not None:
        return unavailable(f"the CUDA driver did not start for the process ({error}): {SANDBOXED}")
    if (error := refused_a_stream(execution)) is not None:
        return unavailable(f"{USED_UP}: {error}")
    return replace(execution, extra={**execution.extra, "trust": "native"})


def refused_a_stream(execution: Execution) -> str | None:
    """The error that the runner met before anything of `init` or `solve` was called; None for everything else."""
    if execution.how != "exited" or any(record.get("type") == "call" for record in execution.report):
        return None
    found = _NO_STREAM.search(execution.stderr[-2000:])
    return found and found[1]


def driver_did_not_start(execution: Execution) -> str | None:
    """The error that a process gets when its driver library cannot reach the device; None for everything else."""
    for record in execution.report:
        if (name := record.get("cuda_error_name")) in NO_DRIVER_CODES:
            return str(name)
    if execution.how == "exited" and not any(record.get("type") == "call" for record in execution.report):
        said = execution.stderr[-2000:]
        return next((name for name in NO_DRIVER_CODES if name in said), None)
    return None
