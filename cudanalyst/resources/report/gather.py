"""A report's data from the store: the trials of an experiment, their analysis, and how they came about."""

from collections.abc import Sequence
from datetime import UTC, datetime
from statistics import fmean

import cudanalyst
from cudanalyst.errors import BadRequest
from cudanalyst.resources.attribution.analysis import analyse
from cudanalyst.resources.attribution.plan import AnalysisPlan
from cudanalyst.resources.attribution.published import replicate
from cudanalyst.resources.checkpoints import Checkpoint
from cudanalyst.resources.design.lock import Lock, departures, deviations
from cudanalyst.resources.design.models import Design
from cudanalyst.resources.experiment import Experiments
from cudanalyst.resources.imports.freezing import imported_state
from cudanalyst.resources.report.data import CheckpointRow, ComponentCost, LockFacts, Method, ReportData
from cudanalyst.resources.trial_rows import TrialRow, rows_of
from cudanalyst.resources.trial_state import ExperimentSpec

CLAIMS_SHOWN = 3


def gather(
    experiments: Experiments,
    owner: str,
    experiment: str,
    *,
    locked: Lock | None = None,
    replication: bool = False,
    interim: bool = False,
) -> ReportData:
    """Everything that a report of an experiment shows.

    Args:
        experiments: of the store.
        owner: whose experiment it is.
        experiment: its handle.
        locked: what was fixed before; without it a design's own lock is named, with those deviations that the trials show.
        replication: Whether the paper's estimator is computed beside ours.
        interim: Whether an experiment that has not ended may be reported: never to a planner of it.

    Raises:
        NotFound: The experiment is not this owner's.
        BadRequest: It has not ended, or nothing was evaluated.
    """
    progress = experiments.progress(owner, experiment)
    if not progress.ended and not interim:
        done = progress.evaluated + progress.infrastructure_failed
        raise BadRequest(
            f"Results stay closed until the experiment ends: {done} of {progress.trials} trials are done. "
            "Finish the trials, or end the experiment."
        )
    if progress.evaluated == 0:
        raise BadRequest(f"There is nothing to report yet: none of {progress.trials} trials has been evaluated.")
    with experiments.step(owner, experiment) as state:
        spec = state.spec
    frozen = {one: experiments.checkpoint(owner, one) for one in spec.experiment.checkpoints}
    rows = rows_of(experiments, owner, experiment)
    plan = spec.design.analysis_plan if spec.design is not None else AnalysisPlan()
    return ReportData(
        title=_title(spec),
        analysis=analyse(rows, plan),
        method=_method(spec, frozen, rows),
        rows=rows,
        experiment=experiment,
        created=_ended(rows),
        checkpoints=_checkpoints(experiments, owner, spec, frozen),
        costs=component_costs(rows, spec.experiment.players),
        lock=_lock(spec.design, locked, rows),
        replication=replicate(rows, plan) if replication else (),
        versions=_versions(frozen),
    )


def component_costs(rows: Sequence[TrialRow], players: Sequence[str]) -> tuple[ComponentCost, ...]:
    """Tokens of each component's evidence where it was delivered. None where it never was."""
    costs = []
    for player in players:
        spent = [
            row.evidence_tokens[player] for row in rows if player in row.evidence_tokens and row.opened_at is not None
        ]
        costs.append(
            ComponentCost(
                component=player,
                evidence_tokens=fmean(spent) if spent else None,
                total_tokens=sum(spent) if spent else None,
            )
        )
    return tuple(costs)


def _title(spec: ExperimentSpec) -> str:
    return "Which feedback helped" if spec.design is None else f"Which feedback helped: {spec.design.name}"


def _method(spec: ExperimentSpec, frozen: dict[str, Checkpoint], rows: Sequence[TrialRow]) -> Method:
    asked = spec.experiment
    said = (spec.design.description,) if spec.design is not None and spec.design.description else ()
    return Method(
        planner=", ".join(dict.fromkeys(row.planner for row in rows)),
        coder=", ".join(dict.fromkeys(row.coder for row in rows)),
        repeats=asked.repeats,
        seed=asked.seed,
        measured_on=", ".join(sorted({one.device for one in frozen.values()})),
        open=asked.open,
        extra=said,
    )


def _checkpoints(
    experiments: Experiments, owner: str, spec: ExperimentSpec, frozen: dict[str, Checkpoint]
) -> tuple[CheckpointRow, ...]:
    rows = []
    for name, one in frozen.items():
        origin = spec.experiment.origins.get(name)
        imported = imported_state(experiments.store, owner, name)
        rows.append(
            CheckpointRow(
                id=name,
                problem=one.problem,
                base_status=one.base_status,
                generation=one.generation,
                fast_modelled=one.fast,
                placebos=tuple(player for player in spec.experiment.players if one.evidence[player].structural),
                backbone=None if origin is None else origin.backbone,
                operator=None if origin is None else origin.operator,
                claims=None if imported is None else _claims(imported.claims),
            )
        )
    return tuple(rows)


def _claims(claims: dict[str, float | str | bool | None]) -> str:
    return ", ".join(f"{name} {value}" for name, value in list(claims.items())[:CLAIMS_SHOWN])


def _lock(design: Design | None, locked: Lock | None, rows: Sequence[TrialRow]) -> LockFacts | None:
    if locked is not None:
        if design is None:
            told: tuple[str, ...] = ("The experiment was not laid down from the locked design.",)
        else:
            told = deviations(locked, design, rows)
        return LockFacts(digest=locked.digest, locked_at=_moment(locked.locked_at), deviations=told)
    if design is not None and design.lock is not None:
        # That the design is the locked one was made sure of when it started; only the lock itself knows when, and what else held.
        return LockFacts(digest=design.lock, checked=False, deviations=departures(rows))
    return None


def _ended(rows: Sequence[TrialRow]) -> str | None:
    moments = [row.evaluated_at for row in rows if row.evaluated_at is not None]
    return _moment(max(moments)) if moments else None


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")


def _versions(frozen: dict[str, Checkpoint]) -> dict[str, str]:
    found: dict[str, set[str]] = {}
    for one in frozen.values():
        for name, version in one.toolchain.items():
            found.setdefault(name, set()).add(version)
    told = {name: ", ".join(sorted(versions)) for name, versions in sorted(found.items())}
    return {"cudanalyst": cudanalyst.__version__, **told}
