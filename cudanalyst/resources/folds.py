"""Questions about the past, answered by folds over events: pure functions with no state of their own."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeVar

from cudanalyst.kernels.problem import Component
from cudanalyst.resources.events import (
    CandidateSubmitted,
    EvidenceDelivered,
    PlanRecorded,
    Recorded,
    ToolFinished,
    TrialSubmitted,
)
from cudanalyst.values import Frozen

N = TypeVar("N", int, float)
NO_EVIDENCE: Final = frozenset({"running", "unavailable", "compile_failed", "refused", "cancelled"})
"""Statuses of a feedback tool that say nothing of the candidate but its base status."""

COMPONENT_OF_TOOL: Final[Mapping[str, Component]] = {
    "compile": "compiler",
    "analyze": "analyzer",
    "debug": "debugger",
    "profile": "profiler",
}
"""Whose evidence a feedback tool's result is; `run` belongs to no player."""


class CandidateFacts(Frozen):
    """What is known of one candidate."""

    candidate: str
    problem: str | None
    parents: tuple[str, ...]
    status: str | None = None
    """Of its last finished `run`; None where it never ran."""
    modelled_speedup: float | None = None


class Decision(Frozen):
    """A point where the agent committed itself, and what it had been shown."""

    seq: int
    kind: str
    subject: str | None
    """The candidate, plan or trial that came of it."""
    fresh: tuple[Component, ...]
    """Components delivered since the decision before."""
    seen: tuple[Component, ...]
    """Components delivered at any time before, in this context."""
    cites: tuple[str, ...] = ()


class Cost(Frozen):
    """What calls took, summed. `None` fields were never measured."""

    calls: int = 0
    cached: int = 0
    seconds: float | None = None
    tokens: int | None = None


def delivery(tool: str, status: str, candidate: str | None, evidence: str | None) -> EvidenceDelivered | None:
    """What is delivered by sending a feedback tool's result, stored as the blob `evidence`; None where nothing is."""
    component = COMPONENT_OF_TOOL.get(tool)
    if component is None or candidate is None or evidence is None or status in NO_EVIDENCE:
        return None
    return EvidenceDelivered(candidate=candidate, component=component, evidence=evidence, via=tool)


def candidates(events: Iterable[Recorded]) -> dict[str, CandidateFacts]:
    """Every candidate by id, in the order of its first submission."""
    found: dict[str, CandidateFacts] = {}
    for recorded in events:
        event = recorded.event
        if isinstance(event, CandidateSubmitted):
            known = found.get(event.candidate)
            if known is None:
                found[event.candidate] = CandidateFacts(
                    candidate=event.candidate, problem=event.problem, parents=event.parents
                )
            else:
                parents = tuple(dict.fromkeys((*known.parents, *event.parents)))
                found[event.candidate] = known.model_copy(update={"parents": parents})
        elif isinstance(event, ToolFinished) and event.tool == "run" and event.candidate in found:
            update = {"status": event.status, "modelled_speedup": event.modelled_speedup}
            found[event.candidate] = found[event.candidate].model_copy(update=update)
    return found


def best_candidate(events: Iterable[Recorded], problem: str) -> CandidateFacts | None:
    """The candidate that passed with the largest modelled speedup; the earliest of equals. None where none passed."""
    passed = [facts for facts in candidates(events).values() if facts.problem == problem and facts.status == "passed"]
    return max(passed, key=lambda facts: facts.modelled_speedup or 0.0, default=None)


def lineage(known: Mapping[str, CandidateFacts], candidate: str) -> tuple[str, ...]:
    """All ancestors of a candidate, oldest generation first, itself left out. Crossover gives several parents."""
    depth: dict[str, int] = {}
    frontier, generation = [candidate], 0
    while frontier:
        generation += 1
        parents = [parent for child in frontier if child in known for parent in known[child].parents]
        frontier = [parent for parent in dict.fromkeys(parents) if parent not in depth and parent != candidate]
        depth.update(dict.fromkeys(frontier, generation))
    return tuple(sorted(depth, key=lambda ancestor: (-depth[ancestor], ancestor)))


def exposures(events: Sequence[Recorded]) -> tuple[Decision, ...]:
    """Each decision in a context with the evidence that was delivered before it."""
    decisions: list[Decision] = []
    fresh: set[Component] = set()
    seen: set[Component] = set()
    for recorded in events:
        event = recorded.event
        if isinstance(event, EvidenceDelivered):
            fresh.add(event.component)
            seen.add(event.component)
            continue
        subject, cites = _decision(event)
        if subject is None:
            continue
        decisions.append(
            Decision(
                seq=recorded.seq,
                kind=event.kind,
                subject=subject,
                fresh=tuple(sorted(fresh)),
                seen=tuple(sorted(seen)),
                cites=cites,
            )
        )
        fresh = set()
    return tuple(decisions)


def cost_per_component(events: Iterable[Recorded]) -> dict[str, Cost]:
    """Calls, seconds and tokens by component; tools that are no player's stand under their own names."""
    costs: dict[str, Cost] = {}
    for recorded in events:
        event = recorded.event
        if not isinstance(event, ToolFinished):
            continue
        name = COMPONENT_OF_TOOL.get(event.tool, event.tool)
        before = costs.get(name, Cost())
        costs[name] = Cost(
            calls=before.calls + 1,
            cached=before.cached + event.cached,
            seconds=_sum(before.seconds, event.seconds),
            tokens=_sum(before.tokens, event.tokens),
        )
    return costs


def _decision(event: object) -> tuple[str | None, tuple[str, ...]]:
    match event:
        case CandidateSubmitted():
            return event.candidate, ()
        case PlanRecorded():
            return event.plan, event.cites
        case TrialSubmitted():
            return event.trial, ()
        case _:
            return None, ()


def _sum(total: N | None, more: N | None) -> N | None:
    if more is None:
        return total
    return more if total is None else total + more
