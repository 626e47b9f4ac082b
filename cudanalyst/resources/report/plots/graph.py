"""Pairwise interactions as a graph of components."""

from collections.abc import Sequence
from math import cos, pi, sin

from cudanalyst.resources.attribution.result import Slice
from cudanalyst.resources.attribution.table import TARGETS, interval_for
from cudanalyst.resources.report.drawing import WIDTH, Key, Plot, figure, themed
from cudanalyst.resources.report.palette import COLOUR
from cudanalyst.resources.report.plots.lattice import direction
from cudanalyst.resources.report.text import effects_of, level_title, shorten, signed

KEYS = (Key("synergy", "up", "", "-"), Key("redundancy", "down", "", "-"), Key("interval holds zero", "soft", "", "--"))


@themed
def interactions(name: str, level: Slice, players: Sequence[str]) -> Plot | None:
    """Pairwise Banzhaf interactions: nodes are components, edges I_ij; dashed where the interval holds zero."""
    found = effects_of(level, "banzhaf_interaction")
    if not found:
        return None
    turn = {2: pi, 4: pi / 4}.get(len(players), pi / 2)
    place = {
        p: (1.35 * cos(turn + 2 * pi * k / len(players)), sin(turn + 2 * pi * k / len(players)))
        for k, p in enumerate(players)
    }
    low, high = min(y for _, y in place.values()) - 0.4, max(y for _, y in place.values()) + 0.4
    drawn = figure(WIDTH, 1.05 * (high - low))
    axes = drawn.add_axes((0, 0, 1, 1))
    for (one, other), effect in found.items():
        (x0, y0), (x1, y1) = place[one], place[other]
        interval = interval_for(effect.intervals, TARGETS[0])
        sure = interval is not None and (interval.low > 0 or interval.high < 0)
        colour = direction(effect.value)
        axes.plot(
            [x0, x1], [y0, y1], color=colour, linewidth=1 + 9 * min(abs(effect.value), 1),
            linestyle="-" if sure else (0, (2, 2)), zorder=1,
        )  # fmt: skip
        # Lines that cross in the middle are labelled before it, so that no label hides another.
        neighbours = (players.index(other) - players.index(one)) in {1, len(players) - 1}
        at = 0.5 if neighbours else 0.3
        axes.text(
            x0 + at * (x1 - x0), y0 + at * (y1 - y0), signed(effect.value), ha="center", va="center", fontsize=10,
            weight="bold", color=COLOUR["ink"], zorder=3,
            bbox={"boxstyle": "round,pad=0.28", "facecolor": COLOUR["card"], "edgecolor": colour, "linewidth": 0.9},
        )  # fmt: skip
    alone = effects_of(level, "banzhaf")
    for player, (x, y) in place.items():
        own = f"\n{signed(alone[(player,)].value)}" if (player,) in alone else ""
        axes.text(
            x, y, shorten(player, 12) + own, ha="center", va="center", fontsize=9.5, color=COLOUR["ink"], zorder=4,
            bbox={"boxstyle": "round,pad=0.5", "facecolor": COLOUR["seq1"], "edgecolor": COLOUR["soft"], "linewidth": 0.9},
        )  # fmt: skip
    axes.set(xlim=(-2, 2), ylim=(low, high))
    axes.axis("off")
    words = "; ".join(f"{one} with {other} {signed(e.value)}" for (one, other), e in found.items())
    return Plot(name, f"Pairwise Banzhaf interactions, {level_title(level.level)}", words, drawn, KEYS)
