"""`run`: is a candidate right, on inputs it has not seen; or what does a program do."""

import asyncio
import contextlib
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from cudanalyst.errors import BadRequest
from cudanalyst.kernels.problem import Problem
from cudanalyst.tools.cases import Limits, seeds_for
from cudanalyst.tools.devices import load_device
from cudanalyst.tools.evaluation import Evaluated, Plan, evaluate, prepare
from cudanalyst.tools.failures import build_failure, check_pair, unavailable
from cudanalyst.tools.judge import worst
from cudanalyst.tools.large import VerifiesLarge
from cudanalyst.tools.oracle import Expected
from cudanalyst.tools.programs import describe, output_of
from cudanalyst.tools.run_models import RunRequest, RunResult
from cudanalyst.tools.run_summary import summarise
from cudanalyst.tools.source import Source
from cudanalyst.tools.speedup import Baselines, Bench, Speedup
from cudanalyst.tools.spending import spending
from cudanalyst.tools.stopwatch import Stopwatch
from cudanalyst.tools.timed import Timer
from cudanalyst.tools.toolchain.protocol import Build, Capabilities, Evaluates, Foresees, ProgramRequest, Toolchain
from cudanalyst.tools.verdicts import CaseResult, Mismatch, ProgramOutput, Trust

__all__ = ["CaseResult", "Mismatch", "ProgramOutput", "RunRequest", "RunResult", "Trust", "run"]


async def run(
    source: Source,
    problem: Problem | None,
    toolchain: Toolchain,
    request: RunRequest | None = None,
    *,
    expected: Expected | None = None,
    secret: bytes = b"",
    baselines: Baselines | None = None,
    folder: Path | None = None,
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
        folder: The problem's folder, for inputs that are made on the device when it is timed at a large size.

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
    if problem is None:
        build = await toolchain.build(source)
        if build.status != "compiled":
            return RunResult(**build_failure(build, capabilities), candidate=source.id, duration_s=watch.elapsed_s)
        return await _run_program(source, build, toolchain, request, watch=watch)
    if expected is None or not secret:
        raise BadRequest("a candidate needs the reference of its problem and a secret to draw inputs from")
    plan = Plan(
        groups=request.groups,
        seeds=request.seeds or seeds_for(problem),
        repeat=request.repeat,
        model=request.model and capabilities.profile and toolchain.name != "gpu",  # measured there, not modelled
        timing=request.timing if capabilities.time else (),
    )
    async with _evaluation(toolchain) as place:
        bench = Bench(
            problem=problem,
            toolchain=place,
            expected=expected,
            device=device,
            secret=secret,
            limits=Limits(request.timeout_s, request.max_warp_instructions),
            budget_warp_instructions=request.model_budget,
            large=place.large_verifier(problem, folder, secret)
            if folder is not None and isinstance(place, VerifiesLarge)
            else None,
        )
        preparation = prepare(source, bench, plan)
        try:
            if place is not toolchain:  # a device will be waiting, and compiling leaves cores free
                preparation.begin()
            if plan.timing and isinstance(place, Foresees):
                place.foresee(
                    Timer(place, problem, expected, secret, folder).requests(source, plan.timing, plan.repeat)
                )
            with spending("build"):
                build = await _build(source, problem, place, timed=bool(plan.timing))
            if build.status != "compiled":
                return RunResult(**build_failure(build, capabilities), candidate=source.id, duration_s=watch.elapsed_s)
            evaluated = await evaluate(
                source,
                build,
                bench,
                plan,
                versions=capabilities.measured_on.model_dump_json(),
                baselines={} if baselines is None else baselines,
                folder=folder,
                preparation=preparation,
            )
        finally:
            await preparation.close()
    return _candidate_result(source, problem, evaluated, capabilities, watch)


def _evaluation(toolchain: Toolchain) -> AbstractAsyncContextManager[Toolchain]:
    """What an evaluation's calls share, where the toolchain has that."""
    return toolchain.evaluation() if isinstance(toolchain, Evaluates) else contextlib.nullcontext(toolchain)


async def _build(source: Source, problem: Problem, toolchain: Toolchain, *, timed: bool) -> Build:
    """Builds, and where it will be timed its baseline beside it: that is then found in the cache."""
    if not timed:
        return await toolchain.build(source)
    baseline = Source(text=problem.baseline, problem=problem.id, options=source.options)
    build, _ = await asyncio.gather(toolchain.build(source), toolchain.build(baseline))
    return build


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
        which = f"only large sizes ({evaluated.left_out_because})" if evaluated.left_out else "no sizes"
        reason = evaluated.unavailable or f"problem {problem.id} has {which} in the groups that were asked for"
        return RunResult(**unavailable(reason, measured_on), candidate=source.id, duration_s=watch.elapsed_s)
    status = worst([case.status for case in cases])
    if status == "not_run":
        raise RuntimeError("a case was left out though none failed")
    speedup = evaluated.speedup if status == "passed" else Speedup(None, None, None)
    timed = evaluated.timed
    largest = timed.largest if status == "passed" else None
    untimed = capabilities.reasons.get("time") if status == "passed" and not timed.sizes else None
    return RunResult(
        status=status,
        summary=summarise(status, evaluated, speedup) + (f" Not timed: {untimed}." if untimed else ""),
        measured_on=measured_on,
        duration_s=watch.elapsed_s,
        candidate=source.id,
        trust=evaluated.trust,
        trust_reason=evaluated.native_because,
        cases=cases,
        cuda_error=evaluated.cuda_error,
        deterministic=evaluated.deterministic,
        nondeterminism=evaluated.difference,
        large_sizes_left_out=evaluated.left_out,
        modelled_us=speedup.us,
        modelled_device=evaluated.device if speedup.us is not None else None,
        baseline_modelled_us=speedup.baseline_us,
        modelled_speedup=speedup.ratio,
        measured_us=largest.us if largest else None,
        baseline_measured_us=largest.baseline_us if largest else None,
        speedup=timed.speedup if status == "passed" else None,
        speedup_min=timed.speedup_min if status == "passed" else None,
        fast=timed.fast if status == "passed" else None,
        timings=timed.sizes,
    )
