"""A bench in memory: words in a source say what happens to it; SAYS:word makes the tools speak of it by a word of its own."""

import asyncio
import sys
from dataclasses import dataclass, field
from pathlib import Path

from cudanalyst.errors import Unavailable
from cudanalyst.kernels.catalogue import Catalogue
from cudanalyst.server.bench import Bench
from cudanalyst.tools.analyze import AnalyzeResult, analyze
from cudanalyst.tools.checks import CheckReport
from cudanalyst.tools.compile import CompileResult, Diagnostic, KernelResources
from cudanalyst.tools.debug import DebugResult
from cudanalyst.tools.process import run_process
from cudanalyst.tools.profile import KernelProfile, ProfileResult
from cudanalyst.tools.result import MeasuredOn, Place
from cudanalyst.tools.run import CaseResult, Mismatch, ProgramOutput, RunResult
from cudanalyst.tools.source import Source
from cudanalyst.tools.toolchain.protocol import Capabilities

ON = MeasuredOn(toolchain="replay", device="fake", versions={"nvcc": "13.0.88"})
PROGRAM = "__global__ void k(float *x) { x[threadIdx.x] = 1; }\nint main() { return 0; }\n"
CANDIDATE = 'extern "C" int solve(const float* a, const float* b, float* c, int n, void* stream) { return 0; }\n'


@dataclass
class FakeBench(Bench):
    """Answers by what a source holds: BROKEN, WRONG, FAST, MANY, BUG, PRINTS, MISSING, and SLEEP:file."""

    toolchain: object = None
    problems: Catalogue = field(default_factory=Catalogue)
    secret: bytes = b"secret"
    compiles: int = 0
    gate: asyncio.Event | None = None
    """Where set, compiling waits for it."""

    async def capabilities(self):
        return Capabilities(build=True, execute=True, sanitize=("memcheck",), profile=True, measured_on=ON)

    async def compile(self, source: Source, progress):
        self.problem_of(source)
        self.compiles += 1
        progress.say("compiling")
        await self._misbehave(source)
        if self.gate is not None:
            await self.gate.wait()
        if "BROKEN" in source.text:
            error = Diagnostic(severity="error", text="expected a ';'", place=Place(file="program.cu", line=1))
            return CompileResult(status="failed", summary="Does not compile.", measured_on=ON, diagnostics=(error,))
        if "MANY" in source.text:
            many = tuple(
                Diagnostic(severity="error", text=f"error {number}: " + "x" * 500, place=Place(line=number))
                for number in range(1000)
            )
            return CompileResult(status="failed", summary="1000 errors.", measured_on=ON, diagnostics=many)
        kernels = tuple(_resources(f"{word}-compiler") for word in _words(source))
        return CompileResult(
            status="compiled", summary="Compiled.", measured_on=ON, arch=source.options.arch, kernels=kernels
        )

    async def run(self, source: Source, request, progress):
        self.problem_of(source)
        await self._misbehave(source)
        if source.problem is None:
            output = ProgramOutput(exit_status=0, stdout=" ".join(request.arguments) + request.stdin)
            return RunResult(status="exited", summary="Exited with 0.", measured_on=ON, program=output)
        right = CaseResult(group="test", sizes={"n": 8}, seed_index=0, status="passed")
        if "WRONG" in source.text:
            mismatch = Mismatch(
                output="c", index=(0,), got=1.0, got_text="1", expected=2.0, wrong_elements=1, total_elements=8
            )
            wrong = right.model_copy(update={"status": "wrong", "mismatch": mismatch})
            return RunResult(status="wrong", summary="Wrong.", measured_on=ON, cases=(wrong,))
        speedup = 2.0 if "FAST" in source.text else 1.0
        return RunResult(
            status="passed",
            summary="Passed.",
            measured_on=ON,
            cases=(right,),
            modelled_us=2.0 / speedup,
            modelled_device="H200",
            modelled_speedup=speedup,
        )

    async def debug(self, source: Source, request, progress):
        await self._misbehave(source)
        if "BROKEN" in source.text:
            return DebugResult(status="compile_failed", summary="Does not compile.", measured_on=ON)
        said = "".join(f" {word}-debugger" for word in _words(source))
        checks = tuple(CheckReport(check=one, verdict="clean", coverage=f"all{said}") for one in request.checks)
        return DebugResult(status="clean", summary="Clean.", measured_on=ON, checks=checks)

    async def profile(self, source: Source, request, progress):
        await self._misbehave(source)
        if "BROKEN" in source.text:
            return ProfileResult(status="compile_failed", summary="Does not compile.", measured_on=ON)
        kernel = KernelProfile(
            name="".join(f"{word}-profiler" for word in _words(source)) or "k", launches=1, grid=(1, 1, 1), block=(32, 1, 1), warp_instructions=10, instruction_mix={"fp32": 10},
            lane_efficiency=1.0, global_bytes=128, sectors_per_request=4.0, shared_conflict_ratio=None, bound="dram",
        )  # fmt: skip
        return ProfileResult(status="profiled", summary="Profiled.", measured_on=ON, level="ptx", kernels=(kernel,))

    async def analyze(self, source: Source, compiled, progress) -> AnalyzeResult:
        self.problem_of(source)
        return analyze(source, compiled)

    async def _misbehave(self, source: Source) -> None:
        if "BUG" in source.text:
            message = "the secret /etc/somewhere"
            raise RuntimeError(message)
        if "MISSING" in source.text:
            raise Unavailable("nvcc was not found; install it")
        if "PRINTS" in source.text:
            print("this must not reach the wire")  # noqa: T201
            sys.stdout.flush()
        if "SLEEP:" in source.text:
            mark = Path(source.text.partition("SLEEP:")[2].split()[0])
            script = f"echo $$ > {mark}.tmp; mv {mark}.tmp {mark}; exec sleep 300"
            await run_process(["/bin/sh", "-c", script], timeout_s=300)


def _words(source: Source) -> list[str]:
    """What the tools are to say of a source: the reverse of its word, so that no evidence stands in the source."""
    return [one.split()[0][::-1] for one in source.text.split("SAYS:")[1:]]


def _resources(name: str) -> KernelResources:
    return KernelResources(
        name=name, symbol=name, registers=1, shared_bytes=0, stack_bytes=0, spill_store_bytes=0, spill_load_bytes=0,
        constant_bytes=0, barriers=0,
    )  # fmt: skip


def sleeper(mark: Path) -> str:
    """A source whose compile starts a process that sleeps, and writes its id to a file."""
    return f"// SLEEP:{mark}\n{PROGRAM}"
