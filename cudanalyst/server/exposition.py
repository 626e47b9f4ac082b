"""MCP resources: the same things that tools tell, by address. Every read asks the trial guard first."""

import json
from collections.abc import Callable
from typing import Any, cast, get_args

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError

from cudanalyst.errors import CudanalystError, NotFound
from cudanalyst.kernels.problem import Component
from cudanalyst.resources import folds
from cudanalyst.resources.events import EvidenceDelivered, ToolFinished
from cudanalyst.resources.guard import Request, guard, visible_events
from cudanalyst.server.bounds import bounded, lean
from cudanalyst.server.call import Call
from cudanalyst.server.completing import EVIDENCE, PROBLEM
from cudanalyst.server.information import problem_result
from cudanalyst.server.ledger import in_thread
from cudanalyst.server.surface import Surface
from cudanalyst.server.workbench import Workbench
from cudanalyst.tools.text import error_text

JSON = "application/json"
MAX_EVENTS = 2000
Read = Callable[[Call], str]


class Exposition:
    """Reads behind the resources; each blocks, and runs in a worker thread."""

    def __init__(self, workbench: Workbench, surface: Surface) -> None:
        """Reads what `workbench` knows."""
        self._workbench = workbench
        self._surface = surface
        self._services = workbench.services

    async def read(self, context: Context[Any, Any], request: Request, read: Read) -> str:
        """Does one read, unless a trial closes it.

        Raises:
            ResourceNotFoundError: There is no such thing, or it is another owner's.
            ResourceError: The read is closed now, or cannot be done.
        """
        try:
            call = await self._surface.call_of(context)
            return await in_thread(self._guarded, call, request, read)
        except NotFound as error:
            raise ResourceNotFoundError(error_text(error)) from error
        except CudanalystError as error:
            raise ResourceError(error_text(error)) from error

    def _guarded(self, call: Call, request: Request, read: Read) -> str:
        guard(self._services.experiments, call.scope, request)
        return read(call)

    def candidate(self, call: Call, identity: str) -> str:
        """A source and its options, with the last result of each tool."""
        store = self._services.store
        source = store.candidate(call.owner, identity)
        results: dict[str, Any] = {}
        delivered: dict[str, EvidenceDelivered] = {}
        for recorded in store.events(call.owner, kinds=("tool_finished",)):
            event = recorded.event
            if isinstance(event, ToolFinished) and event.candidate == identity and event.result_blob:
                results[event.tool] = json.loads(store.blob(event.result_blob))
                if shown := folds.delivery(event.tool, event.status, identity, event.result_blob):
                    delivered[event.tool] = shown.model_copy(update={"via": "candidates"})
        store.append_many(call.scope, delivered.values())
        if self._services.ledger.deliveries is not None:
            for one in delivered.values():
                self._services.ledger.deliveries.note_request(call.scope, identity, one.component, "candidates")
        return _json({"candidate": identity, "source": source.model_dump(mode="json"), "results": results})

    def checkpoint(self, call: Call, identity: str) -> str:
        """A checkpoint without its evidence, and where that is."""
        frozen = self._services.store.checkpoint(call.owner, identity)
        data = frozen.model_dump(mode="json", exclude={"evidence"})
        data["evidence"] = {
            component: f"cudanalyst://checkpoints/{identity}/evidence/{component}" for component in frozen.evidence
        }
        return _json({"checkpoint": identity, **data})

    def evidence(self, call: Call, identity: str, component: str) -> str:
        """One component's evidence, as text."""
        if component not in get_args(Component):
            message = f"component {component[:40]!r}: use one of {', '.join(get_args(Component))}"
            raise NotFound(message)
        return self._workbench.evidence(call, identity, cast("Component", component)).text or ""

    def events(self, call: Call, session: str) -> str:
        """A session's newest events, but for what an experiment still withholds."""
        self._own_session(call, session)
        events = self._services.store.events(call.owner, session=session)
        shown = visible_events(self._services.experiments, call.scope, events[-MAX_EVENTS:])
        listed = [one.model_dump(mode="json", exclude={"owner", "session"}) for one in shown]
        return _json({"session": session, "total": len(events), "shown": len(listed), "events": listed})

    def session_attribution(self, call: Call, session: str) -> str:
        """What was seen before each decision and what followed; effects by design where delivery was randomised."""
        from cudanalyst.server.observing import attribution_of_session

        return _json(bounded(lean(attribution_of_session(self._services.experiments, call.scope, session)), "full"))

    def experiment_attribution(self, call: Call, experiment: str) -> str:
        """An experiment's attribution, once it has ended."""
        from cudanalyst.server.attributing import attribution_of

        return _json(lean(attribution_of(self._services.experiments, call.owner, experiment)))

    def report(self, call: Call, experiment: str) -> str:
        """An experiment's report, a page of HTML."""
        from cudanalyst.server.reporting import experiment_report

        return experiment_report(self._services.experiments, call.owner, experiment)

    def _own_session(self, call: Call, session: str) -> None:
        self._services.store.check(call.owner, "session", session)
        if session != call.session:
            # Another conversation's events may hold what a trial withholds from this one.
            guard(self._services.experiments, self._services.store.scope(call.owner, session), Request(tool="sessions"))


def _json(data: Any) -> str:
    return json.dumps(data, indent=1, ensure_ascii=False)


def add_resources(server: MCPServer[Any], workbench: Workbench, surface: Surface) -> None:
    """Registers every resource template."""
    shown = Exposition(workbench, surface)

    @server.resource(PROBLEM, name="problem", mime_type=JSON, title="Problem")
    async def problem(problem: str, ctx: Context[Any, Any]) -> str:
        """A problem without its held-out sizes."""
        catalogue = workbench.services.bench.problems
        return await shown.read(
            ctx, Request(tool="get_problem"), lambda _: _json(lean(problem_result(catalogue.problem(problem))))
        )

    @server.resource("cudanalyst://candidates/{candidate}", name="candidate", mime_type=JSON, title="Candidate")
    async def candidate(candidate: str, ctx: Context[Any, Any]) -> str:
        """A source, its options, and what the tools said of it last."""
        return await shown.read(ctx, Request(tool="candidates"), lambda call: shown.candidate(call, candidate))

    @server.resource("cudanalyst://checkpoints/{checkpoint}", name="checkpoint", mime_type=JSON, title="Checkpoint")
    async def checkpoint(checkpoint: str, ctx: Context[Any, Any]) -> str:
        """A frozen state, without its evidence."""
        return await shown.read(ctx, Request(tool="checkpoints"), lambda call: shown.checkpoint(call, checkpoint))

    @server.resource(
        EVIDENCE,
        name="evidence",
        mime_type="text/plain",
        title="Frozen evidence",
    )
    async def evidence(checkpoint: str, component: str, ctx: Context[Any, Any]) -> str:
        """What one component said of a checkpoint's candidate."""
        return await shown.read(
            ctx, Request(tool="get_evidence"), lambda call: shown.evidence(call, checkpoint, component)
        )

    @server.resource("cudanalyst://results/{result}", name="result", mime_type=JSON, title="Whole result")
    async def result(result: str, ctx: Context[Any, Any]) -> str:
        """A result that was cut on its way."""
        return await shown.read(
            ctx, Request(tool="results"), lambda call: surface.ledger.kept(call.owner, result).decode()
        )

    @server.resource("cudanalyst://sessions/{session}/events", name="session_events", mime_type=JSON, title="Events")
    async def session_events(session: str, ctx: Context[Any, Any]) -> str:
        """What happened in a session."""
        return await shown.read(ctx, Request(tool="sessions"), lambda call: shown.events(call, session))

    @server.resource(
        "cudanalyst://sessions/{session}/attribution",
        name="session_attribution",
        mime_type=JSON,
        title="Observed feedback",
    )
    async def session_attribution(session: str, ctx: Context[Any, Any]) -> str:
        """Which feedback came before which decision, and what helped."""
        return await shown.read(ctx, Request(tool="sessions"), lambda call: shown.session_attribution(call, session))

    @server.resource(
        "cudanalyst://experiments/{experiment}/attribution",
        name="experiment_attribution",
        mime_type=JSON,
        title="Attribution",
    )
    async def experiment_attribution(experiment: str, ctx: Context[Any, Any]) -> str:
        """Which feedback helped, once the experiment has ended."""
        return await shown.read(
            ctx,
            Request(tool="attribution", experiment=experiment),
            lambda call: shown.experiment_attribution(call, experiment),
        )

    @server.resource(
        "cudanalyst://experiments/{experiment}/report", name="experiment_report", mime_type="text/html", title="Report"
    )
    async def experiment_report(experiment: str, ctx: Context[Any, Any]) -> str:
        """A self-contained page with tables and plots, once the experiment has ended."""
        return await shown.read(
            ctx, Request(tool="report", experiment=experiment), lambda call: shown.report(call, experiment)
        )
