"""How success, speedup and effects move with the generation of the frozen states."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import exp

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.typing import LineStyleType

from cudanalyst.resources.attribution.result import Slice
from cudanalyst.resources.attribution.table import TARGETS, Interval, interval_for
from cudanalyst.resources.report.drawing import WIDTH, Key, Plot, bare, figure, themed
from cudanalyst.resources.report.palette import COLOUR
from cudanalyst.resources.report.text import effects_of, level_title, share, signed

PANEL = 1.45
"""Inches of one panel."""


@dataclass(frozen=True)
class Line:
    """One line of a panel: points by generation."""

    name: str
    colour: str
    style: LineStyleType
    points: tuple[tuple[int, float, Interval | None], ...]


@themed
def trajectory(levels: Mapping[str, Sequence[Slice]]) -> Plot | None:
    """Success with all evidence, with none, and of changing nothing; speedup as a geometric mean.

    Args:
        levels: slices of single generations, by level or score; fewer than two generations give no plot.
    """
    panels = [(level, lines) for level, slices in levels.items() if len(slices) > 1 and (lines := _values(slices))]
    if not panels:
        return None
    drawn, axes = _stack(len(panels))
    for (level, lines), one in zip(panels, axes, strict=True):
        _draw(one, lines)
        bare(one, level_title(level), grid="y")
        one.yaxis.label.set_color(COLOUR["ink"])
        if not level.startswith("score"):
            one.set_ylim(-0.04, 1.04)
            one.set_yticks([0, 0.5, 1])
    axes[-1].set_xlabel("generation of the frozen states", color=COLOUR["soft"], fontsize=9)
    words = "; ".join(
        f"{level_title(level)}, {line.name}: "
        + ", ".join(f"generation {generation} {share(value)}" for generation, value, _ in line.points)
        for level, lines in panels
        for line in lines
    )
    return Plot("trajectory", "Success and speedup by generation", words, drawn, _keys(panels[0][1]))


@themed
def effects_by_generation(slices: Sequence[Slice], players: Sequence[str]) -> Plot | None:
    """Banzhaf values and pair interactions by generation, at one level; fewer than two generations give no plot."""
    if len(slices) < 2:
        return None
    panels = []
    for index, label in (("banzhaf", "Banzhaf value"), ("banzhaf_interaction", "interaction")):
        who = list(dict.fromkeys(chain.from_iterable(effects_of(part, index) for part in slices)))
        lines = [
            Line(
                " with ".join(names),
                f"who{k % 6}",
                "-" if k < 6 else "--",
                tuple(
                    (part.generation or 0, found[names].value, interval_for(found[names].intervals, TARGETS[0]))
                    for part in slices
                    if names in (found := effects_of(part, index))
                ),
            )
            for k, names in enumerate(sorted(who, key=lambda names: [players.index(one) for one in names]))
        ]
        if lines:
            panels.append((label, lines))
    if not panels:
        return None
    drawn, axes = _stack(len(panels), height=1.9)
    for (label, lines), one in zip(panels, axes, strict=True):
        _draw(one, lines)
        one.axhline(0, color=COLOUR["soft"], linewidth=1.0, zorder=0)
        bare(one, label, grid="y")
        one.yaxis.label.set_color(COLOUR["ink"])
    axes[-1].set_xlabel("generation of the frozen states", color=COLOUR["soft"], fontsize=9)
    words = "; ".join(
        f"{label} of {line.name}: " + ", ".join(f"generation {g} {signed(v)}" for g, v, _ in line.points)
        for label, lines in panels
        for line in lines
    )
    return Plot(
        "generations",
        f"Effects by generation, {level_title(slices[0].level)}",
        words,
        drawn,
        _keys([line for _, lines in panels for line in lines]),
    )


def _keys(lines: Sequence[Line]) -> tuple[Key, ...]:
    return tuple(Key(line.name, line.colour, "o", line.style) for line in lines)


def _values(slices: Sequence[Slice]) -> list[Line]:
    log = slices[0].scale == "log speedup"
    everyone = max((value.coalition for part in slices for value in part.values), key=len, default=())
    lines = []
    kinds: tuple[tuple[str, tuple[str, ...], str, LineStyleType], ...] = (
        ("all evidence", everyone, "up", "-"),
        ("no evidence", (), "level2", "--"),
    )
    for name, coalition, colour, style in kinds:
        points = [
            (part.generation or 0, _back(value.value, log=log), _interval(value.intervals, log=log))
            for part in slices
            for value in part.values
            if value.coalition == coalition
        ]
        if points and (coalition or everyone):
            lines.append(Line(name, colour, style, tuple(points)))
    before = [(part.generation or 0, _back(part.no_op, log=log), None) for part in slices if part.no_op is not None]
    if before and not log:
        lines.append(Line("the state itself", "flat", ":", tuple(before)))
    return lines


def _back(value: float, *, log: bool) -> float:
    return exp(value) if log else value


def _interval(intervals: tuple[Interval, ...], *, log: bool) -> Interval | None:
    found = interval_for(intervals, TARGETS[0])
    if found is None or not log:
        return found
    return found.model_copy(update={"low": exp(found.low), "high": exp(found.high)})


def _stack(count: int, *, height: float = PANEL) -> tuple[Figure, list[Axes]]:
    total = 0.55 + count * height
    drawn = figure(WIDTH, total)
    axes: list[Axes] = []
    for k in range(count):
        bottom = (0.45 + (count - 1 - k) * height) / total
        one = drawn.add_axes((0.15, bottom, 0.82, (height - 0.2) / total), sharex=axes[0] if axes else None)
        axes.append(one)
    for one in axes[:-1]:
        one.tick_params(labelbottom=False)
    return drawn, axes


def _draw(axes: Axes, lines: Sequence[Line]) -> None:
    """Lines side by side: whiskers of one generation would hide each other."""
    generations = sorted({generation for line in lines for generation, _, _ in line.points})
    place = {generation: k for k, generation in enumerate(generations)}
    for k, line in enumerate(lines):
        shift = 0.05 * (k - (len(lines) - 1) / 2)
        colour = COLOUR[line.colour]
        xs = [place[generation] + shift for generation, _, _ in line.points]
        axes.plot(
            xs,
            [value for _, value, _ in line.points],
            line.style,
            color=colour,
            linewidth=1.6,
            marker="o",
            markersize=4.5,
        )
        for x, (_, _, interval) in zip(xs, line.points, strict=True):
            if interval is not None:
                axes.plot([x, x], [interval.low, interval.high], color=colour, linewidth=1.1, alpha=0.75)
    axes.set_xlim(-0.25, len(generations) - 0.75)
    axes.set_xticks(range(len(generations)), [str(generation) for generation in generations])
