"""One evaluation of a candidate that compiled: verified on every size, and modelled where it passed."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from cudanalyst.kernels.extent import is_large
from cudanalyst.kernels.problem import Problem, SizeGroup, SizeSet
from cudanalyst.tools.judge import Judgement, judge, not_run
from cudanalyst.tools.large import LargeVerifier
from cudanalyst.tools.preparing import Preparation
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
from cudanalyst.tools.spending import spending
from cudanalyst.tools.timed import Timed, Timer, fault_judgement
from cudanalyst.tools.timing.models import TimingMode
from cudanalyst.tools.toolchain.protocol import Build, Execution
from cudanalyst.tools.verdicts import CaseResult, Difference, Trust


@dataclass(frozen=True)
class Plan:
    """What to verify."""

    groups: tuple[SizeGroup, ...]
    seeds: int
    repeat: int
    model: bool
    timing: tuple[TimingMode, ...] = ()
    """How to time what passed against the baseline; empty: not at all."""


ONLY_ON_A_GPU: Final = "only a GPU runs them"
ONLY_RECORDED: Final = "they are verified only where calls can be recorded"


@dataclass(frozen=True)
class Evaluated:
    """What came of it."""

    judgements: tuple[Judgement, ...]
    sandbox: Sandbox | None
    trust: Trust
    modelled: tuple[ModelledSize, ...]
    speedup: Speedup
    device: str
    timed: Timed = field(default_factory=Timed)
    left_out: int = 0
    """Large sizes (kernels/extent.py) that were asked for where only small ones can be run."""
    left_out_because: str = ONLY_ON_A_GPU
    """Why."""
    native_because: str | None = None
    """What kept host code from being recorded, where the trust is `native`."""

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

    @property
    def difference(self) -> Difference | None:
        """Two values of one output that equal inputs gave, where that was seen on a size that is shown."""
        return next((judgement.difference for judgement in self.judgements if judgement.difference), None)


def small_sizes(problem: Problem, groups: Sequence[SizeGroup]) -> list[tuple[SizeGroup, SizeSet]]:
    """The sizes that are verified with inputs and references of this process, in their order."""
    return [(group, sizes) for group, sizes in _sizes(problem, groups) if not is_large(problem, sizes)]


def prepare(source: Source, bench: Bench, plan: Plan) -> Preparation:
    """Makes inputs and references for `evaluate`."""
    return Preparation(
        bench.problem,
        small_sizes(bench.problem, plan.groups),
        bench.expected,
        labels=(source.id, str(plan.repeat)),
        seeds=plan.seeds,
        secret=bench.secret,
        limits=bench.limits,
    )


async def evaluate(
    source: Source,
    build: Build,
    bench: Bench,
    plan: Plan,
    *,
    versions: str,
    baselines: Baselines,
    folder: Path | None = None,
    preparation: Preparation | None = None,
) -> Evaluated:
    """Verifies size by size; a crash, a hang or a violation ends it, a wrong answer does not.

    A wrong answer at one size says little of the next, while a crash or a hang would only cost its time again.
    """
    preparation = preparation or prepare(source, bench, plan)
    try:
        verified = await _Verification(source, build, bench, plan, preparation).all()
    finally:
        await preparation.close()
    judgements, ran = verified.judgements, verified.ran
    sandbox = ran[-1].sandbox if ran else None
    modelled: tuple[ModelledSize, ...] = ()
    speedup = Speedup(None, None, None)
    if plan.model and judgements and all(_passed(judgement) for judgement in judgements):
        modelled = await _model(source, build, bench)
        judgements += [size.judgement for size in modelled if not _already_judged(plan, size)]
        if all(_passed(size.judgement) for size in modelled):
            speedup = await compare_to_baseline(bench, source, modelled, versions, baselines)
    extras = [*(execution.extra for execution in ran), *(size.extra for size in modelled), *verified.unrecordable]
    trust, native_because = _trust(extras)
    timed = Timed()
    if plan.timing and judgements and all(_passed(judgement) for judgement in judgements):
        timer = Timer(bench.toolchain, bench.problem, bench.expected, bench.secret, folder)
        timed = await timer.time(source, build, trust, plan.timing, plan.repeat, native_because)
        faulty = fault_judgement(timed)
        judgements += [faulty] if faulty else []
    return Evaluated(
        tuple(judgements),
        sandbox,
        trust,
        modelled,
        speedup,
        bench.device.name,
        timed,
        verified.left_out,
        ONLY_RECORDED if verified.unrecordable else ONLY_ON_A_GPU,
        native_because,
    )


def _sizes(problem: Problem, groups: Sequence[SizeGroup]) -> list[tuple[SizeGroup, SizeSet]]:
    return [(group, sizes) for group in dict.fromkeys(groups) for sizes in problem.sizes.get(group, ())]


@dataclass
class _Verification:
    """All sizes, one after the other; one is judged while the next one runs."""

    source: Source
    build: Build
    bench: Bench
    plan: Plan
    preparation: Preparation
    judgements: list[Judgement] = field(default_factory=list)
    ran: list[Execution] = field(default_factory=list)
    left_out: int = 0
    unrecordable: list[Mapping[str, str]] = field(default_factory=list)
    """What kept large sizes from being verified, as a native run would say it."""
    _stopped: bool = False
    _judging: asyncio.Task[Judgement] | None = None

    async def all(self) -> "_Verification":
        """Fills in the judgements."""
        bench, plan = self.bench, self.plan
        number = 0
        try:
            for group, sizes in _sizes(bench.problem, plan.groups):
                large = is_large(bench.problem, sizes)
                if large and bench.large is None:
                    self.left_out += 1
                elif self._stopped:
                    self.judgements.append(not_run(group, sizes, plan.seeds))
                elif large and bench.large is not None:
                    await self._large(bench.large, group, sizes)
                else:
                    await self._small(number, group, sizes)
                number += not large
            await self._judged()
        finally:
            if self._judging is not None:
                self._judging.cancel()
        return self

    async def _large(self, verify: LargeVerifier, group: SizeGroup, sizes: SizeSet) -> None:
        await self._judged()
        if self._stopped:
            self.judgements.append(not_run(group, sizes, self.plan.seeds))
            return
        labels = (self.source.id, str(self.plan.repeat))
        with spending("large sizes"):
            judgement = await verify(self.source, self.build, group, sizes, labels=labels, seeds=self.plan.seeds)
        if judgement.unrecordable is None:
            self._add(judgement)
        else:  # or else whoever cannot be recorded at large sizes only would keep the better label without them
            self.left_out += 1
            self.unrecordable.append({"trust": "native", "native_because": judgement.unrecordable})

    async def _small(self, number: int, group: SizeGroup, sizes: SizeSet) -> None:
        with spending("inputs and references"):
            prepared = await self.preparation.of(number)
        execution = await self.bench.toolchain.execute(self.build, prepared.planned.request)
        await self._judged()
        if self._stopped:  # the one before broke the contract, as its judge has found meanwhile
            self.judgements.append(not_run(group, sizes, self.plan.seeds))
            return
        self.ran.append(execution)
        self._judging = asyncio.create_task(asyncio.to_thread(judge, prepared.planned, execution, prepared.expected))
        if not _in_order(execution):
            await self._judged()

    async def _judged(self) -> None:
        """Waits for the judge."""
        if self._judging is not None:
            with spending("judging"):
                judgement = await self._judging
            self._judging = None
            self._add(judgement)

    def _add(self, judgement: Judgement) -> None:
        self.judgements.append(judgement)
        self._stopped = self._stopped or _ends(judgement)


def _in_order(execution: Execution) -> bool:
    """Whether an execution shows nothing by itself for which the next size would not be run."""
    calls = [record for record in execution.report if record.get("type") == "call"]
    return execution.how == "returned" and all(record.get("status") == "ok" for record in calls)


def _trust(ran: Sequence[Mapping[str, str]]) -> tuple[Trust, str | None]:
    """The least of all runs, and why it was not more: one native run could have shown anything. Large sizes are replayed or left out, as native."""
    native = [extra for extra in ran if extra.get("trust") != "replayed"]
    if not native:
        return "replayed", None
    return "native", next((extra["native_because"] for extra in native if "native_because" in extra), None)


def _ends(judgement: Judgement) -> bool:
    return bool(judgement.unavailable) or any(case.status not in {"passed", "wrong"} for case in judgement.cases)


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
