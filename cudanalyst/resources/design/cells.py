"""The cells of a block: who plans, under which regime, on which coalition."""

from collections.abc import Iterator
from typing import NamedTuple

from cudanalyst.resources.blocks import coalitions
from cudanalyst.resources.design.models import Design, PlannerEntry, Sampled
from cudanalyst.resources.regimes.shapes import SHAPES
from cudanalyst.resources.trials import Coalition, Regime


class Cell(NamedTuple):
    """What is crossed with checkpoints and repeats."""

    planner: str
    coder: str
    regime: Regime
    coalition: Coalition
    horizon: int = 1
    plan_of: str | None = None
    sentinel: bool = False


def subsets_of(design: Design, key: str) -> tuple[Coalition, ...]:
    """The coalitions of one block, each sorted. `key` names the block: sampled ones are drawn anew in each."""
    ordered = tuple(sorted(design.players))
    if isinstance(design.coalitions, Sampled):
        from cudanalyst.resources.attribution.sampling import sample_coalitions  # statistics: half a second of imports

        drawn = sample_coalitions(ordered, design.coalitions.sample, seed=design.coalitions.seed, key=key)
        return tuple(tuple(player for player in ordered if player in coalition) for coalition in drawn)
    if design.coalitions == "all":
        return coalitions(ordered)
    return tuple(tuple(sorted(set(one))) for one in design.coalitions)


def cells_of(design: Design, key: str = "", *, sentinels: bool = False) -> tuple[Cell, ...]:
    """Every cell of a block, those of sentinels where they belong to it."""
    subsets = subsets_of(design, key)
    cells = [
        cell
        for planner in design.planners
        for horizon in design.horizons
        for cell in _of(design, planner, subsets, horizon)
    ]
    if sentinels and (wanted := design.sentinels) is not None:
        coalition = () if SHAPES[wanted.regime].form == "none" else tuple(sorted(set(wanted.coalition)))
        for planner in design.planners:
            cell = Cell(planner.name, design.coder_of(planner).name, wanted.regime, coalition, sentinel=True)
            cells += [cell] * wanted.per_block
    return tuple(cells)


def _of(design: Design, planner: PlannerEntry, subsets: tuple[Coalition, ...], horizon: int) -> Iterator[Cell]:
    coder = design.coder_of(planner).name
    for regime in design.regimes:
        shape = SHAPES[regime]
        sources = planner.plans_from if shape.plan == "transferred" else (None,)
        # Without feedback all coalitions are one.
        for coalition in ((),) if shape.form == "none" else subsets:
            for source in sources:
                yield Cell(planner.name, coder, regime, coalition, horizon, source)
