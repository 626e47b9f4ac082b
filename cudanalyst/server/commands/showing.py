"""An attribution of ordinary use on a terminal: the answer, effects as bars, shares, costs, and what they do not show."""

from collections.abc import Sequence
from typing import Final

from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from cudanalyst.resources.answers import AttributionResult
from cudanalyst.resources.randomised.models import ExcursionEffect, RandomisedAnalysis
from cudanalyst.resources.report.terminal import render_terminal
from cudanalyst.resources.usage.models import ComponentUse, RandomisedCost, Share, ToldMoment, UsageAnalysis

BAR: Final = 21
"""Characters of an effect's bar, from -1 to +1."""
SHOWN: Final = ("improved", "stopped")


def show_attribution(found: AttributionResult, console: Console, *, full: bool) -> None:
    """Prints an answer."""
    if found.attribution is not None:
        console.print(render_terminal(found.attribution))
        return
    console.print(
        Panel(Text(found.summary), title=f"[bold]{_title(found)}[/]", title_align="left", border_style="cyan")
    )
    if found.randomised is not None:
        console.print(_randomised(found.randomised, found.costs, full=full))
    if found.observed is not None:
        console.print(_observed(found.observed, full=full))
        notes = [*(found.randomised.notes if found.randomised else ()), *found.observed.notes]
        for note in notes:
            console.print(Text(f"- {note}", style="dim"))


def _title(found: AttributionResult) -> str:
    where = "all sessions" if found.session is None else f"session {found.session[:12]}"
    return {"observational": f"observed · {where}", "randomised": f"randomised delivery · {where}"}.get(
        found.status, found.status
    )


def _randomised(found: RandomisedAnalysis, costs: Sequence[RandomisedCost], *, full: bool) -> RenderableType:
    names = ("component", "on", "", "effect", "95 %", "worst to best")
    table = _table(f"Effect of being offered it, 95 % for {found.target}", *names, words=3)
    for effect in found.effects:
        if full or (effect.level in SHOWN and effect.history is None):
            bounds = "" if effect.worst is None or effect.best is None else f"{effect.worst:+.2f} to {effect.best:+.2f}"
            table.add_row(
                Text(" x ".join(effect.components) + (f", {effect.history}" if effect.history else "")),
                Text(effect.level),
                _bar(effect),
                Text(f"{effect.value:+.3f}", style=_style(effect)),
                Text(_span(effect.low, effect.high)),
                Text(bounds, style="dim"),
            )
    return Group(table, Text(), _arms(found, costs), Text())


def _arms(found: RandomisedAnalysis, costs: Sequence[RandomisedCost]) -> Table:
    names = ("offered", "withheld", "read", "asked for anyway", "effective", "tokens", "s", "GPU s", "per 1,000 tokens")
    table = _table("What was offered, and what it took", "component", *names)
    by_component = {one.component: one for one in costs}
    for arm in found.overlap:
        cost = by_component.get(arm.component)
        table.add_row(
            arm.component,
            str(arm.offered),
            str(arm.withheld),
            str(arm.taken),
            str(arm.requested),
            f"{arm.effective_offered:.0f} : {arm.effective_withheld:.0f}",
            _number(None if cost is None else cost.tokens_per_offer, 0),
            _number(None if cost is None else cost.seconds_per_offer, 2),
            _number(None if cost is None else cost.device_s_per_offer, 2),
            "" if cost is None or cost.effect_per_1000_tokens is None else f"{cost.effect_per_1000_tokens:+.3f}",
        )
    return table


def _observed(found: UsageAnalysis, *, full: bool) -> RenderableType:
    names = ("seen before", "improved with", "without", "difference", "cited", "mentioned", "per 1,000 tokens")
    table = _table("Observed: improved after it was seen, and after it was not", "component", *names)
    for use in found.components:
        table.add_row(
            use.component,
            f"{use.decisions} of {found.decisions}",
            _share(use.improved_with),
            _share(use.improved_without),
            _difference(use),
            str(use.cited),
            str(use.mentioned),
            "" if use.difference_per_1000_tokens is None else f"{use.difference_per_1000_tokens:+.3f}",
        )
    costs = _table("Cost", "component", "calls", "cached", "tokens", "s", "GPU s")
    for cost in found.costs:
        costs.add_row(
            cost.component, str(cost.calls), str(cost.cached), _number(cost.tokens, 0), _number(cost.seconds, 2),
            _number(cost.device_s, 2),
        )  # fmt: skip
    parts: list[RenderableType] = [table, Text(), costs, Text()]
    if full and found.moments:
        parts += [_moments(found.moments), Text()]
    return Group(*parts)


def _moments(told: Sequence[ToldMoment]) -> Table:
    names = ("problem", "seen", "cited", "spoken of", "before", "after", "speedup")
    table = _table("Decisions", *names, words=len(names))
    for one in told:
        moment = one.moment
        better = "green" if moment.levels.get("improved") else "red" if moment.levels.get("regressed") else ""
        speedups = [_number(value, 2) for value in (moment.speedup_before, moment.speedup_after)]
        table.add_row(
            Text(moment.problem or "program"),
            Text(", ".join(moment.seen) or "nothing"),
            Text(", ".join(one.cited)),
            Text(", ".join(dict.fromkeys(mention.text for mention in one.mentions))[:60]),
            Text(moment.status_before or "unknown"),
            Text(moment.status_after or "unknown", style=better),
            Text(" to ".join(speedups) if any(speedups) else ""),
        )
    return table


def _table(title: str, *columns: str, words: int = 1) -> Table:
    """An empty table; its first columns are words, the others numbers."""
    table = Table(title=title, title_justify="left", box=None)
    for number, name in enumerate(columns):
        table.add_column(name, justify="left" if number < words else "right")
    return table


def _bar(effect: ExcursionEffect) -> Text:
    """The interval as a line from -1 to +1 with the value as a point; the middle is no effect."""
    cells = [" "] * BAR
    middle = BAR // 2

    def place(value: float) -> int:
        return min(BAR - 1, max(0, round(middle + value * middle)))

    if effect.low is not None and effect.high is not None:
        for cell in range(place(effect.low), place(effect.high) + 1):
            cells[cell] = "─"
    cells[middle] = "│" if cells[middle] == " " else "┼"
    cells[place(effect.value)] = "●"
    return Text("".join(cells), style=_style(effect))


def _style(effect: ExcursionEffect) -> str:
    if not effect.clear:
        return ""
    good = effect.value < 0 if effect.level in {"stopped", "regressed"} else effect.value > 0
    return "green" if good else "red"


def _share(share: Share) -> str:
    return "none" if not share.of else f"{share.count}/{share.of} ({_span(share.low, share.high, signed=False)})"


def _difference(use: ComponentUse) -> str:
    return "" if use.difference is None else f"{use.difference:+.2f} ({_span(use.low, use.high)})"


def _span(low: float | None, high: float | None, *, signed: bool = True) -> str:
    if low is None or high is None:
        return ""
    return f"{low:+.2f} to {high:+.2f}" if signed else f"{low:.2f} to {high:.2f}"


def _number(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:,.{digits}f}"
