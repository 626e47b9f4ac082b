"""Handlers that tell what there is: device_info, list_problems, get_problem, get_evidence."""

from typing import Annotated

from pydantic import Field

from cudanalyst.errors import NotFound
from cudanalyst.kernels.problem import Component, Problem
from cudanalyst.resources.answers import (
    DeviceResult,
    EvidenceResult,
    ProblemListResult,
    ProblemResult,
    ProblemSummary,
)
from cudanalyst.resources.delivery import statement_of
from cudanalyst.resources.events import EvidenceDelivered
from cudanalyst.server.arguments import CheckpointHandle
from cudanalyst.server.call import Call
from cudanalyst.server.ledger import in_thread
from cudanalyst.server.services import Group
from cudanalyst.tools.source import DEFAULT_ARCH

CONTRACT = (
    "Export the signature from a .cu file. Pointers are device memory, outputs are allocated. Order all work on `stream`; "
    "own streams fork from it and join it. No allocation, host synchronisation or legacy stream inside solve. Optional: "
    "workspace_bytes(sizes...) and init(sizes...). Return 0. Results are compared with a float64 reference on sizes and "
    "inputs that you have not seen."
)
_C_TYPES = {
    "f16": "__half", "bf16": "__nv_bfloat16", "f32": "float", "f64": "double", "i8": "int8_t", "u8": "uint8_t",
    "i32": "int", "u32": "unsigned int", "i64": "long long", "u64": "unsigned long long",
}  # fmt: skip


class InformationTools(Group):
    """Handlers of what changes nothing."""

    async def device_info(self, call: Call) -> DeviceResult:
        """Says what is here and what is missing."""
        found = await self.services.bench.capabilities()
        able = {"build": found.build, "execute": found.execute, "profile": found.profile, "debug": bool(found.sanitize)}
        missing = [name for name, can in able.items() if not can]
        device = found.measured_on.device or "no device"
        works = "everything works" if not missing else f"not available: {', '.join(missing)} (see reasons)"
        return DeviceResult(
            status="limited" if missing else "ready",
            summary=f"Toolchain {found.measured_on.toolchain} on {device}: {works}.",
            measured_on=found.measured_on,
            default_arch=DEFAULT_ARCH,
            build=found.build,
            execute=found.execute,
            checks=found.sanitize,
            profile=found.profile,
            sandbox=found.measured_on.sandbox,
            reasons=found.reasons,
            session=call.session,
        )

    async def list_problems(self, call: Call) -> ProblemListResult:  # noqa: ARG002 - every handler takes its call
        """Lists the problems."""
        return await in_thread(self._list_problems)

    def _list_problems(self) -> ProblemListResult:
        problems = self.services.bench.problems
        listed = tuple(_summary(problems.problem(one)) for one in problems.ids)
        names = ", ".join(one.id for one in listed)
        return ProblemListResult(
            status="listed", summary=f"{len(listed)} problems: {names}. get_problem tells one in full.", problems=listed
        )

    async def get_problem(
        self,
        call: Call,  # noqa: ARG002 - every handler takes its call
        problem: Annotated[str, Field(description="Id from list_problems")],
    ) -> ProblemResult:
        """Tells all that an agent may know of a problem."""
        found = await in_thread(self.services.bench.problems.problem, problem)
        return problem_result(found)

    async def get_evidence(
        self,
        call: Call,
        checkpoint: CheckpointHandle,
        component: Annotated[Component, Field(description="Whose evidence")],
    ) -> EvidenceResult:
        """Reads one component's evidence, as frozen."""
        return await in_thread(self.evidence, call, checkpoint, component)

    def evidence(self, call: Call, checkpoint: str, component: Component) -> EvidenceResult:
        """One component's evidence of a checkpoint; an event says that it was delivered.

        Raises:
            NotFound: The checkpoint is unknown or holds none of that component.
        """
        store = self.services.store
        frozen = store.checkpoint(call.owner, checkpoint)
        if component not in frozen.evidence:
            message = f"component: checkpoint {checkpoint} holds no evidence of {component}; freeze it again"
            raise NotFound(message)
        found = frozen.evidence[component]
        event = EvidenceDelivered(
            candidate=frozen.source.id, component=component, evidence=found.id, via="get_evidence"
        )
        store.append(call.scope, event)
        if self.services.ledger.deliveries is not None:
            self.services.ledger.deliveries.note_request(call.scope, frozen.source.id, component, "get_evidence")
        return EvidenceResult(
            status="found",
            summary=f"What the {component} said of a {frozen.problem} candidate: {len(found.items)} items.",
            checkpoint=checkpoint,
            component=component,
            text=found.text,
            items=tuple(item.id for item in found.items),
            structural=found.structural,
        )


def problem_result(problem: Problem) -> ProblemResult:
    """A problem without its held-out sizes, faults and edits."""
    tolerance = problem.tolerance
    exact = "every element must be equal"
    bound = f"within {tolerance.factor:g} times the expected rounding error of {tolerance.reduction} sums"
    return ProblemResult(
        status="found",
        summary=f"{problem.title}: write solve as in signature, then compile, run and profile it.",
        problem=problem.id,
        title=problem.title,
        description=statement_of(problem),
        signature=signature_of(problem),
        sizes={group: sizes for group, sizes in problem.sizes.items() if group != "held_out"},
        tolerance=exact if tolerance.exact else bound,
        contract=CONTRACT,
        baseline=problem.baseline,
        starts={start.name: start.source for start in problem.starts},
    )


def signature_of(problem: Problem) -> str:
    """The C signature that a candidate exports."""
    parts = []
    for parameter in problem.parameters:
        ctype = _C_TYPES[parameter.dtype]
        if parameter.role == "scalar":
            parts.append(f"{ctype} {parameter.name}")
        else:
            parts.append(f"{'const ' if parameter.role == 'in' else ''}{ctype}* {parameter.name}")
    return f'extern "C" int solve({", ".join([*parts, "cudaStream_t stream"])})'


def _summary(problem: Problem) -> ProblemSummary:
    return ProblemSummary(id=problem.id, title=problem.title, starts=tuple(start.name for start in problem.starts))
