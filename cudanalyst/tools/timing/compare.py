"""Compares a candidate (A) with a baseline (B): prepares, measures look by look, then audits what was timed.

How a comparison stays fair, whatever the kernels are:
- one context, the same buffers, the same number of calls, and in a group the same sets for both sides;
- in cold mode every call of either side comes after the same flush of code and data, and code lies at many places in turn,
  loaded in both orders, so that where it lies is part of what the interval covers and no side has the better place;
- groups begin with A as often as with B, in random order.

How the times stay honest: outputs are poisoned before a timed block and checked after it; then other contents come to the same
addresses, old contents to others, and calls on them must take as long as calls on the same values again, and as the timed ones did.
"""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from cudanalyst.tools.gpu.state import DeviceState
from cudanalyst.tools.gpu.turns import Held, Turns
from cudanalyst.tools.spending import spending
from cudanalyst.tools.timing.audit import Audited, audit
from cudanalyst.tools.timing.commands import (
    Calibration,
    Groups,
    PairMode,
    calibrate,
    load_kernels,
    make_pair,
    preheat,
    time_groups,
)
from cudanalyst.tools.timing.floor import below
from cudanalyst.tools.timing.measure import LeftPending, Measured, Measurement
from cudanalyst.tools.timing.models import (
    Comparison,
    Conditions,
    Fault,
    Floor,
    SecondClock,
    TimingMode,
    Uncompared,
)
from cudanalyst.tools.timing.rig import Flaw, Rig, Side, SideFailed
from cudanalyst.tools.timing.schedule import ALPHA, Plan, plan_for
from cudanalyst.tools.timing.second import read_second_clock
from cudanalyst.tools.timing.weather import weather

BUDGET_MS: Final = 250.0
"""Device time of the blocks of one comparison."""
LONGEST_CALL_MS: Final = 100.0
"""Longer calls are not compared: the least that a comparison needs is about twenty calls."""
SHORT_US: Final = 3000.0
"""Longer calls need no warm-up of their own beside those that are made anyway."""
STAYS_WARM_S: Final = 0.03
"""After as long without work the device is preheated again."""
PROBE: Final = ("ABBA", "BAAB")
WARM_UP: Final = "AB"
NO_MPS: Final = "clients of an MPS server share this GPU, so nothing can be timed on it; stop the server (nvidia-cuda-mps-control: quit)"


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
class _Progress:
    """What is known when a comparison ends early."""

    calibration: Calibration | None = None
    plan: Plan | None = None
    measured: Measured | None = None
    second: SecondClock | None = None
    before: DeviceState | None = None
    between: DeviceState | None = None
    steady: bool | None = None
    preheat_ms: float | None = None
    audited: Audited = field(default_factory=Audited)


async def compare(rig: Rig, settings: Settings) -> tuple[Comparison | Uncompared, Calibration | None]:
    """Compares the two sides of a rig; also gives what was calibrated, to be kept for the device.

    Raises:
        Exception: What the executor raises where it fails otherwise than by the candidate's fault.
    """
    started = time.monotonic()
    known = _Progress(calibration=settings.calibration)
    flaw: Flaw | None = None
    audited = Audited()
    try:
        reason = await _measure(rig, settings, known)
        if reason is not None:
            return Uncompared(reason=reason), known.calibration
        if known.plan and known.measured and known.calibration:
            with spending(f"{settings.name} audit"):
                audited = await audit(rig, known.plan, known.measured, settings.turns, known.calibration)
            flaw = audited.flaw
    except LeftPending:
        flaw = Flaw(
            "contract_violation",
            "work of a timed call was still going on when `stream` was empty; join own streams to it",
        )
    except SideFailed as failed:
        if failed.side == "B" or failed.fault is None:
            who = "the baseline" if failed.side == "B" else "the candidate"
            return Uncompared(reason=f"{who} cannot be timed: {failed.reason}"), known.calibration
        flaw = Flaw(failed.fault, failed.reason)
    after = settings.state()
    known.audited = audited
    return _conclude(settings, known, flaw, after, time.monotonic() - started), known.calibration


async def _measure(rig: Rig, settings: Settings, known: _Progress) -> str | None:
    """Fills in `known`; gives a reason where timing is refused. Others may use the device but while it times."""
    known.before = settings.state()
    if known.before.mps:
        return NO_MPS
    l2_bytes = await load_kernels(rig.executor, settings.kernels)
    if known.calibration is None:
        async with settings.turns.exclusive():
            await preheat(rig.executor)
            known.calibration = await calibrate(rig.executor, l2_bytes)
    with spending(f"{settings.name} place"):
        await rig.place(0, "A")
    with spending(f"{settings.name} fill"):
        await rig.fill(range(rig.sets), 0)
    async with settings.turns.exclusive():
        with spending(f"{settings.name} measure"):
            return await _time(rig, settings, known)


async def _time(rig: Rig, settings: Settings, known: _Progress) -> str | None:
    """What has to be alone on the device."""
    executor = rig.executor
    chance = random.Random(settings.seed)  # noqa: S311 - an order, not a secret
    # Recording and filling may have taken long enough for the clock to fall.
    heat = await preheat(executor)
    known.steady, known.preheat_ms = heat.steady, heat.milliseconds
    times = await _probe(rig)
    if max(times) > LONGEST_CALL_MS * 1e3:
        return f"a call takes {max(times) / 1e3:.0f} ms; calls longer than {LONGEST_CALL_MS:.0f} ms are not compared"
    plan = await _settle_plan(rig, settings, times)
    placing = time.monotonic()
    for placement in range(1, plan.placements):
        # The loaders place code one after the other: both orders, in the order A B, B A, A B, ...
        await rig.place(placement, "A" if placement % 2 == 0 else "B")
        await _pair(rig, plan, placement)
    known.plan = plan
    pairs = [str(placement) for placement in range(plan.placements)]
    if time.monotonic() - placing > STAYS_WARM_S:
        known.steady = (await preheat(executor, least_ms=0)).steady
    if max(times) < SHORT_US:
        for pair in pairs:
            await _discard(rig, pair, WARM_UP)
    measurement = Measurement(executor, plan, pairs, chance)
    while found := await measurement.look():
        known.measured = found
        if known.between is None:
            known.between = settings.state()
        if found.verdict != "inconclusive":
            break
    if known.measured is not None:
        known.second = await read_second_clock(rig, plan, known.measured)
    return None


async def _probe(rig: Rig) -> tuple[float, float]:
    """The best time of a call alone, in microseconds, of either side."""
    await make_pair(rig.executor, "probe", "single", 1, rig.traces("A", 0), rig.traces("B", 0))
    first = _best(await time_groups(rig.executor, "probe", ["AB"]))
    return _best(await time_groups(rig.executor, "probe", PROBE)) if max(first) < SHORT_US else first


def _best(answer: Groups) -> tuple[float, float]:
    best = {"A": float("inf"), "B": float("inf")}
    for group in answer.groups:
        if not group.drained:
            raise LeftPending
        for letter, us in zip(group.pattern, group.us, strict=True):
            best[letter] = min(best[letter], us)
    return best["A"], best["B"]


async def _settle_plan(rig: Rig, settings: Settings, times: tuple[float, float]) -> Plan:
    """The plan, with blocks that are long enough: a call among many is quicker than one alone."""
    plan = _plan(rig, settings, times)
    await _pair(rig, plan, 0)
    if plan.mode != "warm" or max(times) > SHORT_US:
        return plan
    again = _plan(rig, settings, await _discard(rig, "0", plan.patterns[0]))
    if again.calls > plan.calls:
        plan = again
        await _pair(rig, plan, 0)
    return plan


def _plan(rig: Rig, settings: Settings, times: tuple[float, float]) -> Plan:
    plan = plan_for(settings.mode, min(times), max(times), rig.sets, settings.budget_ms)
    return replace(plan, placements=min(plan.placements, rig.most_placements))


async def _discard(rig: Rig, pair: str, pattern: str) -> tuple[float, float]:
    """A group that only warms up; gives the best time of either side."""
    return _best(await time_groups(rig.executor, pair, [pattern]))


async def _pair(rig: Rig, plan: Plan, placement: int) -> None:
    mode: PairMode = plan.mode
    sides: dict[Side, tuple[str, ...]] = {"A": rig.traces("A", placement), "B": rig.traces("B", placement)}
    await make_pair(rig.executor, str(placement), mode, plan.calls, sides["A"], sides["B"])


def _conclude(
    settings: Settings, known: _Progress, flaw: Flaw | None, after: DeviceState, device_s: float
) -> Comparison:
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
    return _conclude(settings, _Progress(), flaw, settings.state(), device_s)
