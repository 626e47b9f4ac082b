"""What a comparison was asked for, what became known of it, and what is concluded from that, however it ended."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from cudanalyst.tools.gpu.state import DeviceState
from cudanalyst.tools.gpu.turns import Held, Turns
from cudanalyst.tools.timing.audit import Audited
from cudanalyst.tools.timing.commands import Calibration
from cudanalyst.tools.timing.floor import below
from cudanalyst.tools.timing.measure import Measured
from cudanalyst.tools.timing.models import Comparison, Conditions, Fault, Floor, SecondClock, TimingMode
from cudanalyst.tools.timing.rig import Flaw
from cudanalyst.tools.timing.schedule import ALPHA, Plan
from cudanalyst.tools.timing.warmth import Warmth
from cudanalyst.tools.timing.weather import weather

BUDGET_MS: Final = 250.0
"""Device time of the blocks of one comparison."""


@dataclass(frozen=True)
class Settings:
    """How to compare."""

    mode: TimingMode
    kernels: Path
    """The executor's device kernels, built for the device."""
    state: Callable[[], DeviceState]
    """Samples the device."""
    floor: Callable[[Calibration, DeviceState], Floor | None] = lambda calibration, state: None  # noqa: ARG005
    turns: Turns = field(default_factory=Held)
    """When the device is ours, and ours alone."""
    warmth: Warmth = field(default_factory=Warmth)
    """Of the device; kept by whoever makes several comparisons there."""
    own_contexts: int = 1
    """Processes of ours that have a context on the device; only counted on where NVML's numbers are another namespace's."""
    mig: bool | None = None
    name: str = "timing"
    """Of what is spent (spending.py)."""
    seed: int = 0
    budget_ms: float = BUDGET_MS
    calibration: Calibration | None = None
    """From an earlier comparison on the device; None: measured now."""


@dataclass
class Progress:
    """What is known so far; all that there is when a comparison ends early."""

    calibration: Calibration | None = None
    plan: Plan | None = None
    measured: Measured | None = None
    second: SecondClock | None = None
    before: DeviceState | None = None
    between: DeviceState | None = None
    steady: bool | None = None
    preheat_ms: float | None = None
    audited: Audited = field(default_factory=Audited)


def conclude(settings: Settings, known: Progress, flaw: Flaw | None, after: DeviceState, device_s: float) -> Comparison:
    """The answer.

    Args:
        settings: What was asked for.
        known: What became known.
        flaw: What the candidate did wrong.
        after: State of the device at the end.
        device_s: Seconds for which the device was held.
    """
    measured, plan = known.measured, known.plan
    before = known.before or after
    conditions = Conditions(
        before=before,
        between=known.between or after,
        after=after,
        steady=known.steady,
        preheat_ms=known.preheat_ms,
    )
    notes = [*weather(conditions, settings.own_contexts, mig=settings.mig)]
    floor = settings.floor(known.calibration, conditions.between) if known.calibration else None
    fault: Fault | None = None if flaw is None or flaw.fault == "suspicious" else flaw.fault
    if measured is None or plan is None:
        message = flaw.message if flaw else "nothing was measured"
        return Comparison(
            mode=settings.mode,
            verdict="suspicious" if flaw else "inconclusive",
            fault=fault,
            notes=(message, *notes),
            conditions=conditions,
            device_s=device_s,
        )
    verdict = measured.verdict
    suspicions = [flaw.message] if flaw else []
    if below(measured.candidate_us, floor) and floor:
        suspicions.append(
            f"{measured.candidate_us:.3g} us a call is below what the device can do ({floor.us:.3g} us by {floor.bound}): less work was done than the problem asks for"
        )
    if known.second is not None and not known.second.agrees:
        notes.append(
            f"a second clock disagrees by more than {100 * known.second.margin:.1f} %: {known.second.candidate_us:.4g} us a call "
            f"and {known.second.speedup:.4f} x the baseline's speed, not {measured.candidate_us:.4g} us and {measured.estimate.speedup:.4f} x"
        )
    speedup, low = measured.estimate.speedup, measured.estimate.low
    if known.audited.holds is not None:
        notes.insert(0, known.audited.message)
        speedup = known.audited.holds
        low = min(low, speedup)
        # What holds on fresh values was not measured well enough to decide by.
        verdict = "inconclusive" if verdict in {"faster", "same"} else verdict
    gated = measured.samples.ungated == 0
    if not gated:
        notes.append("the driver waited for the device while the gate was closed, so groups were timed without it")
        if settings.mode != "warm":
            verdict = "inconclusive"
            notes.append("without the gate a cold time contains launch latency, so there is no verdict")
    return Comparison(
        mode=settings.mode,
        verdict="suspicious" if suspicions else verdict,
        speedup=speedup,
        speedup_low=low,
        speedup_high=measured.estimate.high,
        confidence=1.0 - ALPHA,
        candidate_us=measured.candidate_us,
        baseline_us=measured.baseline_us,
        groups=measured.estimate.groups,
        looks=measured.looks,
        calls_per_block=plan.calls,
        placements=plan.placements,
        resolvable=measured.estimate.resolvable,
        gated=gated,
        second=known.second,
        overheads=known.calibration.overheads if known.calibration else None,
        floor=floor,
        conditions=conditions,
        fault=fault,
        notes=(*suspicions, *notes),
        device_s=device_s,
    )


def stopped_by(flaw: Flaw, settings: Settings, device_s: float) -> Comparison:
    """A comparison that the candidate's own fault ended."""
    return conclude(settings, Progress(), flaw, settings.state(), device_s)
