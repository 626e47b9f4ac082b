"""Where compute-sanitizer on a GPU and the CPU engine's checks say different things of the same source: pure.

Neither overrules the other: the findings of each stand, and a difference is told with the reason that is known for its kind.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal

from cudanalyst.tools.findings import Check, Finding
from cudanalyst.tools.text import at, count_of
from cudanalyst.values import Frozen

MAX_DISAGREEMENTS: Final = 20
_ENGINE_ONLY: Final = (
    ("global_race", "only the engine sees races in global memory"),
    ("uninitialized_shared", "only the engine follows which bytes of shared memory were written"),
    ("uninitialized_local", "only the engine follows which bytes of local memory were written"),
    ("missing_async_wait", "only the engine follows asynchronous copies byte by byte"),
    ("divergent_barrier", "the GPU lets threads that ended count as arrived, so only the engine sees it"),
    (
        "barrier_deadlock",
        "synccheck does not see a wait without end; on the GPU it shows as a hang, or by luck not at all",
    ),
    ("shared_race", "racecheck sees the order that this GPU ran; the engine knows what orders the accesses"),
    (
        "invalid_global",
        "on the GPU the address lay in another allocation, or beyond one within the memory that the driver rounds up to",
    ),
    ("endless_loop", "the GPU ended within its time limit; the engine stops after a number of warp instructions"),
    ("host_access", "only the engine watches what host code does with device pointers"),
)
_GPU_ONLY: Final = (
    ("endless_loop", "the engine's order of warps let it end; a GPU that runs them in another order hung"),
    ("leak", "the engine reports memory that is never freed only where it is asked to (CUDANALYST_LEAK_CHECK)"),
    ("unused_memory", "the engine does not report memory that nothing uses"),
    ("uninitialized_copy", "the engine lets a copy on the device hand on what is unwritten, and reports who reads it"),
    ("device_fault", "the device stopped the kernel; the engine ran another path or met no fault"),
)
_UNKNOWN: Final = "the kernel may take another path there (architecture, number of blocks, order of threads), or one of the two is wrong: look at the line"


class Disagreement(Frozen):
    """A finding that only one of the two made."""

    seen_by: Literal["gpu", "engine"]
    check: Check
    kind: str
    file: str | None = None
    line: int | None = None
    why: str
    """What may explain it, in plain words."""


def disagreements(
    on_gpu: Sequence[Finding],
    on_engine: Sequence[Finding],
    *,
    gpu_failed: Mapping[Check, str],
    engine_failed: Mapping[Check, str],
) -> tuple[Disagreement, ...]:
    """What only one of the two found, most severe first as they are given.

    Args:
        on_gpu: Findings of compute-sanitizer.
        on_engine: Findings of the CPU engine.
        gpu_failed: Checks that failed or were incomplete on the GPU, and why.
        engine_failed: Checks that failed or were incomplete on the engine, and why.
    """
    found = [
        *_only(on_engine, on_gpu, "engine", _ENGINE_ONLY, gpu_failed),
        *_only(on_gpu, on_engine, "gpu", _GPU_ONLY, engine_failed),
    ]
    return tuple(found[:MAX_DISAGREEMENTS])


def _only(
    mine: Sequence[Finding],
    others: Sequence[Finding],
    seen_by: Literal["gpu", "engine"],
    reasons: Sequence[tuple[str, str]],
    failed: Mapping[Check, str],
) -> Iterable[Disagreement]:
    for finding in mine:
        if any(_same(finding, other) for other in others):
            continue
        known = next((why for prefix, why in reasons if finding.kind.startswith(prefix)), _UNKNOWN)
        other_failed = failed.get(finding.check)
        why = f"{finding.check} did not get to its end there: {other_failed}" if other_failed else known
        yield Disagreement(
            seen_by=seen_by,
            check=finding.check,
            kind=finding.kind,
            file=finding.file,
            line=finding.line,
            why=why,
        )


def _same(one: Finding, other: Finding) -> bool:
    """Whether two findings tell of one defect: the same thing at a line that either side names, or without any."""
    if _family(one.kind) != _family(other.kind):
        return False
    lines = _lines(one), _lines(other)
    return not lines[0] or not lines[1] or bool(lines[0] & lines[1])


def _family(kind: str) -> str:
    """Kinds that one defect may be called by: the hazards of a race, and what an access was for."""
    for family in ("shared_race", "global_race", "use_after_free"):
        if kind.startswith(family):
            return family
    return {"barrier_deadlock": "hang", "endless_loop": "hang", "deadlock": "hang"}.get(kind, kind)


def _lines(finding: Finding) -> set[tuple[str | None, int]]:
    sides = [(finding.file, finding.line)]
    if finding.other is not None and "race" in finding.kind:
        sides.append((finding.other.file, finding.other.line))
    return {(file, line) for file, line in sides if line is not None}


def told(items: Sequence[Disagreement]) -> str | None:
    """A sentence about the first of them; None where the two agree."""
    if not items:
        return None
    first = items[0]
    who = "only the CPU engine" if first.seen_by == "engine" else "only the GPU"
    more = f" ({count_of(len(items) - 1, 'more difference')})" if len(items) > 1 else ""
    return f"{who} reports {first.kind}{at(first.file, first.line)}: {first.why}{more}"
