"""Trials: one planner, one frozen state, one coalition of evidence, one outcome."""

from typing import Final, Literal

from pydantic import Field, FiniteFloat

from cudanalyst.kernels.problem import BaseStatus, Component
from cudanalyst.tools.timing.models import FAST_THRESHOLD
from cudanalyst.values import Frozen

Level = Literal["compiled", "passed", "fast_modelled", "fast"]
"""Nested success levels: each implies those before it (`fast` and `fast_modelled` are never pooled)."""
Coalition = tuple[Component, ...]
"""Sorted components whose evidence is delivered."""
Regime = Literal["NP+NF", "P+NF", "NP+F", "P+F", "NP+S", "P+S", "DP", "RF", "PT"]
"""Planning (P) or none (NP); feedback in full (F), as digests (S) or none (NF); and the controls: a dummy plan (DP), the feedback
of another checkpoint (RF), a plan transferred from another planner (PT)."""
TrialState = Literal["waiting", "open", "submitted", "evaluated", "infrastructure_failed"]
OVER: Final[tuple[TrialState, ...]] = ("evaluated", "infrastructure_failed")
"""Nothing more happens to a trial in these states."""


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
    state: TrialState = "waiting"
    contaminated: bool = False
    candidate: str | None = None
    outcome: Outcome | None = None
    regime: Regime = "P+F"
    sentinel: bool = False
    """One of the cells that are repeated only to see drift: counted in no estimate."""
    horizon: int = 1
    """Steps from the frozen state to the candidate that is judged."""
    donor: str | None = None
    """RF: the checkpoint whose evidence is delivered in place of this one's."""
    plan_of: str | None = None
    """PT: the planner whose recorded plan is given."""
    model: str | None = None
    """Served model, with its fingerprint, as the client told."""
    reused_from: str | None = None
    """The trial of another experiment that this one's outcome was taken from; both are one trial."""


class Usage(Frozen):
    """What an answer cost, as its client tells."""

    model: str | None = Field(None, max_length=200)
    """As served, not as asked for."""
    fingerprint: str | None = Field(None, max_length=200)
    input_tokens: int | None = Field(None, ge=0, le=10**9)
    output_tokens: int | None = Field(None, ge=0, le=10**9)
    plan_s: FiniteFloat | None = Field(None, ge=0, le=10**6)
    code_s: FiniteFloat | None = Field(None, ge=0, le=10**6)

    def plus(self, other: "Usage | None") -> "Usage":
        """Both together; what either does not know, the other's."""
        if other is None:
            return self
        total: dict[str, str | float | None] = {"model": other.model or self.model}
        total["fingerprint"] = other.fingerprint or self.fingerprint
        for name in ("input_tokens", "output_tokens", "plan_s", "code_s"):
            known = [one for one in (getattr(self, name), getattr(other, name)) if one is not None]
            total[name] = sum(known) if known else None
        return Usage.model_validate(total)

    @property
    def served(self) -> str | None:
        """Model and fingerprint in one word."""
        return "@".join(one for one in (self.model, self.fingerprint) if one is not None) or None


class Origin(Frozen):
    """What induced a checkpoint."""

    backbone: str | None = None
    """Id of the run."""
    operator: str = "scripted"
    """`scripted`, `hill_climbing`, `eoh`, `mcts`, `imported`, ..."""


class Experiment(Frozen):
    """Which coalitions are tried on which frozen states, how often, in which order."""

    id: str
    players: tuple[Component, ...]
    checkpoints: tuple[str, ...]
    repeats: int
    seed: int
    open: bool = False
    """An agent with a shell of its own: the effect of assignment, not of delivery."""
    regimes: tuple[Regime, ...] = ("P+F",)
    origins: dict[str, Origin] = {}
    """By checkpoint."""
    design: str | None = None
    """Hash of the design it was laid down from."""
    fast_threshold: float = FAST_THRESHOLD
