"""Randomised delivery at work: a decision is drawn and recorded once, and each call learns from it what it may tell.

A decision is due when a tool is first called about a candidate of a problem in a session that opted in. It holds for the
candidate in all of that session's conversations, so that asking elsewhere draws nothing anew. The first call of a tool whose
component is withheld is answered with the base status; a second one asks in earnest, is served, and is recorded.
"""

from collections.abc import Iterator
from typing import Final

from cudanalyst.kernels.problem import Component
from cudanalyst.resources.events import (
    CandidateJudged,
    DeliveryRandomised,
    EvidenceRequested,
    EvidenceWithheld,
    Recorded,
    SessionStarted,
)
from cudanalyst.resources.folds import COMPONENT_OF_TOOL
from cudanalyst.resources.known import Known
from cudanalyst.resources.randomised.draws import RandomisedDelivery, draw
from cudanalyst.resources.store import Scope, Store
from cudanalyst.tools.source import Source
from cudanalyst.values import Frozen

DUE: Final = frozenset({"compile", "run", "debug", "analyze", "profile"})
"""Tools at whose call feedback on a candidate is due."""
SESSIONS_KNOWN: Final = 4096


class Offer(Frozen):
    """What a draw means for one call."""

    candidate: str
    problem: str
    offered: tuple[Component, ...]
    withheld: Component | None = None
    """The component that this call asks for and is not told."""
    hides_compiler: bool = False
    """Whether the compiler's messages are to be left out of what another tool says."""


class Deliveries:
    """Draws of all sessions of a store; safe for any number of threads and servers."""

    def __init__(self, store: Store, secret: bytes) -> None:
        """Draws from `secret`, which all servers of the store share."""
        self._store = store
        self._secret = secret
        self._designs: Known[str, tuple[RandomisedDelivery | None]] = Known(SESSIONS_KNOWN)
        self._judged: Known[tuple[str, str], bool] = Known(SESSIONS_KNOWN)

    def design(self, scope: Scope) -> RandomisedDelivery | None:
        """How a session is randomised; None where it did not opt in."""
        if scope.session is None:
            return None
        if (known := self._designs.get(scope.session)) is not None:
            return known[0]
        started = self._store.events(scope.owner, session=scope.session, kinds=("session_started",), limit=1)
        design = next((one.event.randomise for one in started if isinstance(one.event, SessionStarted)), None)
        return self._designs.add(scope.session, (design,))[0]

    def offer(self, scope: Scope, tool: str, source: Source) -> Offer | None:
        """What a call may tell of a candidate; draws where this is the first call about it. None: nothing is randomised here."""
        design = self.design(scope)
        if design is None or tool not in DUE or source.problem is None:
            return None
        candidate, component = source.id, COMPONENT_OF_TOOL.get(tool)
        with self._store.transaction():
            offered = self._drawn(scope, design, source.id, source.problem)
            hidden = {one for one in design.components if one not in offered}
            asked = set(self._asked(scope, candidate)) if hidden else set()
            withheld = component if component in hidden and component not in asked else None
            if withheld is not None:
                event = EvidenceWithheld(candidate=candidate, component=withheld, via=tool)
                self._store.append(scope, event)
            elif component is not None and component in hidden:
                self._store.append(scope, EvidenceRequested(candidate=candidate, component=component, via=tool))
        return Offer(
            candidate=candidate,
            problem=source.problem,
            offered=offered,
            withheld=withheld,
            hides_compiler="compiler" in hidden and tool != "compile",
        )

    def note_request(self, scope: Scope, candidate: str, component: Component, via: str) -> None:
        """Records that withheld evidence was fetched by another road, which is allowed."""
        if self.design(scope) is None:
            return
        for drawn in self._draws(scope):
            if drawn.candidate == candidate and component in drawn.propensities and component not in drawn.offered:
                self._store.append(scope, EvidenceRequested(candidate=candidate, component=component, via=via))

    def needs_verdict(self, scope: Scope, candidate: str) -> bool:
        """Whether a candidate of this session has not been judged yet."""
        if scope.session is None or self._judged.get((scope.session, candidate)):
            return False
        judged = self._events(scope, ("candidate_judged",))
        done = any(isinstance(one.event, CandidateJudged) and one.event.candidate == candidate for one in judged)
        if done:
            self._judged.add((scope.session, candidate), True)
        return not done

    def judge(self, scope: Scope, verdict: CandidateJudged) -> None:
        """Records a verdict, once."""
        with self._store.transaction():
            if self.needs_verdict(scope, verdict.candidate):
                self._store.append(scope, verdict)

    def _drawn(self, scope: Scope, design: RandomisedDelivery, candidate: str, problem: str) -> tuple[Component, ...]:
        number = 0
        for drawn in self._draws(scope):
            number += 1
            if drawn.candidate == candidate:
                return drawn.offered
        offered = draw(self._secret, scope.session or "", candidate, design)
        self._store.append(
            scope,
            DeliveryRandomised(
                candidate=candidate,
                problem=problem,
                number=number + 1,
                offered=offered,
                propensities=design.propensities,
                joint=design.joint(offered),
            ),
        )
        return offered

    def _draws(self, scope: Scope) -> Iterator[DeliveryRandomised]:
        for one in self._events(scope, ("delivery_randomised",)):
            if isinstance(one.event, DeliveryRandomised):
                yield one.event

    def _asked(self, scope: Scope, candidate: str) -> Iterator[Component]:
        for one in self._events(scope, ("evidence_withheld",)):
            if isinstance(one.event, EvidenceWithheld) and one.event.candidate == candidate:
                yield one.event.component

    def _events(self, scope: Scope, kinds: tuple[str, ...]) -> list[Recorded]:
        return self._store.events(scope.owner, session=scope.session, kinds=kinds)
