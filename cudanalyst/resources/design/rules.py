"""What a design must keep beyond the types of its fields; the field at fault is always named."""

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cudanalyst.resources.design.models import Design


def check(design: "Design") -> None:
    """Refuses what could not be run or would not mean anything.

    Raises:
        ValueError: The text begins with the path of the field and says what is allowed.
    """
    for name in ("players", "regimes", "horizons"):
        _distinct(name, getattr(design, name))
    _distinct("planners.name", [one.name for one in design.planners])
    _distinct("coders.name", [one.name for one in design.coders])
    _distinct("checkpoints.id", [one.id for one in design.checkpoints])
    _distinct("backbones.id", [one.id for one in design.backbones])
    if not design.checkpoints and not design.backbones:
        raise ValueError("checkpoints: an experiment needs checkpoints, or backbones that induce them")
    _options(design)
    _coalitions(design)
    _references(design)
    _regimes(design)
    if design.kind == "confirmatory" and design.reuse:
        raise ValueError("reuse: a confirmatory design counts no trial of another experiment; leave it false")
    if design.kind == "confirmatory" and design.open:
        raise ValueError("open: a confirmatory design needs evidence that can be withheld; leave it false")


def _options(design: "Design") -> None:
    for field in ("planners", "coders", "backbones"):
        for index, one in enumerate(getattr(design, field)):
            if not all(map(_sayable, one.options.values())):
                raise ValueError(f"{field}[{index}].options: a value is null or not finite; leave it out")


def _sayable(value: object) -> bool:
    """Whether a file can hold a value."""
    if isinstance(value, dict | list):
        return all(map(_sayable, value.values() if isinstance(value, dict) else value))
    return value is not None and not (isinstance(value, float) and not math.isfinite(value))


def _coalitions(design: "Design") -> None:
    players = set(design.players)
    if isinstance(design.coalitions, tuple):
        for index, coalition in enumerate(design.coalitions):
            strangers = sorted(set(coalition) - players)
            if strangers:
                raise ValueError(f"coalitions[{index}]: {', '.join(strangers)} is no player of `players`")
        _distinct("coalitions", [tuple(sorted(set(one))) for one in design.coalitions])
        if not design.coalitions:
            raise ValueError("coalitions: name at least one, or write `all`")
    if design.coalitions == "all" and len(design.players) > 6:
        raise ValueError("coalitions: more than 6 players cannot all be crossed; write { sample = N, seed = S }")
    if design.sentinels is not None:
        strangers = sorted(set(design.sentinels.coalition) - players)
        if strangers:
            raise ValueError(f"sentinels.coalition: {', '.join(strangers)} is no player of `players`")
        if design.sentinels.regime not in design.regimes:
            raise ValueError(f"sentinels.regime: {design.sentinels.regime} is none of `regimes`")
        if design.sentinels.regime == "PT":
            raise ValueError("sentinels.regime: PT waits for other planners' plans; take a regime of its own")


def _references(design: "Design") -> None:
    planners, coders = {one.name for one in design.planners}, {one.name for one in design.coders}
    for index, one in enumerate(design.planners):
        if one.coder is not None and one.coder not in coders:
            raise ValueError(f"planners[{index}].coder: {one.coder!r} is none of `coders`{_known(coders)}")
        for source in one.plans_from:
            if source not in planners or source == one.name:
                raise ValueError(f"planners[{index}].plans_from: {source!r} is no other planner{_known(planners)}")
        _distinct(f"planners[{index}].plans_from", one.plans_from)
    for index, backbone in enumerate(design.backbones):
        if backbone.agent not in planners:
            raise ValueError(f"backbones[{index}].agent: {backbone.agent!r} is none of `planners`{_known(planners)}")
        if list(backbone.generations) != sorted(set(backbone.generations)):
            raise ValueError(f"backbones[{index}].generations: name each once, in rising order")


def _regimes(design: "Design") -> None:
    if "PT" in design.regimes:
        if not any(one.plans_from for one in design.planners):
            raise ValueError("planners.plans_from: regime PT needs a planner that says whose plans it is given")
        if "P+F" not in design.regimes:
            raise ValueError("regimes: PT takes the plans of P+F trials, so P+F must be among them")
    if max(design.horizons) > 1 and "PT" in design.regimes:
        raise ValueError("horizons: regime PT has a plan for one step only; leave PT out of designs beyond horizon 1")


def _distinct(path: str, values: Iterable[object]) -> None:
    seen = list(values)
    for value in seen:
        if seen.count(value) > 1:
            raise ValueError(f"{path}: {value!r} is named twice")


def _known(names: Iterable[str]) -> str:
    listed = sorted(names)
    return f" ({', '.join(listed)})" if listed else " (there are none)"
