"""One sub-partition of a multiprocessor, warp by warp and issue by issue, with what the compiler encoded of its timing. Pure.

Each cycle one warp may issue: the one whose stall count has run down, whose scoreboards are free and whose unit is free, first come first served. Barriers hold a
warp until the warps of its block (those on this sub-partition stand for all) have come or ended. Servers of shared resources are queues: an access takes its place at once, and its
result comes a latency after its turn.
"""

import heapq
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from cudanalyst.tools.model.costs import UNITS, Cost
from cudanalyst.tools.model.machine import NO_BARRIER, Instruction

_DATA_PATH, _L2, _DRAM = UNITS.index("data_path"), UNITS.index("l2"), UNITS.index("dram")
_MOST_STEPS: Final = 400_000


@dataclass(frozen=True)
class Simulated:
    """What the warps of a sub-partition did."""

    cycles: float
    """Until the last warp ended."""
    in_block: dict[int, float]
    """Cycles that warps spent in each basic block, summed over warps."""
    visits: dict[int, int]
    waits: dict[str, float]
    """Cycles that warps waited, summed over warps, by what for."""


class _Warp:
    __slots__ = ("at", "block", "boards", "group", "index", "open_copies", "ready", "since", "step", "way")

    def __init__(self, index: int, group: int, way: Sequence[int]) -> None:
        self.index, self.group, self.way = index, group, way
        self.at = self.step = 0
        self.block = way[0] if way else -1
        self.ready = self.since = 0.0
        self.boards: list[list[tuple[float, str]]] = [[] for _ in range(6)]
        self.open_copies = 0.0


def simulate(
    instructions: Mapping[int, Sequence[Instruction]],
    costs: Mapping[int, Sequence[Cost]],
    ways: Sequence[Sequence[int]],
    groups: Sequence[int],
    *,
    starts: Sequence[float] | None = None,
    barrier_cycles: float = 16.0,
    branch_cycles: float = 6.0,
) -> Simulated:
    """Runs the warps.

    Args:
        instructions: Of each basic block.
        costs: Of each of those.
        ways: Blocks that each warp passes.
        groups: The thread block of each warp.
        starts: Cycle in which each warp begins.
        barrier_cycles: What a barrier takes after the last warp has come.
        branch_cycles: Beyond its stall, when the next block is not that which follows.
    """
    return _Simulation(instructions, costs, ways, groups, starts, barrier_cycles, branch_cycles).run()


class _Simulation:
    def __init__(self, instructions, costs, ways, groups, starts, barrier_cycles, branch_cycles) -> None:  # type: ignore[no-untyped-def] # noqa: ANN001
        self.instructions, self.costs = instructions, costs
        self.warps = [_Warp(k, group, way) for k, (group, way) in enumerate(zip(groups, ways, strict=True))]
        self.free = [0.0] * len(UNITS)
        self.issue = 0.0
        self.barrier_cycles, self.branch_cycles = barrier_cycles, branch_cycles
        self.alive: dict[int, int] = defaultdict(int)
        self.arrived: dict[int, list[_Warp]] = defaultdict(list)
        self.in_block: dict[int, float] = defaultdict(float)
        self.visits: dict[int, int] = defaultdict(int)
        self.waits: dict[str, float] = defaultdict(float)
        self.queue: list[tuple[float, int]] = []
        self.end = 0.0
        for warp, start in zip(self.warps, starts or [0.0] * len(self.warps), strict=True):
            if warp.way:
                warp.ready = warp.since = start
                self.alive[warp.group] += 1
                self.visits[warp.block] += 1
                self.queue.append((start, warp.index))
        heapq.heapify(self.queue)

    def run(self) -> Simulated:
        queue, steps = self.queue, 0
        while queue and steps < _MOST_STEPS:
            steps += 1
            at, index = heapq.heappop(queue)
            warp = self.warps[index]
            if not self._skip_empty(warp, at):
                continue
            one, cost = self.instructions[warp.block][warp.at], self.costs[warp.block][warp.at]
            ready = self._boards_free(warp, one, at)
            free = self.free[cost.unit]
            turn = max(ready, free, self.issue)
            if turn > at:
                if ready <= at:
                    self.waits[UNITS[cost.unit] if free > self.issue else "issue"] += turn - at
                heapq.heappush(queue, (turn, index))
                continue
            self._issue(warp, one, cost, at)
        return Simulated(self.end, dict(self.in_block), dict(self.visits), dict(self.waits))

    def _boards_free(self, warp: _Warp, one: Instruction, at: float) -> float:
        """When the scoreboards that an instruction waits for are free."""
        ready, reason = at, ""
        boards = warp.boards
        if one.waits:
            for k in range(6):
                if one.waits >> k & 1 and boards[k]:
                    latest, group = max(boards[k])
                    if latest > ready:
                        ready, reason = latest, group
                    else:
                        boards[k] = [entry for entry in boards[k] if entry[0] > at]
        if one.wait_count is not None:
            board, most = one.wait_count
            pending = sorted(entry for entry in boards[board] if entry[0] > at) if board < 6 else []
            if len(pending) > most:
                latest, group = pending[len(pending) - most - 1]
                if latest > ready:
                    ready, reason = latest, group
        if one.opcode == "SYNCS" and warp.open_copies > ready:
            ready, reason = warp.open_copies, "global_load"
        if ready > at:
            self.waits[reason] += ready - at
        return ready

    def _issue(self, warp: _Warp, one: Instruction, cost: Cost, at: float) -> None:
        self.issue = at + 1.0
        free = self.free
        free[cost.unit] = at + cost.occupies
        done = at
        if cost.data_path:
            done = max(done, free[_DATA_PATH])
            free[_DATA_PATH] = done + cost.data_path
        if cost.l2:
            turn = max(done, free[_L2])
            free[_L2] = turn + cost.l2
            done = turn
        if cost.dram:
            turn = max(done, free[_DRAM])
            free[_DRAM] = turn + cost.dram
            done = turn
        queued = done
        done += cost.latency
        if one.opcode == "LDGSTS":
            warp.open_copies = max(warp.open_copies, done)
        if one.opcode == "LDGDEPBAR":
            warp.boards[0].append((max(warp.open_copies, at), "global_load"))
        elif one.releases != NO_BARRIER and one.releases < 6:
            warp.boards[one.releases].append((done, cost.group))
        if one.reads != NO_BARRIER and one.reads < 6:
            warp.boards[one.reads].append((max(at + 8.0, queued), cost.group))
        wait = max(1.0, float(one.stall))
        if one.opcode == "BAR" and one.modifiers[:1] != ("ARV",):
            self._barrier(warp, at + wait)
            return
        self._go_on(warp, at + wait)

    def _barrier(self, warp: _Warp, at: float) -> None:
        warp.ready = at
        waiting = self.arrived[warp.group]
        waiting.append(warp)
        self._release(warp.group)

    def _release(self, group: int) -> None:
        waiting = self.arrived[group]
        if not waiting or len(waiting) < self.alive[group]:
            return
        at = max(warp.ready for warp in waiting) + self.barrier_cycles
        self.arrived[group] = []
        for warp in waiting:
            self.waits["barrier"] += at - warp.ready
            self._go_on(warp, at)

    def _go_on(self, warp: _Warp, at: float) -> None:
        warp.at += 1
        if warp.at >= len(self.instructions[warp.block]):
            at = self._next_block(warp, at)
            if at < 0:
                return
        heapq.heappush(self.queue, (at, warp.index))

    def _next_block(self, warp: _Warp, at: float) -> float:
        self.in_block[warp.block] += at - warp.since
        warp.since = at
        warp.step += 1
        if warp.step >= len(warp.way):
            self.end = max(self.end, at)
            self.alive[warp.group] -= 1
            self._release(warp.group)
            return -1.0
        following = warp.way[warp.step]
        jump = self.branch_cycles if following != warp.block + 1 else 0.0
        warp.block, warp.at = following, 0
        self.visits[following] += 1
        return at + jump

    def _skip_empty(self, warp: _Warp, at: float) -> bool:
        """Whether the warp stands before an instruction; a block without any is passed."""
        if self.instructions[warp.block]:
            return True
        if (after := self._next_block(warp, at)) >= 0:
            heapq.heappush(self.queue, (after, warp.index))
        return False
