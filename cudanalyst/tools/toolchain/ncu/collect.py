"""One run under Nsight Compute: `argv.collect_prefix` stands before the trusted executor's command, or before a program's; this reads what came of it.

ncu replays each launch several times and restores memory between, so a program that reads its standard input is started once and reads
it once. A hang is ended by the time limit of whoever starts it: ncu, and all that it started, are killed.
"""

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from cudanalyst.errors import Unavailable
from cudanalyst.tools.hardware import HardwareKernel, to_records
from cudanalyst.tools.process import ProcessResult
from cudanalyst.tools.sass import Decoded
from cudanalyst.tools.selection import Selection
from cudanalyst.tools.toolchain.discovery import find_tool
from cudanalyst.tools.toolchain.ncu.argv import LOG, REPORT
from cudanalyst.tools.toolchain.ncu.log import Log, no_kernels, parse_log
from cudanalyst.tools.toolchain.ncu.reading import Reader, reading
from cudanalyst.tools.toolchain.ncu.reduce import hardware_kernels
from cudanalyst.tools.toolchain.paths import PathNames, shown_file
from cudanalyst.tools.toolchain.protocol import Execution
from cudanalyst.tools.toolchain.workspace import read_plain

INSTALL: Final = (
    "Nsight Compute (ncu) was not found on PATH, under CUDA_HOME or /opt/nvidia; install it (package nsight-compute or cuda-nsight-compute "
    "of NVIDIA's repository) or put it on PATH"
)
FINISH_S: Final = 60.0
"""Seconds that ncu may take after the executor's end to write its report."""
OVERHEAD_S: Final = 30.0
"""Seconds that starting under ncu and its replays may add to a request's own limit."""
STOCK_FILES: Final = "NV_COMPUTE_PROFILER_DISABLE_STOCK_FILE_DEPLOYMENT"
_LOG_BYTES: Final = 4 << 20


def find_ncu(environment: Mapping[str, str], root: Path = Path("/")) -> Path | None:
    """The newest ncu: on PATH, of the toolkit, or where NVIDIA's installer puts it."""
    if (found := find_tool("ncu", environment)) is not None:
        return found
    homes = [Path(environment[name]) for name in ("CUDA_HOME", "CUDA_PATH") if environment.get(name)]
    places = [home / "bin" / "ncu" for home in (*homes, root / "usr/local/cuda")]
    places += sorted((root / "opt/nvidia/nsight-compute").glob("*/ncu"), reverse=True)
    return next((path for path in places if path.is_file()), None)


def tool_environment(work: Path) -> dict[str, str]:
    """Variables for ncu: its lock and its files belong in the work directory, not in a shared or missing home, and section files stay where
    they are installed: it would copy them all into each new home.
    """
    return {"TMPDIR": str(work), "HOME": str(work), STOCK_FILES: "1"}


@dataclass(frozen=True)
class Collection:
    """One run under ncu."""

    ncu: Path
    work: Path
    """A folder of this run; the report and the log are written there."""
    selection: Selection

    def log(self, process: ProcessResult | None) -> Log:
        """What ncu said."""
        text = (read_plain(self.work / LOG, _LOG_BYTES) or b"").decode("utf-8", "replace")
        said = f"{process.stdout.text}\n{process.stderr.text}" if process is not None else ""
        return parse_log(text + "\n" + "\n".join(row for row in said.splitlines() if row.startswith("==")))

    async def kernels(
        self,
        process: ProcessResult | None,
        names: PathNames,
        code: Mapping[str, Sequence[Decoded]] | None = None,
        reader: Reader | None = None,
    ) -> tuple[HardwareKernel, ...]:
        """What was measured; `code` is the disassembly of the kernels by symbol, where there is one, and `reader` one that was started before.

        Raises:
            Unavailable: ncu failed, or nothing was profiled; the text says why and what to do.
        """
        log = self.log(process)
        if (failure := log.failure()) is not None:
            raise Unavailable(failure)
        written = self.work / REPORT
        if written.is_symlink() or not written.is_file():  # whatever else a program may have put in its place
            raise Unavailable(
                no_kernels(log, self.selection.kernel) if log.nothing else "Nsight Compute wrote no report"
            )
        async with contextlib.AsyncExitStack() as stack:
            own = reader if reader is not None else await stack.enter_async_context(reading())
            report = await own.read(written, self.ncu, code)
        kernels = hardware_kernels(report, show_file=lambda path: shown_file(path, names), passes=log.passes, code=code)
        if not kernels:
            raise Unavailable(no_kernels(log, self.selection.kernel))
        return kernels


async def with_counters(
    execution: Execution,
    process: ProcessResult | None,
    collection: Collection,
    names: PathNames,
    code: Mapping[str, Sequence[Decoded]] | None = None,
    reader: Reader | None = None,
) -> Execution:
    """Adds what ncu collected to an execution; one that did not end well stays as it is, unless ncu is to blame.

    The counters stand before the other records, since the `end` of a report is its last (engine/REPORT.md), and whoever judges it insists on that.
    """
    if execution.how == "unavailable":
        return execution
    try:
        kernels = await collection.kernels(process, names, code, reader)
    except Unavailable as error:
        failed = collection.log(process).failure() is not None
        if execution.how != "returned" and not failed:
            return execution
        return replace(execution, how="unavailable", reason=str(error))
    return replace(execution, report=(*to_records(kernels), *execution.report))
