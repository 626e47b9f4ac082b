"""Where candidates stand, as far as a session's events tell, and what one step changed."""

from collections.abc import Iterable
from typing import Final

from cudanalyst.errors import CudanalystError
from cudanalyst.kernels.problem import BaseStatus
from cudanalyst.resources.events import CandidateJudged, Recorded, ToolFinished
from cudanalyst.resources.outcomes import base_status_of, is_fast, standing
from cudanalyst.values import Frozen

LEVELS: Final = ("compiled", "passed", "fast_modelled", "improved", "regressed")
"""What is asked of the candidate that followed; the last two against the one before."""
KINDS: Final = ("candidate_judged", "tool_finished")
"""Events that say where a candidate stands."""
_SAYING: Final = frozenset({"passed", "wrong", "crashed", "timed_out", "contract_violation", "compile_failed"})


class Standing(Frozen):
    """What is known of one candidate."""

    base_status: BaseStatus
    modelled_speedup: float | None = None
    speedup: float | None = None
    """Measured."""


def standings(events: Iterable[Recorded]) -> dict[str, Standing]:
    """The last known standing of each candidate: by `run`, by a compile that failed, or by the server's own judgement."""
    found: dict[str, Standing] = {}
    for recorded in events:
        event = recorded.event
        if isinstance(event, CandidateJudged):
            found[event.candidate] = Standing(
                base_status=event.base_status, modelled_speedup=event.modelled_speedup, speedup=event.speedup
            )
        elif isinstance(event, ToolFinished) and event.candidate is not None:
            status = _status(event)
            if status is not None:
                found[event.candidate] = Standing(
                    base_status=status, modelled_speedup=event.modelled_speedup, speedup=event.speedup
                )
    return found


def followed(before: Standing | None, after: Standing | None) -> dict[str, bool]:
    """Which levels the later candidate meets; empty where it was never judged, without comparisons where the earlier was not."""
    if after is None:
        return {}
    status = after.base_status
    met = {
        "compiled": status != "compile_failed",
        "passed": status == "passed",
        "fast_modelled": is_fast(status, after.modelled_speedup),
    }
    if before is not None:
        measured = before.speedup is not None and after.speedup is not None
        old, new = (
            standing(one.base_status, one.speedup if measured else one.modelled_speedup) for one in (before, after)
        )
        met |= {"improved": new > old, "regressed": new < old}
    return met


def _status(event: ToolFinished) -> BaseStatus | None:
    if event.tool == "run" and event.status in _SAYING:
        try:
            return base_status_of("compiled", event.status)  # type: ignore[arg-type]
        except CudanalystError:  # a status that says nothing of a candidate
            return None
    return "compile_failed" if event.tool == "compile" and event.status in {"failed", "timed_out"} else None
