"""Reads a report file: with the `ncu-report` package in a process of its own, else from ncu's CSV pages.

That process can be started before there is a report (`reading`), so that Python and the package are loaded while ncu works.
"""

import asyncio
import contextlib
import importlib.util
import json
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import cudanalyst
from cudanalyst.errors import Unavailable
from cudanalyst.tools.process import ProcessResult, run_process, scrubbed_environment
from cudanalyst.tools.sass import Decoded
from cudanalyst.tools.text import one_line
from cudanalyst.tools.toolchain.ncu.argv import page_argv
from cudanalyst.tools.toolchain.ncu.csv_pages import parse_pages
from cudanalyst.tools.toolchain.ncu.report import Report, parse_report
from cudanalyst.tools.toolchain.ncu.worker import ANSWER, NO_PACKAGE, REQUEST

PACKAGE: Final = "ncu_report"
REMEDY: Final = "pip install 'cudanalyst[gpu]' (the package ncu-report)"
_TIMEOUT_S: Final = 60.0
_MOST_WAITING_S: Final = 24 * 3600.0
"""Who waits for a report is bounded by the run that writes it; this is for a run without a limit."""
_PADDING: Final = frozenset({"NOP", "BRA"})
"""What stands behind a kernel's last instruction: a jump to itself, and nothing. Executions of it may be counted or not."""
_MEMORY: Final = 16 << 30
_MOST_JSON: Final = 256 << 20
_PAGE_BYTES: Final = 64 << 20


@dataclass(frozen=True)
class Reader:
    """Reads one report."""

    folder: Path
    """Where it and the process leave each other files."""
    go: int
    """The pipe that the process waits at."""
    process: "asyncio.Task[ProcessResult] | None"
    """None: there is no package."""

    async def read(self, report: Path, ncu: Path | None, code: Mapping[str, Sequence[Decoded]] | None = None) -> Report:
        """Reads a report with whatever is here.

        Args:
            report: The .ncu-rep file.
            ncu: For the fallback; None: no fallback.
            code: Disassembly by symbol; instructions of the same code come without text and line, which the package is slow to tell.

        Raises:
            Unavailable: Neither way works; the text says what to install.
        """
        if not report.is_file():
            raise Unavailable("Nsight Compute wrote no report")
        why = "the ncu-report package is not installed"
        if self.process is not None:
            try:
                return await self._with_package(self.process, report, code or {})
            except Unavailable as error:
                why = str(error)
        if ncu is None:
            raise Unavailable(f"the report cannot be read: {why}; {REMEDY}")
        return await _with_pages(report, ncu, why)

    async def _with_package(
        self, task: "asyncio.Task[ProcessResult]", report: Path, code: Mapping[str, Sequence[Decoded]]
    ) -> Report:
        known = {symbol: _offsets(found) for symbol, found in code.items()}
        request = json.dumps({"report": str(report), "known": known})
        (self.folder / REQUEST).write_text(request, encoding="utf-8")
        os.write(self.go, b"!")  # this process holds the other end too, so it cannot fail
        done, _ = await asyncio.wait([task], timeout=_TIMEOUT_S)
        if not done:
            raise Unavailable("the ncu-report package failed with a time-out: no message")
        process = await task
        if process.exit_status == NO_PACKAGE:
            raise Unavailable(f"the ncu-report package does not load ({one_line(process.stderr.text, 200)})")
        if process.exit_status != 0:
            how = "a time-out" if process.timed_out else process.signal or f"exit status {process.exit_status}"
            last = "".join(process.stderr.text.strip().splitlines()[-1:]) or "no message"
            raise Unavailable(f"the ncu-report package failed with {how}: {one_line(last)}")
        answer = self.folder / ANSWER
        if answer.stat().st_size > _MOST_JSON:
            raise Unavailable("the report is too long; select a kernel or a launch")
        return parse_report(json.loads(answer.read_text(encoding="utf-8")))


@contextlib.asynccontextmanager
async def reading(*, package_folders: tuple[Path, ...] | None = None) -> AsyncIterator[Reader]:
    """A reader whose process loads the package meanwhile; the process ends with the context.

    Args:
        package_folders: Where Python finds `ncu_report`; None: where this process would.
    """
    folders = _package_folders() if package_folders is None else package_folders
    with tempfile.TemporaryDirectory(prefix="ncu-") as name:
        folder = Path(name)
        waits, go = os.pipe()  # neither end is inherited, but by the process that it is passed to
        task = asyncio.create_task(_process(waits, folder, folders)) if folders else None
        try:
            yield Reader(folder, go, task)
        finally:
            if task is not None:
                task.cancel()
                await asyncio.wait([task])
                if not task.cancelled():
                    task.exception()  # told to whoever read, and of no concern to whoever did not
            os.close(waits)
            os.close(go)


async def read_report(report: Path, ncu: Path | None, *, package_folders: tuple[Path, ...] | None = None) -> Report:
    """Reads a report with whatever is here, from the start (see `Reader.read`)."""
    async with reading(package_folders=package_folders) as reader:
        return await reader.read(report, ncu)


async def _process(waits: int, folder: Path, folders: tuple[Path, ...]) -> ProcessResult:
    own = Path(cudanalyst.__file__).parent.parent
    return await run_process(
        [sys.executable, "-m", "cudanalyst.tools.toolchain.ncu.worker", str(waits), folder],
        env=scrubbed_environment({"PYTHONPATH": os.pathsep.join(map(str, (own, *folders)))}),
        timeout_s=_MOST_WAITING_S,
        memory_bytes=_MEMORY,
        pass_fds=(waits,),
    )


def _offsets(code: Sequence[Decoded]) -> dict[str, Any]:
    """Where a disassembly has instructions that can be executed, and where padding."""
    last = max((one.offset for one in code if one.opcode not in _PADDING), default=-1)
    idle = [one.offset for one in code if one.opcode in _PADDING and (one.offset > last or one.opcode == "NOP")]
    unused = set(idle)
    return {"offsets": [one.offset for one in code if one.offset not in unused], "idle": idle}


def _package_folders() -> tuple[Path, ...]:
    try:
        spec = importlib.util.find_spec(PACKAGE)
    except (ImportError, ValueError):
        spec = None
    return (Path(spec.origin).parent.parent,) if spec is not None and spec.origin else ()


async def _with_pages(report: Path, ncu: Path, why: str) -> Report:
    pages = []
    for page in ("raw", "source"):
        process = await run_process(
            page_argv(ncu, report, page), timeout_s=_TIMEOUT_S, capture_bytes=2 * _PAGE_BYTES, output_limit=_PAGE_BYTES
        )
        if process.exit_status != 0 and page == "raw":
            said = one_line(process.stderr.text or process.stdout.text, 300)
            raise Unavailable(f"the report cannot be read: {why}, and ncu --import failed: {said}; {REMEDY}")
        pages.append(process.stdout.text if process.exit_status == 0 else "")
    return parse_pages(*pages)
