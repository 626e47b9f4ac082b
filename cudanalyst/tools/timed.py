"""A candidate that passed, timed against its problem's baseline at every eval size: what `run` says of measured time."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cudanalyst.kernels.problem import Problem, SizeSet
from cudanalyst.tools.cases import derive
from cudanalyst.tools.judge import Judgement
from cudanalyst.tools.oracle import Expected, estimated_warp_instructions
from cudanalyst.tools.source import Source
from cudanalyst.tools.timing.models import (
    FAST_THRESHOLD,
    Comparison,
    Fault,
    SizeTiming,
    TimingMode,
    Uncompared,
)
from cudanalyst.tools.toolchain.protocol import Build, ComparisonRequest, Toolchain
from cudanalyst.tools.verdicts import CaseResult, Trust

MAX_NOTES: Final = 4
MAX_TEXT: Final = 300
MAX_SIZES: Final = 8
NATIVE: Final = "its host code ran natively, where it could forge times, so none are taken"


@dataclass(frozen=True)
class Timed:
    """Comparisons at the eval sizes."""

    sizes: tuple[SizeTiming, ...] = ()
    fault: tuple[SizeSet, Fault, str] | None = None
    """What went wrong in timed calls, where."""
    mode: TimingMode = "warm"
    """The one that decides about speedup and `fast`."""

    @property
    def _deciding(self) -> list[SizeTiming]:
        return [one for one in self.sizes if one.mode == self.mode]

    @property
    def complete(self) -> bool:
        """Whether every size was compared, and none is suspicious."""
        deciding = self._deciding
        return bool(deciding) and all(one.speedup is not None and one.verdict != "suspicious" for one in deciding)

    @property
    def speedup(self) -> float | None:
        """Geometric mean over the sizes; None unless all of them count."""
        if not self.complete:
            return None
        logs = [math.log(one.speedup) for one in self._deciding if one.speedup]
        return math.exp(sum(logs) / len(logs))

    @property
    def speedup_min(self) -> float | None:
        """The least over the sizes: one size driven to zero does not make up for the others."""
        return min(one.speedup for one in self._deciding if one.speedup) if self.complete else None

    @property
    def fast(self) -> bool | None:
        """Whether the least speedup reaches the threshold; None where that was not measured at every size."""
        if any(one.verdict == "suspicious" for one in self._deciding):
            return False
        least = self.speedup_min
        return None if least is None else least >= FAST_THRESHOLD

    @property
    def largest(self) -> SizeTiming | None:
        """The deciding comparison at the largest size."""
        deciding = self._deciding
        return deciding[-1] if deciding else None


@dataclass(frozen=True)
class Timer:
    """What timing needs besides the candidate."""

    toolchain: Toolchain
    problem: Problem
    expected: Expected
    secret: bytes
    folder: Path | None = None

    def requests(self, source: Source, modes: Sequence[TimingMode], repeat: int) -> list[ComparisonRequest]:
        """What `time` will ask of the toolchain."""
        return [self._request(source, one, mode, repeat) for mode in modes for one in self._sizes()]

    def _sizes(self) -> list[SizeSet]:
        return sorted(
            self.problem.sizes.get("eval", ()), key=lambda one: estimated_warp_instructions(self.problem, one)
        )[:MAX_SIZES]

    async def time(
        self,
        source: Source,
        build: Build,
        trust: Trust,
        modes: Sequence[TimingMode],
        repeat: int,
        because: str | None = None,
    ) -> Timed:
        """Compares at every eval size, the smallest first; a fault ends it."""
        sizes = self._sizes()
        if trust == "native":
            reason = f"{NATIVE} (it could not be recorded: {because})" if because else NATIVE
            return Timed(
                tuple(SizeTiming(sizes=one, mode=mode, reason=reason[:MAX_TEXT]) for mode in modes for one in sizes),
                None,
                modes[0],
            )
        baseline = await self.toolchain.build(
            Source(text=self.problem.baseline, problem=self.problem.id, options=source.options)
        )
        wanted = [(mode, one) for mode in modes for one in sizes]
        if baseline.status != "compiled":
            reason = baseline.reason or "the baseline does not compile with these options"
            missing = tuple(SizeTiming(sizes=one, mode=mode, reason=reason[:MAX_TEXT]) for mode, one in wanted)
            return Timed(missing, None, modes[0])
        requests = self.requests(source, modes, repeat)
        results = await self.toolchain.compare(build, baseline, requests)
        found = tuple(_kept(one, mode, result) for (mode, one), result in zip(wanted, results, strict=False))
        fault: tuple[SizeSet, Fault, str] | None = None
        if results and isinstance(last := results[-1], Comparison) and last.fault is not None:
            fault = (wanted[len(results) - 1][1], last.fault, last.notes[0])
        return Timed(found, fault, modes[0])

    def _request(self, source: Source, sizes: SizeSet, mode: TimingMode, repeat: int) -> ComparisonRequest:
        spelled = ",".join(f"{name}={extent}" for name, extent in sorted(sizes.items()))
        secret = derive(self.secret, self.problem.id, source.id, "timing", mode, str(repeat), spelled)
        return ComparisonRequest(
            problem=self.problem, sizes=sizes, mode=mode, secret=secret, expected=self.expected, folder=self.folder
        )


def fault_judgement(timed: Timed) -> Judgement | None:
    """A case for what went wrong in timed calls, though the calls before were right."""
    if timed.fault is None:
        return None
    sizes, fault, message = timed.fault
    case = CaseResult(group="eval", sizes=sizes, seed_index=0, status=fault, message=message[:MAX_TEXT])
    return Judgement(cases=(case,), cuda_error=None, deterministic=None)


def _kept(sizes: SizeSet, mode: TimingMode, result: Comparison | Uncompared) -> SizeTiming:
    if isinstance(result, Uncompared):
        return SizeTiming(sizes=sizes, mode=mode, reason=result.reason[:MAX_TEXT])
    return SizeTiming(
        sizes=sizes,
        mode=mode,
        verdict=result.verdict,
        speedup=result.speedup,
        speedup_low=result.speedup_low,
        speedup_high=result.speedup_high,
        us=result.candidate_us,
        baseline_us=result.baseline_us,
        resolvable=result.resolvable,
        groups=result.groups,
        trust="replayed",
        gated=result.gated,
        second_us=result.second.candidate_us if result.second is not None else None,
        second_baseline_us=result.second.baseline_us if result.second is not None else None,
        clocks_agree=result.second.agrees if result.second is not None else None,
        sm_clock_mhz=result.conditions.between.sm_clock_mhz if result.conditions is not None else None,
        device_s=result.device_s,
        notes=tuple(note[:MAX_TEXT] for note in result.notes[:MAX_NOTES]),
    )
