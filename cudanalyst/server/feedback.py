"""The five feedback tools: each takes a source, or the handle of one, and says one kind of thing about it."""

from typing import Annotated

from pydantic import Field

from cudanalyst.errors import BadRequest
from cudanalyst.server.arguments import (
    Arch,
    Arguments,
    CandidateHandle,
    Flags,
    ProblemId,
    SourceText,
    Stdin,
    TimeoutS,
    checked_arguments,
)
from cudanalyst.server.call import Call
from cudanalyst.server.services import Group
from cudanalyst.tools.analyze import AnalyzeResult
from cudanalyst.tools.compile import CompileResult
from cudanalyst.tools.debug import ALL_CHECKS, Check, DebugRequest, DebugResult
from cudanalyst.tools.profile import ProfileRequest, ProfileResult
from cudanalyst.tools.run import RunRequest, RunResult
from cudanalyst.tools.selection import MetricSet, checked_kernel
from cudanalyst.tools.source import Source

Parents = Annotated[list[str], Field(description="Candidates it was made from", max_length=16)]
ExpectedOutput = Annotated[str | None, Field(description="What a program should print", max_length=1_000_000)]
KernelName = Annotated[str | None, Field(description="Part of its name", max_length=200)]
MachineCode = Annotated[bool | None, Field(description="Machine code too")]
Checks = Annotated[list[Check], Field(description="Default: all four", max_length=4)]


class FeedbackTools(Group):
    """Handlers of compile, run, debug, analyze and profile."""

    async def compile(
        self,
        call: Call,
        source: SourceText = None,
        candidate: CandidateHandle = None,
        problem: ProblemId = None,
        arch: Arch = None,
        flags: Flags = [],  # noqa: B006 - read only, and the published default
        parents: Parents = [],  # noqa: B006
    ) -> CompileResult:
        """Compiles with nvcc; diagnostics and resource use as data."""
        submitted = await self.source_of(call, source, candidate, problem, arch, flags, parents)
        result = await self.services.bench.compile(submitted, call.progress)
        return result.model_copy(update={"candidate": submitted.id})

    async def run(
        self,
        call: Call,
        source: SourceText = None,
        candidate: CandidateHandle = None,
        problem: ProblemId = None,
        arch: Arch = None,
        flags: Flags = [],  # noqa: B006
        arguments: Arguments = [],  # noqa: B006
        stdin: Stdin = None,
        expected_output: ExpectedOutput = None,
        timeout_s: TimeoutS = 20.0,
    ) -> RunResult:
        """Runs a candidate against its reference, or a program as it is."""
        submitted = await self.source_of(call, source, candidate, problem, arch, flags)
        only_for_programs(submitted, arguments=arguments, stdin=stdin, expected_output=expected_output)
        request = RunRequest(
            arguments=checked_arguments(arguments),
            stdin=stdin or "",
            expected_stdout=expected_output,
            timeout_s=timeout_s,
        )
        result = await self.services.bench.run(submitted, request, call.progress)
        return result.model_copy(update={"candidate": submitted.id})

    async def debug(
        self,
        call: Call,
        source: SourceText = None,
        candidate: CandidateHandle = None,
        problem: ProblemId = None,
        checks: Checks = list(ALL_CHECKS),  # noqa: B006
        arch: Arch = None,
        flags: Flags = [],  # noqa: B006
        arguments: Arguments = [],  # noqa: B006
        stdin: Stdin = None,
        timeout_s: TimeoutS = 20.0,
    ) -> DebugResult:
        """Runs memcheck, racecheck, initcheck and synccheck."""
        submitted = await self.source_of(call, source, candidate, problem, arch, flags)
        only_for_programs(submitted, arguments=arguments, stdin=stdin)
        request = DebugRequest(
            checks=tuple(dict.fromkeys(checks)) or ALL_CHECKS,
            arguments=checked_arguments(arguments),
            stdin=stdin or "",
            timeout_s=timeout_s,
        )
        result = await self.services.bench.debug(submitted, request, call.progress)
        return result.model_copy(update={"candidate": submitted.id})

    async def analyze(
        self,
        call: Call,
        source: SourceText = None,
        candidate: CandidateHandle = None,
        problem: ProblemId = None,
    ) -> AnalyzeResult:
        """Reads the source without compiling or running it."""
        submitted = await self.source_of(call, source, candidate, problem, None, [])
        result = await self.services.bench.analyze(submitted, None, call.progress)
        return result.model_copy(update={"candidate": submitted.id})

    async def profile(
        self,
        call: Call,
        source: SourceText = None,
        candidate: CandidateHandle = None,
        problem: ProblemId = None,
        arch: Arch = None,
        flags: Flags = [],  # noqa: B006
        arguments: Arguments = [],  # noqa: B006
        stdin: Stdin = None,
        timeout_s: TimeoutS = 20.0,
        metrics: MetricSet = "standard",
        kernel: KernelName = None,
        sass: MachineCode = None,
    ) -> ProfileResult:
        """Counts work per kernel and source line."""
        submitted = await self.source_of(call, source, candidate, problem, arch, flags)
        only_for_programs(submitted, arguments=arguments, stdin=stdin)
        request = ProfileRequest(
            arguments=checked_arguments(arguments),
            stdin=stdin or "",
            timeout_s=timeout_s,
            metrics=metrics,
            kernel=checked_kernel(kernel),
            sass=bool(sass),
        )
        result = await self.services.bench.profile(submitted, request, call.progress)
        return result.model_copy(update={"candidate": submitted.id})


def only_for_programs(source: Source, **values: object) -> None:
    """Refuses arguments that a candidate has no use for.

    Raises:
        BadRequest: One is given for a candidate; the text names it.
    """
    given = [name for name, value in values.items() if value]
    if source.problem is not None and given:
        message = f"{', '.join(given)}: only for programs; a candidate is called by the harness. Leave it out"
        raise BadRequest(message)
