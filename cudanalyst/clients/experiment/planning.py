"""What an experiment will take and what it can show, printed before anything is spent."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.table import Table

from cudanalyst.clients.experiment.screen import clock_words
from cudanalyst.resources.attribution.plan import Claim
from cudanalyst.resources.attribution.power import Resolution
from cudanalyst.resources.attribution.table import TARGETS
from cudanalyst.resources.design.cells import cells_of
from cudanalyst.resources.design.costs import Assumed, Costs, costs
from cudanalyst.resources.design.models import Design

LARGE: Final = 0.5
"""A difference of success that few kinds of feedback make: what can resolve only larger ones resolves nothing."""
FREE: Final = frozenset({"scripted", "replay"})
"""Kinds of agents that cost neither tokens nor waiting."""


def assumed_of(design: Design) -> Assumed:
    """What is assumed of a trial: answers of scripted and replayed agents come at once."""
    agents = [*design.planners, *(design.coder_of(one) for one in design.planners)]
    if all(one.kind in FREE for one in agents):
        return Assumed(plan_s=0.0, code_s=0.0, device_s=0.0)
    return Assumed()


def warnings(design: Design, found: Costs) -> tuple[str, ...]:
    """What the design cannot show, or cannot pay for."""
    return (*found.over, *found.notes, *_unresolved(design, found))


def _unresolved(design: Design, found: Costs) -> Iterator[str]:
    plan = design.analysis
    known = {(one.index, one.players, one.target): one for one in found.resolutions}
    if (
        plan.target == TARGETS[1]
        and not any(one.target == TARGETS[1] for one in found.resolutions)
        and found.resolutions
    ):
        yield (
            f"the target '{TARGETS[1]}' needs more problems than {found.problems}; ask for '{TARGETS[0]}', or add problems"
        )
        return
    for claim in plan.claims:
        one = known.get((claim.index, max(1, len(claim.players)), plan.target))
        if one is None:
            continue
        margin = claim.margin or plan.margin
        if claim.kind in {"equivalent", "only_through_interactions"} and one.half_width >= margin:
            yield (
                f"claim '{claim.name}': equivalence within {margin:g} cannot be shown with a half-width of "
                f"{one.half_width:.2f}; {_more(design, one.half_width, margin)}"
            )
        elif claim.kind in {"positive", "negative"} and one.detectable > LARGE:
            yield (
                f"claim '{claim.name}': only effects beyond {one.detectable:.2f} would be found in four of five runs; "
                f"{_more(design, one.detectable, LARGE)}"
            )
    missing = sorted(
        {regime for claim in plan.claims for regime in _asked(design, claim) if regime not in design.regimes}
    )
    if missing:
        yield f"claims need regime {', '.join(missing)}, which is not among `regimes`"
    grown = [claim.name for claim in plan.claims if claim.kind == "growing"]
    if grown and not any(len(one.generations) > 1 for one in design.backbones):
        yield f"claim '{grown[0]}': growth needs several generations of the same problems"


def _asked(design: Design, claim: Claim) -> tuple[str, ...]:
    return tuple(filter(None, (claim.regime or design.analysis.primary_regime, claim.against)))


def _more(design: Design, now: float, wanted: float) -> str:
    needed = int(design.repeats * (now / wanted) ** 2) + 1
    return f"about {needed} repeats (or as many times more problems) in place of {design.repeats} would do"


def show_plan(console: Console, design: Design, file: Path, *, as_json: bool) -> None:
    """Prints trials, calls, minutes, what can be told from nothing, and what cannot."""
    assumed = assumed_of(design)
    found = costs(design, assumed)
    if as_json:
        console.print_json(json.dumps({**found.model_dump(mode="json"), "warnings": warnings(design, found)}))
        return
    console.print(f"[bold]{design.name}[/] ({design.kind})  {design.description}", highlight=False)
    console.print(
        f"{found.trials:,} trials: {found.checkpoints} checkpoints of {found.problems} problems x {design.repeats} blocks x "
        f"{found.cells} cells" + (" + sentinels" if design.sentinels is not None else ""),
        highlight=False,
    )
    console.print(_trials(design, found))
    console.print(_agents(found))
    free = assumed.device_s == 0
    minutes = clock_words(found.wall_minutes * 60)
    console.print(
        f"Evaluations: at most {found.evaluations:,} (equal candidates are judged once). "
        + (
            f"Evaluation alone: at most {minutes}, at {assumed.evaluate_s:g} s each and {assumed.at_once} at once."
            if free
            else f"About {found.device_minutes:,.0f} device minutes, {minutes} in all, assuming {assumed.plan_s:g} s a plan, "
            f"{assumed.code_s:g} s a source, {assumed.device_s:g} s of device a candidate, {assumed.at_once} trials at once."
        ),
        highlight=False,
    )
    if found.resolutions:
        console.print(_power(found.resolutions))
    for words in warnings(design, found):
        console.print(f"[yellow]![/] {words}", highlight=False)
    following = "lock" if design.kind == "confirmatory" else "run"
    console.print(f"Next: cudanalyst experiment {following} {file}", highlight=False, soft_wrap=True)


def _trials(design: Design, found: Costs) -> Table:
    table = Table(title="Trials by planner and regime", title_justify="left", box=None, pad_edge=False)
    table.add_column("planner")
    counts = Counter((cell.planner, cell.regime) for cell in cells_of(design))
    for regime in design.regimes:
        table.add_column(regime, justify="right")
    for planner in design.planners:
        numbers = (counts[planner.name, regime] * found.checkpoints * design.repeats for regime in design.regimes)
        table.add_row(planner.name, *(f"{number:,}" if number else "·" for number in numbers))
    return table


def _agents(found: Costs) -> Table:
    table = Table(title="Calls", title_justify="left", box=None, pad_edge=False)
    table.add_column("model")
    for column in ("calls", "tokens read", "tokens written", "price"):
        table.add_column(column, justify="right")
    for one in found.agents:
        price = "not stated" if one.price is None else f"{one.price:,.2f}"
        table.add_row(one.name, f"{one.calls:,}", f"{one.input_tokens:,}", f"{one.output_tokens:,}", price)
    return table


def _power(resolutions: tuple[Resolution, ...]) -> Table:
    table = Table(
        title="What can be told from nothing, for each planner and regime (success rates, worst case)",
        title_justify="left",
        box=None,
        pad_edge=False,
    )
    table.add_column("effect")
    for target in TARGETS:
        table.add_column(f"{target}:\n95 % half-width", justify="right")
        table.add_column("\nfound 4 times of 5", justify="right")
    kinds = dict.fromkeys((one.index, one.players) for one in resolutions)
    for index, players in kinds:
        row = [f"{index.replace('_', ' ')} of {players}"]
        for target in TARGETS:
            one = next(
                (one for one in resolutions if (one.index, one.players, one.target) == (index, players, target)), None
            )
            row += ["none", "none"] if one is None else [f"±{one.half_width:.2f}", f"{one.detectable:.2f}"]
        table.add_row(*row)
    return table
