"""Modelled times of a candidate and of its problem's baseline, on the same data, at the sizes that are feasible here."""

import asyncio
import hashlib
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass, field, replace
from typing import Final

from cudanalyst.kernels.expressions import evaluate
from cudanalyst.kernels.extent import is_large
from cudanalyst.kernels.problem import Problem, SizeGroup, SizeSet
from cudanalyst.tools.cases import Limits, plan_profile
from cudanalyst.tools.devices import Device
from cudanalyst.tools.judge import Judgement, judge
from cudanalyst.tools.large import LargeVerifier
from cudanalyst.tools.modelled import geometric_mean, model_report, total_us
from cudanalyst.tools.oracle import Expected, estimated_warp_instructions
from cudanalyst.tools.source import Source
from cudanalyst.tools.toolchain.protocol import Build, Toolchain
from cudanalyst.values import content_id

LEAST_SHARE: Final = 0.5
"""Share of a problem's compulsory traffic that the kernels must show; part of it may be a memset."""
Baselines = MutableMapping[str, float]
"""Modelled baseline times in microseconds, by content: whoever calls `run` keeps it."""


@dataclass(frozen=True)
class Bench:
    """What modelling needs beside the candidate."""

    problem: Problem
    toolchain: Toolchain
    expected: Expected
    device: Device
    secret: bytes
    limits: Limits
    budget_warp_instructions: float
    """Sizes estimated to need more are not profiled."""
    large: LargeVerifier | None = None
    """Verifies what only a GPU runs; None leaves it out, and the result says how much."""


@dataclass(frozen=True)
class ModelledSize:
    """One size, profiled and verified."""

    group: SizeGroup
    sizes: SizeSet
    judgement: Judgement
    us: float | None
    note: str | None = None
    """Why there is no time though the outputs are right."""
    extra: Mapping[str, str] = field(default_factory=dict)
    """What the execution says of itself, its trust among it."""


@dataclass(frozen=True)
class Speedup:
    """The candidate against the baseline, at the sizes where both have a modelled time."""

    us: float | None
    """The candidate at the largest size."""
    baseline_us: float | None
    ratio: float | None
    """Geometric mean over the sizes."""
    note: str | None = None
    """Why there is no ratio."""


def feasible_sizes(problem: Problem, budget_warp_instructions: float) -> tuple[tuple[SizeGroup, SizeSet], ...]:
    """The eval sizes within the budget, smallest first; where there are none, the largest test size within it.

    Sizes that only a GPU runs are never among them.
    """

    def cost(sizes: SizeSet) -> float:
        return estimated_warp_instructions(problem, sizes)

    for group in ("eval", "test"):
        small = (sizes for sizes in problem.sizes.get(group, ()) if not is_large(problem, sizes))
        within = [sizes for sizes in sorted(small, key=cost) if cost(sizes) <= budget_warp_instructions]
        if within:
            return tuple((group, sizes) for sizes in (within if group == "eval" else within[-1:]))
    return ()


async def model_size(bench: Bench, build: Build, arch: str, group: SizeGroup, sizes: SizeSet) -> ModelledSize:
    """Profiles one call, verifies its outputs, and models its kernels: a time counts only for work that was done."""
    planned = await asyncio.to_thread(plan_profile, bench.problem, group, sizes, bench.secret, bench.limits)
    execution = await bench.toolchain.profile(build, planned.request)
    judgement = await asyncio.to_thread(judge, planned, execution, bench.expected)
    if any(case.status != "passed" for case in judgement.cases) or not judgement.cases:
        return ModelledSize(group, sizes, judgement, None, extra=execution.extra)
    kernels = model_report(execution.report, build.kernels, arch, bench.device)
    moved = sum(kernel.counts.unique_bytes for kernel in kernels)
    least = float(evaluate(bench.problem.work.bytes_moved, sizes))
    if moved < LEAST_SHARE * least:
        # Copies outside kernels, work on the host, or a forged profile: whatever it is, the counts are not of the work.
        note = f"the kernels moved {moved} bytes of at least {least:.0f}; what is done outside kernels is not modelled"
        return ModelledSize(group, sizes, judgement, None, note, execution.extra)
    us = total_us(kernels)
    cases = tuple(case.model_copy(update={"modelled_us": us}) for case in judgement.cases)
    return ModelledSize(group, sizes, replace(judgement, cases=cases), us, extra=execution.extra)


async def compare_to_baseline(
    bench: Bench, source: Source, modelled: tuple[ModelledSize, ...], versions: str, baselines: Baselines
) -> Speedup:
    """Models the baseline at the same sizes, or takes it from `baselines`, and gives the ratio."""
    known = [size for size in modelled if size.us is not None]
    if not known:
        note = next((size.note for size in modelled if size.note), "no size could be modelled within the budget")
        return Speedup(None, None, None, note)
    baseline = Source(text=bench.problem.baseline, problem=bench.problem.id, options=source.options)
    build: Build | None = None
    ratios: list[float] = []
    base_us: float | None = None
    for size in known:
        key = _key(bench, baseline, size.sizes, versions)
        base_us = baselines.get(key)
        if base_us is None:
            build = build or await bench.toolchain.build(baseline)
            if build.status != "compiled":
                return Speedup(known[-1].us, None, None, "the baseline does not compile with these options")
            measured = await model_size(bench, build, baseline.options.arch, size.group, size.sizes)
            base_us = measured.us
            if base_us is None:
                return Speedup(known[-1].us, None, None, "the baseline could not be modelled")
            baselines[key] = base_us
        if size.us:
            ratios.append(base_us / size.us)
    return Speedup(known[-1].us, base_us, geometric_mean(ratios))


def _key(bench: Bench, baseline: Source, sizes: SizeSet, versions: str) -> str:
    spelled = ",".join(f"{name}={extent}" for name, extent in sorted(sizes.items()))
    secret = hashlib.sha256(bench.secret).hexdigest()
    return content_id("base", baseline, bench.problem, spelled, bench.device.name, versions, secret)
