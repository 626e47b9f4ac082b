"""Results for people: what was found, with the lines of source that it is about."""

from collections.abc import Iterable
from functools import singledispatch
from typing import Final

from pydantic import BaseModel
from rich.console import Console
from rich.markup import escape
from rich.syntax import Syntax
from rich.table import Table

from cudanalyst.server.commands.session import CLEAN, FINDINGS, exit_status
from cudanalyst.tools.analyze import AnalyzeResult
from cudanalyst.tools.compile import CompileResult, Diagnostic
from cudanalyst.tools.debug import DebugResult, Side
from cudanalyst.tools.profile import ProfileResult
from cudanalyst.tools.result import ToolResult
from cudanalyst.tools.run import RunResult
from cudanalyst.tools.timing.models import SizeTiming

COLOURS: Final = {"error": "red", "warning": "yellow", "note": "cyan", "high": "red", "medium": "yellow", "low": "cyan"}
MAX_SHOWN: Final = 20


def show(result: BaseModel, source: str, console: Console) -> None:
    """Prints a result: status, summary, and its parts."""
    colour = {CLEAN: "green", FINDINGS: "red"}.get(exit_status(result), "yellow")
    status, summary = getattr(result, "status", ""), getattr(result, "summary", "")
    console.print(f"[bold {colour}]{escape(str(status))}[/]  {escape(str(summary))}")
    if isinstance(result, ToolResult) and result.reason and result.reason not in result.summary:
        console.print(f"[yellow]{escape(result.reason)}[/]")
    _parts(result, source, console)
    if isinstance(result, ToolResult):
        console.print(f"[dim]{escape(_origin(result))}[/]")


def _origin(result: ToolResult) -> str:
    on = result.measured_on
    versions = ", ".join(f"{name} {version[:12]}" for name, version in on.versions.items())
    said = [on.toolchain, on.device or "", versions, f"sandbox {on.sandbox}" if on.sandbox else ""]
    said.append(f"{result.duration_s:.2f} s" if result.duration_s is not None else "")
    return " · ".join(part for part in said if part)


@singledispatch
def _parts(_result: BaseModel, _source: str, _console: Console) -> None:
    """Prints what only one kind of result has."""


@_parts.register
def _compile(result: CompileResult, source: str, console: Console) -> None:
    _diagnostics(result.diagnostics, source, console)
    if not result.kernels:
        return
    table = Table(box=None, header_style="bold")
    for column in ("kernel", "registers", "shared", "stack", "spills", "barriers", "occupancy"):
        table.add_column(column, justify="left" if column == "kernel" else "right")
    for kernel in result.kernels:
        spills = kernel.spill_store_bytes + kernel.spill_load_bytes
        occupancy = " ".join(f"{one.fraction:.0%}@{one.block_threads}" for one in kernel.occupancy)
        table.add_row(
            f"[cyan]{escape(kernel.name)}[/]",
            str(kernel.registers),
            f"{kernel.shared_bytes} B",
            f"{kernel.stack_bytes} B",
            f"[red]{spills} B[/]" if spills else "0 B",
            str(kernel.barriers),
            occupancy,
        )
    console.print(table)


@_parts.register
def _run(result: RunResult, source: str, console: Console) -> None:
    _diagnostics(result.diagnostics, source, console)
    if result.cases:
        modelled = any(case.modelled_us is not None for case in result.cases)
        table = Table(box=None, header_style="bold")
        for column in ("case", "status", "error / tolerance", *(["modelled"] if modelled else []), ""):
            table.add_column(column)
        for case in result.cases[:MAX_SHOWN]:
            sizes = "held out" if case.sizes is None else ", ".join(f"{k}={v}" for k, v in case.sizes.items())
            mismatch = case.mismatch
            wrong = (
                f"{mismatch.output}{list(mismatch.index)} = {mismatch.got_text}, expected {mismatch.expected:g} "
                f"({mismatch.wrong_elements} of {mismatch.total_elements} wrong)"
                if mismatch
                else case.message or ""
            )
            colour = "green" if case.status == "passed" else "red"
            table.add_row(
                f"{case.group} {escape(sizes)}",
                f"[{colour}]{case.status}[/]",
                "" if case.error_ratio is None else f"{case.error_ratio:.3g}",
                *(["" if case.modelled_us is None else f"{case.modelled_us:.2f} us"] if modelled else []),
                escape(wrong),
            )
        console.print(table)
    if result.modelled_us is not None:
        gain = "" if result.modelled_speedup is None else f", {result.modelled_speedup:.2f} x the baseline"
        console.print(
            f"modelled for {result.modelled_device}: {result.modelled_us:.2f} us{gain} (a model, not a measurement)"
        )
    for timing in result.timings[:MAX_SHOWN]:
        console.print(_timing(timing))
    if result.program is not None:
        program = result.program
        console.print(f"[bold]exit status[/] {program.exit_status if program.signal is None else program.signal}")
        for name, text, size in (
            ("stdout", program.stdout, program.stdout_bytes),
            ("stderr", program.stderr, program.stderr_bytes),
        ):
            if text:
                console.rule(f"{name}, {size} bytes", align="left", style="dim")
                console.print(text, markup=False)


def _timing(timing: SizeTiming) -> str:
    """One line for one size."""
    sizes = ", ".join(f"{name}={extent}" for name, extent in timing.sizes.items())
    if timing.verdict is None or timing.us is None or timing.baseline_us is None or timing.speedup is None:
        return f"  {timing.mode} {escape(sizes)}: [yellow]not timed[/] [dim]{escape(timing.reason or ' '.join(timing.notes))}[/]"
    colour = {"faster": "green", "slower": "red", "suspicious": "red"}.get(timing.verdict, "yellow")
    ends = "" if timing.speedup_low is None else f" ({timing.speedup_low:.3f} to {timing.speedup_high:.3f})"
    notes = f"; [dim]{escape('; '.join(timing.notes))}[/]" if timing.notes else ""
    return (
        f"  {timing.mode} {escape(sizes)}: [{colour}]{timing.verdict}[/], {timing.us:.2f} us measured, "
        f"{timing.speedup:.3f} x the baseline's speed{ends}{notes}"
    )


@_parts.register
def _debug(result: DebugResult, source: str, console: Console) -> None:
    _diagnostics(result.diagnostics, source, console)
    for check in result.checks:
        colour = {"clean": "green", "findings": "red"}.get(check.verdict, "yellow")
        remarks = [check.reason or check.note or ""]
        if result.measured_on.toolchain == "gpu" and check.duration_s is not None:
            remarks.insert(0, f"{check.duration_s:.1f} s")
        console.print(f"  {check.check:<10} [{colour}]{check.verdict}[/] [dim]{escape(' '.join(remarks).strip())}[/]")
    for finding in result.findings[:MAX_SHOWN]:
        times = f" ({finding.count} times)" if finding.count > 1 else ""
        console.print(f"\n[bold red]{escape(finding.kind)}[/] {escape(finding.message)}{times}")
        where = [f"kernel {finding.kernel}" if finding.kernel else "", _threads(finding.thread, finding.block)]
        console.print(f"  [dim]{escape(', '.join(part for part in where if part))}[/]")
        _excerpt(source, finding.file, finding.line, console)
        if (other := finding.other) is not None and other.line != finding.line:
            console.print(f"  [dim]other side: {escape(_side(other))}[/]")
            _excerpt(source, other.file, other.line, console)
    if result.engine is not None:
        console.print(f"\n  on the CPU engine: {result.engine.status} [dim]{escape(result.engine.reason or '')}[/]")
        for item in result.engine.disagreements[:MAX_SHOWN]:
            console.print(f"  [yellow]only the {item.seen_by}:[/] {escape(item.kind)}: {escape(item.why)}")
            _excerpt(source, item.file, item.line, console)


@_parts.register
def _analyze(result: AnalyzeResult, source: str, console: Console) -> None:
    for suspicion in result.suspicions[:MAX_SHOWN]:
        colour = COLOURS[suspicion.confidence]
        console.print(f"\n[bold {colour}]{escape(suspicion.kind)}[/] {escape(suspicion.message)}")
        _excerpt(source, suspicion.place.file, suspicion.place.line, console)
        console.print(f"  [green]{escape(suspicion.remedy)}[/]")
    for kernel in result.kernels:
        strides = [access.stride for access in kernel.accesses]
        counted = ", ".join(f"{strides.count(kind)} {kind}" for kind in dict.fromkeys(strides))
        console.print(
            f"\n[cyan]{escape(kernel.name)}[/] line {kernel.place.line}: {len(kernel.loops)} loops, "
            f"{len(kernel.barriers)} barriers, {len(kernel.atomics)} atomics; accesses: {counted or 'none'}"
        )


@_parts.register
def _profile(result: ProfileResult, source: str, console: Console) -> None:
    _diagnostics(result.diagnostics, source, console)
    if result.kernels:
        table = Table(box=None, header_style="bold")
        measured = result.level == "sass"
        for column in (
            "kernel",
            "launches",
            "share",
            "measured" if measured else "modelled",
            "bound",
            "sectors/request",
            "lanes",
        ):
            table.add_column(column, justify="left" if column in {"kernel", "bound"} else "right")
        for kernel in result.kernels[:MAX_SHOWN]:
            table.add_row(
                f"[cyan]{escape(kernel.name)}[/]",
                str(kernel.launches),
                _or_dash(kernel.share, "{:.0%}"),
                _or_dash(kernel.duration_us if measured else kernel.modelled_us, "{:.2f} us"),
                kernel.bound or "-",
                _or_dash(kernel.sectors_per_request, "{:.1f}"),
                _or_dash(kernel.lane_efficiency, "{:.0%}"),
            )
        console.print(table)
    for number, insight in enumerate(result.insights, 1):
        console.print(
            f"\n[bold]{number}. {escape(insight.message)}[/] [dim]{escape(insight.metric)} = {insight.value:g}[/]"
        )
        for line in insight.lines[:3]:
            _excerpt(source, insight.file, line, console)
        console.print(f"  [green]{escape(insight.remedy)}[/]")
    for code in result.sass[:MAX_SHOWN]:
        widths = ", ".join(
            f"{kind} {bits} bits x {count}" for kind, row in code.access_bits.items() for bits, count in row.items()
        )
        console.print(
            f"\n[cyan]{escape(code.name)}[/] {code.instructions} instructions; {escape(widths) or 'no loads or stores'}"
        )
        most = ", ".join(
            f"{name} {count}" for name, count in sorted(code.instruction_mix.items(), key=lambda item: -item[1])
        )
        console.print(f"  [dim]{escape(most)}[/]")
    if result.sass_reason:
        console.print(f"\n[yellow]No machine code: {escape(result.sass_reason)}[/]")


def _or_dash(value: float | None, form: str) -> str:
    return "-" if value is None else form.format(value)


def _diagnostics(diagnostics: Iterable[Diagnostic], source: str, console: Console) -> None:
    for one in list(diagnostics)[:MAX_SHOWN]:
        colour, place = COLOURS[one.severity], one.place
        at = (
            f"{place.file or '?'}:{place.line}" + (f":{place.column}" if place.column else "")
            if place.line
            else one.origin
        )
        code = f" [{one.code}]" if one.code else ""
        console.print(f"\n[bold {colour}]{one.severity}[/] {escape(at)}: {escape(one.text + code)}")
        _excerpt(source, place.file, place.line, console)


def _excerpt(source: str, file: str | None, line: int | None, console: Console) -> None:
    """The lines around one of the submitted text."""
    lines = source.splitlines()
    if line is None or file not in {None, "candidate.cu", "program.cu"} or not 1 <= line <= len(lines):
        return
    begin, end = max(1, line - 1), min(len(lines), line + 1)
    console.print(
        Syntax(
            "\n".join(lines), "cuda", line_numbers=True, line_range=(begin, end), highlight_lines={line},
            background_color="default", code_width=110,
        )
    )  # fmt: skip


def _side(side: Side) -> str:
    at = f"{side.file or '?'}:{side.line}" if side.line else ""
    return " ".join(part for part in (side.access or "", at, _threads(side.thread, side.block)) if part)


def _threads(thread: tuple[int, int, int] | None, block: tuple[int, int, int] | None) -> str:
    return f"thread {thread} of block {block}" if thread is not None and block is not None else ""
