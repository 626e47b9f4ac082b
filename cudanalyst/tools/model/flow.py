"""How often each basic block of the machine code runs, from how often each PTX statement ran.

A statement may stand in several blocks (unrolled, peeled) or in none (merged, folded, hoisted), so the counts do not fix the blocks one by one. They do
together with what flows through the graph: what enters a block leaves it. The frequencies sought explain the counts with the least total deviation, by a
linear program; loads, stores, barriers, shuffles and multiply-adds count for much, as the compiler neither adds nor removes executions of them.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_array

from cudanalyst.tools.model.machine import Code, Instruction
from cudanalyst.tools.model.statements import Statement

_STRONG: Final[dict[str, tuple[str, ...]]] = {
    "load_global": ("ld.global", "ld.relaxed", "ld.volatile", "ld.acquire", "ld.v", "ld.u", "ld.b", "ld.f", "ld.s", "cp.async"),
    "store_global": ("st.global", "st.relaxed", "st.volatile", "st.release", "st.v", "st.u", "st.b", "st.f", "st.s"),
    "load_shared": ("ld.shared", "ldmatrix", "ld.volatile.shared"),
    "store_shared": ("st.shared", "st.volatile.shared"),
    "barrier": ("bar.sync", "barrier.sync", "barrier.cta"),
    "shuffle": ("shfl",),
    "fp32": ("fma.rn.f32", "add.f32", "add.rn.f32", "mul.f32", "mul.rn.f32", "sub.f32", "fma.rn.ftz.f32", "add.ftz.f32", "mul.ftz.f32", "sub.ftz.f32"),
    "fp64": ("fma.rn.f64", "add.f64", "add.rn.f64", "mul.f64", "mul.rn.f64"),
    "tensor": ("mma.sync.aligned.m16n8k16",),
    "atomic": ("red.global.add.u", "red.global.add.f", "atom.global.add.u", "atom.global.add.f", "atom.shared.add.u"),
}  # fmt: skip
_WEIGHT: Final[dict[str, float]] = {"fp32": 0.5, "fp64": 0.5}
_WEAK: Final = 0.02
_ENTERED: Final = (0.3, 0.02)
"""Gain of a warp's first entry into a loop, and of each further one: counts alone would let a loop turn that nothing enters."""
_HOISTED: Final = frozenset({"MOV", "S2R", "CS2R", "LDC", "S2UR", "R2UR"})
"""These stand anywhere, whatever statement they come from; so do instructions on uniform registers."""
_DIVERGENCE: Final = 0.2
"""Cost of executions that appear or vanish on the way, where lanes part and meet; much more where no branch diverged."""


@dataclass(frozen=True)
class Flow:
    """Executions by warps, over all launches."""

    blocks: np.ndarray
    """Of each block."""
    edges: dict[tuple[int, int], float]
    deviation: float
    """Share of the executions of the strongly weighted statements that the frequencies do not explain."""


def back_edges(count: int, following: Mapping[int, Sequence[int]]) -> list[tuple[int, int]]:
    """Edges to a block that is on the way to them."""
    state, found = [0] * count, []
    for root in range(count):
        if state[root]:
            continue
        stack = [(root, iter(following.get(root, ())))]
        state[root] = 1
        while stack:
            b, rest = stack[-1]
            target = next(rest, None)
            if target is None:
                state[b] = 2
                stack.pop()
            elif state[target] == 1:
                found.append((b, target))
            elif state[target] == 0:
                state[target] = 1
                stack.append((target, iter(following.get(target, ()))))
    return found


@dataclass
class _Anchor:
    count: float
    weight: float
    lower_only: bool
    blocks: dict[int, float]


def solve(
    code: Code, lines: Mapping[int, Statement], counts: Mapping[tuple[str, int], Mapping[str, int]], warps: float
) -> Flow:
    """Frequencies of the blocks.

    Args:
        code: The kernel's blocks.
        lines: Statement at each PTX line.
        counts: The engine's columns by function and statement.
        warps: Warps of all launches.
    """
    anchors = _anchors(code, lines, counts)
    diverged = sum(row.get("divergent", 0) for row in counts.values())
    scale = max(1.0, warps)
    program = _Program(len(code.blocks), _DIVERGENCE if diverged else 20.0)
    edges = [(b, s) for b, block in enumerate(code.blocks) for s in block.successors]
    program.graph(code, edges, warps / scale)
    program.reward_entries(code, edges, max([1.0, *(anchor.count / scale for anchor in anchors)]))
    for anchor in anchors:
        program.anchor(anchor, scale)
    values = program.solve(code)
    frequencies = values[: len(code.blocks)] * scale
    flows = {edge: float(values[len(code.blocks) + k] * scale) for k, edge in enumerate(edges)}
    strong = [a for a in anchors if a.weight > _WEAK]
    total = sum(a.count for a in strong)
    off = sum(_off(a, frequencies) for a in strong)
    return Flow(frequencies, flows, off / total if total else 0.0)


def _off(anchor: _Anchor, frequencies: np.ndarray) -> float:
    explained = float(sum(many * frequencies[b] for b, many in anchor.blocks.items()))
    return max(0.0, anchor.count - explained) if anchor.lower_only else abs(anchor.count - explained)


def strong_kind(opcode: str) -> str | None:
    """The class of machine instruction that a PTX opcode turns into one of, each time; None where that is not sure."""
    if opcode.startswith(("ld.", "st.")):
        shared = ".shared" in opcode
        if any(f".{space}" in opcode for space in ("param", "const", "local")):
            return None
        return ("load_" if opcode[0] == "l" else "store_") + ("shared" if shared else "global")
    return next((kind for kind, starts in _STRONG.items() if opcode.startswith(starts)), None)


def _anchors(
    code: Code, lines: Mapping[int, Statement], counts: Mapping[tuple[str, int], Mapping[str, int]]
) -> list[_Anchor]:
    at_line: dict[int, list[tuple[int, Instruction]]] = defaultdict(list)
    for b, block in enumerate(code.blocks):
        if block.successors == [b] and len(block.instructions) == 1:
            continue  # fills the end
        for one in block.instructions:
            if one.line is not None and one.line in lines:
                at_line[one.line].append((b, one))
    anchors = []
    for line, found in at_line.items():
        statement = lines[line]
        row = counts.get((statement.function, statement.number))
        count = float(row["executed"]) if row and "executed" in row else 0.0
        kind = strong_kind(statement.opcode)
        loop = [
            (b, one) for b, one in found if one.opcode in {"ATOMS", "ATOM", "ATOMG"} and "CAS" in "".join(one.modifiers)
        ]
        if row and loop and ".cas" not in statement.opcode and row.get("serial"):
            # A loop of compare and swap stands for the update: as many rounds as lanes meet at an address.
            anchors.append(
                _Anchor(float(max(row["serial"], count)), 1.0, False, dict.fromkeys((b for b, _ in loop), 1.0))
            )
            continue
        own = [(b, one) for b, one in found if one.kind == kind]
        blocks: dict[int, float] = defaultdict(float)
        if kind is not None and own:
            for b, _ in own:
                blocks[b] += 1.0
            guarded = any(one.guarded for _, one in own) and not statement.guarded
            anchors.append(_Anchor(count, _WEIGHT.get(kind, 1.0), guarded, dict(blocks)))
        else:
            for b, one in found:
                if one.opcode not in _HOISTED and not one.opcode.startswith("U") and not one.constant_move:
                    blocks[b] = 1.0
            anchors.append(_Anchor(count, _WEAK, len(blocks) > 1 or any(one.guarded for _, one in found), dict(blocks)))
    return anchors


class _Program:
    """min cost x, A x = b, x >= 0, assembled row by row."""

    def __init__(self, blocks: int, divergence: float) -> None:
        self.cost: list[float] = [0.0] * blocks
        self.most: list[float | None] = [None] * blocks
        self.entries: list[tuple[int, int, float]] = []
        self.right: list[float] = []
        self.divergence = divergence

    def variable(self, cost: float, most: float | None = None) -> int:
        self.cost.append(cost)
        self.most.append(most)
        return len(self.cost) - 1

    def row(self, terms: Mapping[int, float], right: float) -> None:
        number = len(self.right)
        self.entries += [(number, variable, factor) for variable, factor in terms.items() if factor]
        self.right.append(right)

    def graph(self, code: Code, edges: list[tuple[int, int]], begun: float) -> None:
        flow = [self.variable(0.0) for _ in edges]
        into: dict[int, dict[int, float]] = defaultdict(dict)
        out: dict[int, dict[int, float]] = defaultdict(dict)
        for (source, target), variable in zip(edges, flow, strict=True):
            out[source][variable] = out[source].get(variable, 0.0) + 1.0
            into[target][variable] = into[target].get(variable, 0.0) + 1.0
        for b, block in enumerate(code.blocks):
            arrives = dict(into[b])
            if block.entry:
                arrives[self.variable(0.001)] = 1.0
            arrives[self.variable(self.divergence)] = -1.0  # lanes that meet
            self.row({b: -1.0, **arrives}, -begun if b == 0 else 0.0)
            leaves = dict(out[b])
            ends = not block.successors or (block.instructions and block.instructions[-1].opcode in {"EXIT", "RET"})
            if ends:
                leaves[self.variable(0.0)] = 1.0
            leaves[self.variable(self.divergence)] = -1.0  # lanes that part
            self.row({b: -1.0, **leaves}, 0.0)

    def reward_entries(self, code: Code, edges: list[tuple[int, int]], most: float) -> None:
        back = set(back_edges(len(code.blocks), {b: block.successors for b, block in enumerate(code.blocks)}))
        headers = {header for _, header in back}
        for k, edge in enumerate(edges):
            if edge[1] in headers and edge not in back:
                once, again = self.variable(-_ENTERED[0], 1.0), self.variable(-_ENTERED[1], most)
                self.row({len(code.blocks) + k: 1.0, once: -1.0, again: -1.0, self.variable(0.0): -1.0}, 0.0)

    def anchor(self, anchor: _Anchor, scale: float) -> None:
        over = self.variable(0.0 if anchor.lower_only else anchor.weight)
        under = self.variable(anchor.weight)
        self.row({**anchor.blocks, over: -1.0, under: 1.0}, anchor.count / scale)

    def solve(self, code: Code) -> np.ndarray:
        for b, block in enumerate(code.blocks):
            self.cost[b] += 1e-4 * len(block.instructions)
        rows, columns, factors = zip(*self.entries, strict=True) if self.entries else ((), (), ())
        matrix = coo_array((factors, (rows, columns)), shape=(len(self.right), len(self.cost)))
        program: Any = linprog
        result = program(
            self.cost, A_eq=matrix.tocsr(), b_eq=self.right, bounds=[(0.0, most) for most in self.most], method="highs"
        )
        if result.x is None:
            raise ArithmeticError(f"no frequencies fit the graph: {result.message}")
        return np.asarray(result.x)
