"""What a planner is given in a trial: the frozen state and exactly its coalition's evidence, nothing of the rest."""

from collections.abc import Sequence
from typing import Literal

from cudanalyst.kernels.problem import BaseStatus, Component, Parameter, Problem
from cudanalyst.resources.checkpoints import Checkpoint
from cudanalyst.resources.trials import Coalition, Trial
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


class NoTrial(Frozen):
    """Why there is no trial for a context now."""

    reason: Literal["ended", "none_waiting", "context_not_fresh"]
    message: str


class Receipt(Frozen):
    """All that a planner learns on submitting."""

    trial: str
    received: Literal[True] = True


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
    trial: Trial, checkpoint: Checkpoint, statement: str, references: Sequence[Source], deadline_at: float
) -> TrialPayload:
    """Puts a trial together from what was frozen."""
    return TrialPayload(
        trial=trial.id,
        problem=trial.problem,
        statement=statement,
        base_status=checkpoint.base_status,
        source=checkpoint.source.text,
        references=tuple(reference.text for reference in references),
        evidence=delivered(checkpoint, trial.coalition),
        seed=trial.seed,
        deadline_at=deadline_at,
    )


def delivered(checkpoint: Checkpoint, coalition: Coalition) -> tuple[DeliveredEvidence, ...]:
    """A coalition's evidence, in the components' order; which of it is a placebo stays unsaid."""
    return tuple(
        DeliveredEvidence(component=component, text=checkpoint.evidence[component].text)
        for component in sorted(coalition)
    )


def prompt_hash(payload: TrialPayload) -> str:
    """Names everything that a planner can be influenced by but its seed, handle and deadline."""
    return content_id("prm", payload.model_copy(update={"trial": "", "seed": 0, "deadline_at": 0.0}))


def _parameter(parameter: Parameter) -> str:
    shape = f" [{' x '.join(parameter.shape)}]" if parameter.shape else ""
    return f"{parameter.name}: {parameter.dtype}{shape}, {parameter.role}"
