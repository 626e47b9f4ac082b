"""Questions about the past, answered by folds over events: pure functions with no state of their own."""

from collections.abc import Iterable, Mapping
from typing import Final

from cudanalyst.kernels.problem import Component
from cudanalyst.resources.events import CandidateSubmitted, EvidenceDelivered, Recorded

WITHHELD: Final = "withheld"
"""Status of a `tool_finished` event whose call was answered with the base status alone, as its draw said."""
NO_EVIDENCE: Final = frozenset({"running", "unavailable", "compile_failed", "refused", "cancelled", WITHHELD})
"""Statuses of a feedback tool that say nothing of the candidate but its base status."""

COMPONENT_OF_TOOL: Final[Mapping[str, Component]] = {
    "compile": "compiler",
    "analyze": "analyzer",
    "debug": "debugger",
    "profile": "profiler",
}
"""Whose evidence a feedback tool's result is; `run` belongs to no player."""


def delivery(tool: str, status: str, candidate: str | None, evidence: str | None) -> EvidenceDelivered | None:
    """What is delivered by sending a feedback tool's result, stored as the blob `evidence`; None where nothing is."""
    component = COMPONENT_OF_TOOL.get(tool)
    if component is None or candidate is None or evidence is None or status in NO_EVIDENCE:
        return None
    return EvidenceDelivered(candidate=candidate, component=component, evidence=evidence, via=tool)


def parents_of(events: Iterable[Recorded]) -> dict[str, tuple[str, ...]]:
    """Parents of every candidate by id, over all its submissions."""
    found: dict[str, tuple[str, ...]] = {}
    for recorded in events:
        event = recorded.event
        if isinstance(event, CandidateSubmitted):
            found[event.candidate] = tuple(dict.fromkeys((*found.get(event.candidate, ()), *event.parents)))
    return found


def lineage(parents: Mapping[str, tuple[str, ...]], candidate: str) -> tuple[str, ...]:
    """All ancestors of a candidate, oldest generation first, itself left out. Crossover gives several parents."""
    depth: dict[str, int] = {}
    frontier, generation = [candidate], 0
    while frontier:
        generation += 1
        above = [parent for child in frontier for parent in parents.get(child, ())]
        frontier = [parent for parent in dict.fromkeys(above) if parent not in depth and parent != candidate]
        depth.update(dict.fromkeys(frontier, generation))
    return tuple(sorted(depth, key=lambda ancestor: (-depth[ancestor], ancestor)))
