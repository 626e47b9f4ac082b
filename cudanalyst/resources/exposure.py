"""What a conversation has already seen: a fold over its events, and the rule that makes a context fresh."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from cudanalyst.resources.checkpoints import Checkpoint
from cudanalyst.resources.events import (
    CandidateSubmitted,
    CheckpointFrozen,
    CheckpointRestored,
    Event,
    EvidenceDelivered,
    JobStarted,
    PlanRecorded,
    Recorded,
    ToolFinished,
    ToolStarted,
    TrialOpened,
)
from cudanalyst.values import Frozen

EXPOSING: Final = (
    "candidate_submitted",
    "checkpoint_frozen",
    "checkpoint_restored",
    "evidence_delivered",
    "tool_started",
    "tool_finished",
    "job_started",
    "plan_recorded",
    "trial_opened",
)
"""Kinds of events that tell what a context has seen."""


class Exposure(Frozen):
    """What one context knows about."""

    candidates: frozenset[str] = frozenset()
    """Candidates that it submitted, or was told anything of."""
    problems: frozenset[str] = frozenset()
    """Problems that it was given a trial of."""


@dataclass(slots=True)
class Exposing:
    """The fold of a context's events up to `seq`. Submitting a source counts: who wrote it knows it."""

    seq: int = 0
    candidates: set[str] = field(default_factory=set)
    """Without their ancestors."""
    problems: set[str] = field(default_factory=set)

    def fold(self, events: Iterable[Recorded]) -> None:
        """Takes in committed events of `EXPOSING`, in order."""
        for recorded in events:
            self._apply(recorded.event)
            self.seq = recorded.seq

    def _apply(self, event: Event) -> None:
        match event:
            case CandidateSubmitted(candidate=candidate, parents=parents):
                self.candidates |= {candidate, *parents}
            case (
                CheckpointFrozen(candidate=candidate, lineage=line)
                | CheckpointRestored(candidate=candidate, lineage=line)
            ):
                self.candidates |= {candidate, *line}
            case EvidenceDelivered(candidate=candidate):
                self.candidates.add(candidate)
            case (
                ToolStarted(candidate=str(candidate))
                | ToolFinished(candidate=str(candidate))
                | JobStarted(candidate=str(candidate))
                | PlanRecorded(candidate=str(candidate))
            ):
                self.candidates.add(candidate)
            case TrialOpened(problem=problem):
                self.problems.add(problem)
            case _:
                pass


@dataclass(slots=True)
class Parents:
    """Parents of every candidate: the fold of an owner's `candidate_submitted` events up to `seq`."""

    seq: int = 0
    of: dict[str, set[str]] = field(default_factory=dict)

    def fold(self, submissions: Iterable[Recorded]) -> None:
        """Takes in committed events, in order."""
        for recorded in submissions:
            if isinstance(recorded.event, CandidateSubmitted):
                self.of.setdefault(recorded.event.candidate, set()).update(recorded.event.parents)
            self.seq = recorded.seq


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
