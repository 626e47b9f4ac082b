"""What a design will cost, and what it can show, before a token is spent."""

import math
from collections import Counter
from collections.abc import Iterator
from typing import Final

from pydantic import Field, FiniteFloat

from cudanalyst.resources.attribution.inference.multiplicity import minimum_problems
from cudanalyst.resources.attribution.power import Resolution, resolvable
from cudanalyst.resources.design.cells import Cell, cells_of
from cudanalyst.resources.design.models import Agent, Backbone, Design, Sampled
from cudanalyst.resources.regimes.shapes import SHAPES, readers
from cudanalyst.values import Frozen

_MILLION: Final = 1e6
_MINUTE: Final = 60.0


class Assumed(Frozen):
    """What is taken for a trial's parts where nothing is known yet; replace what you have measured."""

    state_tokens: int = Field(2000, ge=0)
    """Statement, program and references."""
    evidence_tokens: int = Field(700, ge=0)
    """Of one component in full."""
    digest_tokens: int = Field(130, ge=0)
    plan_tokens: int = Field(500, ge=0)
    source_tokens: int = Field(1500, ge=0)
    """Of an answer's source."""
    plan_s: FiniteFloat = Field(20.0, ge=0)
    code_s: FiniteFloat = Field(40.0, ge=0)
    evaluate_s: FiniteFloat = Field(8.0, ge=0)
    device_s: FiniteFloat = Field(4.0, ge=0)
    """Of them, on the device; 0 where nothing is measured."""
    at_once: int = Field(8, ge=1)
    """Trials under way at a time."""
    problems: int | None = Field(None, ge=1)
    """Of the checkpoints that are given by handle; None takes one for each."""


class AgentCosts(Frozen):
    """One model's share."""

    name: str
    calls: int
    input_tokens: int
    output_tokens: int
    price: float | None
    """In the unit of `price_input`; None where the design states none."""


class Costs(Frozen):
    """What an experiment takes if nothing is repeated."""

    checkpoints: int
    problems: int
    blocks: int
    cells: int
    """Trials in a block, sentinels left out."""
    trials: int
    backbone_calls: int
    """Of models, to induce the checkpoints; counted in `calls`."""
    calls: int
    input_tokens: int
    output_tokens: int
    price: float | None
    agents: tuple[AgentCosts, ...]
    evaluations: int
    device_minutes: float
    wall_minutes: float
    """With the assumed number of trials under way; one device judges one candidate at a time."""
    over: tuple[str, ...]
    """Limits of the budget that this exceeds."""
    resolutions: tuple[Resolution, ...]
    """Half-widths and effects that can be told from nothing, for each planner and regime."""
    notes: tuple[str, ...]


def costs(design: Design, assumed: Assumed = Assumed()) -> Costs:  # noqa: B008 - immutable
    """Adds up a design.

    Args:
        design: What is to be run; checkpoints that backbones will induce are counted by their generations.
        assumed: Tokens and seconds of a trial's parts.
    """
    pending = _pending(design)
    checkpoints = len(design.checkpoints) + sum(len(one.generations) for one in pending)
    problems = _problems(design, pending, assumed)
    plain, first = cells_of(design), cells_of(design, sentinels=True)
    repeats, watched = design.repeats, first[len(plain) :]
    used = _Sum()
    for cell, times in [*((one, repeats * checkpoints) for one in plain), *((one, repeats) for one in watched)]:
        used.trial(design, cell, times, assumed)
    trials = repeats * (len(plain) * checkpoints + len(watched))
    induced = sum(used.backbone(one, assumed) for one in pending)
    evaluations = used.steps + induced // 2
    agents = tuple(used.agents(design))
    prices = [one.price for one in agents]
    device = (evaluations * assumed.device_s) / _MINUTE
    alone = used.seconds + evaluations * assumed.evaluate_s
    totals = {
        "calls": used.calls.total(),
        "tokens": used.input.total() + used.output.total(),
        "device_minutes": device,
        "wall_minutes": max(alone / _MINUTE / assumed.at_once, device),
    }
    return Costs(
        checkpoints=checkpoints,
        problems=problems,
        blocks=repeats * checkpoints,
        cells=len(plain),
        trials=trials,
        backbone_calls=induced,
        calls=used.calls.total(),
        input_tokens=used.input.total(),
        output_tokens=used.output.total(),
        price=None if None in prices else math.fsum(one for one in prices if one is not None),
        agents=agents,
        evaluations=evaluations,
        device_minutes=round(device, 3),
        wall_minutes=round(totals["wall_minutes"], 3),
        over=tuple(_over(design, totals)),
        resolutions=_resolutions(design, checkpoints, problems),
        notes=tuple(_notes(design, problems)),
    )


class _Sum:
    """Calls, tokens and seconds, by agent."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self.input: Counter[str] = Counter()
        self.output: Counter[str] = Counter()
        self.seconds = 0.0
        self.steps = 0

    def trial(self, design: Design, cell: Cell, times: int, assumed: Assumed) -> None:
        """Adds a cell's trials: the first step with its coalition, later ones as the design says."""
        later = cell.coalition if design.later_steps == "coalition" else design.players
        self._step(design, cell, times, len(cell.coalition), assumed)
        self._step(design, cell, times * (cell.horizon - 1), len(later), assumed)

    def _step(self, design: Design, cell: Cell, times: int, components: int, assumed: Assumed) -> None:
        shape, seen = SHAPES[cell.regime], readers(cell.regime, design.coder_sees)
        each = {"none": 0, "digest": assumed.digest_tokens}.get(shape.form, assumed.evidence_tokens)
        evidence = each * components
        self.steps += times
        if shape.plan == "own":
            told = assumed.state_tokens + (evidence if "planner" in seen else 0)
            self._call(cell.planner, times, told, assumed.plan_tokens, assumed.plan_s)
        told = assumed.state_tokens + (evidence if "coder" in seen else 0)
        told += 0 if shape.plan == "none" else assumed.plan_tokens
        self._call(cell.coder, times, told, assumed.source_tokens, assumed.code_s)

    def backbone(self, one: Backbone, assumed: Assumed) -> int:
        """Adds a run's calls: a plan and a source for each candidate of each generation; gives how many."""
        population = one.options.get("population", 1)
        candidates = max(one.generations) * (population if isinstance(population, int) else 1)
        evidence = 3 * assumed.evidence_tokens
        self._call(one.agent, candidates, assumed.state_tokens + evidence, assumed.plan_tokens, assumed.plan_s)
        told = assumed.state_tokens + assumed.plan_tokens
        self._call(one.agent, candidates, told, assumed.source_tokens, assumed.code_s)
        return 2 * candidates

    def agents(self, design: Design) -> Iterator[AgentCosts]:
        """One line for each agent that is called."""
        known: dict[str, Agent] = {one.name: one for one in (*design.coders, *design.planners)}
        for name, calls in sorted(self.calls.items()):
            agent, price = known[name], None
            if agent.price_input is not None and agent.price_output is not None:
                paid = self.input[name] * agent.price_input + self.output[name] * agent.price_output
                price = round(paid / _MILLION, 6)
            yield AgentCosts(
                name=name, calls=calls, input_tokens=self.input[name], output_tokens=self.output[name], price=price
            )

    def _call(self, name: str, times: int, told: int, said: int, seconds: float) -> None:
        self.calls[name] += times
        self.input[name] += times * told
        self.output[name] += times * said
        self.seconds += times * seconds


def _pending(design: Design) -> list[Backbone]:
    induced = {one.backbone for one in design.checkpoints}
    return [one for one in design.backbones if one.id not in induced]


def _problems(design: Design, pending: list[Backbone], assumed: Assumed) -> int:
    names = {one.problem for one in pending}
    named = {one.id: one.problem for one in design.backbones}
    unknown = 0
    for one in design.checkpoints:
        if one.backbone in named:
            names.add(named[one.backbone])
        else:
            unknown += 1
    return len(names) + min(unknown, unknown if assumed.problems is None else assumed.problems)


def _over(design: Design, totals: dict[str, float]) -> Iterator[str]:
    for name, amount in totals.items():
        limit = getattr(design.budget, name)
        if limit is not None and amount > limit:
            yield f"budget.{name}: {limit:g} allowed, about {amount:.0f} needed"


def _resolutions(design: Design, checkpoints: int, problems: int) -> tuple[Resolution, ...]:
    sampled = isinstance(design.coalitions, Sampled)
    if not problems or (not sampled and design.coalitions != "all"):
        return ()
    return resolvable(
        len(design.players),
        design.repeats,
        problems,
        max(1, round(checkpoints / problems)),
        coalitions="sampled" if sampled else "all",
        trials_per_checkpoint=design.repeats * design.coalitions.sample
        if isinstance(design.coalitions, Sampled)
        else None,
    )


def _notes(design: Design, problems: int) -> Iterator[str]:
    family = len(design.analysis.primary) or len(design.players)
    needed = minimum_problems(family, design.analysis.alpha)
    if problems < needed:
        yield (
            f"{family} effects tested together over problems need at least {needed} problems; there are {problems}, so no "
            "test of the primary family can come out significant."
        )
    if isinstance(design.coalitions, tuple):
        yield "With some coalitions only, no index can be estimated that needs the others; their values still are."
    if design.open:
        yield "Open: the planner could reach feedback by itself, so the effect of assignment is measured."
