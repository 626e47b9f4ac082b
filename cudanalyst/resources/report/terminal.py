"""An attribution as tables for a terminal."""

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from cudanalyst.resources.attribution.levels import title
from cudanalyst.resources.attribution.summary import Finding, findings, short_answer
from cudanalyst.resources.attribution.table import TARGETS, Attribution, Interval, LevelAttribution, interval_for
from cudanalyst.resources.report.text import effects_of, evidence, one_line, share, signed, span

_STYLES = {"helps": "green", "hurts": "red", "unclear": ""}
_TOGETHER = ("synergy", "redundancy")


def render_terminal(attribution: Attribution) -> RenderableType:
    """The short answer, v(S) with counts, Banzhaf values and pair interactions with intervals, and the notes."""
    parts: list[RenderableType] = [Text(one_line(short_answer(attribution)), style="bold"), Text()]
    verdicts = {(finding.level, finding.player): finding for finding in findings(attribution)}
    if attribution.levels:
        parts += [_values(attribution), _banzhaf(attribution, verdicts)]
    parts += [_interactions(level) for level in attribution.levels if effects_of(level, "banzhaf_interaction")]
    notes = [
        *attribution.notes,
        *(f"{title(level.level)}: {note}" for level in attribution.levels for note in level.notes),
    ]
    parts += [Text(f"- {one_line(note)}", style="dim") for note in notes]
    return Group(*parts)


def _values(attribution: Attribution) -> Table:
    table = Table(title="v(S): success with the evidence of S (successes/trials)", title_justify="left")
    table.add_column("evidence")
    columns = []
    for level in attribution.levels:
        table.add_column(Text(title(level.level)), justify="right")
        columns.append({value.coalition: value for value in level.values})
    for coalition in sorted({some for column in columns for some in column}, key=lambda some: (len(some), some)):
        cells = []
        for column in columns:
            value = column.get(coalition)
            cells.append(Text(f"{share(value.value)} ({value.successes}/{value.trials})" if value else "no trial"))
        table.add_row(Text(one_line(evidence(coalition))), *cells)
    bases = [
        Text(share(level.no_op) if level.no_op is not None else "unknown", style="dim") for level in attribution.levels
    ]
    table.add_section()
    table.add_row(Text("changing nothing", style="dim"), *bases)
    return table


def _banzhaf(attribution: Attribution, verdicts: dict[tuple[str, str], Finding]) -> Table:
    table = Table(title="Banzhaf values, 95 % interval for these problems", title_justify="left")
    table.add_column("component")
    for level in attribution.levels:
        table.add_column(Text(title(level.level)), justify="right")
    for player in attribution.players:
        cells = []
        for level in attribution.levels:
            effect = effects_of(level, "banzhaf").get((player,))
            if effect is None:
                cells.append(Text("not estimable", style="dim"))
                continue
            mark = " placebo" if effect.structural else ""
            style = _STYLES[verdicts[level.level, player].verdict]
            cells.append(Text(f"{signed(effect.value)} ({_range(effect.intervals)}){mark}", style=style))
        table.add_row(Text(one_line(player)), *cells)
    return table


def _interactions(level: LevelAttribution) -> Table:
    table = Table(title=f"Pairwise interactions, {title(level.level)}", title_justify="left")
    for name, justify in (("pair", "left"), ("I_ij", "right"), ("95 % interval", "right"), ("sigma_ij", "right")):
        table.add_column(name, justify=justify)  # type: ignore[arg-type]
    table.add_column("reading")
    sigmas = effects_of(level, "sigma")
    for pair, effect in effects_of(level, "banzhaf_interaction").items():
        interval = interval_for(effect.intervals, TARGETS[0])
        reading = "unclear"
        if interval is not None and (interval.low > 0 or interval.high < 0):
            reading = _TOGETHER[interval.high < 0]
        table.add_row(
            Text(one_line(" x ".join(pair))),
            signed(effect.value),
            span(interval),
            signed(sigmas[pair].value) if pair in sigmas else "",
            reading,
        )
    return table


def _range(intervals: tuple[Interval, ...]) -> str:
    return span(interval_for(intervals, TARGETS[0]))
