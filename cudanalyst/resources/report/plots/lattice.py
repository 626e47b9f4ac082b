"""v(S) over the lattice of coalitions."""

from collections.abc import Mapping, Sequence
from typing import Final

from cudanalyst.resources.attribution.result import Slice
from cudanalyst.resources.report.drawing import WIDTH, Key, Plot, figure, themed
from cudanalyst.resources.report.palette import COLOUR, STEPS
from cudanalyst.resources.report.text import abbreviations, evidence, level_title

LATTICE_PLAYERS: Final = 5
"""A lattice of six players has 20 nodes in a row: unreadable on any page."""


@themed
def lattice(name: str, level: Slice, players: Sequence[str]) -> Plot | None:
    """A Hasse diagram: edges show what adding one component changes; None above five players."""
    if len(players) > LATTICE_PLAYERS or not level.values:
        return None
    short = abbreviations(players)
    value = {frozenset(v.coalition): v.value for v in level.values}
    place: dict[frozenset[str], tuple[float, float]] = {}
    for size in range(len(players) + 1):
        rank = sorted(
            (s for s in value if len(s) == size), key=lambda s: [players.index(p) for p in sorted(s, key=players.index)]
        )
        for k, some in enumerate(rank):
            place[some] = ((k + 0.5) / len(rank), float(size))
    widest = max(sum(len(s) == size for s in place) for size in range(len(players) + 1))
    # Ten nodes in a row leave 25 points each; smaller nodes hold smaller text.
    node, big, small = (37, 10.0, 8.5) if widest <= 6 else (25, 7.5, 6.0)
    drawn = figure(WIDTH, 0.2 + 0.8 * (len(players) + 1))
    axes = drawn.add_axes((0, 0, 1, 1))
    for some, (x, y) in place.items():
        for player in players:
            more = some | {player}
            if more != some and more in place:
                gain = value[more] - value[some]
                axes.plot(
                    [x, place[more][0]], [y, place[more][1]], color=direction(gain), linewidth=0.7 + 5 * abs(gain), zorder=1,
                    alpha=0.75,
                )  # fmt: skip
    for some, (x, y) in place.items():
        shade = min(max(round(value[some] * STEPS), 0), STEPS)
        ink = COLOUR["on-hi" if shade > STEPS // 2 else "on-lo"]
        axes.plot([x], [y], "o", markersize=node, color=COLOUR[f"seq{shade}"], markeredgecolor=COLOUR["rule"], zorder=2)
        label = "".join(short[p] for p in players if p in some) or "none"
        for text, lift, points, weight in ((label, 6.5, small, "normal"), (f"{value[some]:.2f}", -5.5, big, "bold")):
            axes.annotate(
                text, (x, y), (0, lift), textcoords="offset points", ha="center", va="center", fontsize=points,
                weight=weight, color=ink, zorder=3,
            )  # fmt: skip
    axes.set(xlim=(0, 1), ylim=(-0.5, len(players) + 0.5))
    axes.axis("off")
    words = "; ".join(f"{evidence(v.coalition)} {v.value:.2f}" for v in level.values)
    keys = (Key("rises", "up", "", "-"), Key("falls", "down", "", "-"), *letters(short))
    return Plot(name, f"v(S) over the lattice of coalitions, {level_title(level.level)}", words, drawn, keys)


def letters(short: Mapping[str, str]) -> tuple[Key, ...]:
    """What the letters of coalitions stand for."""
    return tuple(Key(f"{letter}: {player}") for player, letter in short.items())


def direction(gain: float) -> str:
    """Colour of a change."""
    return COLOUR["flat" if abs(gain) < 0.005 else "up" if gain > 0 else "down"]
