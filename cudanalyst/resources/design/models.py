"""What an experiment file holds."""

import json
from typing import Annotated, Any, Final, Literal, Self

from pydantic import Discriminator, Field, FiniteFloat, JsonValue, Tag, model_validator

from cudanalyst.kernels.problem import Component
from cudanalyst.resources.attribution.plan import AnalysisPlan
from cudanalyst.resources.trials import Regime
from cudanalyst.tools.timing.models import FAST_THRESHOLD
from cudanalyst.values import Frozen, content_id

MAX_HORIZON: Final = 20
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.:/@-]*$", max_length=100)]
Kind = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]*$", max_length=40)]
CoderSees = Literal["plan", "plan+evidence"]


class Sampled(Frozen):
    """Coalitions drawn at random, for more players than can all be crossed."""

    sample: int = Field(ge=2, le=100_000)
    """Coalitions drawn per block, each uniformly and independently of the others; one may come twice."""
    seed: int = Field(0, ge=0, lt=2**31)


def _form(value: object) -> str:
    if isinstance(value, dict | Sampled):
        return "sampled"
    return "listed" if isinstance(value, list | tuple) else "all"


Coalitions = Annotated[
    Annotated[Literal["all"], Tag("all")]
    | Annotated[Sampled, Tag("sampled")]
    | Annotated[tuple[tuple[Component, ...], ...], Tag("listed")],
    Discriminator(_form),
]


class CheckpointEntry(Frozen):
    """A frozen state to try coalitions on."""

    id: str = Field(pattern=r"^chk_[0-9a-f]{32}$")
    """Handle from `freeze`."""
    backbone: Name | None = None
    """The run that induced it."""
    operator: Kind = "scripted"
    """How that run searched: `hill_climbing`, `eoh`, `mcts`, `imported`, ..."""


class Backbone(Frozen):
    """A run that induces checkpoints: who evolves what, how, and which of its generations are frozen."""

    id: Name
    problem: Name
    agent: Name
    """Name of one of `planners`."""
    operator: Kind = "hill_climbing"
    seed: int = Field(0, ge=0, lt=2**31)
    generations: tuple[Annotated[int, Field(ge=0, le=10_000)], ...] = Field((1,), min_length=1)
    """Generations to freeze, in rising order; 0 is the start."""
    start: Name | None = None
    """Name of a starting kernel of the problem; its baseline where there is none."""
    options: dict[str, JsonValue] = {}
    """Of the operator, e.g. `population`."""


class Agent(Frozen):
    """A planner or a coder: who it is and the decoding that is the same in every trial."""

    name: Name
    kind: Kind
    """Who drives it: `scripted`, `external` (an agent of its own, over MCP), `replay`, or a provider of the bundled client."""
    model: str | None = Field(None, max_length=200)
    """As asked of its provider."""
    family: str | None = Field(None, max_length=100)
    """Models of one family are compared for transfer."""
    options: dict[str, JsonValue] = {}
    """Decoding settings, e.g. `temperature`, `max_output_tokens`."""
    price_input: FiniteFloat | None = Field(None, ge=0)
    """Of a million tokens."""
    price_output: FiniteFloat | None = Field(None, ge=0)


class PlannerEntry(Agent):
    """A planner, and what comes after its plan."""

    coder: Name | None = None
    """Name of one of `coders`; the planner itself writes where there is none."""
    plans_from: tuple[Name, ...] = ()
    """For regime PT: planners whose recorded plans are given in place of its own."""


class Thresholds(Frozen):
    """Where levels begin."""

    fast: FiniteFloat = Field(FAST_THRESHOLD, gt=1, le=1000)
    """Speedup over the baseline from which a passing candidate is fast."""


class Sentinels(Frozen):
    """One cell that is tried again and again on one checkpoint, to see whether the served model drifts."""

    coalition: tuple[Component, ...] = ()
    regime: Regime = "P+F"
    per_block: int = Field(1, ge=1, le=10)
    """Extra trials in each block of the first checkpoint."""


class Budget(Frozen):
    """Where an experiment stops, whatever it has found. None: no limit."""

    calls: int | None = Field(None, ge=1)
    """Of models: a plan and a source are one each."""
    tokens: int | None = Field(None, ge=1)
    device_minutes: FiniteFloat | None = Field(None, gt=0)
    wall_minutes: FiniteFloat | None = Field(None, gt=0)


class Design(Frozen):
    """An experiment before it is run."""

    name: Name
    description: str = Field("", max_length=4000)
    kind: Literal["exploratory", "confirmatory"] = "exploratory"
    """A confirmatory one is locked before it starts, and reuses nothing."""
    seed: int = Field(0, ge=0, lt=2**31)
    """Makes orders, seeds of trials and the choice of misaligned evidence reproducible."""
    players: tuple[Component, ...] = Field(("analyzer", "debugger", "profiler"), min_length=1)
    coalitions: Coalitions = "all"
    """`all` (up to six players), `{ sample = N, seed = S }`, or a list of them."""
    regimes: tuple[Regime, ...] = Field(("P+F",), min_length=1)
    checkpoints: tuple[CheckpointEntry, ...] = ()
    backbones: tuple[Backbone, ...] = ()
    planners: tuple[PlannerEntry, ...] = Field(min_length=1)
    coders: tuple[Agent, ...] = ()
    repeats: int = Field(1, ge=1, le=1000)
    """Blocks per checkpoint."""
    horizons: tuple[Annotated[int, Field(ge=1, le=MAX_HORIZON)], ...] = Field((1,), min_length=1)
    """Steps from the frozen state to the judged candidate."""
    later_steps: Literal["all", "coalition"] = "all"
    """What a planner is given after its first step: `all` players' evidence, so that only the first step is assigned, or its
    `coalition`'s to the end, an end-to-end arm of as many steps."""
    seeds: Literal["block", "trial"] = "block"
    """`block`: all coalitions of a block are given the same seed."""
    coder_sees: CoderSees = "plan"
    """What a coder gets in planning regimes; without a plan step it always gets the evidence."""
    thresholds: Thresholds = Thresholds()
    sentinels: Sentinels | None = None
    budget: Budget = Budget()
    open: bool = False
    """The planner could reach feedback by itself: the effect of assignment is measured."""
    reuse: bool = False
    """Take outcomes of earlier trials where everything that defines a trial is the same."""
    time_limit_s: FiniteFloat = Field(1800.0, gt=0, le=86400)
    """A trial that is open longer counts as abandoned."""
    attempts: int = Field(3, ge=1, le=20)
    """How often a trial is tried when infrastructure fails."""
    analysis: AnalysisPlan = AnalysisPlan()
    lock: str | None = Field(None, pattern=r"^[0-9a-f]{64}$")
    """Digest of the lock that this design was run under; not part of the digest."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        from cudanalyst.resources.design.rules import check  # it reads these models

        check(self)
        return self

    @property
    def id(self) -> str:
        """Identity by content, whatever handles were filled in since: runs of one design share it."""
        return content_id("dsn", self.canonical())

    def declared(self) -> "Design":
        """What was decided before anything ran: without checkpoints that backbones induce, and without the lock."""
        named = {one.id for one in self.backbones}
        kept = tuple(one for one in self.checkpoints if one.backbone not in named)
        return self.model_copy(update={"checkpoints": kept, "lock": None})

    @property
    def analysis_plan(self) -> AnalysisPlan:
        """The analysis as it is done: where coalitions are drawn, its estimators are those of drawn coalitions."""
        if isinstance(self.coalitions, Sampled):
            return self.analysis.model_copy(update={"coalitions": "sampled"})
        return self.analysis

    def canonical(self) -> bytes:
        """What was decided, as bytes: what is default is left out, so that a field added by a later version changes nothing."""
        document = self.declared().document()
        return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()

    def with_checkpoints(self, entries: tuple[CheckpointEntry, ...]) -> "Design":
        """The design with the handles of what its backbones induced."""
        return Design.model_validate({**self.model_dump(), "checkpoints": (*self.checkpoints, *entries)})

    def planner(self, name: str) -> PlannerEntry:
        """A planner by name."""
        return next(one for one in self.planners if one.name == name)

    def coder_of(self, planner: PlannerEntry) -> Agent:
        """Who writes what a planner planned."""
        return planner if planner.coder is None else next(one for one in self.coders if one.name == planner.coder)

    def document(self) -> dict[str, Any]:
        """JSON without what is default: what a client sends."""
        return self.model_dump(mode="json", exclude_defaults=True)
