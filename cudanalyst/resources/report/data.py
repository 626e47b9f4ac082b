"""All that a report shows: rendering it reads nothing else, no clock and no store."""

from cudanalyst.kernels.problem import BaseStatus
from cudanalyst.resources.attribution.ground_truth import GroundTruth
from cudanalyst.resources.attribution.published import ReplicationRow
from cudanalyst.resources.attribution.result import Analysis
from cudanalyst.resources.trial_rows import TrialRow
from cudanalyst.values import Frozen


class CheckpointRow(Frozen):
    """One frozen state, as a table row."""

    id: str
    problem: str
    base_status: BaseStatus
    generation: int = 0
    fast_modelled: bool = False
    """Whether the state already meets the level by the cost model."""
    placebos: tuple[str, ...] = ()
    """Components that could not report on it."""
    backbone: str | None = None
    """The run that induced it."""
    operator: str | None = None
    claims: str | None = None
    """What a run of another system says of it; measured by nobody here."""


class ComponentCost(Frozen):
    """What one component costs. None: not measured."""

    component: str
    evidence_tokens: float | None = None
    """Mean tokens of its evidence in a trial that delivers it."""
    total_tokens: int | None = None
    """Tokens of its evidence over all trials."""
    tool_seconds: float | None = None
    """Mean seconds to gather its evidence once."""
    device_seconds: float | None = None
    """Mean seconds of a GPU to gather its evidence once."""


class LockFacts(Frozen):
    """What was fixed before the trials, and where the experiment went another way."""

    digest: str
    locked_at: str | None = None
    """As text; None where it is not known."""
    deviations: tuple[str, ...] = ()
    checked: bool = True
    """Whether the lock itself was compared; else deviations are those that the trials show."""


class Method(Frozen):
    """How the trials were run."""

    planner: str
    coder: str
    repeats: int
    seed: int | None = None
    regime: str = "P+F"
    measured_on: str = "cpu-engine"
    open: bool = False
    """The planner had a shell of its own: effects are of assignment."""
    extra: tuple[str, ...] = ()
    """Further sentences for the methods paragraph."""


class ReportData(Frozen):
    """Input of a report."""

    title: str
    analysis: Analysis
    method: Method
    rows: tuple[TrialRow, ...] = ()
    """The trials behind it; what is drawn from them is left out where there are none."""
    experiment: str | None = None
    created: str | None = None
    """When the experiment ended, as text; rendering reads no clock."""
    checkpoints: tuple[CheckpointRow, ...] = ()
    ground_truth: GroundTruth | None = None
    costs: tuple[ComponentCost, ...] = ()
    lock: LockFacts | None = None
    replication: tuple[ReplicationRow, ...] = ()
    """The paper's estimator beside ours, where that was asked for."""
    versions: dict[str, str] = {}
