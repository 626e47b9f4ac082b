"""A store, a laboratory with a frozen checkpoint, and made-up tool results."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import settings

from cudanalyst.resources import judging, trial_flow
from cudanalyst.resources.checkpoints import Checkpoint
from cudanalyst.resources.delivery import TrialPayload
from cudanalyst.resources.experiment import Experiments
from cudanalyst.resources.freeze import Moment, ToolResults, checkpoint_of, commit
from cudanalyst.resources.outcomes import outcome_of
from cudanalyst.resources.store import Scope, Store
from cudanalyst.tools.analyze import AnalyzeResult, KernelFacts, Suspicion
from cudanalyst.tools.compile import CompileResult, Diagnostic, KernelResources
from cudanalyst.tools.debug import ALL_CHECKS, CheckReport, DebugResult, Finding
from cudanalyst.tools.profile import Insight, KernelProfile, ProfileResult
from cudanalyst.tools.result import MeasuredOn, Place
from cudanalyst.tools.run import CaseResult, RunResult
from cudanalyst.tools.source import Source

# Times of a shared machine say nothing about the code.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

ON = MeasuredOn(toolchain="cpu", device="cpu-engine", versions={"nvcc": "13.0.88"})
PLAYERS = ("analyzer", "debugger", "profiler")
STATEMENT = "Scale a vector by two."


@dataclass
class Clock:
    """A clock that moves only when told to."""

    now: float = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now


def tool_results(status: str = "wrong", speedup: float = 1.0, duration: float = 0.1) -> ToolResults:
    """What the five tools might say of a candidate with this base status."""
    common = {"measured_on": ON, "duration_s": duration}
    built = status != "compile_failed"
    compiled = CompileResult(
        status="compiled" if built else "failed",
        summary="compiled" if built else "one error",
        arch="sm_90",
        diagnostics=()
        if built
        else (
            Diagnostic(
                severity="error",
                text='identifier "n" is undefined in /tmp/build.1234/x/candidate.cu',
                place=Place(file="candidate.cu", line=7, column=3),
                code="20",
            ),
        ),
        kernels=(
            KernelResources(
                name="scale(float*)",
                symbol="_Z5scalePf",
                registers=18,
                shared_bytes=0,
                stack_bytes=0,
                spill_store_bytes=0,
                spill_load_bytes=0,
                constant_bytes=368,
                barriers=0,
            ),
        )
        if built
        else (),
        **common,
    )
    case = {"group": "test", "sizes": {"n": 64}, "seed_index": 0}
    run = (
        RunResult(
            status=status,
            summary=status,
            cases=(CaseResult(status=status, **case),),
            modelled_speedup=speedup if status == "passed" else None,
            **common,
        )
        if built
        else None
    )
    analyzed = AnalyzeResult(
        status="findings",
        summary="one suspicion",
        kernels=(KernelFacts(name="scale", place=Place(file="candidate.cu", line=3)),),
        suspicions=(
            Suspicion(
                kind="missing_bounds_guard",
                place=Place(file="candidate.cu", line=5),
                kernel="scale",
                message="The index is not compared with n.",
                remedy="Return where i >= n.",
                confidence="high",
            ),
        ),
        parse_confidence=1.0,
        **common,
    )
    debugged = (
        DebugResult(
            status="findings",
            summary="one finding",
            checks=tuple(
                CheckReport(
                    check=check, verdict="findings" if check == "memcheck" else "clean", coverage="global memory"
                )
                for check in ALL_CHECKS
            ),
            findings=(
                Finding(
                    check="memcheck",
                    kind="invalid_global_write",
                    message="A write lies 0 bytes past the end of y.",
                    kernel="scale",
                    file="candidate.cu",
                    line=5,
                    thread=(64, 0, 0),
                    block=(0, 0, 0),
                    address="y[256 B] + 256",
                    count=64,
                ),
            ),
            **common,
        )
        if built
        else DebugResult(status="compile_failed", summary="does not compile", **common)
    )
    profiled = (
        ProfileResult(
            status="profiled",
            summary="bound by dram",
            level="ptx",
            kernels=(
                KernelProfile(
                    name="scale",
                    launches=1,
                    grid=(1, 1, 1),
                    block=(128, 1, 1),
                    warp_instructions=40,
                    instruction_mix={"fp32": 4},
                    lane_efficiency=1.0,
                    global_bytes=512,
                    sectors_per_request=4.0,
                    shared_conflict_ratio=None,
                    bound="dram",
                    modelled_us=2.5,
                    share=1.0,
                ),
            ),
            insights=(
                Insight(
                    kind="uncoalesced_global",
                    message="Neighbouring threads read far apart.",
                    kernel="scale",
                    file="candidate.cu",
                    lines=(5,),
                    metric="sectors_per_request",
                    value=32.0,
                    remedy="Let threadIdx.x index the fastest dimension.",
                    estimated_gain=1.8,
                ),
            ),
            modelled_us=2.5,
            modelled_device="H200",
            **common,
        )
        if built
        else ProfileResult(status="compile_failed", summary="does not compile", **common)
    )
    return ToolResults(compiled=compiled, run=run, analyzed=analyzed, debugged=debugged, profiled=profiled)


@dataclass
class Lab:
    """One owner at work in one session, with a clock in hand."""

    store: Store
    clock: Clock
    owner: str = "ada"
    scope: Scope = field(init=False)
    experiments: Experiments = field(init=False)

    def __post_init__(self) -> None:
        self.scope = self.store.scope(self.owner, self.store.start_session(self.owner))
        self.experiments = Experiments(self.store)

    def context(self, name: str) -> Scope:
        return self.store.scope(self.owner, self.scope.session, name)

    def source(self, name: str = "a", problem: str = "scale") -> Source:
        return Source(text=f"// {name}\n__global__ void scale(float* y) {{}}", problem=problem)

    def freeze(
        self, name: str = "a", *, problem: str = "scale", status: str = "wrong", speedup: float = 1.0, **moment
    ) -> Checkpoint:
        wanted = Moment(source=self.source(name, problem), **moment)
        return commit(self.store, self.scope, wanted, checkpoint_of(wanted, tool_results(status, speedup)))

    def start(self, *checkpoints: Checkpoint, players=PLAYERS, repeats: int = 1, **options) -> str:
        return self.experiments.start(
            self.scope,
            players=players,
            checkpoints=[checkpoint.id for checkpoint in checkpoints],
            statements={checkpoint.problem: STATEMENT for checkpoint in checkpoints},
            repeats=repeats,
            seed=options.pop("seed", 7),
            **options,
        ).id

    def next(self, experiment: str, context: str, **options) -> TrialPayload:
        given = trial_flow.next_trial(self.experiments, self.context(context), experiment, **options)
        assert isinstance(given, TrialPayload), given
        return given

    def submit(self, payload: TrialPayload, context: str, source: str | None = None, **answer):
        if source is None and "failure" not in answer:
            source = f"// answer to {payload.trial}"
        return trial_flow.submit_trial(self.experiments, self.context(context), payload.trial, source=source, **answer)

    def judge(self, experiment: str, status: str = "passed", speedup: float = 1.5) -> int:
        waiting = judging.pending(self.experiments, self.owner, experiment)
        for one in waiting:
            compiled, run = ("failed", None) if status == "compile_failed" else ("compiled", status)
            outcome = outcome_of(one.checkpoint.base_status, compiled, run, speedup if status == "passed" else None)
            judging.record_outcome(self.experiments, self.owner, one.trial, outcome)
        return len(waiting)

    def finish(self, experiment: str) -> dict[str, TrialPayload]:
        """Answers every trial, each in a fresh context, and judges it."""
        given = {}
        while not self.experiments.progress(self.owner, experiment).ended:
            context = f"fresh {len(given)}"
            payload = self.next(experiment, context)
            given[payload.trial] = payload
            self.submit(payload, context)
            self.judge(experiment)
        return given


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(tmp_path: Path, clock: Clock) -> Iterator[Store]:
    with Store.open(tmp_path / "store", clock=clock) as opened:
        yield opened


@pytest.fixture
def lab(store: Store, clock: Clock) -> Lab:
    return Lab(store, clock)


@pytest.fixture
def results() -> Callable[..., ToolResults]:
    return tool_results
