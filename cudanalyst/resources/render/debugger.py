"""The debugger's evidence: findings of the four checks, and what each check covered."""

from typing import Final

from cudanalyst.resources.evidence import Evidence
from cudanalyst.resources.render.placebo import placebo
from cudanalyst.resources.render.text import at, build
from cudanalyst.tools.debug import ALL_CHECKS, CheckReport, DebugResult, Finding, Side
from cudanalyst.tools.text import many

_REPORTED: Final = {"clean", "findings"}


def render_debugger(candidate: str, result: DebugResult) -> Evidence:
    """Findings by check and line, then one line a check. Compiler messages and reasons of failures stay out."""
    reports = {report.check: report for report in result.checks if report.verdict in _REPORTED}
    if result.status in {"compile_failed", "unavailable"} or not (reports or result.findings):
        return placebo("debugger", candidate)
    findings = sorted(result.findings, key=_rank)
    statements = [_finding(finding) for finding in findings]
    statements += _only_on_the_engine(result)
    statements += [_report(reports[check], findings) for check in ALL_CHECKS if check in reports]
    left_out = 0 if result.truncated is None else result.truncated.total - result.truncated.shown
    heading = f"debugger: {many(len(findings) + left_out, 'distinct finding')} in {many(len(reports), 'check')}"
    return build("debugger", candidate, heading, statements, total=len(statements) + left_out)


def _only_on_the_engine(result: DebugResult) -> list[str]:
    """What the CPU engine saw beside a GPU's checks. Why those did not is in their coverage."""
    if result.engine is None:
        return []
    only = {
        (item.check, item.kind, item.file, item.line)
        for item in result.engine.disagreements
        if item.seen_by == "engine"
    }
    found = [one for one in result.engine.findings if (one.check, one.kind, one.file, one.line) in only]
    return [f"on the CPU engine only: {_finding(finding)}" for finding in sorted(found, key=_rank)]


def _rank(finding: Finding) -> tuple[int, str, int, str, str]:
    order = ALL_CHECKS.index(finding.check)
    return (order, finding.file or "", finding.line or 0, finding.kind, _finding(finding))


def _finding(finding: Finding) -> str:
    where = at(finding.file, finding.line)
    parts = [f"{finding.check} {finding.kind}{f' at {where}' if where else ''}"]
    if finding.kernel is not None:
        parts.append(f"in {finding.kernel}")
    if finding.thread is not None and finding.block is not None:
        parts.append(f"first by thread {_triple(finding.thread)} of block {_triple(finding.block)}")
    if finding.address is not None:
        parts.append(f"address {finding.address}")
    parts.append(many(finding.count, "time"))
    text = f"{', '.join(parts)}: {finding.message}"
    return text if finding.other is None else f"{text} Other side: {_side(finding.other)}"


def _side(side: Side) -> str:
    parts = [side.access or "access"]
    where = at(side.file, side.line)
    if where:
        parts.append(f"at {where}")
    if side.thread is not None and side.block is not None:
        parts.append(f"by thread {_triple(side.thread)} of block {_triple(side.block)}")
    return " ".join(parts)


def _report(report: CheckReport, findings: list[Finding]) -> str:
    count = sum(finding.check == report.check for finding in findings)
    verdict = "clean" if report.verdict == "clean" else many(count, "finding")
    note = f"; {report.note}" if report.note else ""
    return f"{report.check}: {verdict}{note}; it covers {report.coverage}"


def _triple(index: tuple[int, int, int]) -> str:
    return f"({index[0]}, {index[1]}, {index[2]})"
