"""Hill climbing: several proposals from where it stands, one step to the best of them, until nothing is better."""

from typing import Final

from cudanalyst.clients.backbones.lab import Bred, Lab
from cudanalyst.kernels.problem import Problem, Start

PROPOSALS: Final = 3


async def hill_climbing(
    lab: Lab, problem: Problem, start: Start, generations: int, seed: int, *, size: int = PROPOSALS
) -> list[Bred]:
    """Climbs; the proposals that were not taken are the next state's references."""
    state = await lab.score(problem, start.source)
    bred = [await lab.freeze(problem, start, state, 0)]
    for generation in range(1, generations):
        made = [await lab.modify(problem, state, seed + generation * size + number) for number in range(size)]
        tried = [one for one in made if one is not None]
        best = max(tried, key=lambda one: (one.standing, one.candidate), default=state)
        if best.standing <= state.standing:
            break
        others, state = [state, *tried], best
        bred.append(await lab.freeze(problem, start, state, generation, others))
    return bred
