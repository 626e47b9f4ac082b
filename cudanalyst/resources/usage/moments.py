"""The decisions of sessions in ordinary use: what had been seen before each next candidate, what was cited, what followed."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from cudanalyst.kernels.problem import BaseStatus, Component
from cudanalyst.resources.events import CandidateSubmitted, EvidenceDelivered, PlanRecorded, Recorded, ToolFinished
from cudanalyst.resources.standings import followed, standings
from cudanalyst.values import Frozen

KINDS: Final = (
    "candidate_judged", "candidate_submitted", "evidence_delivered", "plan_recorded", "session_started", "tool_finished",
)  # fmt: skip
"""Events that observational attribution is a fold over."""


class Plan(Frozen):
    """A plan that was recorded before a decision, by its blob; its text is read only where mentions are asked for."""

    blob: str
    cites: tuple[str, ...] = ()


class Shown(Frozen):
    """Evidence that was delivered, by the blob of the tool's result; None where a checkpoint held it."""

    component: Component
    candidate: str
    blob: str | None
    via: str


class Moment(Frozen):
    """One decision: the agent went from a candidate to the next of the same problem, in one conversation."""

    session: str
    context: str | None
    problem: str | None
    """None for programs, which have no verdict."""
    seq: int
    at: float
    before: str
    after: str
    seen: tuple[Component, ...]
    """Delivered since the candidate before was first submitted, sorted."""
    earlier: tuple[Component, ...]
    """Delivered before that, in this conversation."""
    plans: tuple[Plan, ...] = ()
    shown: tuple[Shown, ...] = ()
    """The deliveries behind `seen`."""
    status_before: BaseStatus | None = None
    status_after: BaseStatus | None = None
    speedup_before: float | None = None
    """Measured where it was, else modelled."""
    speedup_after: float | None = None
    levels: dict[str, bool] = {}
    """Of the next candidate; empty where it was never judged."""


@dataclass
class _Conversation:
    """What one context has so far."""

    latest: dict[str | None, str] = field(default_factory=dict)
    """Newest candidate by problem."""
    known: set[str] = field(default_factory=set)
    shown: list[Shown] = field(default_factory=list)
    plans: list[Plan] = field(default_factory=list)
    earlier: set[Component] = field(default_factory=set)


def moments(events: Iterable[Recorded]) -> tuple[Moment, ...]:
    """Every decision, in order. The candidate before is the first parent that the client named, else the newest of its problem.

    A candidate that begins a problem is no decision: nothing was shown of it before. Evidence of trials is not counted.
    """
    kept = list(events)
    judged = standings(kept)
    conversations: dict[tuple[str | None, str | None], _Conversation] = {}
    found: list[Moment] = []
    for recorded in kept:
        event = recorded.event
        if isinstance(event, ToolFinished):
            continue
        here = conversations.setdefault((recorded.session, recorded.context), _Conversation())
        match event:
            case EvidenceDelivered(trial=None):
                blob = event.evidence if event.via != "get_evidence" else None
                here.shown.append(Shown(component=event.component, candidate=event.candidate, blob=blob, via=event.via))
            case PlanRecorded():
                here.plans.append(Plan(blob=event.blob, cites=event.cites))
            case CandidateSubmitted(candidate=candidate, problem=problem) if candidate not in here.known:
                before = next((one for one in event.parents if one in here.known), here.latest.get(problem))
                if before is not None:
                    old, new = judged.get(before), judged.get(candidate)
                    found.append(
                        Moment(
                            session=recorded.session or "",
                            context=recorded.context,
                            problem=problem,
                            seq=recorded.seq,
                            at=recorded.at,
                            before=before,
                            after=candidate,
                            seen=tuple(sorted({one.component for one in here.shown})),
                            earlier=tuple(sorted(here.earlier)),
                            plans=tuple(here.plans),
                            shown=tuple(here.shown),
                            status_before=None if old is None else old.base_status,
                            status_after=None if new is None else new.base_status,
                            speedup_before=None if old is None else old.speedup or old.modelled_speedup,
                            speedup_after=None if new is None else new.speedup or new.modelled_speedup,
                            levels=followed(old, new),
                        )
                    )
                    here.earlier |= {one.component for one in here.shown}
                    here.shown, here.plans = [], []
                here.known.add(candidate)
                here.latest[problem] = candidate
            case _:
                pass
    return tuple(found)
