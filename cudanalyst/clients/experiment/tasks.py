"""A trial on its way through the runner."""

from dataclasses import dataclass

from cudanalyst.clients.planner import Code, PlanText, State
from cudanalyst.errors import CudanalystError
from cudanalyst.resources.answers import TrialNextResult
from cudanalyst.resources.plans import MAX_PLAN
from cudanalyst.resources.trials import Usage
from cudanalyst.tools.source import MAX_SOURCE_BYTES


@dataclass
class Task:
    """What was given in a trial, and what has been answered so far."""

    number: int
    """Of its context."""
    context: str
    trial: str
    planner: str
    coder: str
    state: State
    """With all evidence that was delivered."""
    plan_step: bool
    given_plan: str | None
    to_planner: bool
    """Whether the planner may see the evidence."""
    to_coder: bool
    last_step: bool
    plan: PlanText | None = None
    plan_s: float | None = None
    code: Code | None = None
    code_s: float | None = None
    service_failed: bool = False

    @property
    def planner_state(self) -> State:
        """What its planner is shown."""
        return self.state if self.to_planner else self.state.without_evidence()

    @property
    def coder_state(self) -> State:
        """What its coder is shown."""
        return self.state if self.to_coder else self.state.without_evidence()

    @property
    def plan_text(self) -> str | None:
        """The plan that its coder works from."""
        return self.plan.text if self.plan is not None else self.given_plan

    @property
    def failure(self) -> str | None:
        """Why there is no source, where there is none."""
        if self.service_failed:
            return "service"
        if (failed := self.plan_failure) is not None:
            return failed
        if self.code is None or self.code.source is None:
            return (self.code.failure if self.code is not None else None) or "refusal"
        return unfit(self.code.source, MAX_SOURCE_BYTES)

    @property
    def plan_failure(self) -> str | None:
        """Why there is no plan to go on with, where there should be one."""
        if self.plan is None:
            return None
        if self.plan.text is None:
            return self.plan.failure or "refusal"
        return unfit(self.plan.text, MAX_PLAN)

    @property
    def plan_sent(self) -> str | None:
        """The planner's own plan, where a server takes it."""
        return None if self.plan is None or self.plan_failure is not None else self.plan.text

    @property
    def usage(self) -> Usage:
        """What both answers cost together; the coder's model is named where both are known and differ."""
        parts = [one.usage for one in (self.plan, self.code) if one is not None and one.usage is not None]
        models = list(dict.fromkeys(one.model for one in parts if one.model is not None))
        prints = list(dict.fromkeys(one.fingerprint for one in parts if one.fingerprint is not None))
        return Usage(
            model="+".join(models)[:200] or None,
            fingerprint="+".join(prints)[:200] or None,
            input_tokens=_sum([one.input_tokens for one in parts]),
            output_tokens=_sum([one.output_tokens for one in parts]),
            plan_s=self.plan_s,
            code_s=self.code_s,
        )


def unfit(text: str, limit: int) -> str | None:
    """The failure of whoever answered with what no server takes: without an end, or with a NUL. Asking again would change the draw."""
    if len(text.encode()) > limit:
        return "truncation"
    return "refusal" if "\0" in text else None


def _sum(numbers: list[int | None]) -> int | None:
    known = [number for number in numbers if number is not None]
    return sum(known) if known else None


def task_of(number: int, context: str, given: TrialNextResult) -> Task:
    """An opened trial as a task.

    Raises:
        CudanalystError: The server left out what a trial needs.
    """
    if given.trial is None or given.problem is None or given.base_status is None or given.source is None:
        raise CudanalystError("The server opened a trial without a program. Is it a cudanalyst server of this version?")
    state = State(
        problem=given.problem,
        source=given.source,
        base_status=given.base_status,
        evidence={one.component: one.text for one in given.evidence},
        seed=given.seed or 0,
        task=given.task or "",
        references=given.references,
    )
    return Task(
        number=number,
        context=context,
        trial=given.trial,
        planner=given.planner or "",
        coder=given.coder or given.planner or "",
        state=state,
        plan_step=given.plan_step is not False,
        given_plan=given.plan,
        to_planner="planner" in given.evidence_for,
        to_coder="coder" in given.evidence_for,
        last_step=(given.step or 1) >= (given.steps or 1),
    )
