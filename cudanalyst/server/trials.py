"""Handlers of the attribution game: experiment_start, trial_next, trial_submit, attribution."""

from functools import partial
from typing import Annotated, Any

from pydantic import Field

from cudanalyst.errors import BadRequest
from cudanalyst.kernels.problem import Component
from cudanalyst.resources.answers import (
    AttributionResult,
    DeliveredEvidence,
    ExperimentResult,
    TrialNextResult,
    TrialSubmitResult,
)
from cudanalyst.resources.delivery import NoTrial, statement_of
from cudanalyst.resources.events import PlannerFailure, TrialOpened
from cudanalyst.resources.plans import MAX_PLAN, Plan
from cudanalyst.resources.trial_flow import next_trial, submit_trial
from cudanalyst.resources.trials import Experiment
from cudanalyst.server.arguments import Cites, ExperimentHandle, WaitS, checked_text
from cudanalyst.server.call import Call
from cudanalyst.server.ledger import in_thread
from cudanalyst.server.services import Group


class TrialTools(Group):
    """Handlers of experiments and their trials."""

    async def experiment_start(
        self,
        call: Call,
        checkpoints: Annotated[list[str], Field(description="Handles from freeze", min_length=1, max_length=200)],
        players: Annotated[
            list[Component], Field(description="Feedback whose effect is asked for", min_length=1, max_length=4)
        ] = ["analyzer", "debugger", "profiler"],  # noqa: B006 - read only, and the published default
        repeats: Annotated[int, Field(description="Blocks per checkpoint", ge=1, le=1000)] = 1,
        seed: Annotated[int, Field(description="Makes the order reproducible", ge=0, lt=2**31)] = 0,
        open_agent: Annotated[  # noqa: FBT002 - always passed by name
            bool, Field(description="The planner has a shell and could run nvcc itself: measures assignment only")
        ] = False,
        planner: Annotated[str, Field(description="Name of the planner", max_length=100)] = "agent",
        time_limit_s: Annotated[
            float, Field(description="A trial open longer counts as abandoned", gt=0, le=86400)
        ] = 1800,
    ) -> ExperimentResult:
        """Lays down an experiment and its trials."""
        started = await in_thread(
            partial(
                self._start,
                call,
                players=players,
                checkpoints=checkpoints,
                repeats=repeats,
                seed=seed,
                is_open=open_agent,
                planner=planner,
                coder=planner,
                time_limit_s=time_limit_s,
            )
        )
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
        )

    def _start(self, call: Call, *, checkpoints: list[str], **options: Any) -> Experiment:
        problems = {self.services.store.checkpoint(call.owner, one).problem for one in checkpoints}
        statements = {one: statement_of(self.services.bench.problems.problem(one)) for one in sorted(problems)}
        return self.services.experiments.start(call.scope, checkpoints=checkpoints, statements=statements, **options)

    async def trial_next(
        self,
        call: Call,
        experiment: ExperimentHandle,
        accept_contaminated: Annotated[  # noqa: FBT002 - always passed by name
            bool, Field(description="Take a trial although this context is not fresh; it is left out of estimates")
        ] = False,
    ) -> TrialNextResult:
        """Opens the next trial that this context may have."""
        await self.services.evaluations.ensure(call.owner, experiment)
        given = await in_thread(
            next_trial, self.services.experiments, call.scope, experiment, accept_contaminated=accept_contaminated
        )
        if isinstance(given, NoTrial):
            statuses = {"ended": "finished", "none_waiting": "waiting", "context_not_fresh": "not_fresh"}
            return TrialNextResult.model_validate({"status": statuses[given.reason], "summary": given.message})
        evidence = tuple(DeliveredEvidence(component=one.component, text=one.text) for one in given.evidence)
        return TrialNextResult(
            status="open",
            summary="Write a better source for this program from what is given here, then call trial_submit once.",
            trial=given.trial,
            problem=given.problem,
            base_status=given.base_status,
            source=given.source,
            references=given.references,
            task=given.statement,
            evidence=evidence,
            seed=given.seed,
            deadline_at=given.deadline_at,
        )

    async def trial_submit(
        self,
        call: Call,
        trial: Annotated[str, Field(description="Handle from trial_next")],
        source: Annotated[str | None, Field(description="The whole new CUDA source")] = None,
        failure: Annotated[PlannerFailure | None, Field(description="Why there is no source, instead of one")] = None,
        plan: Annotated[str | None, Field(description="What was changed and why", max_length=MAX_PLAN)] = None,
        cites: Cites = [],  # noqa: B006
    ) -> TrialSubmitResult:
        """Takes a planner's answer and evaluates it later."""
        if (source is None) == (failure is None):
            message = "source and failure: give the whole new source, or why there is none; not both and not neither"
            raise BadRequest(message)
        made = None if plan is None else Plan(text=plan, cites=tuple(cites))
        text = None if source is None else checked_text(source)
        experiments = self.services.experiments
        receipt = await in_thread(submit_trial, experiments, call.scope, trial, plan=made, source=text, failure=failure)
        await self.services.evaluations.ensure(call.owner, await in_thread(experiments.of_trial, call.owner, trial))
        return TrialSubmitResult(
            status="received",
            summary="Received. The outcome stays closed until the experiment ends.",
            trial=receipt.trial,
        )

    async def attribution(
        self,
        call: Call,
        experiment: ExperimentHandle,
        wait_s: WaitS = 0.0,
    ) -> AttributionResult:
        """Says which evidence helped, as far as trials have been evaluated."""
        await self.services.evaluations.ensure(call.owner, experiment)
        await in_thread(self._refuse_planners, call, experiment)
        await self.services.evaluations.idle(wait_s)
        from cudanalyst.server.attributing import attribution_of  # statistics: half a second of imports

        return await in_thread(attribution_of, self.services.experiments, call.owner, experiment)

    def _refuse_planners(self, call: Call, experiment: str) -> None:
        """Outcomes are open to who started the experiment, and to planners only once it has ended."""
        store = self.services.store
        starter = store.check(call.owner, "experiment", experiment)
        if self.services.experiments.progress(call.owner, experiment).ended:
            return
        events = store.events(call.owner, context=call.scope.context, experiment=experiment)
        if call.session != starter or any(isinstance(one.event, TrialOpened) for one in events):
            message = (
                "The experiment has not ended: until then its results are open only to the session that started it, in a "
                "context that was given none of its trials."
            )
            raise BadRequest(message)
