"""What a planner is given in a trial: the frozen state and exactly its coalition's evidence, nothing of the rest."""

from collections.abc import Sequence
from typing import Literal

from pydantic import JsonValue

from cudanalyst.errors import BadRequest
from cudanalyst.kernels.problem import BaseStatus, Component, Parameter, Problem
from cudanalyst.resources.checkpoints import Checkpoint
from cudanalyst.resources.design.models import CoderSees
from cudanalyst.resources.events import EvidenceDelivered
from cudanalyst.resources.prompts import TEMPLATE
from cudanalyst.resources.regimes.digest import digest
from cudanalyst.resources.regimes.dummy import DUMMY_PLAN
from cudanalyst.resources.regimes.shapes import SHAPES, Role, readers
from cudanalyst.resources.trials import Trial
from cudanalyst.tools.source import Source
from cudanalyst.values import Frozen, content_id


class DeliveredEvidence(Frozen):
    """One component's text, byte-identical in every trial that delivers it."""

    component: Component
    text: str


class TrialPayload(Frozen):
    """A trial as its planner sees it. A withheld component leaves no trace: no key, no marker, no count."""

    trial: str
    """Handle to submit with."""
    problem: str
    statement: str
    base_status: BaseStatus
    source: str
    """The frozen program."""
    references: tuple[str, ...] = ()
    """Sources of other candidates."""
    evidence: tuple[DeliveredEvidence, ...] = ()
    seed: int
    """For a planner that draws; independent of the coalition."""
    deadline_at: float
    """Seconds since the epoch after which the trial counts as abandoned."""
    planner: str = ""
    """Who is to plan; where an experiment has one planner only, its name."""
    coder: str = ""
    """Who is to write."""
    plan_step: bool = True
    """Whether a plan is made first; else the source is written at once."""
    plan: str | None = None
    """A plan that is given; the coder follows it."""
    evidence_for: tuple[Role, ...] = ("planner", "coder")
    """Who may be shown the evidence."""
    decoding: dict[Role, dict[str, JsonValue]] = {}
    """Settings that are the same in every trial."""
    template: str = TEMPLATE
    """Version of the words that a trial is put in (`prompts`)."""
    step: int = 1
    steps: int = 1
    """Of the trial; the candidate of the last one is judged."""


class Setting(Frozen):
    """What a design holds constant over its trials."""

    coder_sees: CoderSees = "plan+evidence"
    decoding: dict[Role, dict[str, JsonValue]] = {}


class NoTrial(Frozen):
    """Why there is no trial for a context now."""

    reason: Literal["ended", "none_waiting", "context_not_fresh"]
    message: str


class Receipt(Frozen):
    """All that a planner learns on submitting."""

    trial: str
    received: Literal[True] = True
    goes_on: bool = False
    """The trial has another step, for the same context."""


def statement_of(problem: Problem) -> str:
    """What is asked, in text: signature and sizes, but neither held-out sizes nor planted faults nor the baseline."""
    lines = [problem.title, "", problem.description.strip(), "", "Parameters of `solve`, in order:"]
    lines += [f"- {_parameter(parameter)}" for parameter in problem.parameters]
    for group in ("test", "eval"):
        sizes = problem.sizes.get(group, ())
        shown = "; ".join(", ".join(f"{name}={value}" for name, value in size.items()) for size in sizes)
        if shown:
            lines.append(f"Sizes ({group}): {shown}")
    return "\n".join(lines)


def payload_for(
    trial: Trial,
    checkpoint: Checkpoint,
    statement: str,
    references: Sequence[Source],
    deadline_at: float,
    *,
    donor: Checkpoint | None = None,
    plan: str | None = None,
    step: int = 1,
    setting: Setting = Setting(),  # noqa: B008 - immutable
) -> TrialPayload:
    """Puts a trial together from what was frozen.

    Args:
        trial: The assignment.
        checkpoint: Its frozen state.
        statement: What is asked.
        references: Other programs that are shown beside it.
        deadline_at: Seconds since the epoch.
        donor: For RF, whose evidence is delivered.
        plan: For PT, the plan that is given.
        step: Which one of the trial; after the first `checkpoint` is what the planner has made of the frozen state.
        setting: What is constant over the trials.
    """
    shape = SHAPES[trial.regime]
    if (shape.form == "misaligned") != (donor is not None) or (shape.plan == "transferred") != (plan is not None):
        raise BadRequest(f"A trial of regime {trial.regime} was put together with what belongs to another regime.")
    return TrialPayload(
        trial=trial.id,
        problem=trial.problem,
        statement=statement,
        base_status=checkpoint.base_status,
        source=checkpoint.source.text,
        references=tuple(reference.text for reference in references),
        evidence=delivered(trial, donor or checkpoint, setting),
        seed=trial.seed,
        deadline_at=deadline_at,
        planner=trial.planner,
        coder=trial.coder,
        plan_step=shape.plan == "own",
        plan=DUMMY_PLAN if shape.plan == "dummy" else plan,
        evidence_for=readers(trial.regime, setting.coder_sees),
        decoding=setting.decoding,
        step=step,
        steps=trial.horizon,
    )


def delivered(trial: Trial, checkpoint: Checkpoint, setting: Setting) -> tuple[DeliveredEvidence, ...]:
    """A coalition's evidence, in the components' order; which of it is a placebo stays unsaid."""
    form = SHAPES[trial.regime].form
    if form == "none" or not readers(trial.regime, setting.coder_sees):
        return ()
    return tuple(
        DeliveredEvidence(
            component=component,
            text=digest(checkpoint.evidence[component]) if form == "digest" else checkpoint.evidence[component].text,
        )
        for component in sorted(trial.coalition)
    )


def deliveries_of(
    trial: Trial, told: Sequence[DeliveredEvidence], checkpoint: Checkpoint
) -> tuple[EvidenceDelivered, ...]:
    """What a trial's context has been shown; `checkpoint` is whose evidence it is."""
    whole = SHAPES[trial.regime].form != "digest"
    return tuple(
        EvidenceDelivered(
            candidate=checkpoint.source.id,
            component=one.component,
            evidence=checkpoint.evidence[one.component].id if whole else content_id("dig", one.text),
            via="trial_next",
            trial=trial.id,
        )
        for one in told
    )


def prompt_hash(payload: TrialPayload) -> str:
    """Names everything that a planner can be influenced by but its seed, handle and deadline."""
    unnamed = {"trial": "", "seed": 0, "deadline_at": 0.0, "planner": "", "coder": ""}
    return content_id("prm", payload.model_copy(update=unnamed))


def _parameter(parameter: Parameter) -> str:
    shape = f" [{' x '.join(parameter.shape)}]" if parameter.shape else ""
    return f"{parameter.name}: {parameter.dtype}{shape}, {parameter.role}"
