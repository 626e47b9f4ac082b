"""The published estimator beside the corrected one beside the truth, where the agents are scripted."""

import os
from collections.abc import Iterable, Mapping
from typing import Final

from rich.console import Console
from rich.table import Table

from cudanalyst.clients.agents import KINDS
from cudanalyst.clients.backbones.lab import Lab
from cudanalyst.clients.connection import stdio_server
from cudanalyst.clients.experiment.folder import Place
from cudanalyst.clients.experiment.truth import Condition, Judged, Truth, given_in
from cudanalyst.clients.experiment.watching import watching
from cudanalyst.clients.scripted import ScriptedCoder, ScriptedPlanner
from cudanalyst.errors import BadRequest
from cudanalyst.kernels.catalogue import Catalogue
from cudanalyst.resources.attribution import game
from cudanalyst.resources.attribution.effects import terms
from cudanalyst.resources.attribution.ground_truth import pool
from cudanalyst.resources.attribution.published import ReplicationRow
from cudanalyst.resources.attribution.table import interval_for
from cudanalyst.resources.outcomes import is_fast
from cudanalyst.resources.report.data import ReportData

Tables = Mapping[Condition, Mapping[str, Mapping[tuple[str, str], game.Table]]]
SCRIPTED: Final = KINDS[0]


async def true_tables(place: Place, data: ReportData, toolchain: str | None = None) -> Tables:
    """True v(S) of every condition: policies are known, and edits that no trial came to are judged by a server now.

    Raises:
        BadRequest: An agent is not scripted, so that nothing is known of its policy.
        CudanalystError: A candidate could not be judged.
    """
    design, catalogue = place.design(), Catalogue.from_environment(os.environ)
    others = [one.name for one in design.planners if one.kind != SCRIPTED or design.coder_of(one).kind != SCRIPTED]
    if others:
        raise BadRequest(f"The truth is known of scripted agents only, and {', '.join(others)} is none.")
    with watching(place.store) as watcher:
        options = watcher.experiments.checkpoint(watcher.owner, data.rows[0].checkpoint).source.options
    judged = Judged(data.rows, options)
    truth = Truth(design, catalogue.problem, given_in(place.past()), judged)
    tables = truth.tables(data.rows)
    if not judged.missing:
        return tables
    async with stdio_server(place.store, toolchain=toolchain, log=place.log) as connection:
        planner, coder = ScriptedPlanner(catalogue.problem), ScriptedCoder(catalogue.problem)
        lab = Lab(connection, planner, coder, "hill_climbing", lambda _words: None)
        for candidate, (problem, source) in list(judged.missing.items()):
            found = await lab.score(catalogue.problem(problem), source)
            reached = {
                "compiled": found.status != "compile_failed",
                "passed": found.status == "passed",
                "fast_modelled": is_fast(found.status, found.speedup, design.thresholds.fast),
            }
            judged.add(candidate, reached)
    return truth.tables(data.rows)


def true_effects(
    tables: Tables, condition: Condition, level: str, players: tuple[str, ...]
) -> dict[tuple[str, tuple[str, ...]], float]:
    """Every index of a condition's true game, pooled as estimates are: equal weights per problem, then per checkpoint."""
    units = tables.get(condition, {}).get(level)
    if not units:
        return {}
    pooled, wanted = pool(units), terms(len(players))
    return {
        (index, tuple(players[i] for i in who)): float(value)
        for (index, who), value in zip(wanted.labels, wanted.contrasts @ pooled, strict=True)
    }


def inside(row: ReplicationRow, truth: float | None) -> bool | None:
    """Whether the truth lies in the corrected interval for these problems."""
    limits = interval_for(row.intervals, "these problems")
    return None if limits is None or truth is None else limits.low - 1e-9 <= truth <= limits.high + 1e-9


def show_replication(console: Console, data: ReportData, tables: Tables | None, level: str | None = None) -> None:
    """Prints the table; without the truth where there is none, and of one level only where it is named.

    Raises:
        BadRequest: No row is of that level.
    """
    rows = [row for row in data.replication if level in {None, row.level}]
    if not rows and level is not None:
        known = ", ".join(dict.fromkeys(row.level for row in data.replication)) or "no level at all"
        raise BadRequest(f"--level: the replication table has nothing at {level[:40]!r}; it has {known}.")
    truths = [None if tables is None else _truth_of(data, row, tables) for row in rows]
    table = Table(title="Replication: published estimator, ours, truth", title_justify="left", box=None, pad_edge=False)
    table.add_column("effect", no_wrap=True)
    for column in ("published", "ours", "95 %, here", *(("truth", "inside") if tables is not None else ())):
        table.add_column(column, justify="right", no_wrap=True)
    section: tuple[str, str] | None = None
    for row, truth in zip(rows, truths, strict=True):
        if section != (row.planner, row.level):
            section = (row.planner, row.level)
            table.add_row(f"[bold]{row.planner}, {row.level}[/]")
        limits = interval_for(row.intervals, "these problems")
        cells = [f"  {' x '.join(row.players)}"]
        cells.append("-" if row.published is None else f"{row.published:+.3f}{' *' if row.differs else '  '}")
        cells += [f"{row.corrected:+.3f}", "-" if limits is None else f"{limits.low:+.2f} … {limits.high:+.2f}"]
        if tables is not None:
            hit = inside(row, truth)
            cells += ["-" if truth is None else f"{truth:+.3f}", "-" if hit is None else "yes" if hit else "[red]no[/]"]
        table.add_row(*cells)
    console.print(table)
    console.print(
        "95 %, here: for these problems. * the published number lies outside the corrected interval", highlight=False
    )
    hits = [hit for row, truth in zip(rows, truths, strict=True) if (hit := inside(row, truth)) is not None]
    if hits:
        pairs = [
            (abs(row.corrected - truth), abs(row.published - truth))
            for row, truth in zip(rows, truths, strict=True)
            if truth is not None and row.published is not None
        ]
        console.print(
            f"The truth lies inside the corrected interval in {sum(hits)} of {len(hits)}; the corrected number is at least as near "
            f"to it as the published one in {sum(ours <= theirs for ours, theirs in pairs)} of {len(pairs)}, and off by "
            f"{_mean(one for one, _ in pairs)} on average, the published one by {_mean(one for _, one in pairs)}.",
            highlight=False,
        )


def _truth_of(data: ReportData, row: ReplicationRow, tables: Tables) -> float | None:
    condition = Condition(row.planner.split(" / ")[0], data.analysis.plan.primary_regime, None)
    return true_effects(tables, condition, row.level, data.analysis.players).get((row.index, row.players))


def _mean(numbers: Iterable[float]) -> str:
    listed = list(numbers)
    return f"{sum(listed) / len(listed):.3f}" if listed else "-"


def show_claims(console: Console, data: ReportData) -> None:
    """Prints what became of every claim."""
    if not data.analysis.claims:
        return
    table = Table(title="Claims", title_justify="left", box=None, pad_edge=False)
    for column in ("claim", "planner", "verdict", "numbers"):
        table.add_column(column, overflow="fold")
    for one in data.analysis.claims:
        colour = {"shown": "green", "not shown": "yellow"}.get(one.verdict, "dim")
        table.add_row(one.claim.name, one.planner, f"[{colour}]{one.verdict}[/]", one.text)
    console.print(table)
