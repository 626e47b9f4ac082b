"""What the handlers share: the store, the bench, the jobs and the trials' evaluator."""

from dataclasses import dataclass
from typing import Any

from cudanalyst.errors import BadRequest, CudanalystError
from cudanalyst.resources.experiment import Experiments
from cudanalyst.resources.store import Store
from cudanalyst.server.arguments import given_source, options
from cudanalyst.server.bench import Bench
from cudanalyst.server.call import Call
from cudanalyst.server.evaluation import Evaluations
from cudanalyst.server.jobs import Jobs
from cudanalyst.server.ledger import StoreLedger, in_thread
from cudanalyst.tools.source import Source


@dataclass
class Services:
    """Everything of one server that outlives a call."""

    store: Store
    ledger: StoreLedger
    bench: Bench
    jobs: Jobs
    experiments: Experiments
    evaluations: Evaluations

    async def stop(self) -> None:
        """Ends all jobs and evaluations, and the processes that they started."""
        await self.jobs.end_all()
        await self.evaluations.stop()
        await self.bench.stop()

    def close(self) -> None:
        """Closes the store."""
        self.store.close()


class Group:
    """Base of the groups of handlers."""

    def __init__(self, services: Services) -> None:
        """Handlers over `services`."""
        self.services = services

    async def source_of(
        self,
        call: Call,
        text: str | None,
        candidate: str | None,
        problem: str | None,
        arch: str | None,
        flags: list[str],
        parents: list[str] | None = None,
    ) -> Source:
        """The source that a call is about, remembered for later calls.

        Raises:
            BadRequest: Both or neither of `source` and `candidate` are given, or the source cannot be taken.
            NotFound: The candidate or the problem is unknown.
        """
        if call.submitted.error is not None:
            raise call.submitted.error
        if call.submitted.source is not None:
            return call.submitted.source
        return await in_thread(self._source_of, call, text, candidate, problem, arch, flags, parents or [])

    def look_up(self, call: Call, values: dict[str, Any]) -> None:
        """Does what `source_of` will be asked for, where the arguments of a tool are about a source. Waits for the disk."""
        if not {"source", "candidate"} <= values.keys() or {"text", "trial"} & values.keys():
            return
        text, candidate, problem, arch = (values.get(name) for name in ("source", "candidate", "problem", "arch"))
        flags, parents = values.get("flags") or [], values.get("parents") or []
        try:
            call.submitted.source = self._source_of(call, text, candidate, problem, arch, flags, parents)
        except CudanalystError as error:
            call.submitted.error = error

    def _source_of(
        self,
        call: Call,
        text: str | None,
        candidate: str | None,
        problem: str | None,
        arch: str | None,
        flags: list[str],
        parents: list[str],
    ) -> Source:
        store = self.services.store
        if candidate is None:
            source = given_source(text, problem, arch, flags)
        else:
            if text is not None:
                message = "source and candidate: give one of them"
                raise BadRequest(message)
            known = store.candidate(call.owner, candidate)
            if problem is not None and problem != known.problem:
                message = (
                    f"problem: candidate {candidate} belongs to {known.problem or 'no problem'}; leave problem out"
                )
                raise BadRequest(message)
            source = known.model_copy(update={"options": options(arch, flags, known.options)})
        self.services.bench.problem_of(source)
        # Whatever answers this call is recorded durably, and this with it.
        store.add_candidate(call.scope, source, parents=parents, durable=False)
        return source
