"""A toolchain in memory: a candidate is a Python function on the buffers of one call."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from cudanalyst.kernels.dtypes import Array
from cudanalyst.kernels.inputs import Inputs
from cudanalyst.kernels.problem import Parameter, Problem, Tolerance, Work
from cudanalyst.tools.compile import Diagnostic, KernelResources
from cudanalyst.tools.findings import ALL_CHECKS, Check, Finding
from cudanalyst.tools.result import MeasuredOn, Place
from cudanalyst.tools.run import RunRequest, RunResult, run
from cudanalyst.tools.source import Source
from cudanalyst.tools.toolchain.protocol import (
    Build,
    CandidateRequest,
    Capabilities,
    Execution,
    ExecutionRequest,
    Sanitization,
)

MEASURED_ON = MeasuredOn(toolchain="replay", device="fake")
SECRET = b"a secret of the tests"
Solve = Callable[["Device"], int | None]
"""Works on the buffers of one call; a value that is not None or 0 is what `solve` returns."""


class Ended(Exception):
    """Ends the process in the middle of a call."""

    def __init__(self, how: str, *, status: int | None = None, signal: str | None = None) -> None:
        super().__init__(how)
        self.how = how
        self.status = status
        self.signal = signal


@dataclass
class Device:
    """What `solve` sees: typed views of the buffers, which stay at one address from call to call."""

    index: int
    memory: dict[str, bytearray]
    guard: int
    dtypes: Mapping[str, str]
    scalars: Mapping[str, int | float]
    sizes: Mapping[str, int]
    statics: dict[str, Any]
    """What the library keeps between calls of one process."""

    def view(self, name: str) -> Array:
        """The elements of a buffer."""
        end = len(self.memory[name]) - self.guard
        kind = {"f32": "<f4", "f64": "<f8", "i32": "<i4"}[self.dtypes[name]]
        return np.frombuffer(memoryview(self.memory[name])[self.guard : end], dtype=kind)


def doubled(device: Device) -> None:
    """The right solution of `DOUBLE`."""
    device.view("y")[:] = 2.0 * device.view("x")


DOUBLE = Problem(
    id="double",
    title="Double",
    description="y = 2 x",
    parameters=(
        Parameter(name="x", dtype="f32", role="in", shape=("n",), generator="normal"),
        Parameter(name="y", dtype="f32", role="out", shape=("n",)),
        Parameter(name="n", dtype="i32", role="scalar", value="n"),
    ),
    sizes={"test": ({"n": 128}, {"n": 97}), "eval": ({"n": 4096}, {"n": 16384}), "held_out": ({"n": 1013},)},
    tolerance=Tolerance(),
    work=Work(bytes_moved="8*n", flops="n"),
    baseline="// the baseline",
)
CANDIDATE = Source(text="// a candidate", problem="double")
PROGRAM = Source(text="int main() {}")


def double_expected(problem_id: str, inputs: Inputs, sizes: Mapping[str, int]) -> dict[str, Array]:
    """The float64 reference of `DOUBLE`."""
    del problem_id, sizes
    return {"y": 2.0 * inputs.arrays["x"].astype(np.float64)}


def ended(
    how: Literal["returned", "exited", "signalled", "timed_out", "output_limit", "unavailable"], **fields: Any
) -> Execution:
    """An execution that left nothing but how it ended."""
    plain: dict[str, Any] = {
        "exit_status": 0 if how == "returned" else None,
        "signal": None,
        "stdout": "",
        "stderr": "",
        "stdout_bytes": 0,
        "stderr_bytes": 0,
        "report": (),
        "downloads": (),
        "duration_s": 0.01,
        "sandbox": "full",
    }
    return Execution(how=how, **{**plain, **fields})


def run_calls(solve: Solve, request: CandidateRequest) -> Execution:
    """Does what the runner does, with a Python function in place of the library."""
    dtypes = {p.name: p.dtype for p in request.parameters if hasattr(p, "dtype")}
    memory: dict[str, bytearray] = {}
    statics: dict[str, Any] = {}
    report: list[dict[str, Any]] = [{"type": "engine", "version": 1, "mode": "run"}]
    downloads: list[dict[str, bytes]] = []
    for index, call in enumerate(request.calls):
        for name, (length, contents) in call.buffers.items():
            room = memory.setdefault(name, bytearray(length + 2 * request.guard_bytes))
            room[:] = contents if contents is not None else bytes(len(room))
        device = Device(index, memory, request.guard_bytes, dtypes, call.scalars, request.sizes, statics)
        try:
            value = solve(device) or 0
        except Ended as end:
            how: Any = end.how
            return ended(
                how, exit_status=end.status, signal=end.signal, report=tuple(report), downloads=tuple(downloads)
            )
        report.append({"type": "call", "index": index, "status": "solve_error" if value else "ok", "value": value})
        downloads.append({name: bytes(memory[name]) for name in call.download})
    report.append({"type": "end", "cuda_error": 0, "cuda_error_name": "cudaSuccess"})
    return ended("returned", report=tuple(report), downloads=tuple(downloads))


def resources(symbol: str = "_Z1k", **fields: Any) -> KernelResources:
    """What ptxas says of a small kernel."""
    plain: dict[str, Any] = {
        "name": "k",
        "symbol": symbol,
        "registers": 16,
        "shared_bytes": 0,
        "stack_bytes": 0,
        "spill_store_bytes": 0,
        "spill_load_bytes": 0,
        "constant_bytes": 0,
        "barriers": 0,
    }
    return KernelResources(**{**plain, **fields})


def profile_record(**fields: Any) -> dict[str, Any]:
    """A profile record of a coalesced streaming kernel over a megabyte."""
    plain: dict[str, Any] = {
        "type": "profile",
        "kernel": "k(float*)",
        "symbol": "_Z1k",
        "launches": 1,
        "grid": [1024, 1, 1],
        "block": [256, 1, 1],
        "warps": 8192,
        "warp_instructions": 81920,
        "thread_instructions": 81920 * 32,
        "mix": {"fp32": 8192, "integer": 32768, "load_global": 8192, "store_global": 8192},
        "global_requests": 16384,
        "global_sectors": 65536,
        "dram_bytes_unique_read": 32768 * 32,
        "dram_bytes_unique_written": 32768 * 32,
        "lines": [],
    }
    return {**plain, **fields}


@dataclass
class FakeToolchain:
    """Builds everything, runs `solve`, finds what it is told to find."""

    solve: Solve = doubled
    profiles: Sequence[Mapping[str, Any]] = field(default_factory=lambda: [profile_record()])
    script: Callable[[ExecutionRequest], Execution] | None = None
    """How an execution ends, in place of running `solve`."""
    findings: Mapping[str, tuple[Finding, ...]] = field(default_factory=dict)
    failed: Mapping[str, str] = field(default_factory=dict)
    build_status: Literal["compiled", "failed", "timed_out", "unavailable"] = "compiled"
    offered: Mapping[str, Any] = field(default_factory=dict)
    baseline_profiles: Sequence[Mapping[str, Any]] | None = None
    log: list[str] = field(default_factory=list)
    requests: list[ExecutionRequest] = field(default_factory=list)

    @property
    def name(self) -> Literal["cpu", "gpu", "replay"]:
        """As a replay."""
        return "replay"

    async def capabilities(self) -> Capabilities:
        """All, unless `offered` says otherwise."""
        plain: dict[str, Any] = {"build": True, "execute": True, "sanitize": ALL_CHECKS, "profile": True}
        return Capabilities(**{**plain, **self.offered}, measured_on=MEASURED_ON)

    async def build(self, source: Source) -> Build:
        """A build with or without a binary."""
        self.log.append(f"build {source.text}")
        error = Diagnostic(
            severity="error", text='identifier "foo" is undefined', place=Place(file="candidate.cu", line=3)
        )
        return Build(
            status=self.build_status,
            source_id=source.id,
            binary=Path(source.text) if self.build_status == "compiled" else None,
            diagnostics=(error,) if self.build_status == "failed" else (),
            kernels=(resources(),),
            reason="nvcc is missing; install it" if self.build_status == "unavailable" else None,
            duration_s=0.0,
            measured_on=MEASURED_ON,
        )

    def _execute(self, request: ExecutionRequest) -> Execution:
        self.requests.append(request)
        if self.script is not None:
            return self.script(request)
        if isinstance(request, CandidateRequest):
            return run_calls(self.solve, request)
        return ended("returned", report=({"type": "engine"}, {"type": "end"}))

    async def execute(self, build: Build, request: ExecutionRequest) -> Execution:
        """Runs plainly."""
        self.log.append("execute")
        del build
        return self._execute(request)

    async def sanitize(self, build: Build, request: ExecutionRequest, check: Check) -> Sanitization:
        """Runs, and finds what it was told to find."""
        self.log.append(check)
        del build
        return Sanitization(
            check=check,
            execution=self._execute(request),
            findings=self.findings.get(check, ()),
            failed=self.failed.get(check),
            coverage=f"what the fake {check} sees",
        )

    async def profile(self, build: Build, request: ExecutionRequest) -> Execution:
        """Runs, and adds the profile records."""
        self.log.append("profile")
        baseline = str(build.binary) == DOUBLE.baseline
        solve, self.solve = self.solve, doubled if baseline else self.solve
        execution = self._execute(request)
        self.solve = solve
        records = self.baseline_profiles if baseline and self.baseline_profiles is not None else self.profiles
        return replace(execution, report=(*records, *execution.report))


VERIFY = RunRequest(model=False)


async def verdict(solve=doubled, request: RunRequest = VERIFY, **fields: Any) -> RunResult:
    toolchain = FakeToolchain(solve=solve, **fields)
    return await run(CANDIDATE, DOUBLE, toolchain, request, expected=double_expected, secret=SECRET)


def rewrite(change) -> dict[str, Any]:
    """A right candidate whose process leaves something else than the runner wrote."""

    def script(request: ExecutionRequest) -> Execution:
        assert isinstance(request, CandidateRequest)
        return change(run_calls(doubled, request))

    return {"script": script}
