"""One row per trial: all that estimators, reports and exports know of an experiment."""

from collections.abc import Iterable

from cudanalyst.kernels.problem import BaseStatus
from cudanalyst.resources.checkpoints import Checkpoint
from cudanalyst.resources.delivery import Setting, delivered
from cudanalyst.resources.events import PlannerFailure
from cudanalyst.resources.experiment import Experiments
from cudanalyst.resources.readiness import setting_of
from cudanalyst.resources.trial_state import ExperimentState, TrialProgress
from cudanalyst.resources.trials import Experiment, Origin, Regime, Trial, TrialState
from cudanalyst.tools.text import CHARACTERS_A_TOKEN
from cudanalyst.values import Frozen


class TrialRow(Frozen):
    """One trial, flat. None is not known, or not measured; never 0."""

    experiment: str
    trial: str
    problem: str
    checkpoint: str
    coalition: tuple[str, ...]
    """Sorted; as assigned."""
    players: tuple[str, ...] = ()
    regime: Regime = "P+F"
    planner: str = "scripted"
    coder: str = "scripted"
    model: str | None = None
    """Served model and its fingerprint, as the client told."""
    backbone: str | None = None
    """The run that induced the checkpoint."""
    operator: str = "scripted"
    generation: int = 0
    block: int = 0
    repeat: int = 0
    order: int = 0
    seed: int = 0
    sentinel: bool = False
    """Repeated only to see drift: in no estimate."""
    horizon: int = 1
    state: TrialState = "waiting"
    contaminated: bool = False
    contamination: str | None = None
    open: bool = False
    """The planner could reach feedback by itself: an effect of assignment."""
    planner_failure: PlannerFailure | None = None
    attempts: int = 0
    reused_from: str | None = None
    plan_of: str | None = None
    """PT: the planner whose plan was given; part of the condition."""
    base_status_before: BaseStatus | None = None
    base_status_after: BaseStatus | None = None
    """None without an outcome, and where the planner gave no candidate."""
    compiled: bool | None = None
    passed: bool | None = None
    fast_modelled: bool | None = None
    """By the cost model; never pooled with `fast`."""
    fast: bool | None = None
    """By measured times; None where nothing was measured."""
    improved: bool | None = None
    regressed: bool | None = None
    modelled_speedup: float | None = None
    """max(1, verified); failures 1; None without an outcome."""
    speedup: float | None = None
    """The same, measured."""
    structural: tuple[str, ...] = ()
    """Players whose evidence is a placebo on this checkpoint."""
    no_op: dict[str, bool] = {}
    """Level -> met by the checkpoint before the trial; a level that is not known of it is absent."""
    candidate: str | None = None
    prompt_hash: str | None = None
    evidence_tokens: dict[str, int] = {}
    """Estimated tokens of each delivered component's text."""
    input_tokens: int | None = None
    output_tokens: int | None = None
    plan_s: float | None = None
    code_s: float | None = None
    evaluate_s: float | None = None
    """0 where the verdict was that of the same source in another trial, measured times included: it is judged once."""
    device_s: float | None = None
    opened_at: float | None = None
    """Seconds since the epoch, of the attempt that was answered."""
    submitted_at: float | None = None
    evaluated_at: float | None = None


def rows_of(experiments: Experiments, owner: str, experiment: str) -> tuple[TrialRow, ...]:
    """Every trial of an experiment, in the order of its design, also in the middle of it.

    Whoever shows rows to a planner must wait for the end (`Experiments.progress`).

    Raises:
        NotFound: The experiment is not this owner's.
    """
    with experiments.step(owner, experiment) as state:
        checkpoints = {one: experiments.checkpoint(owner, one) for one in state.spec.experiment.checkpoints}
        measured = any(one.outcome is not None and one.outcome.fast is not None for one in state.trials.values())
        return tuple(_row(state, one, checkpoints, measured=measured) for one in state.trials.values())


def pooled(rows: Iterable[TrialRow]) -> tuple[TrialRow, ...]:
    """Rows of several experiments with every trial once: one that was taken over is the one that it was taken from."""
    ran: dict[str, TrialRow] = {}
    for row in rows:
        identity = row.reused_from or row.trial
        if identity not in ran or row.reused_from is None:
            ran[identity] = row
    return tuple(ran.values())


def _row(
    state: ExperimentState, progress: TrialProgress, checkpoints: dict[str, Checkpoint], *, measured: bool
) -> TrialRow:
    trial, spec = progress.trial, state.spec.experiment
    checkpoint, origin = checkpoints[trial.checkpoint], spec.origins.get(trial.checkpoint, Origin())
    values = {
        **{name: getattr(trial, name) for name in ("experiment", "problem", "checkpoint", "coalition", "regime")},
        **{name: getattr(trial, name) for name in ("planner", "coder", "block", "repeat", "order", "seed")},
        **{name: getattr(trial, name) for name in ("sentinel", "horizon", "plan_of")},
        **{name: getattr(progress, name) for name in ("state", "attempts", "contamination", "candidate")},
        **{name: getattr(progress, name) for name in ("prompt_hash", "evaluate_s", "device_s", "submitted_at")},
        "trial": trial.id,
        "players": spec.players,
        "backbone": origin.backbone,
        "operator": origin.operator,
        "generation": checkpoint.generation,
        "contaminated": progress.contamination is not None,
        "open": spec.open,
        "planner_failure": progress.failure,
        "reused_from": progress.reused_from,
        "base_status_before": checkpoint.base_status,
        "structural": tuple(one for one in spec.players if checkpoint.evidence[one].structural),
        "no_op": met_before(checkpoint, spec),
        "opened_at": None if progress.opened is None else progress.opened.at,
        "evaluated_at": progress.evaluated_at,
        "evidence_tokens": _tokens(trial, checkpoints[trial.donor or trial.checkpoint], setting_of(state, trial)),
    }
    return TrialRow.model_validate({**values, **_costs(progress), **_outcome(progress, measured=measured)})


def met_before(checkpoint: Checkpoint, spec: Experiment) -> dict[str, bool]:
    """Which levels the checkpoint meets as it is. `fast` is known only of one that does not pass: it was not measured."""
    passed = checkpoint.base_status == "passed"
    speedup = checkpoint.modelled_speedup
    met = {
        "compiled": checkpoint.base_status != "compile_failed",
        "passed": passed,
        "fast_modelled": passed and speedup is not None and speedup >= spec.fast_threshold,
    }
    return met if passed else {**met, "fast": False}


def _tokens(trial: Trial, checkpoint: Checkpoint, setting: Setting) -> dict[str, int]:
    return {one.component: round(len(one.text) / CHARACTERS_A_TOKEN) for one in delivered(trial, checkpoint, setting)}


def _costs(progress: TrialProgress) -> dict[str, object]:
    usage = progress.usage
    if usage is None:
        return {}
    return {"model": usage.served, **usage.model_dump(include={"input_tokens", "output_tokens", "plan_s", "code_s"})}


def _outcome(progress: TrialProgress, *, measured: bool) -> dict[str, object]:
    """Where an experiment measures at all, what did not pass is not fast, and its speedup counts as 1."""
    outcome = progress.outcome
    if outcome is None:
        return {}
    names = ("base_status_after", "compiled", "passed", "fast_modelled", "improved", "regressed", "modelled_speedup")
    failed = measured and not outcome.passed
    speedup = None if outcome.speedup is None else max(1.0, outcome.speedup)
    return {
        **{name: getattr(outcome, name) for name in names},
        "fast": False if failed else outcome.fast,
        "speedup": 1.0 if failed else speedup,
    }
