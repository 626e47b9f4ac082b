"""One evaluation of a candidate that compiled: verified on every size, and modelled where it passed."""

import asyncio
from dataclasses import dataclass

from cudanalyst.kernels.problem import SizeGroup, SizeSet
from cudanalyst.tools.cases import plan_verification
from cudanalyst.tools.judge import Judgement, judge, not_run
from cudanalyst.tools.result import Sandbox
from cudanalyst.tools.source import Source
from cudanalyst.tools.speedup import (
    Baselines,
    Bench,
    ModelledSize,
    Speedup,
    compare_to_baseline,
    feasible_sizes,
    model_size,
)
from cudanalyst.tools.toolchain.protocol import Build
from cudanalyst.tools.verdicts import CaseResult, Trust


@dataclass(frozen=True)
class Plan:
    """What to verify."""

    groups: tuple[SizeGroup, ...]
    seeds: int
    repeat: int
    model: bool


@dataclass(frozen=True)
class Evaluated:
    """What came of it."""

    judgements: tuple[Judgement, ...]
    sandbox: Sandbox | None
    trust: Trust
    modelled: tuple[ModelledSize, ...]
    speedup: Speedup
    device: str

    @property
    def cases(self) -> tuple[CaseResult, ...]:
        """All cases, in the order in which they were run."""
        return tuple(case for judgement in self.judgements for case in judgement.cases)

    @property
    def unavailable(self) -> str | None:
        """Why nothing can be said, where the toolchain failed."""
        return next((judgement.unavailable for judgement in self.judgements if judgement.unavailable), None)

    @property
    def cuda_error(self) -> str | None:
        """The first CUDA error that a run left."""
        return next((judgement.cuda_error for judgement in self.judgements if judgement.cuda_error), None)

    @property
    def deterministic(self) -> bool | None:
        """Whether equal inputs always gave equal bytes."""
        seen = [judgement.deterministic for judgement in self.judgements if judgement.deterministic is not None]
        return all(seen) if seen else None


async def evaluate(
    source: Source, build: Build, bench: Bench, plan: Plan, *, versions: str, baselines: Baselines
) -> Evaluated:
    """Verifies size by size; a crash, a hang or a violation ends it, a wrong answer does not.

    A wrong answer at one size says little of the next, while a crash or a hang would only cost its time again.
    """
    judgements: list[Judgement] = []
    sandbox: Sandbox | None = None
    trust: Trust = "native"
    stopped = False
    for group in dict.fromkeys(plan.groups):
        for sizes in bench.problem.sizes.get(group, ()):
            if stopped:
                judgements.append(not_run(group, sizes, plan.seeds))
                continue
            planned = await asyncio.to_thread(
                plan_verification,
                bench.problem,
                group,
                sizes,
                labels=(source.id, str(plan.repeat)),
                seeds=plan.seeds,
                secret=bench.secret,
                limits=bench.limits,
            )
            execution = await bench.toolchain.execute(build, planned.request)
            sandbox = execution.sandbox
            trust = "replayed" if execution.extra.get("trust") == "replayed" else "native"
            judgement = await asyncio.to_thread(judge, planned, execution, bench.expected)
            judgements.append(judgement)
            stopped = bool(judgement.unavailable) or any(
                case.status not in {"passed", "wrong"} for case in judgement.cases
            )
    modelled: tuple[ModelledSize, ...] = ()
    speedup = Speedup(None, None, None)
    if plan.model and judgements and all(_passed(judgement) for judgement in judgements):
        modelled = await _model(source, build, bench)
        judgements += [size.judgement for size in modelled if not _already_judged(plan, size)]
        if all(_passed(size.judgement) for size in modelled):
            speedup = await compare_to_baseline(bench, source, modelled, versions, baselines)
    return Evaluated(tuple(judgements), sandbox, trust, modelled, speedup, bench.device.name)


async def _model(source: Source, build: Build, bench: Bench) -> tuple[ModelledSize, ...]:
    modelled: list[ModelledSize] = []
    for group, sizes in feasible_sizes(bench.problem, bench.budget_warp_instructions):
        modelled.append(await model_size(bench, build, source.options.arch, group, sizes))
        if not _passed(modelled[-1].judgement):
            break
    return tuple(modelled)


def _already_judged(plan: Plan, size: ModelledSize) -> bool:
    """A size that was verified before adds no case, unless it failed this time."""
    return size.group in plan.groups and _passed(size.judgement)


def _passed(judgement: Judgement) -> bool:
    return bool(judgement.cases) and all(case.status == "passed" for case in judgement.cases)


def spell(sizes: SizeSet) -> str:
    """`n=97 m=3`, for messages."""
    return " ".join(f"{name}={extent}" for name, extent in sizes.items())
