"""Estimates with both kinds of interval, in groups: effects by component, by planner, lifts by regime."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from matplotlib.axes import Axes

from cudanalyst.resources.attribution.table import TARGETS, Interval, interval_for
from cudanalyst.resources.report.drawing import WIDTH, Key, Plot, bare, figure, themed
from cudanalyst.resources.report.palette import COLOUR
from cudanalyst.resources.report.text import shorten, signed

MARKERS: Final = "osD^vP"
COLOURS: Final = 6
"""Colours and marks before they repeat; a page's legend shows the same ones."""
STEP: Final = 0.27
"""Inches between two estimates of a group."""
BELOW: Final = 0.085
"""Inches from an estimate down to its interval for the population."""


@dataclass(frozen=True)
class Dot:
    """One estimate of a group."""

    series: int
    """Which colour and mark."""
    name: str
    """Of the series, for the description."""
    value: float
    intervals: tuple[Interval, ...] = ()
    truth: float | None = None


@dataclass(frozen=True)
class Group:
    """Estimates of one component, pair or comparison."""

    name: str
    dots: tuple[Dot, ...]


@themed
def dots(name: str, title: str, label: str, groups: Sequence[Group], *, role: str = "level") -> Plot | None:
    """A forest plot. Thick: interval for these problems; thin with caps: for the population of problems.

    Args:
        name: of the plot.
        title: what it shows.
        label: of the axis.
        groups: from top to bottom; an empty one is left out.
        role: colours of the series, `level` or `who`.
    """
    shown = [group for group in groups if group.dots]
    if not shown:
        return None
    inner = sum(0.3 + STEP * len(group.dots) for group in shown)
    height = 0.75 + inner
    drawn = figure(WIDTH, height)
    axes = drawn.add_axes((0.25, 0.45 / height, 0.73, 1 - 0.53 / height))
    places, row = [], 0.0
    for group in shown:
        places.append(row + (STEP * (len(group.dots) - 1) + BELOW) / 2)
        for dot in group.dots:
            _whisker(axes, row, dot, role)
            row += STEP
        if group is not shown[-1]:
            axes.axhline(row + 0.03, color=COLOUR["rule"], linewidth=0.6)
        row += 0.3
    axes.set_ylim(row - 0.27, -0.27)
    axes.set_yticks(places, [shorten(group.name, 13) for group in shown])
    _reach(axes, [dot for group in shown for dot in group.dots])
    bare(axes, label)
    words = "; ".join(
        f"{group.name}: " + ", ".join(f"{dot.name} {signed(dot.value)}" for dot in group.dots) for group in shown
    )
    named = {dot.series % COLOURS: dot.name for group in shown for dot in group.dots}
    targets = [i.target for group in shown for dot in group.dots for i in dot.intervals]
    keys = [Key(named[k], f"{role}{k}", MARKERS[k]) for k in sorted(named)]
    keys += [
        Key(f"95 % interval, {t}", "soft", "", "-", w) for t, w in zip(TARGETS, (3.2, 1.0), strict=True) if t in targets
    ]
    if any(dot.truth is not None for group in shown for dot in group.dots):
        keys.append(Key("truth", "truth", "|"))
    return Plot(name, title, words, drawn, tuple(keys))


def _whisker(axes: Axes, row: float, dot: Dot, role: str) -> None:
    k = dot.series % COLOURS
    colour = COLOUR[f"{role}{k}"]
    if (outer := interval_for(dot.intervals, TARGETS[1])) is not None:
        below = row + BELOW  # either of the two may be the wider one, so neither is drawn over the other
        axes.plot([outer.low, outer.high], [below, below], color=colour, linewidth=1.0)
        for end in (outer.low, outer.high):
            axes.plot([end, end], [below - 0.035, below + 0.035], color=colour, linewidth=1.0)
    if (inner := interval_for(dot.intervals, TARGETS[0])) is not None:
        axes.plot([inner.low, inner.high], [row, row], color=colour, linewidth=3.2, solid_capstyle="round")
    axes.plot(
        [dot.value], [row], MARKERS[k], color=colour, markersize=6.5, markeredgecolor=COLOUR["card"], markeredgewidth=1.0,
    )  # fmt: skip
    if dot.truth is not None:
        axes.plot([dot.truth, dot.truth], [row - 0.09, row + 0.09], color=COLOUR["truth"], linewidth=1.6)


def _reach(axes: Axes, shown: Sequence[Dot]) -> None:
    """The same scale on both sides of zero would waste space; zero is always in sight."""
    ends = [0.0] + [end for dot in shown for end in (dot.value, *(x for i in dot.intervals for x in (i.low, i.high)))]
    low, high = min(ends), max(ends)
    room = max(high - low, 0.2) * 0.05
    axes.set_xlim(low - room, high + room)
    axes.axvline(0, color=COLOUR["soft"], linewidth=1.0, zorder=0)
