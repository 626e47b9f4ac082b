"""Evidence that belongs to another program: real, of the same base status, and wrong for this one."""

import random
from collections.abc import Mapping, Sequence

from cudanalyst.errors import BadRequest
from cudanalyst.kernels.problem import Component
from cudanalyst.resources.checkpoints import Checkpoint
from cudanalyst.values import content_id


def choose_donor(
    identity: str, checkpoints: Mapping[str, Checkpoint], players: Sequence[Component], *, seed: int, repeat: int
) -> str:
    """The checkpoint whose evidence stands in for another's in one repeat.

    It has the same base status and another program, and as many components as possible say something else of it (a clean report
    of the debugger reads the same for every sound program); of those, one is drawn that has the same placebos, and of these one of
    another problem, where there are such.

    Args:
        identity: The checkpoint that is tried.
        checkpoints: All that may be drawn from.
        players: Whose evidence must differ.
        seed: Of the design; the same draw for the same arguments.
        repeat: Each repeat draws anew.

    Raises:
        BadRequest: No checkpoint fits.
    """
    own = checkpoints[identity]
    apart = {other: _differing(own, checkpoints[other], players) for other in sorted(checkpoints)}
    fitting = [other for other, count in apart.items() if count and count == max(apart.values())]
    if not fitting:
        raise BadRequest(
            f"regimes: RF needs, for checkpoint {identity} ({own.problem}, {own.base_status}), another checkpoint with that "
            "base status and other evidence. Add a checkpoint or backbone that gives one, or leave RF out."
        )
    placebos = [one for one in fitting if _placebos(checkpoints[one], players) == _placebos(own, players)] or fitting
    elsewhere = [one for one in placebos if checkpoints[one].problem != own.problem] or placebos
    # Seeded by content: a choice that anybody can make again, not a secret.
    draw = random.Random(content_id("don", str(seed), identity, str(repeat)))  # noqa: S311
    return draw.choice(elsewhere)


def _differing(own: Checkpoint, other: Checkpoint, players: Sequence[Component]) -> int:
    """How many components would say something of another program; 0 where the other cannot stand in."""
    related = {own.source.id, *own.lineage} & {other.source.id, *other.lineage}
    if related or own.base_status != other.base_status or any(one not in other.evidence for one in players):
        return 0
    return sum(own.evidence[one].text != other.evidence[one].text for one in players)


def _placebos(checkpoint: Checkpoint, players: Sequence[Component]) -> tuple[bool, ...]:
    return tuple(checkpoint.evidence[one].structural for one in players)
