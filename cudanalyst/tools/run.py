"""`run`: is a candidate right, on inputs it has not seen; or what does a program do."""

from typing import Literal, Self

from pydantic import Field, model_validator

from cudanalyst.errors import BadRequest
from cudanalyst.kernels.problem import Problem, SizeGroup
from cudanalyst.tools.cases import Limits, seeds_for
from cudanalyst.tools.compile import Diagnostic
from cudanalyst.tools.devices import load_device
from cudanalyst.tools.evaluation import Evaluated, Plan, evaluate
from cudanalyst.tools.failures import build_failure, check_pair, unavailable
from cudanalyst.tools.judge import worst
from cudanalyst.tools.oracle import Expected
from cudanalyst.tools.programs import describe, output_of
from cudanalyst.tools.result import ToolResult
from cudanalyst.tools.run_summary import summarise
from cudanalyst.tools.source import Source
from cudanalyst.tools.speedup import Baselines, Bench, Speedup
from cudanalyst.tools.stopwatch import Stopwatch
from cudanalyst.tools.toolchain.protocol import Build, Capabilities, ProgramRequest, Toolchain
from cudanalyst.tools.verdicts import CaseResult, Mismatch, ProgramOutput, Trust
from cudanalyst.values import Frozen

__all__ = ["CaseResult", "Mismatch", "ProgramOutput", "RunRequest", "RunResult", "Trust", "run"]


class RunRequest(Frozen):
    """What to run, and within which bounds."""

    groups: tuple[SizeGroup, ...] = Field(default=("test", "held_out"), min_length=1)
    """Size groups on which a candidate is verified; modelled sizes are verified besides."""
    seeds: int | None = Field(default=None, ge=1, le=8)
    """Input sets per size, the first used twice; None: one per distribution of the problem's inputs, two to four."""
    repeat: int = Field(default=0, ge=0)
    """Another number draws other inputs."""
    timeout_s: float = Field(default=20.0, gt=0, le=600)
    """Wall limit of each process, in seconds."""
    max_warp_instructions: int = Field(default=2_000_000_000, gt=0)
    """A launch that needs more counts as endless."""
    model: bool = True
    """Whether to model the time of a candidate that passes, and of its baseline."""
    device: str = "h200"
    """Device to model for."""
    model_budget: float = Field(default=20e6, gt=0)
    """Sizes estimated to need more warp instructions are not modelled."""
    arguments: tuple[str, ...] = ()
    """Arguments of a program."""
    stdin: str = ""
    """Standard input of a program."""
    expected_stdout: str | None = None
    """What a program should print; None for no verdict."""
    expected_tolerance: float | None = Field(default=None, ge=0)
    """Compares word by word, numbers within this relative error; None for equal text."""


class RunResult(ToolResult):
    """What running gave. `modelled_us` is a roofline model, never a measurement."""

    status: Literal[
        "passed",
        "wrong",
        "crashed",
        "timed_out",
        "contract_violation",
        "compile_failed",
        "exited",
        "unavailable",
        "running",
    ]
    """`exited` is for programs; the others but `compile_failed` and `unavailable` are for both."""
    candidate: str | None = None
    diagnostics: tuple[Diagnostic, ...] = ()
    trust: Trust | None = None
    cases: tuple[CaseResult, ...] = ()
    program: ProgramOutput | None = None
    cuda_error: str | None = None
    """Name of the CUDA error that the run left, e.g. `cudaErrorIllegalAddress`."""
    deterministic: bool | None = None
    """Whether the same input gave the same bytes twice; None where it was not seen."""
    modelled_us: float | None = None
    """Sum of modelled kernel times at the largest size run, for `modelled_device`."""
    modelled_device: str | None = None
    baseline_modelled_us: float | None = None
    modelled_speedup: float | None = None
    """`baseline_modelled_us / modelled_us`, geometric mean over eval sizes; None unless passed."""

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        statuses = {case.status for case in self.cases}
        if self.status == "passed" and statuses != {"passed"}:
            raise ValueError("status passed needs cases, each of them passed")
        judged = self.status in {"wrong", "crashed", "timed_out", "contract_violation"}
        if judged and self.program is None and self.status not in statuses:
            raise ValueError(f"status {self.status} needs a case or a program with it")
        if self.status == "exited" and self.program is None:
            raise ValueError("status exited is for programs")
        if self.status in {"compile_failed", "unavailable"} and (self.cases or self.program):
            raise ValueError(f"nothing ran where the status is {self.status}")
        if self.status == "unavailable" and not self.reason:
            raise ValueError("status unavailable needs a reason")
        if self.status != "passed" and (self.modelled_us is not None or self.modelled_speedup is not None):
            raise ValueError("only what passed has a modelled time")
        if self.modelled_us is not None and self.modelled_device is None:
            raise ValueError("a modelled time names its device")
        return self

    @property
    def ok(self) -> bool | None:
        """True: passed, or a program that ended with 0 and as expected. False: not. None: could not be done."""
        if self.status == "exited" and self.program is not None:
            return self.program.exit_status == 0 and self.program.matches_expected is not False
        return None if self.status in {"unavailable", "running"} else self.status == "passed"


async def run(
    source: Source,
    problem: Problem | None,
    toolchain: Toolchain,
    request: RunRequest | None = None,
    *,
    expected: Expected | None = None,
    secret: bytes = b"",
    baselines: Baselines | None = None,
) -> RunResult:
    """Runs a candidate against the float64 reference, or a program as it is.

    Args:
        source: A candidate or a program.
        problem: The candidate's problem; None for a program.
        toolchain: Where to build and run.
        request: Sizes, seeds and limits.
        expected: Float64 outputs (`Catalogue.expected`); needed for a candidate.
        secret: The server's secret, from which inputs are drawn; needed for a candidate.
        baselines: Cache of modelled baseline times, kept by the caller.

    Raises:
        BadRequest: Source, problem and arguments do not belong together.
    """
    request = request or RunRequest()
    check_pair(source, problem)
    device = load_device(request.device)
    watch = Stopwatch()
    capabilities = await toolchain.capabilities()
    if not capabilities.execute:
        reason = capabilities.reasons.get("execute", "nothing can be run here; run `cudanalyst doctor`")
        return RunResult(**unavailable(reason, capabilities.measured_on), candidate=source.id)
    build = await toolchain.build(source)
    if build.status != "compiled":
        return RunResult(**build_failure(build, capabilities), candidate=source.id, duration_s=watch.elapsed_s)
    if problem is None:
        return await _run_program(source, build, toolchain, request, watch=watch)
    if expected is None or not secret:
        raise BadRequest("a candidate needs the reference of its problem and a secret to draw inputs from")
    bench = Bench(
        problem=problem,
        toolchain=toolchain,
        expected=expected,
        device=device,
        secret=secret,
        limits=Limits(request.timeout_s, request.max_warp_instructions),
        budget_warp_instructions=request.model_budget,
    )
    plan = Plan(
        groups=request.groups,
        seeds=request.seeds or seeds_for(problem),
        repeat=request.repeat,
        model=request.model and capabilities.profile,
    )
    versions = capabilities.measured_on.model_dump_json()
    evaluated = await evaluate(
        source, build, bench, plan, versions=versions, baselines={} if baselines is None else baselines
    )
    return _candidate_result(source, problem, evaluated, capabilities, watch)


async def _run_program(
    source: Source, build: Build, toolchain: Toolchain, request: RunRequest, *, watch: Stopwatch
) -> RunResult:
    execution = await toolchain.execute(
        build,
        ProgramRequest(
            arguments=request.arguments,
            stdin=request.stdin.encode(),
            timeout_s=request.timeout_s,
            max_warp_instructions=request.max_warp_instructions,
        ),
    )
    if execution.how == "unavailable":
        reason = execution.reason or "the program could not be started; run `cudanalyst doctor`"
        return RunResult(**unavailable(reason, build.measured_on), candidate=source.id)
    status, sentence, error = describe(execution)
    output = output_of(execution, request.expected_stdout, request.expected_tolerance)
    if output.matches_expected is not None:
        sentence += (
            " Its output is as expected." if output.matches_expected else " Its output is not what was expected."
        )
    return RunResult(
        status=status,
        summary=sentence,
        measured_on=build.measured_on.model_copy(update={"sandbox": execution.sandbox}),
        duration_s=watch.elapsed_s,
        candidate=source.id,
        trust="native",
        program=output,
        cuda_error=error,
    )


def _candidate_result(
    source: Source, problem: Problem, evaluated: Evaluated, capabilities: Capabilities, watch: Stopwatch
) -> RunResult:
    measured_on = capabilities.measured_on.model_copy(update={"sandbox": evaluated.sandbox})
    cases = evaluated.cases
    if evaluated.unavailable or not cases:
        reason = evaluated.unavailable or f"problem {problem.id} has no sizes in the groups that were asked for"
        return RunResult(**unavailable(reason, measured_on), candidate=source.id, duration_s=watch.elapsed_s)
    status = worst([case.status for case in cases])
    if status == "not_run":
        raise RuntimeError("a case was left out though none failed")
    speedup = evaluated.speedup if status == "passed" else Speedup(None, None, None)
    return RunResult(
        status=status,
        summary=summarise(status, evaluated, speedup),
        measured_on=measured_on,
        duration_s=watch.elapsed_s,
        candidate=source.id,
        trust=evaluated.trust,
        cases=cases,
        cuda_error=evaluated.cuda_error,
        deterministic=evaluated.deterministic,
        modelled_us=speedup.us,
        modelled_device=evaluated.device if speedup.us is not None else None,
        baseline_modelled_us=speedup.baseline_us,
        modelled_speedup=speedup.ratio,
    )
