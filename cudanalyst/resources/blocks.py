"""The design of an experiment: blocks that hold every coalition once, in random order."""

import random
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import Final

from cudanalyst.errors import BadRequest
from cudanalyst.kernels.problem import Component
from cudanalyst.resources.trials import Coalition, Trial
from cudanalyst.values import content_id

MAX_TRIALS: Final = 100_000
SEED_BITS: Final = 31


def coalitions(players: Sequence[Component]) -> tuple[Coalition, ...]:
    """Every subset of the players, smallest first, each sorted."""
    ordered = sorted(players)
    return tuple(subset for size in range(len(ordered) + 1) for subset in combinations(ordered, size))


def schedule(
    experiment: str,
    *,
    players: Sequence[Component],
    problems: Mapping[str, str],
    repeats: int,
    seed: int,
    mint: Callable[[int], Sequence[str]],
    planner: str = "scripted",
    coder: str = "scripted",
) -> tuple[Trial, ...]:
    """Lays down all trials in the order in which they are to run.

    A block is one checkpoint's every coalition, close in time; the checkpoints' blocks follow each other in a new random
    order for each repeat, so that drift of a served model falls on all coalitions and all checkpoints alike.

    Args:
        experiment: Handle of the experiment.
        players: Components whose effect is asked for.
        problems: Problem by checkpoint id.
        repeats: Blocks per checkpoint.
        seed: Makes the order reproducible.
        mint: Gives that many unguessable trial handles; they say nothing of coalition or order.
        planner: Name of the planner.
        coder: Name of the coder.

    Raises:
        BadRequest: The experiment would be empty or too large.
    """
    subsets = coalitions(players)
    total = len(subsets) * len(problems) * repeats
    if not players or not problems or repeats < 1:
        raise BadRequest("An experiment needs at least one player, one checkpoint and one repeat.")
    if total > MAX_TRIALS:
        raise BadRequest(
            f"{total} trials are too many (at most {MAX_TRIALS}). Take fewer repeats, checkpoints or players."
        )
    # Seeded by content, so that neither handle nor process enters: the same request gives the same order.
    draw = random.Random(content_id("sch", str(seed), *sorted(problems), *sorted(players)))  # noqa: S311
    handles = iter(mint(total))
    trials: list[Trial] = []
    block = 0
    for repeat in range(repeats):
        for checkpoint in draw.sample(sorted(problems), len(problems)):
            for order, coalition in enumerate(draw.sample(subsets, len(subsets))):
                trials.append(
                    Trial(
                        id=next(handles),
                        experiment=experiment,
                        checkpoint=checkpoint,
                        problem=problems[checkpoint],
                        coalition=coalition,
                        repeat=repeat,
                        block=block,
                        order=order,
                        seed=draw.getrandbits(SEED_BITS),
                        planner=planner,
                        coder=coder,
                    )
                )
            block += 1
    return tuple(trials)
