"""From a design to an experiment whose trials wait."""

from collections.abc import Mapping

from cudanalyst.errors import BadRequest
from cudanalyst.resources.checkpoints import Checkpoint
from cudanalyst.resources.design.lock import digest_of
from cudanalyst.resources.design.models import Design
from cudanalyst.resources.design.schedule import lay_down
from cudanalyst.resources.events import ExperimentStarted
from cudanalyst.resources.experiment import Experiments
from cudanalyst.resources.regimes.misaligned import choose_donor
from cudanalyst.resources.store import Scope
from cudanalyst.resources.trial_state import ExperimentSpec
from cudanalyst.resources.trials import Experiment, Origin


def start_design(experiments: Experiments, scope: Scope, design: Design, statements: Mapping[str, str]) -> Experiment:
    """Lays down a design's experiment and all its trials.

    Args:
        experiments: All experiments.
        scope: Who asks.
        design: With the handles of all its checkpoints.
        statements: What is asked, by problem (`delivery.statement_of`).

    Raises:
        BadRequest: A confirmatory design is not locked or was changed since, a backbone's checkpoints are missing, or a
            checkpoint lacks a player's evidence or, for RF, a partner.
        NotFound: A checkpoint is not this owner's.
    """
    _check_lock(design)
    entries = {one.id: one for one in design.checkpoints}
    frozen = {one: experiments.checkpoint(scope.owner, one) for one in entries}
    _check_checkpoints(design, frozen)
    donors = {
        (one, repeat): choose_donor(one, frozen, design.players, seed=design.seed, repeat=repeat)
        for one in frozen
        for repeat in range(design.repeats)
        if "RF" in design.regimes
    }
    problems = {identity: checkpoint.problem for identity, checkpoint in frozen.items()}
    store = experiments.store
    with store.transaction():
        (handle,) = store.mint(scope.owner, "experiment", parent=scope.session)
        trials = lay_down(
            handle,
            design,
            problems=problems,
            donors=donors,
            mint=lambda count: store.mint(scope.owner, "trial", count, parent=handle),
        )
        experiment = Experiment(
            id=handle,
            players=tuple(sorted(design.players)),
            checkpoints=tuple(frozen),
            repeats=design.repeats,
            seed=design.seed,
            open=design.open,
            regimes=design.regimes,
            origins={one.id: Origin(backbone=one.backbone, operator=one.operator) for one in design.checkpoints},
            design=design.id,
            fast_threshold=design.thresholds.fast,
        )
        spec = ExperimentSpec(
            experiment=experiment,
            trials=trials,
            statements={problem: statements[problem] for problem in sorted(set(problems.values()))},
            time_limit_s=design.time_limit_s,
            attempts=design.attempts,
            design=design,
        )
        blob = store.put(spec)
        store.append(scope, ExperimentStarted(experiment=handle, blob=blob, trials=len(trials)))
    return experiment


def _check_lock(design: Design) -> None:
    if design.lock is not None and design.lock != digest_of(design):
        raise BadRequest(
            "lock: the design was changed after it was locked, so this would be another experiment. Undo the change, or lock "
            "the new design and say so in the report."
        )
    if design.kind == "confirmatory" and design.lock is None:
        raise BadRequest(
            "lock: a confirmatory design is locked before it starts. Lock it, then fill in the lock's digest."
        )


def _check_checkpoints(design: Design, frozen: Mapping[str, Checkpoint]) -> None:
    induced = {one.backbone for one in design.checkpoints}
    absent = [one.id for one in design.backbones if one.id not in induced]
    if absent:
        raise BadRequest(
            f"checkpoints: none of backbone {', '.join(absent)} is filled in. Run it, freeze, and name them."
        )
    for index, (identity, checkpoint) in enumerate(frozen.items()):
        missing = [player for player in design.players if player not in checkpoint.evidence]
        if missing:
            raise BadRequest(
                f"checkpoints[{index}]: {identity} holds no evidence of {', '.join(missing)}. Freeze it again."
            )
