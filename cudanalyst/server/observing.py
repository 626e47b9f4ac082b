"""Attribution of ordinary use: an owner's sessions read from the store, within bounds, and put together."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from cudanalyst.errors import BadRequest, CudanalystError
from cudanalyst.kernels.problem import Component
from cudanalyst.resources.answers import AttributionResult
from cudanalyst.resources.codec import decode
from cudanalyst.resources.events import CheckpointFrozen, EvidenceDelivered, Recorded
from cudanalyst.resources.evidence import Evidence
from cudanalyst.resources.experiment import Experiments
from cudanalyst.resources.guard import Request, guard
from cudanalyst.resources.plans import Plan
from cudanalyst.resources.randomised import decisions as randomised
from cudanalyst.resources.randomised.analysis import analyse_decisions
from cudanalyst.resources.render import render_analyzer, render_compiler, render_debugger, render_profiler
from cudanalyst.resources.store import Scope, Store
from cudanalyst.resources.usage import moments as ordinary
from cudanalyst.resources.usage.analysis import analyse_moments
from cudanalyst.resources.usage.benefit import benefits
from cudanalyst.resources.usage.costs import costs
from cudanalyst.resources.usage.models import SessionAttribution
from cudanalyst.resources.usage.moments import Shown
from cudanalyst.resources.usage.words import in_words
from cudanalyst.tools.analyze import AnalyzeResult
from cudanalyst.tools.compile import CompileResult
from cudanalyst.tools.debug import DebugResult
from cudanalyst.tools.profile import ProfileResult

MAX_EVENTS: Final = 10_000
"""Events of one session that are looked at, the newest."""
MAX_ALL: Final = 30_000
"""Events of all sessions together."""
MAX_SESSIONS: Final = 500
KINDS: Final = tuple(sorted({*ordinary.KINDS, *randomised.KINDS}))
_RENDER: Final[dict[Component, tuple[Any, Callable[[str, Any], Evidence]]]] = {
    "compiler": (CompileResult, render_compiler),
    "analyzer": (AnalyzeResult, render_analyzer),
    "debugger": (DebugResult, render_debugger),
    "profiler": (ProfileResult, render_profiler),
}


def attribution_of_session(experiments: Experiments, scope: Scope, session: str) -> AttributionResult:
    """What one session of the owner tells.

    Raises:
        NotFound: It is not this owner's.
        BadRequest: A trial closes it to this context now.
    """
    experiments.store.check(scope.owner, "session", session)
    _refuse_planners(experiments, scope)
    if session != scope.session:
        guard(experiments, experiments.store.scope(scope.owner, session), Request(tool="sessions"))
    events = _events(experiments.store, scope.owner, session)
    notes = [f"The newest {MAX_EVENTS} events of the session were looked at."] if len(events) >= MAX_EVENTS else []
    return _answer(experiments.store, scope.owner, events, 1, notes).model_copy(update={"session": session})


def attribution_of_all(experiments: Experiments, scope: Scope) -> AttributionResult:
    """What the owner's sessions tell together, the newest of them; those that a trial closes are left out.

    Raises:
        BadRequest: A trial closes this context now.
    """
    _refuse_planners(experiments, scope)
    store = experiments.store
    started = store.events(scope.owner, kinds=("session_started",), newest=MAX_SESSIONS + 1)
    events: list[Recorded] = []
    looked = closed = 0
    for one in reversed(started[-MAX_SESSIONS:]):
        session = one.session or ""
        try:
            guard(experiments, store.scope(scope.owner, session), Request(tool="sessions"))
        except BadRequest:
            closed += 1
            continue
        own = _events(store, scope.owner, session)
        looked += 1
        events = [*own, *events]
        if len(events) >= MAX_ALL:
            break
    notes = [f"{closed} sessions are left out while a trial is open in them."] if closed else []
    if looked + closed < len(started):
        notes.append(f"The newest {looked} sessions were looked at.")
    return _answer(store, scope.owner, events, looked, notes)


def _refuse_planners(experiments: Experiments, scope: Scope) -> None:
    """Closed to planners of experiments that go on, under whatever name: a plan's words may hold what their trial withholds."""
    if scope.session is not None:
        guard(experiments, Scope(scope.owner, scope.session, scope.session), Request(tool="sessions"))
    for _, experiment in experiments.index(scope.owner).given_to(scope):
        if not experiments.progress(scope.owner, experiment).ended:
            raise BadRequest(
                "This context was given a trial of an experiment that has not ended: until then attribution is closed to it. "
                "Ask from another session."
            )


def _events(store: Store, owner: str, session: str) -> Sequence[Recorded]:
    """What may be shown: evidence of trials never is, and none of these kinds tells an outcome of one."""
    found = store.events(owner, session=session, kinds=KINDS, newest=MAX_EVENTS)
    return [one for one in found if not isinstance(one.event, EvidenceDelivered) or one.event.trial is None]


def _answer(
    store: Store, owner: str, events: Sequence[Recorded], sessions: int, notes: Sequence[str]
) -> AttributionResult:
    spent = costs(events)
    observed = analyse_moments(
        ordinary.moments(events), spent, lambda blob: decode(Plan, store.blob(blob)).text, _Told(store, owner), sessions
    )
    observed = observed.model_copy(update={"notes": (*observed.notes, *notes)})
    draws = randomised.decisions(events, store.now())
    effects = analyse_decisions(draws) if draws else None
    found = SessionAttribution(
        observed=observed, randomised=effects, costs=benefits(events, draws, effects) if effects else ()
    )
    return AttributionResult(
        status="observational" if effects is None else "randomised",
        summary=in_words(found),
        observed=found.observed,
        randomised=found.randomised,
        costs=found.costs,
        notes=() if effects is None else effects.notes,
    )


class _Told:
    """The evidence behind deliveries, rendered as a checkpoint would hold it, so that items have the ids that plans cite."""

    def __init__(self, store: Store, owner: str) -> None:
        self._store, self._owner = store, owner
        self._frozen: dict[str, str] | None = None

    def __call__(self, shown: Shown) -> Evidence | None:
        try:
            if shown.blob is None:
                return self._of_checkpoint(shown)
            model, render = _RENDER[shown.component]
            return render(shown.candidate, decode(model, self._store.blob(shown.blob)))
        except CudanalystError:  # written by another version, or lost: then nothing is found in it
            return None

    def _of_checkpoint(self, shown: Shown) -> Evidence | None:
        if self._frozen is None:
            frozen = self._store.events(self._owner, kinds=("checkpoint_frozen",), newest=MAX_SESSIONS)
            self._frozen = {
                one.event.candidate: one.event.checkpoint for one in frozen if isinstance(one.event, CheckpointFrozen)
            }
        checkpoint = self._frozen.get(shown.candidate)
        return None if checkpoint is None else self._store.checkpoint(self._owner, checkpoint).evidence[shown.component]
