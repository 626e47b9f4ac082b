"""Handlers of the attribution game: experiment_start, trial_next, trial_submit."""

from functools import partial
from typing import Annotated, Any, Final, Literal

from pydantic import Field, JsonValue, ValidationError

from cudanalyst.errors import BadRequest
from cudanalyst.kernels.problem import Component
from cudanalyst.resources.answers import (
    DeliveredEvidence,
    ExperimentResult,
    TrialNextResult,
    TrialSubmitResult,
)
from cudanalyst.resources.delivery import NoTrial, TrialPayload, statement_of
from cudanalyst.resources.design.file import MAX_TEXT, read_design
from cudanalyst.resources.design.start import start_design
from cudanalyst.resources.judging import record_infrastructure_failure
from cudanalyst.resources.plans import MAX_PLAN, Plan
from cudanalyst.resources.trial_flow import next_trial, submit_trial
from cudanalyst.resources.trials import Experiment, Usage
from cudanalyst.server.arguments import Cites, ExperimentHandle, checked_text
from cudanalyst.server.call import Call
from cudanalyst.server.ledger import in_thread
from cudanalyst.server.services import Group

PLAYERS: list[Component] = ["analyzer", "debugger", "profiler"]
DEFAULTS: Final[dict[str, Any]] = {
    "players": PLAYERS,
    "repeats": 1,
    "seed": 0,
    "is_open": False,
    "planner": "agent",
    "time_limit_s": 1800,
}
Failure = Literal["refusal", "truncation", "abandoned", "service"]


class TrialTools(Group):
    """Handlers of experiments and their trials."""

    async def experiment_start(
        self,
        call: Call,
        checkpoints: Annotated[list[str], Field(description="Handles from freeze", max_length=200)] = [],  # noqa: B006
        design: Annotated[
            str | None, Field(description="Experiment file (TOML) instead of the other arguments", max_length=MAX_TEXT)
        ] = None,
        players: Annotated[
            list[Component], Field(description="Feedback whose effect is asked for", min_length=1, max_length=4)
        ] = PLAYERS,
        repeats: Annotated[int, Field(description="Blocks per checkpoint", ge=1, le=1000)] = 1,
        seed: Annotated[int, Field(description="Of the order", ge=0, lt=2**31)] = 0,
        open_agent: Annotated[  # noqa: FBT002 - always passed by name
            bool, Field(description="The planner could run nvcc itself")
        ] = False,
        planner: Annotated[str, Field(description="Its name", max_length=100)] = "agent",
        time_limit_s: Annotated[
            float, Field(description="A trial open longer counts as abandoned", gt=0, le=86400)
        ] = 1800,
    ) -> ExperimentResult:
        """Lays down an experiment and its trials."""
        options = {
            "players": players,
            "repeats": repeats,
            "seed": seed,
            "is_open": open_agent,
            "planner": planner,
            "time_limit_s": time_limit_s,
        }
        if design is None:
            if not checkpoints:
                raise BadRequest("checkpoints: name at least one handle from freeze, or pass a design")
            started = await in_thread(partial(self._start, call, checkpoints=checkpoints, coder=planner, **options))
        else:
            if checkpoints or options != DEFAULTS:
                raise BadRequest("design: it says all that there is to say; leave the other arguments out")
            started = await in_thread(self._start_design, call, design)
        progress = await in_thread(self.services.experiments.progress, call.owner, started.id)
        blocks = len(started.checkpoints) * started.repeats
        return ExperimentResult(
            status="started",
            summary=(
                f"{progress.trials} trials in {blocks} blocks over {', '.join(started.players)}. Give each trial to a fresh "
                "conversation: trial_next with a context name of its own, then trial_submit."
            ),
            experiment=started.id,
            players=started.players,
            checkpoints=len(started.checkpoints),
            blocks=blocks,
            trials=progress.trials,
            design=started.design,
        )

    def _start(self, call: Call, *, checkpoints: list[str], **options: Any) -> Experiment:
        statements = self._statements(call, checkpoints)
        return self.services.experiments.start(call.scope, checkpoints=checkpoints, statements=statements, **options)

    def _start_design(self, call: Call, text: str) -> Experiment:
        design = read_design(text)
        statements = self._statements(call, [one.id for one in design.checkpoints])
        return start_design(self.services.experiments, call.scope, design, statements)

    def _statements(self, call: Call, checkpoints: list[str]) -> dict[str, str]:
        problems = {self.services.store.checkpoint(call.owner, one).problem for one in checkpoints}
        return {one: statement_of(self.services.bench.problems.problem(one)) for one in sorted(problems)}

    async def trial_next(
        self,
        call: Call,
        experiment: ExperimentHandle,
        planner: Annotated[str | None, Field(description="Only its trials", max_length=100)] = None,
        accept_contaminated: Annotated[  # noqa: FBT002 - always passed by name
            bool, Field(description="Take one that does not count: this context is not fresh")
        ] = False,
    ) -> TrialNextResult:
        """Opens the next trial that this context may have."""
        await self.services.evaluations.ensure(call.owner, experiment)
        take = partial(next_trial, planner=planner, accept_contaminated=accept_contaminated, durable=False)
        given = await in_thread(take, self.services.experiments, call.scope, experiment)
        if isinstance(given, NoTrial):
            counts = await in_thread(self._counts, call.owner, experiment)
            statuses = {"ended": "finished", "none_waiting": "waiting", "context_not_fresh": "not_fresh"}
            return TrialNextResult.model_validate(
                {"status": statuses[given.reason], "summary": given.message, "counts": counts}
            )
        evidence = tuple(DeliveredEvidence(component=one.component, text=one.text) for one in given.evidence)
        names = {"trial", "problem", "base_status", "source", "references", "seed", "deadline_at", "planner", "coder"}
        names |= {"plan_step", "plan", "evidence_for", "decoding", "template", "step", "steps"}
        return TrialNextResult(
            status="open",
            summary=_what_to_do(given),
            task=given.statement,
            evidence=evidence,
            **{name: getattr(given, name) for name in sorted(names)},
        )

    def _counts(self, owner: str, experiment: str) -> dict[str, int]:
        progress = self.services.experiments.progress(owner, experiment)
        return progress.model_dump(exclude={"experiment", "trials", "ended"})

    async def trial_submit(
        self,
        call: Call,
        trial: Annotated[str, Field(description="Handle from trial_next")],
        source: Annotated[str | None, Field(description="The whole new CUDA source")] = None,
        failure: Annotated[Failure | None, Field(description="Why there is none; service: model unreachable")] = None,
        plan: Annotated[str | None, Field(description="What was changed and why", max_length=MAX_PLAN)] = None,
        cites: Cites = [],  # noqa: B006
        usage: Annotated[
            dict[str, JsonValue] | None,
            Field(description="model, fingerprint, input_tokens, output_tokens, plan_s, code_s"),
        ] = None,
    ) -> TrialSubmitResult:
        """Takes a planner's answer and evaluates it later."""
        if (source is None) == (failure is None):
            message = "source and failure: give the whole new source, or why there is none; not both and not neither"
            raise BadRequest(message)
        experiments = self.services.experiments
        if failure == "service":
            return await self._wait_again(call, trial)
        made = None if plan is None else Plan(text=plan, cites=tuple(cites))
        text = None if source is None else checked_text(source)
        # The record of the call's end is durable, comes before the answer, and makes what is done here durable too.
        submit = partial(submit_trial, plan=made, source=text, failure=failure, usage=_usage(usage), durable=False)
        receipt = await in_thread(submit, experiments, call.scope, trial)
        await self.services.evaluations.ensure(call.owner, await in_thread(experiments.of_trial, call.owner, trial))
        rest = "The outcome stays closed until the experiment ends."
        if receipt.goes_on:
            rest = "The trial goes on: call trial_next in this context for its next step."
        return TrialSubmitResult(
            status="received",
            summary=f"Received. {rest}",
            trial=receipt.trial,
        )

    async def _wait_again(self, call: Call, trial: str) -> TrialSubmitResult:
        """A model that could not be reached says nothing of the planner: the trial waits for a fresh context."""
        fail = partial(record_infrastructure_failure, phase="model", reason="the model's service failed")
        again = await in_thread(fail, self.services.experiments, call.owner, trial)
        rest = "It waits for a fresh context." if again else "It was tried often enough, and counts as infrastructure."
        return TrialSubmitResult(status="received", summary=f"Received. {rest}", trial=trial)


def _what_to_do(given: TrialPayload) -> str:
    """What a planner is asked for: it depends on who plans, and on nothing else."""
    if given.plan is not None:
        first = "Follow the plan that is given: write"
    elif given.plan_step:
        first = "Plan the next change, then write"
    else:
        first = "Without planning first, write"
    return f"{first} a better source for this program from what is given here, then call trial_submit once."


def _usage(told: dict[str, JsonValue] | None) -> Usage | None:
    try:
        return None if told is None else Usage.model_validate(told)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(map(str, first["loc"]))
        allowed = ", ".join(Usage.model_fields)
        raise BadRequest(f"usage.{field}: {first['msg']} (fields: {allowed})") from error
