"""A design's trials in the order in which they are to run."""

import random
from collections.abc import Callable, Mapping, Sequence

from cudanalyst.errors import BadRequest
from cudanalyst.resources.blocks import MAX_TRIALS, SEED_BITS
from cudanalyst.resources.design.cells import Cell, cells_of
from cudanalyst.resources.design.models import Design
from cudanalyst.resources.trials import Trial
from cudanalyst.values import content_id


def count_trials(design: Design, checkpoints: int) -> int:
    """How many trials a design lays down."""
    plain, first = len(cells_of(design)), len(cells_of(design, sentinels=True))
    return design.repeats * (plain * checkpoints + (first - plain if checkpoints else 0))


def lay_down(
    experiment: str,
    design: Design,
    *,
    problems: Mapping[str, str],
    donors: Mapping[tuple[str, int], str],
    mint: Callable[[int], Sequence[str]],
) -> tuple[Trial, ...]:
    """Lays down all trials in the order in which they are to run.

    A block is one checkpoint's every cell (planner, regime, coalition, horizon) once, in random order and close in time; the
    checkpoints' blocks follow each other in a new random order for each repeat, so that drift of a served model falls on all
    cells and all checkpoints alike. Sentinel cells stand at random places of the first checkpoint's blocks.

    Seeds of blocks follow from the design's seed, the checkpoint and the repeat only, so that another experiment on the same
    checkpoint gives the same.

    Args:
        experiment: Handle of the experiment.
        design: What was decided.
        problems: Problem by checkpoint id, in the design's order.
        donors: For RF, by checkpoint and repeat, whose evidence is delivered.
        mint: Gives that many unguessable trial handles.

    Raises:
        BadRequest: There would be no trial, or too many.
    """
    total = count_trials(design, len(problems))
    if not total:
        raise BadRequest("checkpoints: none is filled in yet. Freeze what the backbones induce, and name it.")
    if total > MAX_TRIALS:
        raise BadRequest(
            f"{total} trials are too many (at most {MAX_TRIALS}). Take fewer repeats, checkpoints, regimes or coalitions."
        )
    draw = random.Random(content_id("lay", design.canonical(), *sorted(problems)))  # noqa: S311 - seeded by content
    handles = iter(mint(total))
    watched = next(iter(problems))
    trials: list[Trial] = []
    block = 0
    for repeat in range(design.repeats):
        for checkpoint in draw.sample(sorted(problems), len(problems)):
            cells = cells_of(design, f"{checkpoint}/{repeat}", sentinels=checkpoint == watched)
            for order, cell in enumerate(draw.sample(cells, len(cells))):
                trials.append(
                    Trial(
                        id=next(handles),
                        experiment=experiment,
                        checkpoint=checkpoint,
                        problem=problems[checkpoint],
                        repeat=repeat,
                        block=block,
                        order=order,
                        seed=_seed(design, checkpoint, repeat, cell, order),
                        donor=donors[checkpoint, repeat] if cell.regime == "RF" else None,
                        **cell._asdict(),
                    )
                )
            block += 1
    return tuple(trials)


def _seed(design: Design, checkpoint: str, repeat: int, cell: Cell, order: int) -> int:
    """One seed for a block; a sentinel and, where the design says so, every trial has its own.

    Planners are told their seed. One of a trial's own follows from the whole design, which they do not know: else they could try
    out which regime and coalition give it.
    """
    parts = ["sed", str(design.seed), checkpoint, str(repeat)]
    if cell.sentinel:
        parts += [design.id, "sentinel", str(order)]
    elif design.seeds == "trial":
        parts += [design.id, *(str(part) for part in cell)]
    return int(content_id(*parts)[4:], 16) % (1 << SEED_BITS)
