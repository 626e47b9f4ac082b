"""The randomised decisions of sessions, and what came of each: a fold over events."""

from collections.abc import Iterable, Mapping
from typing import Final, Literal

from cudanalyst.kernels.problem import BaseStatus, Component
from cudanalyst.resources.events import (
    DeliveryRandomised,
    EvidenceDelivered,
    EvidenceRequested,
    Recorded,
    SessionStarted,
)
from cudanalyst.resources.standings import followed, standings
from cudanalyst.values import Frozen

STOPPED_AFTER_S: Final = 1800.0
"""A session that was silent for so long stopped at its last decision; before that the decision is still pending."""
KINDS: Final = (
    "candidate_judged", "delivery_randomised", "evidence_delivered", "evidence_requested", "session_started",
    "tool_finished",
)  # fmt: skip


class Decision(Frozen):
    """One draw and what followed."""

    session: str
    problem: str
    candidate: str
    number: int
    """In its session, from 1."""
    offered: tuple[Component, ...]
    propensities: dict[Component, float]
    joint: float
    declared: bool = True
    """Whether these are the probabilities that the session was started with."""
    status: BaseStatus | None
    """Of the candidate that the feedback is about."""
    earlier: dict[Component, int]
    """How often each component had been offered before in the session."""
    state: Literal["followed", "stopped", "pending", "unjudged"]
    """`unjudged`: there is a next candidate, but no verdict on it."""
    next: str | None = None
    levels: dict[str, bool] = {}
    """Of the next candidate."""
    delivered: tuple[Component, ...] = ()
    """What the agent was in fact shown of this candidate."""
    requested: tuple[Component, ...] = ()
    """What it asked for although it was withheld."""


def decisions(events: Iterable[Recorded], now: float) -> tuple[Decision, ...]:
    """Every randomised decision in order of its session. `now` tells a session that stopped from one that goes on.

    The next candidate is the one that the next draw on the same problem is about.
    """
    by_session: dict[str, list[Recorded]] = {}
    for recorded in events:
        if recorded.session is not None:
            by_session.setdefault(recorded.session, []).append(recorded)
    return tuple(decision for session, own in by_session.items() for decision in _of_session(session, own, now))


def _of_session(session: str, events: list[Recorded], now: float) -> list[Decision]:
    draws = [one.event for one in events if isinstance(one.event, DeliveryRandomised)]
    if not draws:
        return []
    judged, silent = standings(events), now - events[-1].at > STOPPED_AFTER_S
    declared: Mapping[Component, float] = {}
    shown: dict[str, set[Component]] = {}
    asked: dict[str, set[Component]] = {}
    for recorded in events:
        match recorded.event:
            case SessionStarted(randomise=design) if design is not None:
                declared = design.propensities
            case EvidenceDelivered(candidate=candidate, component=component, trial=None):
                shown.setdefault(candidate, set()).add(component)
            case EvidenceRequested(candidate=candidate, component=component):
                asked.setdefault(candidate, set()).add(component)
            case _:
                pass
    following: dict[str, str] = {}
    after: list[str | None] = []
    for drawn in reversed(draws):
        after.append(following.get(drawn.problem))
        following[drawn.problem] = drawn.candidate
    earlier: dict[Component, int] = {}
    rows = []
    for drawn, then in zip(draws, reversed(after), strict=True):
        before, later = judged.get(drawn.candidate), None if then is None else judged.get(then)
        state = ("stopped" if silent else "pending") if then is None else "unjudged" if later is None else "followed"
        rows.append(
            Decision.model_validate(
                {
                    "session": session,
                    "problem": drawn.problem,
                    "candidate": drawn.candidate,
                    "number": drawn.number,
                    "offered": drawn.offered,
                    "propensities": drawn.propensities,
                    "joint": drawn.joint,
                    "declared": dict(declared) == dict(drawn.propensities),
                    "status": None if before is None else before.base_status,
                    "earlier": {one: earlier.get(one, 0) for one in drawn.propensities},
                    "state": state,
                    "next": then,
                    "levels": followed(before, later),
                    "delivered": sorted(shown.get(drawn.candidate, ())),
                    "requested": sorted(asked.get(drawn.candidate, ())),
                }
            )
        )
        for component in drawn.offered:
            earlier[component] = earlier.get(component, 0) + 1
    return rows
