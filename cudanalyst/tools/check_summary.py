"""What the checks come to, and the sentences that say so: pure functions of `debug`."""

from collections.abc import Iterable, Sequence
from typing import Final, Literal

from cudanalyst.tools.checks import UNFINISHED, CheckReport
from cudanalyst.tools.findings import Finding
from cudanalyst.tools.text import at, count_of, one_line

Overall = Literal["clean", "findings", "tool_failed"]

REMEDY: Final = {
    "deadlock": "let every thread of the block reach the barrier",
    "endless_loop": "check the loop's exit condition",
    "leak": "free the memory",
    "invalid_warp_mask": "name in the mask exactly the lanes that take part (take the mask with __ballot_sync before the branch)",
    "invalid_barrier": "give the barrier the count of threads that arrive; initialise an mbarrier once, and synchronise the block before using it",
    "invalid_launch": "change the launch, and check cudaGetLastError after it",
    "invalid_copy": "check pointers, bytes and direction of the copy",
    "invalid_free": "free each pointer once, with the function that fits its allocation",
    "invalid_constant_write": "copy to the symbol from the host (cudaMemcpyToSymbol) before the launch",
    "use_before_allocation": "let the stream wait for an event recorded behind cudaMallocAsync",
    "use_after_free": "free the memory after its last use, and synchronise before freeing it",
    "double_free": "free each pointer once",
    "api_error": "check what every CUDA call returns",
    "host_access": "copy the data to the host first",
    "assertion_failed": "look at why the condition does not hold there",
    "device_fault": "look at what the kernel does there: a trap, an illegal instruction, a barrier with a wrong count",
    "missing_async_wait": "wait for the copies (cp.async.wait_group, pipeline.consumer_wait), then synchronise the block",
    "invalid_": "guard the index against the size",
    "misaligned_": "align the address to the access's width",
    "shared_race": "put __syncthreads() between the two accesses (within one warp, __syncwarp())",
    "global_race": "order the accesses: an atomic, a fence with a flag, a separate launch; between streams, an event that the later one waits for",
    "uninitialized_": "write the value before it is read",
    "barrier_": "let as many threads arrive as the barrier waits for, in the same order of barriers everywhere",
    "divergent_": "move the barrier out of the divergent branch",
}


def overall(reports: Sequence[CheckReport], findings: Sequence[Finding]) -> Overall:
    """Findings stand; without any, one check that failed or was cut short forbids calling the source clean."""
    if findings:
        return "findings"
    return "tool_failed" if any(report.verdict in UNFINISHED for report in reports) else "clean"


def reason_of(status: Overall, reports: Sequence[CheckReport]) -> str | None:
    """Why a check failed; and where there is no verdict at all, why one did not get to its end."""
    failed = next((report.reason for report in reports if report.verdict == "tool_failed"), None)
    if failed is not None or status != "tool_failed":
        return failed
    return next((report.reason for report in reports if report.verdict == "incomplete"), None)


def summarise(status: Overall, reports: Sequence[CheckReport], findings: Sequence[Finding]) -> str:
    """A few sentences, the most severe finding first."""
    failed = _told(report for report in reports if report.verdict in {"tool_failed", "findings"} and report.reason)
    cut = [report for report in reports if report.verdict == "incomplete"]
    if status == "clean":
        names = ", ".join(report.check for report in reports)
        return f"Clean: {names} found nothing within their coverage."
    if status == "tool_failed":
        return f"No verdict: {one_line('; '.join([*failed, *_told(cut)]), 500)}. That is not a clean result."
    worst = findings[0]
    place = at(worst.file, worst.line)
    times = f", {worst.count} times" if worst.count > 1 else ""
    parts = [f"{count_of(len(findings), 'finding')}; first {worst.kind}{place}{times}: {one_line(worst.message)}"]
    remedy = next((text for prefix, text in REMEDY.items() if worst.kind.startswith(prefix)), None)
    if remedy:
        parts.append(f"Next: {remedy}")
    if failed:
        parts.append(f"Not all was checked: {one_line('; '.join(failed), 300)}")
    if cut:
        parts.append(f"Incomplete: {one_line('; '.join(_told(cut)), 200)}")
    return ". ".join(part.rstrip(".") for part in parts) + "."


def _told(reports: Iterable[CheckReport]) -> list[str]:
    """Checks with their reasons, each reason once."""
    reasons: dict[str, list[str]] = {}
    for report in reports:
        reasons.setdefault(report.reason or "", []).append(report.check)
    return [f"{', '.join(checks)}: {reason}" for reason, checks in reasons.items()]
