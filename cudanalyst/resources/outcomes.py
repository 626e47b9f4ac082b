"""What a trial's candidate amounts to: nested levels, and a total order of standings."""

import math
from collections.abc import Iterable
from typing import Final, Literal

from cudanalyst.errors import BadRequest, Unavailable
from cudanalyst.kernels.problem import BaseStatus
from cudanalyst.resources.checkpoints import Checkpoint
from cudanalyst.resources.events import PlannerFailure
from cudanalyst.resources.trials import Level, Outcome, SizeSpeedup
from cudanalyst.tools.timing.models import FAST_THRESHOLD, SizeTiming

CompileStatus = Literal["compiled", "failed", "timed_out", "unavailable", "running"]
RunStatus = Literal[
    "passed",
    "wrong",
    "crashed",
    "timed_out",
    "contract_violation",
    "compile_failed",
    "exited",
    "unavailable",
    "running",
]
_RANK: Final[dict[BaseStatus, int]] = {"compile_failed": 0, "crashed": 1, "wrong": 2, "passed": 3}
_AFTER_RUN: Final[dict[RunStatus, BaseStatus]] = {
    "passed": "passed",
    "wrong": "wrong",
    "crashed": "crashed",
    # Neither produced an output to judge, as with a crash.
    "timed_out": "crashed",
    "contract_violation": "crashed",
    "compile_failed": "compile_failed",
}

Standing = tuple[int, float]
"""Rank of the base status (fast above passed), then the speedup of a passing candidate: larger is better."""


def base_status_of(compiled: CompileStatus, run: RunStatus | None) -> BaseStatus:
    """The one word about a candidate that every planner may know.

    Raises:
        Unavailable: A tool could not do its work, so nothing is known of the candidate.
        BadRequest: The source is a program, which has no verdict.
    """
    if compiled == "running" or run == "running":
        raise Unavailable("The candidate is still being evaluated. Wait for the job, then ask again.")
    if compiled == "unavailable" or run == "unavailable":
        raise Unavailable(
            "The evaluator could not compile or run the candidate here. See `doctor`, then evaluate again."
        )
    if compiled in {"failed", "timed_out"}:
        return "compile_failed"
    if run is None:
        raise Unavailable("The candidate compiled but was not run, so it has no base status. Run it.")
    if run == "exited":
        raise BadRequest("A program has no verdict. Freeze and try candidates of a problem only.")
    return _AFTER_RUN[run]


def is_fast(status: BaseStatus, speedup: float | None, threshold: float = FAST_THRESHOLD) -> bool:
    """Whether a state meets the fast level: it passes, and its speedup over the baseline reaches the threshold."""
    return status == "passed" and speedup is not None and speedup >= threshold


def standing(status: BaseStatus | None, speedup: float | None, threshold: float = FAST_THRESHOLD) -> Standing:
    """Where a state stands; no candidate at all stands lowest. A passing one without a speedup counts as the baseline."""
    if status is None:
        return (-1, 0.0)
    if status != "passed":
        return (_RANK[status], 0.0)
    return (_RANK["passed"] + is_fast(status, speedup, threshold), 1.0 if speedup is None else speedup)


def outcome_of(
    before: BaseStatus,
    compiled: CompileStatus | None,
    run: RunStatus | None,
    modelled_speedup: float | None,
    *,
    before_speedup: float | None = None,
    threshold: float = FAST_THRESHOLD,
    planner_failure: PlannerFailure | None = None,
    measured_fast: bool | None = None,
    measured_speedup: float | None = None,
    measured_by_size: tuple[SizeSpeedup, ...] = (),
) -> Outcome:
    """Judges a trial. Levels are nested: fast implies passed implies compiled.

    Args:
        before: Base status of the frozen state.
        compiled: Status of compiling the candidate; None where the planner failed to give one.
        run: Status of running it; None where it did not compile.
        modelled_speedup: Baseline's modelled time over the candidate's, where it passed.
        before_speedup: The same of the frozen state.
        threshold: Speedup from which a passing candidate is fast.
        planner_failure: Why there is no candidate; a failure at every level.
        measured_fast: Whether measured times make it fast (`RunResult.fast`); None where nothing was measured.
        measured_speedup: `RunResult.speedup`.
        measured_by_size: What `speedups_of` finds in `RunResult.timings`.

    Raises:
        Unavailable: The evaluator could not do its work: an infrastructure failure, not an outcome.
        BadRequest: The arguments contradict each other, or a speedup is not a finite positive number.
    """
    if (compiled is None) != (planner_failure is not None):
        raise BadRequest("Give either the statuses of a candidate or a planner's failure, not both and not neither.")
    for speedup in (modelled_speedup, before_speedup, measured_speedup):
        if speedup is not None and not (math.isfinite(speedup) and speedup > 0):
            raise BadRequest(f"A speedup is a finite positive number, not {speedup!r}.")
    after = None if compiled is None else base_status_of(compiled, run)
    passed = after == "passed"
    speedup = modelled_speedup if passed else None
    old, new = standing(before, before_speedup, threshold), standing(after, speedup, threshold)
    return Outcome(
        base_status_before=before,
        base_status_after=after,
        compiled=after is not None and after != "compile_failed",
        passed=passed,
        fast_modelled=after is not None and is_fast(after, speedup, threshold),
        improved=new > old,
        regressed=new < old,
        modelled_speedup=max(1.0, speedup) if speedup is not None else 1.0,
        planner_failure=planner_failure,
        fast=measured_fast if passed else (None if measured_fast is None else False),
        speedup=measured_speedup if passed else None,
        speedups=measured_by_size if passed else (),
    )


def measured_fast(by_size: Iterable[SizeSpeedup], threshold: float, *, fast: bool | None) -> bool | None:
    """Whether measured times reach a threshold at every size, where `fast` says so of the usual one.

    None where nothing was measured, False where a size is suspicious.
    """
    sizes = tuple(by_size)
    if fast is None or threshold == FAST_THRESHOLD or not sizes:
        return fast
    return all(one.verdict != "suspicious" and one.speedup >= threshold for one in sizes)


def speedups_of(timings: Iterable[SizeTiming]) -> tuple[SizeSpeedup, ...]:
    """What was measured at each size, in the mode that decides: the one of the first timing."""
    timed = list(timings)
    return tuple(
        SizeSpeedup(
            sizes=one.sizes, verdict=one.verdict, speedup=one.speedup, low=one.speedup_low, high=one.speedup_high
        )
        for one in timed
        if one.mode == timed[0].mode and one.verdict and one.speedup and one.speedup_low and one.speedup_high
    )


def no_op(checkpoint: Checkpoint, level: Level) -> bool:
    """Whether changing nothing succeeds at a level: the score to beat, and the sign of a ceiling."""
    match level:
        case "compiled":
            return checkpoint.base_status != "compile_failed"
        case "passed":
            return checkpoint.base_status == "passed"
        case "fast_modelled":
            return checkpoint.fast
        case "fast":
            raise BadRequest("`fast` needs measured times, which this checkpoint does not have. Use `fast_modelled`.")


def succeeded(outcome: Outcome, level: Level) -> bool:
    """Whether an outcome meets a level.

    Raises:
        BadRequest: `fast` was asked of an outcome that was modelled, not measured.
    """
    match level:
        case "compiled":
            return outcome.compiled
        case "passed":
            return outcome.passed
        case "fast_modelled":
            return outcome.fast_modelled
        case "fast":
            if outcome.fast is not None:
                return outcome.fast
            if not outcome.passed:
                return False
            raise BadRequest("`fast` needs measured times, which these trials do not have. Use `fast_modelled`.")
