"""An experiment in the format that was asked for, as files by relative path."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Literal

import cudanalyst
from cudanalyst.resources.attribution.result import Slice
from cudanalyst.resources.codec import decode
from cudanalyst.resources.design.file import written
from cudanalyst.resources.design.lock import Lock
from cudanalyst.resources.experiment import Experiments
from cudanalyst.resources.export.crate import CrateFacts, CrateFile, Person, Software, crate, to_zip
from cudanalyst.resources.export.games import Game, game_of, to_shapiq
from cudanalyst.resources.export.numbers import number_table
from cudanalyst.resources.export.tables import (
    Column,
    Table,
    dictionary,
    pretty,
    to_csv,
    to_json,
    to_json_lines,
    to_parquet,
)
from cudanalyst.resources.export.trials import trial_table
from cudanalyst.resources.export.writing import safe_name
from cudanalyst.resources.report.data import ReportData
from cudanalyst.resources.report.gather import gather
from cudanalyst.resources.report.page import report_files
from cudanalyst.resources.store import Store
from cudanalyst.tools.source import Source
from cudanalyst.values import canonical_json

Format = Literal["parquet", "csv", "json", "shapiq", "ro-crate", "report"]
_TABLES: Final[dict[str, tuple[tuple[str, Callable[[Table], bytes]], tuple[str, Callable[[Table], bytes]]]]] = {
    "parquet": (("parquet", to_parquet), ("parquet", to_parquet)),
    "csv": (("csv", to_csv), ("csv", to_csv)),
    "json": (("jsonl", to_json_lines), ("json", to_json)),
}


@dataclass(frozen=True)
class Wishes:
    """What an export is to say or hold beyond its format."""

    plots: tuple[str, ...] = ()
    """Formats of plots beside a report or in a crate: `svg`, `png`."""
    zipped: bool = False
    """A crate as one archive."""
    licence: str | None = None
    authors: tuple[Person, ...] = ()
    locked: Lock | None = None


def export_files(
    experiments: Experiments, owner: str, experiment: str, form: Format, wishes: Wishes | None = None
) -> dict[str, bytes]:
    """The files of an experiment that has ended.

    Raises:
        NotFound: The experiment is not this owner's.
        BadRequest: It has not ended, or nothing was evaluated.
        Unavailable: A package that the format needs is not installed.
    """
    wishes = wishes or Wishes()
    data = gather(experiments, owner, experiment, locked=wishes.locked)
    if form == "report":
        return report_files(data, plots=wishes.plots)
    if form == "shapiq":
        return game_files(data)
    if form != "ro-crate":
        return table_files(data, form)
    files = crate(_crate_files(experiments, owner, experiment, data, wishes), _facts(data, wishes))
    return {f"{experiment}.crate.zip": to_zip(files)} if wishes.zipped else files


def table_files(data: ReportData, form: Literal["parquet", "csv", "json"]) -> dict[str, bytes]:
    """Trials and numbers as tables, with their data dictionary."""
    tables = (trial_table(data.rows), number_table(data.analysis))
    files, paths = {}, {}
    for table, (ending, make) in zip(tables, _TABLES[form], strict=True):
        paths[table.name] = f"{table.name}.{ending}"
        files[paths[table.name]] = make(table)
    files["datapackage.json"] = dictionary(tables, paths, title=f"{data.title}, {data.experiment or 'experiment'}")
    return files


def games(data: ReportData) -> tuple[Game, ...]:
    """Every complete table of v(S): by condition, level and generation, and by problem."""
    found: list[Game] = []
    for part in data.analysis.slices:
        for where, values in ((None, part.values), *((one.problem, one.values) for one in part.by_problem)):
            game = game_of(
                _game_name(part, where, len(found)),
                data.analysis.players,
                {value.coalition: value.value for value in values},
                _game_parameters(part, where),
            )
            if game is not None:
                found.append(game)
    return tuple(found)


def game_files(data: ReportData) -> dict[str, bytes]:
    """Games for shapiq under `games/`, and an index of what each is of."""
    found = games(data)
    index = [{"file": f"games/{game.name}.json", "players": list(game.players), **game.parameters} for game in found]
    return {"games.json": pretty(index), **{f"games/{game.name}.json": to_shapiq(game) for game in found}}


def _game_name(part: Slice, problem: str | None, number: int) -> str:
    generation = "pooled" if part.generation is None else f"generation-{part.generation}"
    where = part.condition
    told = (where.planner, where.regime, part.level, generation, *(() if problem is None else (problem,)))
    # The number tells apart what the names, cut to what file systems take, may not.
    return f"{number:04d}-" + "-".join(safe_name(one, most=24) for one in told)


def _game_parameters(part: Slice, problem: str | None) -> dict[str, str]:
    where = part.condition
    told = {
        "planner": where.planner,
        "regime": where.regime,
        "plan_of": where.plan_of,
        "horizon": str(where.horizon),
        "level": part.level,
        "scale": part.scale,
        "generation": "pooled" if part.generation is None else str(part.generation),
        "problem": problem,
    }
    return {name: value for name, value in told.items() if value is not None}


def _crate_files(
    experiments: Experiments, owner: str, experiment: str, data: ReportData, wishes: Wishes
) -> dict[str, CrateFile]:
    files = {
        path: CrateFile(data=content, name=path, description=_DESCRIBED.get(path, "A plot of the report."))
        for path, content in (report_files(data, plots=wishes.plots) | table_files(data, "csv")).items()
    }
    files["trials.jsonl"] = CrateFile(
        data=to_json_lines(trial_table(data.rows)), name="trials.jsonl", description="One row per trial, JSON lines."
    )
    for path, content in game_files(data).items():
        files[path] = CrateFile(data=content, name=path, description="v(S) as a game that shapiq reads.")
    with experiments.step(owner, experiment) as state:
        spec = state.spec
        named = ((one.candidate, one.candidate_blob) for one in state.trials.values())
        blobs = {name: blob for name, blob in named if name is not None and blob is not None}
    for identity in spec.experiment.checkpoints:
        files[f"checkpoints/{identity}.json"] = CrateFile(
            data=canonical_json(experiments.checkpoint(owner, identity)),
            name=f"frozen state {identity}",
            description="Source, lineage, base status and evidence of every component, as frozen.",
            role="object",
        )
    if spec.design is not None:
        files["design.json"] = CrateFile(
            data=written(spec.design).encode(),
            name="design",
            description="The experiment as it was laid down.",
            role="object",
        )
    if wishes.locked is not None:
        files["lock.json"] = CrateFile(
            data=canonical_json(wishes.locked),
            name="lock",
            description="What was fixed before the trials.",
            role="object",
        )
    files["candidates.jsonl"] = CrateFile(
        data=to_json_lines(_candidates(experiments.store, blobs)),
        name="candidates",
        description="Sources of all candidates.",
    )
    return files


_DESCRIBED: Final = {
    "report.html": "The report, one self-contained page.",
    "report.json": "All that the report shows, but for the trials.",
    "numbers.csv": "Every number of the analysis, one row each.",
    "numbers.json": "The same as JSON.",
    "trials.csv": "One row per trial.",
    "datapackage.json": "Data dictionary of the tables.",
    "games.json": "Index of the games.",
}


def _candidates(store: Store, blobs: Mapping[str, str]) -> Table:
    """Sources by candidate, from the blobs that the trials name."""
    columns = (
        Column(name="candidate", type="string", meaning="Handle, by the content's hash."),
        Column(name="problem", type="string", meaning="Problem that it solves."),
        Column(name="arch", type="string", meaning="Target that it is compiled for."),
        Column(name="flags", type="string", meaning="Extra nvcc flags, joined by spaces."),
        Column(name="source", type="string", meaning="CUDA C++."),
    )
    sources = ((name, decode(Source, store.blob(blob))) for name, blob in blobs.items())
    rows = tuple((name, s.problem, s.options.arch, " ".join(s.options.flags), s.text) for name, s in sources)
    return Table(name="candidates", title="Sources of all candidates", columns=columns, rows=rows)


def _facts(data: ReportData, wishes: Wishes) -> CrateFacts:
    found, how = data.analysis, data.method
    started, ended = _span(row.opened_at for row in data.rows), _span(row.evaluated_at for row in data.rows)
    day = datetime.fromtimestamp(ended[1] if ended else 0.0, UTC).date().isoformat()
    parameters = {
        "players": ", ".join(found.players),
        "planner": how.planner,
        "coder": how.coder,
        "repeats": str(how.repeats),
        "analysis version": found.plan.version,
        **({} if how.seed is None else {"seed": str(how.seed)}),
        **({} if data.lock is None else {"lock": data.lock.digest}),
    }
    return CrateFacts(
        experiment=data.experiment or "experiment",
        name=data.title,
        description=(
            f"Attribution of feedback on CUDA kernels: {found.trials} trials on {found.checkpoints} frozen states of "
            f"{found.problems} problems, components {', '.join(found.players)}."
        ),
        published=day,
        started_at=started[0] if started else None,
        ended_at=ended[1] if ended else None,
        licence=wishes.licence,
        authors=wishes.authors,
        instrument=Software(
            name="cudanalyst",
            version=cudanalyst.__version__,
            role="laid down the trials, judged them and analysed them",
        ),
        software=tuple(
            Software(name=name, version=version, role="tool that evidence and verdicts come from")
            for name, version in data.versions.items()
            if name != "cudanalyst"
        ),
        device=how.measured_on,
        parameters=parameters,
    )


def _span(moments: Iterator[float | None]) -> tuple[float, float] | None:
    known = [moment for moment in moments if moment is not None]
    return (min(known), max(known)) if known else None
