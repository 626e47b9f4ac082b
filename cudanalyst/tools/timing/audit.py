"""After measuring: were the timed calls right, and does what they took hold on values that they have not met?"""

import statistics
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Final

from cudanalyst.tools.gpu.turns import Turns
from cudanalyst.tools.spending import spending
from cudanalyst.tools.timing.commands import Calibration, PairMode, make_pair, time_groups
from cudanalyst.tools.timing.fresh import Rounds
from cudanalyst.tools.timing.measure import LeftPending, Measured
from cudanalyst.tools.timing.rig import Flaw, Rig, Side
from cudanalyst.tools.timing.schedule import Plan
from cudanalyst.tools.timing.warmth import Warmth

FRESH_SETS_LESS: Final = 1
"""One set holds old values: a call on it comes before a measured block, so that no block pays for code that is not in a cache."""
CONFIRMATIONS: Final = 3
"""However long calls are: who works on the device without a lease disturbs long ones as much, and two rounds in a row are soon disturbed."""
MANY_CALLS_US: Final = 3000.0
"""Longer calls were timed in blocks of one call."""
FLUSH_FACTOR: Final = 2
LEAST_FLUSH: Final = 32 << 20
"""Where the driver does not say how large the L2 is."""


@dataclass(frozen=True)
class Audited:
    """What an audit found."""

    flaw: Flaw | None = None
    holds: float | None = None
    """Speedup that holds on fresh values, where that is too little of what was timed for the latter to count."""
    message: str = ""


async def audit(
    rig: Rig, plan: Plan, measured: Measured, turns: Turns, calibration: Calibration, warmth: Warmth | None = None
) -> Audited:
    """Both steps of an `Audit`, one after the other.

    Raises:
        LeftPending: Own streams still had work after a block.
    """
    auditing = Audit(rig, plan, measured, turns, calibration, warmth or Warmth())
    await auditing.begin()
    return await auditing.finish()


class Audit:
    """Checks outputs of a timed block of the candidate, then times and checks calls on fresh values, and calls that meet them again.

    Each round brings fresh values to old pointers, and old ones to one other pointer. Blocks on fresh and on known values differ in nothing
    but whether the values were met: the same graph, cleared and then equally filled caches, code that has just run. Between them, the same values
    are met in blocks as long as those that were timed. One round will do, unless fresh values take longer; then more of
    them, all with new values, have to say the same.
    """

    def __init__(
        self,
        rig: Rig,
        plan: Plan,
        measured: Measured,
        turns: Turns,
        calibration: Calibration,
        warmth: Warmth,
        name: str = "timing",
    ) -> None:
        """Does nothing yet; `name` is that of what is spent."""
        self._rig = rig
        self._plan = plan
        self._turns = turns
        self._blocks = _Blocks(rig, plan, measured, turns, calibration, warmth, name)
        self._rounds = Rounds(measured, self._blocks.overhead_us)
        self._timed: Awaitable[Flaw | None] | None = None
        self._fresh: Awaitable[Flaw | None] | None = None

    async def begin(self) -> None:
        """What a device is needed for in nearly every audit. Outputs are compared while it goes on, and after.

        Raises:
            LeftPending: Own streams still had work after a block.
        """
        rig, plan = self._rig, self._plan
        async with self._turns.shared():
            if rig.repeatable:
                await rig.poison(1)
                await _run(rig, "0", "A" * -(-rig.sets // plan.calls))
                self._blocks.warmth.worked()
                with spending(f"{self._blocks.name} contents"):
                    self._timed = await rig.collect(range(rig.sets), spot=True)
            with spending(f"{self._blocks.name} pairs"):
                await self._blocks.prepare()
            self._fresh = await self._blocks.round(0, self._rounds)

    async def finish(self) -> Audited:
        """Waits for what is compared, outside any turn of its own; further rounds, in turns, where the first one says too little.

        Raises:
            LeftPending: Own streams still had work after a block.
        """
        if self._timed is not None and (wrong := await self._timed) is not None:
            return Audited(Flaw(wrong.fault, f"in a timed call: {wrong.message}"))
        if self._fresh is not None and (flaw := await self._fresh) is not None:
            return Audited(_on_fresh(flaw))
        return await self._confirmed() if self._rounds.short else Audited()

    async def _confirmed(self) -> Audited:
        rounds = self._rounds
        for attempt in range(1, 1 + CONFIRMATIONS):
            await self._rig.foresee(self._blocks.contents(attempt))
            async with self._turns.shared():
                left = await self._blocks.round(attempt, rounds)
            if (flaw := await left) is not None:
                return Audited(_on_fresh(flaw))
        if rounds.kept or rounds.far:
            return Audited(Flaw("suspicious", rounds.accusation))
        if rounds.short:
            return Audited(holds=rounds.speedup, message=rounds.shortfall)
        return Audited()


def _on_fresh(flaw: Flaw) -> Flaw:
    return Flaw(flaw.fault, f"on fresh values at the same addresses: {flaw.message}")


@dataclass
class _Blocks:
    """Queues what a round consists of."""

    rig: Rig
    plan: Plan
    measured: Measured
    turns: Turns
    calibration: Calibration
    warmth: Warmth
    name: str
    _flushed: tuple[str, int] = ("", 0)

    @property
    def _fresh(self) -> int:
        return self.rig.sets - FRESH_SETS_LESS

    @property
    def _warm(self) -> bool:
        return self.plan.mode == "warm"

    @property
    def _brief(self) -> bool:
        return max(self.measured.candidate_us, self.measured.baseline_us) < MANY_CALLS_US

    @property
    def overhead_us(self) -> float:
        """By how much a call of these short blocks takes longer than one of a long block, for what an empty kernel tells."""
        told = self.calibration.overheads
        if not self._warm or told.alone_us is None or told.in_graph_us is None:
            return 0.0
        return max(0.0, told.alone_us - told.in_graph_us) / self._fresh

    async def prepare(self) -> None:
        """Makes the pairs, and room to clear the L2 with."""
        executor, fresh = self.rig.executor, self._fresh
        sides: dict[Side, tuple[str, ...]] = {"A": self.rig.traces("A", 0), "B": self.rig.traces("B", 0)}
        # Not `cold_data`, which makes each call once before it is timed.
        mode: PairMode = "warm" if self._warm else "cold"
        calls = fresh if self._warm else 1
        await make_pair(executor, "audit", mode, calls, sides["A"][:fresh], sides["B"][:fresh])
        await make_pair(executor, "audit_code", "warm", 1, sides["A"][fresh:], sides["B"][fresh:])
        if self._warm and self._brief:
            calls = -(-self.plan.calls // fresh) * fresh
            await make_pair(executor, "audit_long", "warm", calls, sides["A"][:fresh], sides["B"][:fresh])
        if self._warm:
            size = max(FLUSH_FACTOR * self.calibration.l2_bytes, LEAST_FLUSH)
            answer = await executor.command("buffer", "audit_flush", size, 0)
            self._flushed = (f"{int(answer['address']):x}", size)

    def contents(self, attempt: int) -> list[int]:
        """What the sets hold in a round: values that were in no set before, and in one set old ones."""
        first = self.rig.sets + attempt * self._fresh
        return [*range(first, first + self._fresh), 0]

    async def round(self, attempt: int, rounds: Rounds) -> Awaitable[Flaw | None]:
        """Fresh values, the same values again, and the baseline on them; what is wrong with the outputs may be known later."""
        rig = self.rig
        contents = self.contents(attempt)
        with spending(f"{self.name} contents"):
            await rig.fill(contents, 0)
        async with self.turns.exclusive():
            await self._heat(attempt)
            fresh = await self._block("A", after_code=True)
        with spending(f"{self.name} contents"):
            left = await rig.collect(contents)
            if not rig.repeatable:
                await rig.fill(contents, 0)
        async with self.turns.exclusive():
            await self._heat(attempt)
            timed = await self._meet() if rig.repeatable else None
            known, control = (
                [await self._block("A", after_code=self._brief)],
                [await self._block("B", after_code=self._brief)],
            )
            if self._brief and rig.repeatable:
                control.append(await self._block("B", after_code=True))
                known.append(await self._block("A", after_code=True))
            self.warmth.worked()
        rounds.add(fresh, known, control, timed)
        return left

    async def _heat(self, attempt: int) -> None:
        """A clock that has fallen meanwhile must not look like work that was saved: by that nobody is accused."""
        with spending(f"{self.name} heat"):
            if attempt:
                await self.warmth.heat(self.rig.executor, least_ms=0)
            else:
                await self.warmth.keep(self.rig.executor, least_ms=0)

    async def _meet(self) -> tuple[float, float] | None:
        """Has the candidate meet the values as timed calls meet theirs; gives a call's time of either side where blocks are long for that."""
        if not self._warm or not self._brief:
            await self._block("A", after_code=self._brief)
            return None
        await self.rig.touch()
        candidate_us, baseline_us = await _run(self.rig, "audit_long", "AB")
        return candidate_us, baseline_us

    async def _block(self, side: Side, *, after_code: bool) -> float:
        """A call's time in a block on the sets that get fresh values, in microseconds; `after_code`: after a call on the other set.

        In long calls, what code costs to fetch is lost.
        """
        if self._warm:
            # Whatever was written or read before, all that follows finds the same in the L2, and none of it to be written back.
            await self.rig.executor.command("touch", *self._flushed)
            await self.rig.touch()
        if after_code:
            await _run(self.rig, "audit_code", side)
        return statistics.fmean(await _run(self.rig, "audit", side if self._warm else side * self._fresh))


async def _run(rig: Rig, pair: str, pattern: str) -> tuple[float, ...]:
    answer = await time_groups(rig.executor, pair, [pattern])
    if not answer.groups[0].drained:
        raise LeftPending
    return answer.groups[0].us
