"""Runs the backbones of a design: which operator, how far, and which generations are handed to the experiment."""

from collections.abc import Awaitable, Mapping
from typing import Final, Protocol

from cudanalyst.clients.backbones.eoh import POPULATION, eoh
from cudanalyst.clients.backbones.hill_climbing import PROPOSALS, hill_climbing
from cudanalyst.clients.backbones.lab import Bred, Lab, OperatorName
from cudanalyst.clients.backbones.mcts import ITERATIONS, mcts
from cudanalyst.errors import BadRequest
from cudanalyst.kernels.problem import Problem, Start
from cudanalyst.resources.design.models import Backbone

MAX_GENERATION: Final = 50
MAX_SIZE: Final = 64


class Run(Protocol):
    """A search that freezes every generation from the start on, as long as it finds something new to freeze."""

    def __call__(
        self, lab: Lab, problem: Problem, start: Start, generations: int, seed: int, *, size: int
    ) -> Awaitable[list[Bred]]:
        """Runs it.

        Args:
            lab: To judge, freeze and propose with.
            problem: What to solve.
            start: Where to begin: generation 0.
            generations: How many to freeze at most, the start's included.
            seed: The same seed gives the same run with the same tools and deterministic agents.
            size: Proposals a step, size of the population, or expansions a generation.
        """


_RUNS: Final[Mapping[OperatorName, Run]] = {"hill_climbing": hill_climbing, "eoh": eoh, "mcts": mcts}
_SIZES: Final[Mapping[OperatorName, tuple[str, int]]] = {
    "hill_climbing": ("proposals", PROPOSALS),
    "eoh": ("population", POPULATION),
    "mcts": ("iterations", ITERATIONS),
}
"""The one option of each operator, and what it is unless said otherwise."""


def operator_of(backbone: Backbone) -> tuple[OperatorName, Run, int]:
    """The operator of a backbone, how it runs, and its size.

    Raises:
        BadRequest: It has no such operator or option, or would go on for too long.
    """
    name = next((one for one in _RUNS if one == backbone.operator), None)
    if name is None:
        raise BadRequest(f"backbone {backbone.id}: operator {backbone.operator!r} is none of {', '.join(_RUNS)}")
    option, size = _SIZES[name]
    for given, value in backbone.options.items():
        if given != option or not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= MAX_SIZE:
            raise BadRequest(
                f"backbone {backbone.id}: options may hold {option} = 1 to {MAX_SIZE}, not {given} = {value}"
            )
        size = value
    if backbone.generations[-1] > MAX_GENERATION:
        raise BadRequest(f"backbone {backbone.id}: generations go up to {MAX_GENERATION}")
    return name, _RUNS[name], size


def start_of(problem: Problem, backbone: Backbone) -> Start:
    """The kernel that a backbone begins with: a named start of its problem, else the baseline.

    Raises:
        BadRequest: The problem has no such start.
    """
    if backbone.start is None:
        return Start(name="baseline", source=problem.baseline)
    found = next((one for one in problem.starts if one.name == backbone.start), None)
    if found is None:
        known = ", ".join(one.name for one in problem.starts)
        raise BadRequest(f"backbone {backbone.id}: {problem.id} has no start {backbone.start!r}; it has {known}")
    return found


async def induce(lab: Lab, problem: Problem, backbone: Backbone) -> list[Bred]:
    """Runs a backbone and gives the generations that its experiment asks for.

    A search that has found nothing new before a generation stands where it was: that state is frozen again, as that
    generation, so that every generation holds the same problems.

    Raises:
        BadRequest: Operator, option or start are unknown.
        CallError: The server could not judge or freeze a candidate.
    """
    _, run, size = operator_of(backbone)
    start = start_of(problem, backbone)
    bred = await run(lab, problem, start, backbone.generations[-1] + 1, backbone.seed, size=size)
    found = {one.generation: one for one in bred}
    return [
        found[generation] if generation in found else await lab.again(problem, start, bred[-1], generation)
        for generation in backbone.generations
    ]
