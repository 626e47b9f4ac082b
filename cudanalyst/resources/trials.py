"""Trials: one planner, one frozen state, one coalition of evidence, one outcome."""

from typing import Literal

from pydantic import FiniteFloat

from cudanalyst.kernels.problem import BaseStatus, Component
from cudanalyst.values import Frozen

Level = Literal["compiled", "passed", "fast_modelled", "fast"]
"""Nested success levels: each implies those before it (`fast` and `fast_modelled` are never pooled)."""
Coalition = tuple[Component, ...]
"""Sorted components whose evidence is delivered."""


class SizeSpeedup(Frozen):
    """A measured comparison with the baseline at one eval size."""

    sizes: dict[str, int]
    verdict: str
    """`faster`, `slower`, `same`, `inconclusive` or `suspicious`."""
    speedup: FiniteFloat
    low: FiniteFloat
    high: FiniteFloat
    """Ends of the 99 % interval."""


class Outcome(Frozen):
    """What the evaluator found of a trial's candidate. Levels are nested by construction."""

    base_status_before: BaseStatus
    base_status_after: BaseStatus | None
    """None where the planner failed to produce a candidate: a failure at every level."""
    compiled: bool
    passed: bool
    fast_modelled: bool
    improved: bool
    regressed: bool
    modelled_speedup: float = 1.0
    """max(1, verified modelled speedup); 1 for failures."""
    fast: bool | None = None
    """Whether the least measured speedup over the eval sizes reaches the threshold; None where nothing was measured, False for failures."""
    speedup: float | None = None
    """Measured, geometric mean over the eval sizes; None where that was not measured."""
    speedups: tuple[SizeSpeedup, ...] = ()
    """The same size by size, the smallest first; empty where nothing was measured, and for failures."""
    planner_failure: Literal["refusal", "truncation", "abandoned"] | None = None


class Trial(Frozen):
    """One assignment, and its outcome once there is one."""

    id: str
    experiment: str
    checkpoint: str
    problem: str
    coalition: Coalition
    """As assigned; what was delivered is the same unless `contaminated`."""
    repeat: int
    block: int
    order: int
    """Position within its block, drawn at random."""
    seed: int
    planner: str = "scripted"
    coder: str = "scripted"
    prompt_hash: str | None = None
    state: Literal["waiting", "open", "submitted", "evaluated", "infrastructure_failed"] = "waiting"
    contaminated: bool = False
    candidate: str | None = None
    outcome: Outcome | None = None


class Experiment(Frozen):
    """Which coalitions are tried on which frozen states, how often, in which order."""

    id: str
    players: tuple[Component, ...]
    checkpoints: tuple[str, ...]
    repeats: int
    seed: int
    open: bool = False
    """An agent with a shell of its own: the effect of assignment, not of delivery."""
