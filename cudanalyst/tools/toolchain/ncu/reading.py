"""Reads a report file: with the `ncu-report` package in a process of its own, else from ncu's CSV pages."""

import importlib.util
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Final

import cudanalyst
from cudanalyst.errors import Unavailable
from cudanalyst.tools.process import run_process, scrubbed_environment
from cudanalyst.tools.text import one_line
from cudanalyst.tools.toolchain.ncu.argv import page_argv
from cudanalyst.tools.toolchain.ncu.csv_pages import parse_pages
from cudanalyst.tools.toolchain.ncu.report import Report, parse_report
from cudanalyst.tools.toolchain.ncu.worker import NO_PACKAGE

PACKAGE: Final = "ncu_report"
REMEDY: Final = "pip install 'cudanalyst[gpu]' (the package ncu-report)"
_TIMEOUT_S: Final = 60.0
_MEMORY: Final = 16 << 30
_MOST_JSON: Final = 256 << 20
_PAGE_BYTES: Final = 64 << 20


async def read_report(report: Path, ncu: Path | None, *, package_folders: tuple[Path, ...] | None = None) -> Report:
    """Reads a report with whatever is here.

    Args:
        report: The .ncu-rep file.
        ncu: For the fallback; None: no fallback.
        package_folders: Where Python finds `ncu_report`; None: where this process would.

    Raises:
        Unavailable: Neither way works; the text says what to install.
    """
    if not report.is_file():
        raise Unavailable("Nsight Compute wrote no report")
    folders = _package_folders() if package_folders is None else package_folders
    why = "the ncu-report package is not installed"
    if folders:
        try:
            return await _with_package(report, folders)
        except Unavailable as error:
            why = str(error)
    if ncu is None:
        raise Unavailable(f"the report cannot be read: {why}; {REMEDY}")
    return await _with_pages(report, ncu, why)


def _package_folders() -> tuple[Path, ...]:
    try:
        spec = importlib.util.find_spec(PACKAGE)
    except (ImportError, ValueError):
        spec = None
    return (Path(spec.origin).parent.parent,) if spec is not None and spec.origin else ()


async def _with_package(report: Path, folders: tuple[Path, ...]) -> Report:
    own = Path(cudanalyst.__file__).parent.parent
    environment = scrubbed_environment({"PYTHONPATH": os.pathsep.join(map(str, (own, *folders)))})
    with tempfile.TemporaryDirectory(prefix="ncu-") as folder:
        output = Path(folder) / "report.json"
        process = await run_process(
            [sys.executable, "-m", "cudanalyst.tools.toolchain.ncu.worker", report, output],
            env=environment,
            timeout_s=_TIMEOUT_S,
            memory_bytes=_MEMORY,
        )
        if process.exit_status == NO_PACKAGE:
            raise Unavailable(f"the ncu-report package does not load ({one_line(process.stderr.text, 200)})")
        if process.exit_status != 0:
            how = "a time-out" if process.timed_out else process.signal or f"exit status {process.exit_status}"
            last = "".join(process.stderr.text.strip().splitlines()[-1:]) or "no message"
            raise Unavailable(f"the ncu-report package failed with {how}: {one_line(last)}")
        if output.stat().st_size > _MOST_JSON:
            raise Unavailable("the report is too long; select a kernel or a launch")
        return parse_report(json.loads(output.read_text(encoding="utf-8")))


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
