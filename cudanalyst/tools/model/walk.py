"""The way of a warp through the blocks, as the frequencies have it, with long loops cut short. Pure.

A loop of a thousand equal rounds tells no more than one of a few. So rounds are cut to a number for which the way is short enough to simulate, and what a block took is
weighted with how often it runs in truth. Branches that end loops are decided warp by warp, so that each makes the same number of rounds; others are decided in turns over
all warps, so that of eight warps one goes where an eighth of all goes.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from cudanalyst.tools.model.flow import Flow, back_edges
from cudanalyst.tools.model.machine import Code

_ROUNDS: Final = (64, 32, 16, 12, 8, 6, 4, 3, 2)
_LONGEST: Final = 4
"""A way longer than the wanted length times this is broken off."""


@dataclass(frozen=True)
class Loop:
    """A natural loop."""

    header: int
    body: frozenset[int]
    rounds: float


@dataclass(frozen=True)
class Ways:
    """The blocks that each of some warps passes, in their order."""

    of_warps: tuple[tuple[int, ...], ...]
    rounds: int
    """Loops are cut to so many."""


def loops(code: Code, flow: Flow) -> tuple[Loop, ...]:
    """Natural loops of the edges that are taken, by header."""
    taken: dict[int, list[int]] = defaultdict(list)
    before: dict[int, list[int]] = defaultdict(list)
    for (source, target), value in flow.edges.items():
        if value > 1e-6:
            taken[source].append(target)
            before[target].append(source)
    back = back_edges(len(code.blocks), taken)
    bodies: dict[int, set[int]] = {}
    for source, header in back:
        body = bodies.setdefault(header, {header})
        pending = [source]
        while pending:
            b = pending.pop()
            if b not in body:
                body.add(b)
                pending += before[b]
    found = []
    for header, body in bodies.items():
        again = sum(flow.edges.get((source, header), 0.0) for source, to in back if to == header)
        entered = max(1e-9, flow.blocks[header] - again)
        found.append(Loop(header, frozenset(body), float(flow.blocks[header] / entered)))
    return tuple(found)


def ways(code: Code, flow: Flow, warps: int, wanted: int) -> Ways:
    """Ways of so many warps, of about `wanted` instructions each or fewer.

    Args:
        code: The kernel.
        flow: Its frequencies.
        warps: How many ways.
        wanted: Instructions.
    """
    found = loops(code, flow)
    lengths = [len(block.instructions) for block in code.blocks]
    for rounds in _ROUNDS:
        walker = _Walker(code, flow, found, rounds)
        first = walker.way(lengths, wanted * _LONGEST)
        if sum(lengths[b] for b in first) <= wanted or rounds == _ROUNDS[-1]:
            walker = _Walker(code, flow, found, rounds)
            return Ways(tuple(tuple(walker.way(lengths, wanted * _LONGEST)) for _ in range(warps)), rounds)
    raise AssertionError


class _Walker:
    def __init__(self, code: Code, flow: Flow, found: Sequence[Loop], rounds: int) -> None:
        self.code = code
        self.shared: dict[int, dict[int, float]] = {}
        self.choices: dict[int, dict[int, float]] = {}
        self.ends_loop: dict[int, set[int]] = {}
        self.calls: dict[int, float] = {}
        for b, block in enumerate(code.blocks):
            weights = {}
            for s in block.successors:
                value = flow.edges.get((b, s), 0.0)
                for loop in found:
                    if b in loop.body and s in loop.body and loop.rounds > rounds:
                        value *= rounds / loop.rounds
                if value > 1e-9:
                    weights[s] = value
            total = sum(weights.values())
            self.choices[b] = {s: value / total for s, value in weights.items()} if total else {}
            self.ends_loop[b] = {s for s in weights if any(b in loop.body and s not in loop.body for loop in found)}
        self._call_shares(flow)

    def _call_shares(self, flow: Flow) -> None:
        callers: dict[int, float] = defaultdict(float)
        for b, block in enumerate(self.code.blocks):
            if block.calls is not None:
                callers[block.calls] += float(flow.blocks[b])
        for target, made in callers.items():
            self.calls[target] = min(1.0, float(flow.blocks[target]) / made) if made > 0 else 0.0

    def way(self, lengths: Sequence[int], most: int) -> list[int]:
        own: dict[int, float] = {}
        called: dict[int, float] = {}
        found, returns, b, length = [], list[int](), 0, 0
        while length <= most:
            found.append(b)
            length += lengths[b] + 1
            block = self.code.blocks[b]
            if block.calls is not None and block.successors and self.calls.get(block.calls, 0.0) > 0:
                called[block.calls] = called.get(block.calls, 0.5) + self.calls[block.calls]
                if called[block.calls] >= 1.0:
                    called[block.calls] -= 1.0
                    returns.append(block.successors[0])
                    b = block.calls
                    continue
            following = self._next(b, own)
            if following is None:
                if not returns:
                    break
                following = returns.pop()
            b = following
        return found

    def _next(self, b: int, own: dict[int, float]) -> int | None:
        choices = self.choices[b]
        if len(choices) <= 1:
            return next(iter(choices), None)
        leaving = self.ends_loop[b]
        if leaving and len(leaving) < len(choices):
            own[b] = own.get(b, 0.0) + sum(choices[s] for s in leaving)
            if own[b] >= 1.0 - 1e-6:
                own[b] -= 1.0
                return max(leaving, key=lambda s: choices[s])
            choices = {s: share for s, share in choices.items() if s not in leaving}
            if len(choices) == 1:
                return next(iter(choices))
        credit = self.shared.setdefault(b, {})
        total = sum(choices.values())
        for s, share in choices.items():
            credit[s] = credit.get(s, 0.0) + share / total
        best = max(choices, key=lambda s: credit[s])
        credit[best] -= 1.0
        return best
