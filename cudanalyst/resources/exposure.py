"""What a conversation has already seen: a fold over its events, and the rule that makes a context fresh."""

from collections.abc import Iterable, Mapping

from cudanalyst.resources.checkpoints import Checkpoint
from cudanalyst.resources.events import (
    CandidateSubmitted,
    CheckpointFrozen,
    CheckpointRestored,
    EvidenceDelivered,
    JobStarted,
    PlanRecorded,
    Recorded,
    ToolFinished,
    ToolStarted,
    TrialOpened,
)
from cudanalyst.values import Frozen


class Exposure(Frozen):
    """What one context knows about."""

    candidates: frozenset[str] = frozenset()
    """Candidates that it submitted, or was told anything of."""
    problems: frozenset[str] = frozenset()
    """Problems that it was given a trial of."""


def exposure_of(events: Iterable[Recorded]) -> Exposure:
    """Folds a context's events. Submitting a source counts: who wrote it knows it."""
    touched: set[str] = set()
    tried: set[str] = set()
    for recorded in events:
        event = recorded.event
        match event:
            case CandidateSubmitted(candidate=candidate, parents=parents):
                touched |= {candidate, *parents}
            case (
                CheckpointFrozen(candidate=candidate, lineage=line)
                | CheckpointRestored(candidate=candidate, lineage=line)
            ):
                touched |= {candidate, *line}
            case EvidenceDelivered(candidate=candidate):
                touched.add(candidate)
            case (
                ToolStarted(candidate=str(candidate))
                | ToolFinished(candidate=str(candidate))
                | JobStarted(candidate=str(candidate))
                | PlanRecorded(candidate=str(candidate))
            ):
                touched.add(candidate)
            case TrialOpened(problem=problem):
                tried.add(problem)
            case _:
                pass
    return Exposure(candidates=frozenset(touched), problems=frozenset(tried))


def parents_by_candidate(submissions: Iterable[Recorded]) -> dict[str, frozenset[str]]:
    """Parents of every candidate, from an owner's `candidate_submitted` events."""
    parents: dict[str, frozenset[str]] = {}
    for recorded in submissions:
        event = recorded.event
        if isinstance(event, CandidateSubmitted):
            parents[event.candidate] = parents.get(event.candidate, frozenset()) | frozenset(event.parents)
    return parents


def with_ancestors(candidates: Iterable[str], parents: Mapping[str, Iterable[str]]) -> frozenset[str]:
    """Candidates and all that they were made from: who knows a descendant knows the lineage."""
    known: set[str] = set()
    frontier = list(candidates)
    while frontier:
        candidate = frontier.pop()
        if candidate not in known:
            known.add(candidate)
            frontier.extend(parents.get(candidate, ()))
    return frozenset(known)


def stale_reason(checkpoint: Checkpoint, exposure: Exposure) -> str | None:
    """Why a context may not be given a valid trial on a checkpoint; None where it is fresh.

    `exposure.candidates` holds ancestors already (`with_ancestors`).
    """
    if checkpoint.problem in exposure.problems:
        return f"this context already had a trial of problem {checkpoint.problem}"
    if exposure.candidates & {checkpoint.source.id, *checkpoint.lineage}:
        return "this context has worked on the frozen program or its ancestors"
    return None
