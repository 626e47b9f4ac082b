"""Banzhaf values problem by problem, as a heat map."""

from collections.abc import Sequence
from typing import Final

from matplotlib.patches import Rectangle

from cudanalyst.resources.attribution.result import Slice
from cudanalyst.resources.report.drawing import WIDTH, Plot, figure, themed
from cudanalyst.resources.report.palette import COLOUR, STEPS
from cudanalyst.resources.report.text import level_title, shorten, signed

MOST_PROBLEMS: Final = 40
"""Rows of a heat map; with more of them those with the largest effects, the table has them all."""
FULL: Final = 0.5
"""Effect that gets the full colour."""


@themed
def problems(name: str, level: Slice, players: Sequence[str]) -> Plot | None:
    """Whether an effect is everywhere or in a few places; None for fewer than two problems."""
    if len(level.by_problem) < 2:
        return None
    values = {
        row.problem: {e.players[0]: e.value for e in row.effects if e.index == "banzhaf"} for row in level.by_problem
    }
    largest = sorted(values, key=lambda name: -max((abs(x) for x in values[name].values()), default=0.0))[
        :MOST_PROBLEMS
    ]
    shown = [name for name in values if name in set(largest)]
    height = 0.45 + 0.31 * len(shown)
    drawn = figure(WIDTH, height)
    axes = drawn.add_axes((0.34, 0.04 / height, 0.65, 1 - 0.45 / height))
    for y, problem in enumerate(shown):
        for x, player in enumerate(players):
            value = values[problem].get(player)
            step = STEPS // 2 if value is None else round((1 + max(-1.0, min(1.0, value / FULL))) * STEPS / 2)
            axes.add_patch(Rectangle((x + 0.03, y + 0.05), 0.94, 0.9, facecolor=COLOUR[f"div{step}"], edgecolor="none"))
            ink = COLOUR["on-hi" if abs(step - STEPS // 2) > 2 else "on-lo"]
            axes.text(
                x + 0.5,
                y + 0.53,
                "" if value is None else signed(value),
                ha="center",
                va="center",
                fontsize=9,
                color=ink,
            )
    axes.set(xlim=(0, len(players)), ylim=(len(shown), 0))
    axes.set_xticks(
        [x + 0.5 for x in range(len(players))], [shorten(p, 11 if len(players) <= 4 else 7) for p in players]
    )
    axes.set_yticks([y + 0.5 for y in range(len(shown))], [shorten(problem, 19) for problem in shown])
    axes.xaxis.tick_top()
    axes.tick_params(length=0, colors=COLOUR["ink"], labelsize=9)
    axes.patch.set_visible(False)
    for side in axes.spines.values():
        side.set_visible(False)
    words = "; ".join(
        f"{problem}: " + ", ".join(f"{player} {signed(value)}" for player, value in values[problem].items())
        for problem in shown
    )
    return Plot(name, f"Banzhaf values by problem, {level_title(level.level)}", words, drawn)
