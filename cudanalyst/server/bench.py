"""The five tools bound to this machine: its toolchain, its problems, its secret, and how much may run at once.

Nothing here knows of sessions or stores: evaluating a candidate depends on the candidate, the problem, the request and the
device alone, so that it can be spread over machines.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial

from anyio import to_thread

from cudanalyst.kernels.catalogue import Catalogue
from cudanalyst.kernels.problem import Problem
from cudanalyst.resources.freeze import ToolResults
from cudanalyst.server.call import Progress
from cudanalyst.server.jobs import Turns
from cudanalyst.server.memory import Memory
from cudanalyst.tools.analyze import AnalyzeResult, analyze
from cudanalyst.tools.compile import CompileResult, compile_source
from cudanalyst.tools.debug import DebugRequest, DebugResult, debug
from cudanalyst.tools.profile import ProfileRequest, ProfileResult, profile
from cudanalyst.tools.run import RunRequest, RunResult, run
from cudanalyst.tools.source import Source
from cudanalyst.tools.speedup import Baselines
from cudanalyst.tools.spending import spending
from cudanalyst.tools.toolchain.gpu import GpuToolchain
from cudanalyst.tools.toolchain.protocol import Capabilities, Toolchain
from cudanalyst.tools.toolchain.waiting import heard_by


@dataclass
class Bench:
    """Where candidates and programs are compiled, run, checked and profiled."""

    toolchain: Toolchain
    problems: Catalogue
    secret: bytes
    """Inputs are drawn from it, so that a candidate cannot know them."""
    turns: Turns = field(default_factory=Turns)
    memory: Memory = field(default_factory=Memory)
    baselines: Baselines = field(default_factory=dict)
    """Modelled times of the problems' baselines, each modelled once."""
    engine: Toolchain | None = None
    """The CPU engine, to check candidates beside a GPU; None where it is the toolchain itself."""
    _capabilities: Capabilities | None = None

    async def capabilities(self) -> Capabilities:
        """What can be done here."""
        if self._capabilities is None:
            self._capabilities = await self.toolchain.capabilities()
        return self._capabilities

    async def stop(self) -> None:
        """Ends what the toolchain keeps running between calls."""
        if isinstance(self.toolchain, GpuToolchain):
            await self.toolchain.close()

    def problem_of(self, source: Source) -> Problem | None:
        """The problem that a candidate belongs to; None for a program.

        Raises:
            NotFound: There is no such problem.
        """
        return None if source.problem is None else self.problems.problem(source.problem)

    @asynccontextmanager
    async def _turn(self, progress: Progress, doing: str) -> AsyncIterator[None]:
        """A turn of this server, within which waits for a device are told: its lease is a matter of the whole machine."""
        progress.say(doing)
        async with AsyncExitStack() as stack:
            with spending("waiting for the server"):
                await stack.enter_async_context(self.turns.turn(progress))
            progress.say(doing)
            with heard_by(lambda waiting: progress.say(waiting or doing)):
                yield

    async def compile(self, source: Source, progress: Progress) -> CompileResult:
        """Compiles."""
        problem = self.problem_of(source)
        progress.say("compiling")
        async with self.turns.turn(progress):
            return await compile_source(source, problem, self.toolchain)

    async def run(self, source: Source, request: RunRequest, progress: Progress) -> RunResult:
        """Runs, and judges a candidate."""
        return await self.memory.recall(RunResult, source, request, partial(self._run, source, request, progress))

    async def _run(self, source: Source, request: RunRequest, progress: Progress) -> RunResult:
        problem = self.problem_of(source)
        async with self._turn(progress, "compiling and running"):
            return await run(
                source,
                problem,
                self.toolchain,
                request,
                expected=self.problems.expected,
                secret=self.secret,
                baselines=self.baselines,
                folder=self.problems.entry(problem.id).folder if problem is not None else None,
            )

    async def debug(self, source: Source, request: DebugRequest, progress: Progress) -> DebugResult:
        """Runs the checks."""
        return await self.memory.recall(DebugResult, source, request, partial(self._debug, source, request, progress))

    async def _debug(self, source: Source, request: DebugRequest, progress: Progress) -> DebugResult:
        problem = self.problem_of(source)
        async with self._turn(progress, f"checking: {', '.join(request.checks)}"):
            return await debug(source, problem, self.toolchain, request, secret=self.secret, engine=self.engine)

    async def profile(self, source: Source, request: ProfileRequest, progress: Progress) -> ProfileResult:
        """Profiles."""
        return await self.memory.recall(
            ProfileResult, source, request, partial(self._profile, source, request, progress)
        )

    async def _profile(self, source: Source, request: ProfileRequest, progress: Progress) -> ProfileResult:
        problem = self.problem_of(source)
        async with self._turn(progress, "profiling"):
            return await profile(source, problem, self.toolchain, request, secret=self.secret)

    async def analyze(self, source: Source, compiled: Sequence[str] | None, progress: Progress) -> AnalyzeResult:
        """Reads the source; nothing of it is run."""
        self.problem_of(source)
        progress.say("reading the source")
        return await to_thread.run_sync(analyze, source, compiled)

    async def evaluate(self, source: Source, progress: Progress | None = None) -> ToolResults:
        """Everything that the tools say of one candidate."""
        progress = progress or Progress()
        compiled = await self.compile(source, progress)
        built = compiled.status == "compiled"
        names = [kernel.name for kernel in compiled.kernels] if built else None
        analyzed = await self.analyze(source, names, progress)
        async with asyncio.TaskGroup() as group:
            ran = group.create_task(self.run(source, RunRequest(), progress)) if built else None
            debugged = group.create_task(self.debug(source, DebugRequest(), progress))
            profiled = group.create_task(self.profile(source, ProfileRequest(), progress))
        return ToolResults(
            compiled=compiled,
            run=None if ran is None else ran.result(),
            analyzed=analyzed,
            debugged=debugged.result(),
            profiled=profiled.result(),
        )
