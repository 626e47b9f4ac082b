"""Evolution of heuristics, in the manner of Liu et al. 2024 ("Evolution of Heuristics", ICML): a population and two kinds of
operators. Explore makes programs that are unlike their parents, modify improves one by what is known of it.
"""

import random
from typing import Final

from cudanalyst.clients.backbones.lab import Bred, Lab, Scored
from cudanalyst.kernels.problem import Problem, Start

POPULATION: Final = 4
EXPLORED: Final = 2
"""New programs of each generation by exploring."""
MODIFIED: Final = 2
"""New programs of each generation by modifying."""


async def eoh(
    lab: Lab, problem: Problem, start: Start, generations: int, seed: int, *, size: int = POPULATION
) -> list[Bred]:
    """Evolves; each generation freezes the member that was selected to be modified, beside the rest of the population."""
    draw = random.Random(f"eoh {problem.id} {start.name} {seed}")  # noqa: S311 - no secret
    first = await lab.score(problem, start.source)
    members = [first]
    bred = [await lab.freeze(problem, start, first, 0)]
    frozen = {(first.candidate, frozenset[str]())}
    for generation in range(1, generations):
        newborn = [await lab.explore(problem, draw.choice(members), draw) for _ in range(EXPLORED)]
        newborn += [await lab.modify(problem, selected(members, draw), draw.getrandbits(31)) for _ in range(MODIFIED)]
        members = survivors([*members, *(one for one in newborn if one is not None)], size)
        parent = selected(members, draw)
        named = (parent.candidate, frozenset(one.candidate for one in members))
        if named in frozen:
            break  # neither the member nor what stands beside it has changed: evolution is over
        frozen.add(named)
        bred.append(await lab.freeze(problem, start, parent, generation, members))
    return bred


def survivors(members: list[Scored], population: int) -> list[Scored]:
    """The best of the different ones."""
    apart = {one.candidate: one for one in members}
    return sorted(apart.values(), key=lambda one: (one.standing, one.candidate), reverse=True)[:population]


def selected(members: list[Scored], draw: random.Random) -> Scored:
    """One member, the better the likelier: with weight 1 / (rank + size), ranks from 0."""
    ranked = survivors(members, len(members))
    return draw.choices(ranked, weights=[1 / (rank + len(ranked)) for rank in range(len(ranked))])[0]
