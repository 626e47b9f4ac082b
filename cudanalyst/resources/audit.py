"""Looking back on a context: what it knew before a trial, and what reached it during one."""

from collections.abc import Callable, Sequence
from typing import Final

from cudanalyst.resources.checkpoints import Checkpoint
from cudanalyst.resources.events import EvidenceDelivered, Recorded, ToolFinished, ToolStarted
from cudanalyst.resources.expiry import opened_in
from cudanalyst.resources.exposure import Exposure, stale_reason
from cudanalyst.resources.store import Scope, Store
from cudanalyst.resources.trial_state import TrialProgress

HARMLESS_TOOLS: Final = frozenset(
    {"trial_next", "trial_submit", "plan", "get_problem", "list_problems", "device_info", "experiment_progress"}
)
"""What a context may still call while a trial is open in it: nothing here says anything about a candidate."""
REFUSED: Final = "refused"
"""Status of a `tool_finished` event whose call the guard turned away."""


def audit(
    store: Store,
    scope: Scope,
    progress: TrialProgress,
    checkpoint: Checkpoint,
    exposure_of: Callable[[Scope], Exposure],
) -> str | None:
    """Looks for roads that were open all the same: the guard should have left nothing to find."""
    opened = opened_in(progress)
    after = 0 if progress.opened is None else progress.opened.seq
    if _leaks(store.events(scope.owner, context=opened.context, after=after), progress.trial.id):
        return "feedback reached the context while the trial was open"
    told = store.events(scope.owner, kinds=("evidence_delivered",), after=after)
    if any(_elsewhere(one, checkpoint) for one in told):
        return "evidence of the frozen program was told in another conversation of this owner while the trial was open"
    if scope.context != opened.context:
        reason = stale_reason(checkpoint, exposure_of(scope))
        if reason is not None:
            return f"answered from another context, and {reason}"
    return None


def _elsewhere(recorded: Recorded, checkpoint: Checkpoint) -> bool:
    """Whether somebody asked for evidence of the very program where no guard of this context stands: most likely its planner."""
    event = recorded.event
    return isinstance(event, EvidenceDelivered) and event.trial is None and event.candidate == checkpoint.source.id


def _leaks(events: Sequence[Recorded], trial: str) -> bool:
    refused = {one.event.call for one in events if isinstance(one.event, ToolFinished) and one.event.status == REFUSED}
    for recorded in events:
        event = recorded.event
        if isinstance(event, ToolStarted):
            if event.tool not in HARMLESS_TOOLS and event.call not in refused:
                return True
        elif event.kind in {"checkpoint_frozen", "checkpoint_restored"} or (
            isinstance(event, EvidenceDelivered) and event.trial != trial
        ):
            return True
    return False
