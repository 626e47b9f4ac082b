"""Compares a candidate (A) with a baseline (B): prepares, measures look by look, then audits what was timed.

How a comparison stays fair, whatever the kernels are:
- one context, the same buffers, the same number of calls, and in a group the same sets for both sides;
- in cold mode every call of either side comes after the same flush of code and data, and code lies at many places in turn,
  loaded in both orders, so that where it lies is part of what the interval covers and no side has the better place;
- groups begin with A as often as with B, in random order.

How the times stay honest: outputs are poisoned before a timed block and checked after it; then other contents come to the same
addresses, old contents to others, and calls on them must take as long as calls on the same values again, and as the timed ones did.
"""

import asyncio
import contextlib
import random
from dataclasses import replace
from typing import Final

from cudanalyst.tools.spending import spending
from cudanalyst.tools.timing.audit import Audit
from cudanalyst.tools.timing.commands import (
    Calibration,
    Groups,
    PairMode,
    calibrate,
    load_kernels,
    make_pair,
    time_groups,
)
from cudanalyst.tools.timing.conclude import Progress, Settings, conclude
from cudanalyst.tools.timing.measure import LeftPending, Measured, Measurement
from cudanalyst.tools.timing.models import Comparison, Uncompared
from cudanalyst.tools.timing.rig import Flaw, Rig, Side, SideFailed
from cudanalyst.tools.timing.schedule import Plan, plan_for
from cudanalyst.tools.timing.second import read_second_clock
from cudanalyst.tools.timing.statistics import LOG_MARGIN

LONGEST_CALL_MS: Final = 100.0
"""Longer calls are not compared: the least that a comparison needs is about twenty calls."""
SHORT_US: Final = 3000.0
"""Longer calls need no warm-up of their own beside those that are made anyway."""
PROBE: Final = ("ABBA", "BAAB")
WARM_UP: Final = "AB"
NO_MPS: Final = "clients of an MPS server share this GPU, so nothing can be timed on it; stop the server (nvidia-cuda-mps-control: quit)"


async def compare(rig: Rig, settings: Settings) -> tuple[Comparison | Uncompared, Calibration | None]:
    """Compares the two sides of a rig; also gives what was calibrated, to be kept for the device.

    Raises:
        Exception: What the executor raises where it fails otherwise than by the candidate's fault.
    """
    held_s = settings.turns.held_s
    known = Progress(calibration=settings.calibration)
    flaw: Flaw | None = None
    try:
        if (reason := await _prepare(rig, settings, known)) is not None:
            return Uncompared(reason=reason), known.calibration
        # Of a light rig all is done in one turn: giving it back between costs more waiting, and more heating, than it gives to others.
        async with settings.turns.exclusive() if rig.light else contextlib.nullcontext():
            async with settings.turns.exclusive():
                with spending(f"{settings.name} measure"):
                    reason = await _time(rig, settings, known)
            auditing = _audit(rig, settings, known)
            if auditing is not None:
                with spending(f"{settings.name} audit"):
                    await auditing.begin()
        if reason is not None:
            return Uncompared(reason=reason), known.calibration
        if auditing is not None:
            with spending(f"{settings.name} judge"):
                known.audited = await auditing.finish()
            flaw = known.audited.flaw
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
    after = await asyncio.to_thread(settings.state)
    return conclude(settings, known, flaw, after, settings.turns.held_s - held_s), known.calibration


def _audit(rig: Rig, settings: Settings, known: Progress) -> Audit | None:
    """The audit of what was measured, if anything was."""
    if known.plan is None or known.measured is None or known.calibration is None:
        return None
    return Audit(rig, known.plan, known.measured, settings.turns, known.calibration, settings.warmth, settings.name)


async def _prepare(rig: Rig, settings: Settings, known: Progress) -> str | None:
    """What others may work beside; gives a reason where timing is refused."""
    with spending(f"{settings.name} state"):
        known.before = await asyncio.to_thread(settings.state)
    if known.before.mps:
        return NO_MPS
    async with settings.turns.shared():
        l2_bytes = await load_kernels(rig.executor, settings.kernels)
        if known.calibration is None:
            async with settings.turns.exclusive():
                await settings.warmth.heat(rig.executor)
                known.calibration = await calibrate(rig.executor, l2_bytes)
                settings.warmth.worked()
        with spending(f"{settings.name} place"):
            # The loaders place code one after the other: both orders, in the order A B, B A, A B, ...
            await rig.place(0, "A")
            if settings.mode == "warm":
                await rig.place(1, "B")
        with spending(f"{settings.name} fill"):
            await rig.fill(range(rig.sets), 0)
    return None


async def _time(rig: Rig, settings: Settings, known: Progress) -> str | None:
    """What has to be alone on the device."""
    executor, warmth = rig.executor, settings.warmth
    chance = random.Random(settings.seed)  # noqa: S311 - an order, not a secret
    # Recording and filling may have taken long enough for the clock to fall.
    with spending(f"{settings.name} heat"):
        heat = await warmth.keep(executor)
    known.steady, known.preheat_ms = heat.steady, heat.milliseconds
    times = await _probe(rig)
    if max(times) > LONGEST_CALL_MS * 1e3:
        return f"a call takes {max(times) / 1e3:.0f} ms; calls longer than {LONGEST_CALL_MS:.0f} ms are not compared"
    plan = await _settle_plan(rig, settings, times)
    warmth.worked()
    with spending(f"{settings.name} pairs"):
        for placement in range(1, plan.placements):
            if plan.mode != "warm":
                await rig.place(placement, "A" if placement % 2 == 0 else "B")
            await _pair(rig, plan, placement)
    known.plan = plan
    pairs = [str(placement) for placement in range(plan.placements)]
    if not warmth.lasts:
        known.steady = (await warmth.heat(executor, least_ms=0)).steady
    if max(times) < SHORT_US:
        for pair in pairs:
            await _discard(rig, pair, WARM_UP)
    await _measure(Measurement(executor, plan, pairs, chance), settings, known)
    if plan.mode == "warm" and known.measured is not None and disturbed(known.measured):
        # Something that is over soon, mostly: another process that takes no lease, a clock that fell.
        known.steady = (await warmth.heat(executor, least_ms=0)).steady
        await _measure(Measurement(executor, plan.again, pairs, chance), settings, known)
    if known.measured is not None:
        known.second = await read_second_clock(rig, plan, known.measured)
    warmth.worked()
    return None


async def _measure(measurement: Measurement, settings: Settings, known: Progress) -> None:
    """Looks until there is a verdict, or no further look."""
    while found := await measurement.look():
        known.measured = found
        if known.between is None:
            with spending(f"{settings.name} state"):
                known.between = await asyncio.to_thread(settings.state)
        if found.verdict != "inconclusive":
            break


def disturbed(measured: Measured) -> bool:
    """Whether there is no verdict because of noise, and not because the ratio is that near to the margin."""
    return measured.verdict == "inconclusive" and measured.estimate.half_width > LOG_MARGIN


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
