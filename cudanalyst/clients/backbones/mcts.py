"""Monte Carlo tree search over programs: a node is a program, a child one edit further, its reward how good it turned out.

Selection by upper confidence bounds (Kocsis and Szepesvari 2006), one expansion an iteration, the mean reward handed up.
"""

import math
import random
from dataclasses import dataclass, field
from typing import Final

from cudanalyst.clients.backbones.lab import Bred, Lab, Scored
from cudanalyst.kernels.problem import BaseStatus, Problem, Start

ITERATIONS: Final = 3
"""Expansions before each generation is frozen."""
EXPLORATION: Final = 0.7
WIDTH: Final = 4
"""Children of a node at most."""
_REWARD: Final[dict[BaseStatus, float]] = {"compile_failed": 0.0, "crashed": 0.2, "wrong": 0.3, "passed": 0.6}
_SPEED: Final = 0.4
"""What a passing program can earn by its speed."""


@dataclass
class Node:
    """A program and what came of it."""

    scored: Scored
    parent: "Node | None" = None
    children: list["Node"] = field(default_factory=list)
    visits: int = 0
    total: float = 0.0
    closed: bool = False
    """Nothing new can be made of it."""

    @property
    def mean(self) -> float:
        """Mean reward of what was tried from here."""
        return self.total / self.visits if self.visits else 0.0


def reward(one: Scored) -> float:
    """In [0, 1]: the base status, and for a passing program its speedup with diminishing returns."""
    speed = _SPEED * (1 - 1 / max(1.0, one.speedup)) if one.speedup is not None else 0.0
    return _REWARD[one.status] + speed


async def mcts(
    lab: Lab, problem: Problem, start: Start, generations: int, seed: int, *, size: int = ITERATIONS
) -> list[Bred]:
    """Searches; each generation freezes the best program that was not frozen yet, beside the others that it has found."""
    draw = random.Random(f"mcts {problem.id} {start.name} {seed}")  # noqa: S311 - no secret
    root = Node(await lab.score(problem, start.source))
    _hand_up(root, reward(root.scored))
    nodes = {root.scored.candidate: root}
    bred = [await lab.freeze(problem, start, root.scored, 0)]
    frozen = {root.scored.candidate}
    for generation in range(1, generations):
        for _ in range(size):
            await _iterate(lab, problem, root, nodes, draw)
        fresh = [node for name, node in nodes.items() if name not in frozen]
        if not fresh:
            break
        best = max(fresh, key=lambda node: (reward(node.scored), node.scored.candidate))
        frozen.add(best.scored.candidate)
        bred.append(await lab.freeze(problem, start, best.scored, generation, [one.scored for one in nodes.values()]))
    return bred


async def _iterate(lab: Lab, problem: Problem, root: Node, nodes: dict[str, Node], draw: random.Random) -> None:
    node = root
    while (node.closed or len(node.children) >= WIDTH) and node.children:
        node = max(node.children, key=lambda child: (_bound(child), child.scored.candidate))
    # The first child is what the agent would do with the node's evidence, the others are explored.
    made = None if node.children else await lab.modify(problem, node.scored, draw.getrandbits(31))
    if made is None or made.candidate in nodes:
        made = await lab.explore(problem, node.scored, draw)
    if made is None or made.candidate in nodes:
        node.closed = True
        _hand_up(node, node.mean)
        return
    child = Node(made, parent=node)
    node.children.append(child)
    nodes[made.candidate] = child
    _hand_up(child, reward(made))


def _bound(node: Node) -> float:
    over = node.parent.visits if node.parent is not None else node.visits
    return node.mean + EXPLORATION * math.sqrt(math.log(max(1, over)) / max(1, node.visits))


def _hand_up(node: Node | None, value: float) -> None:
    while node is not None:
        node.visits += 1
        node.total += value
        node = node.parent
