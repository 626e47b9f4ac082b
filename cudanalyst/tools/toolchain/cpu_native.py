"""A process whose host code runs on the CPU engine: a program, or a candidate that cannot be recorded."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from cudanalyst.errors import Unavailable
from cudanalyst.tools.toolchain import seal
from cudanalyst.tools.toolchain.confine import Confinement
from cudanalyst.tools.toolchain.confinement import DEVICE_MEMORY
from cudanalyst.tools.toolchain.execution import REPORT, RUN_OUTPUT_LIMIT, read_execution, unavailable
from cudanalyst.tools.toolchain.paths import PathNames
from cudanalyst.tools.toolchain.protocol import CandidateRequest, Execution, ExecutionRequest
from cudanalyst.tools.toolchain.request import render_request
from cudanalyst.tools.toolchain.workspace import Workspace, workspace

Mode = Literal["run", "check", "profile"]
HOST_MEMORY: Final = 12 << 30
"""Address space left to host code and the engine's own data."""
RUN_MEMORY: Final[dict[Mode, int]] = {
    "run": 2 * DEVICE_MEMORY + HOST_MEMORY,
    "profile": 2 * DEVICE_MEMORY + HOST_MEMORY,
    "check": 11 * DEVICE_MEMORY + HOST_MEMORY,
}
"""Address space of a run: the engine maps its device memory twice, and shadows each byte with nine in check mode."""


@dataclass(frozen=True)
class EngineRun:
    """What a run needs of this machine."""

    runner: Path
    engine_root: Path
    toolkit_root: Path
    confinement: Confinement
    scratch: Path


async def run_natively(
    where: EngineRun, binary: Path, request: ExecutionRequest, mode: Mode, settings: Mapping[str, str]
) -> Execution:
    """Runs it in the sandbox. Its report is sealed, since its host code can write to it."""
    key = seal.new_key()
    with workspace(where.scratch) as work:
        if isinstance(request, CandidateRequest):
            text, files = render_request(str(binary), request)
            work.write({"request.txt": text.encode(), **files})
            argv: list[str | Path] = [where.runner, "request.txt"]
            stdin = b""
        else:
            argv = [binary, *request.arguments]
            stdin = request.stdin
        try:
            process = await where.confinement.run(
                argv,
                work=work.path,
                readable=(where.engine_root, binary.parent),
                env=run_environment(work, request, mode, {**settings, seal.VARIABLE: key.hex()}),
                timeout_s=request.timeout_s,
                memory_bytes=RUN_MEMORY[mode],
                purpose="run",
                stdin=stdin,
                output_limit=RUN_OUTPUT_LIMIT,
            )
        except Unavailable as error:
            return unavailable(str(error))
        names = PathNames(
            "candidate.cu" if isinstance(request, CandidateRequest) else "program.cu",
            {str(where.toolkit_root): "<toolkit>", str(where.scratch): "<work>"},
        )
        return read_execution(process, work, request, names, where.confinement.level, key)


def run_environment(
    work: Workspace, request: ExecutionRequest, mode: Mode, settings: Mapping[str, str]
) -> dict[str, str]:
    """Variables of the engine (engine/REPORT.md)."""
    environment = {
        "CUDANALYST_MODE": mode,
        "CUDANALYST_REPORT": str(work.path / REPORT),
        "CUDANALYST_MEMORY": str(DEVICE_MEMORY),
        "TMPDIR": str(work.path),
        **settings,
    }
    if request.max_warp_instructions is not None:
        environment["CUDANALYST_MAX_WARP_INSTRUCTIONS"] = str(request.max_warp_instructions)
    return environment
