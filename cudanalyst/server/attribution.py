"""The handler that tells what helped: attribution, of an experiment or of ordinary use."""

from typing import Annotated, Literal

from pydantic import Field

from cudanalyst.errors import BadRequest
from cudanalyst.resources.answers import AttributionResult
from cudanalyst.resources.events import TrialOpened
from cudanalyst.server.arguments import WaitS
from cudanalyst.server.call import Call
from cudanalyst.server.ledger import in_thread
from cudanalyst.server.services import Group

Experiment = Annotated[str | None, Field(description="From experiment_start; none: ordinary use")]
Of = Annotated[Literal["session", "all"], Field(description="Ordinary use: this session, or all of yours")]


class AttributionTools(Group):
    """Handler of attribution. Statistics are imported on first use: half a second."""

    async def attribution(
        self, call: Call, experiment: Experiment = None, of: Of = "session", wait_s: WaitS = 0.0
    ) -> AttributionResult:
        """Says which evidence helped, as far as outcomes are known."""
        if experiment is None:
            return await in_thread(self._of_sessions, call, of)
        if of != "session":
            message = "of: is for ordinary use; leave it out, or leave the experiment out"
            raise BadRequest(message)
        await self.services.evaluations.ensure(call.owner, experiment)
        await in_thread(self._refuse_planners, call, experiment)
        await self.services.evaluations.idle(wait_s)
        return await in_thread(self._of_experiment, call, experiment)

    def _of_experiment(self, call: Call, experiment: str) -> AttributionResult:
        from cudanalyst.server.attributing import attribution_of

        return attribution_of(self.services.experiments, call.owner, experiment)

    def _of_sessions(self, call: Call, of: str) -> AttributionResult:
        from cudanalyst.server.observing import attribution_of_all, attribution_of_session

        if of == "all":
            return attribution_of_all(self.services.experiments, call.scope)
        return attribution_of_session(self.services.experiments, call.scope, call.session)

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
