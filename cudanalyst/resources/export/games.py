"""v(S) tables as files that shapiq reads: one cooperative game per planner, regime, level and generation."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from cudanalyst.errors import BadRequest
from cudanalyst.resources.export.tables import finite, pretty
from cudanalyst.values import Frozen

FORMAT_VERSION = "1.4.1"
"""Release of shapiq whose file layout this is; it reads its players, values and flags from it."""
_EMPTY = "Empty"


class Game(Frozen):
    """A whole game: v(S) for every coalition of its players."""

    name: str
    """Unique among the games of an export, and its file's name without an ending."""
    players: tuple[str, ...]
    values: dict[str, float]
    """v(S) by indices of S in `players`, joined by commas; `Empty` for no player."""
    parameters: dict[str, str]
    """Which planner, regime, level and generation it is of."""


def game_of(
    name: str, players: Sequence[str], values: Mapping[tuple[str, ...], float], parameters: Mapping[str, str]
) -> Game | None:
    """A game from v(S) by coalition; None where a coalition is missing, since shapiq would take it for zero.

    Raises:
        BadRequest: A coalition names somebody who is no player.
    """
    at = {player: index for index, player in enumerate(players)}
    if unknown := sorted({member for coalition in values for member in coalition if member not in at}):
        raise BadRequest(f"game {name}: {', '.join(unknown)} is no player; the players are {', '.join(players)}.")
    known = {tuple(sorted(at[member] for member in coalition)): value for coalition, value in values.items()}
    table: dict[str, float] = {}
    for size in range(len(players) + 1):
        for coalition in combinations(range(len(players)), size):
            value = known.get(coalition)
            if value is None or finite(value) is None:
                return None
            table[",".join(map(str, coalition)) or _EMPTY] = float(value)
    return Game(name=name, players=tuple(players), values=table, parameters=dict(parameters))


def to_shapiq(game: Game) -> bytes:
    """The bytes of a file for `shapiq.Game.load(path, normalize=False)`.

    Values are as measured, not shifted: load it with `normalize=True` and v(empty) is taken off every value.
    Source of the layout: `Game.to_json_file` of shapiq 1.4.
    """
    whole: dict[str, Any] = {
        "object_name": "Game",
        "data_type": "game",
        "version": FORMAT_VERSION,
        "created_from": "cudanalyst",
        "description": "v(S): expected success with the evidence of S",
        "parameters": game.parameters,
        "timestamp": None,
        "metadata": {
            "n_players": len(game.players),
            "game_name": game.name,
            "normalization_value": game.values[_EMPTY],
            "precompute_flag": True,
            "precomputed": True,
            "player_names": list(game.players),
        },
        "data": game.values,
    }
    return pretty(whole)
