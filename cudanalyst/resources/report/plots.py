"""The plots of a report. Each returns inline SVG; every number in them is also in a table."""

from collections.abc import Mapping, Sequence
from math import cos, pi, sin

from matplotlib.axes import Axes

from cudanalyst.resources.attribution.ground_truth import GroundTruth
from cudanalyst.resources.attribution.levels import title
from cudanalyst.resources.attribution.table import TARGETS, Attribution, Effect, LevelAttribution, interval_for
from cudanalyst.resources.report.svg import COLOUR, STEPS, figure, inline, themed
from cudanalyst.resources.report.text import (
    abbreviations,
    effects_of,
    evidence,
    one_line,
    shorten,
    signed,
)

WIDTH = 4.0
"""Inches; a phone shows it at about 85 pixels an inch, so that 10 points are 12 pixels."""
MARKERS = "osD^vP"
LATTICE_PLAYERS = 5
"""A lattice of six players has 20 nodes in a row: unreadable on any page."""


@themed
def forest(attribution: Attribution, truth: GroundTruth | None) -> str:
    """Banzhaf values of every component and level, with both kinds of interval."""
    levels, players = attribution.levels, attribution.players
    step = 0.24
    height = 0.75 + len(players) * (0.3 + step * len(levels))
    drawn = figure(WIDTH, height)
    axes = drawn.add_axes((0.23, 0.45 / height, 0.75, 1 - 0.53 / height))
    known = _truths(truth, "banzhaf")
    names, places, row = [], [], 0.0
    for player in players:
        places.append(row + step * (len(levels) - 1) / 2)
        names.append(shorten(player, 12))
        for k, level in enumerate(levels):
            effect = effects_of(level, "banzhaf").get((player,))
            if effect is not None:
                _whisker(axes, row, effect, k, known.get((level.level, (player,))))
            row += step
        axes.axhline(row + 0.03, color=COLOUR["rule"], linewidth=0.6)
        row += 0.3
    axes.set_ylim(row - 0.27, -0.27)
    axes.set_yticks(places, names)
    _reach(axes, [e for level in levels for e in effects_of(level, "banzhaf").values()])
    _bare(axes, "Banzhaf value: gain in probability of success")
    words = "; ".join(
        f"{player}: "
        + ", ".join(
            f"{title(level.level)} {signed(e.value)}"
            for level in levels
            if (e := effects_of(level, "banzhaf").get((player,)))
        )
        for player in players
    )
    return inline(drawn, "forest", "Banzhaf value of each component with 95 % intervals", words)


def _whisker(axes: Axes, row: float, effect: Effect, k: int, truth: float | None) -> None:
    colour = COLOUR[f"level{k % len(MARKERS)}"]
    for target, width in zip(TARGETS, (3.2, 1.0), strict=True):
        if (interval := interval_for(effect.intervals, target)) is not None:
            axes.plot([interval.low, interval.high], [row, row], color=colour, linewidth=width, solid_capstyle="round")
    axes.plot(
        [effect.value], [row], MARKERS[k % len(MARKERS)], color=colour, markersize=6.5,
        markeredgecolor=COLOUR["paper"], markeredgewidth=1.0,
    )  # fmt: skip
    if truth is not None:
        axes.plot([truth, truth], [row - 0.09, row + 0.09], color=COLOUR["truth"], linewidth=1.6)


def _reach(axes: Axes, effects: Sequence[Effect]) -> None:
    """The same scale on both sides of zero would waste space; zero is always in sight."""
    ends = [0.0] + [end for e in effects for end in (e.value, *(x for i in e.intervals for x in (i.low, i.high)))]
    low, high = min(ends), max(ends)
    room = max(high - low, 0.2) * 0.05
    axes.set_xlim(low - room, high + room)
    axes.axvline(0, color=COLOUR["soft"], linewidth=1.0, zorder=0)


def _bare(axes: Axes, label: str) -> None:
    for side in axes.spines.values():
        side.set_visible(False)
    axes.patch.set_visible(False)
    axes.tick_params(length=0, colors=COLOUR["ink"], labelsize=9.5)
    axes.grid(axis="x", color=COLOUR["rule"], linewidth=0.6)
    axes.set_axisbelow(True)
    axes.set_xlabel(one_line(label), color=COLOUR["soft"], fontsize=9)


def _truths(truth: GroundTruth | None, index: str) -> Mapping[tuple[str, tuple[str, ...]], float]:
    found = {}
    for row in truth.comparisons if truth else ():
        value = row.enumerated if row.enumerated is not None else row.planted
        if row.index == index and value is not None:
            found[row.level, row.players] = value
    return found


@themed
def lattice(level: LevelAttribution, players: Sequence[str]) -> str | None:
    """v(S) over the lattice of coalitions: edges show what adding one component changes."""
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
    drawn = figure(WIDTH, 0.2 + 0.8 * (len(players) + 1))
    axes = drawn.add_axes((0, 0, 1, 1))
    for some, (x, y) in place.items():
        for player in players:
            more = some | {player}
            if more != some and more in place:
                gain = value[more] - value[some]
                axes.plot(
                    [x, place[more][0]],
                    [y, place[more][1]],
                    color=_direction(gain),
                    linewidth=0.7 + 5 * abs(gain),
                    zorder=1,
                    alpha=0.75,
                )
    for some, (x, y) in place.items():
        shade = round(value[some] * STEPS)
        ink = COLOUR["on-hi" if shade > STEPS // 2 else "on-lo"]
        axes.plot([x], [y], "o", markersize=37, color=COLOUR[f"seq{shade}"], markeredgecolor=COLOUR["rule"], zorder=2)
        name = "".join(short[p] for p in players if p in some) or "none"
        for text, lift, points, weight in ((name, 6.5, 8.5, "normal"), (f"{value[some]:.2f}", -5.5, 10, "bold")):
            axes.annotate(
                text, (x, y), (0, lift), textcoords="offset points", ha="center", va="center", fontsize=points,
                weight=weight, color=ink, zorder=3,
            )  # fmt: skip
    axes.set(xlim=(0, 1), ylim=(-0.5, len(players) + 0.5))
    axes.axis("off")
    words = "; ".join(f"{evidence(v.coalition)} {v.value:.2f}" for v in level.values)
    return inline(
        drawn, f"lattice-{_slug(level.level)}", f"v(S) over the lattice of coalitions, {title(level.level)}", words
    )


@themed
def interactions(level: LevelAttribution, players: Sequence[str]) -> str | None:
    """Pairwise Banzhaf interactions as a graph: dashed where the interval holds zero."""
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
        colour = _direction(effect.value)
        axes.plot(
            [x0, x1],
            [y0, y1],
            color=colour,
            linewidth=1 + 9 * min(abs(effect.value), 1),
            linestyle="-" if sure else (0, (2, 2)),
            zorder=1,
        )
        # Lines that cross in the middle are labelled before it, so that no label hides another.
        neighbours = (players.index(other) - players.index(one)) in {1, len(players) - 1}
        at = 0.5 if neighbours else 0.3
        axes.text(
            x0 + at * (x1 - x0), y0 + at * (y1 - y0), signed(effect.value), ha="center", va="center", fontsize=10, weight="bold",
            color=COLOUR["ink"], zorder=3, bbox={"boxstyle": "round,pad=0.28", "facecolor": COLOUR["paper"], "edgecolor": colour, "linewidth": 0.9},
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
    return inline(drawn, f"graph-{_slug(level.level)}", f"Pairwise Banzhaf interactions, {title(level.level)}", words)


@themed
def problems(level: LevelAttribution, players: Sequence[str]) -> str | None:
    """Banzhaf values problem by problem: whether an effect is everywhere or in a few places."""
    if not level.by_problem:
        return None
    height = 0.7 + 0.3 * len(level.by_problem)
    drawn = figure(WIDTH, height)
    axes = drawn.add_axes((0.33, 0.45 / height, 0.64, 1 - 0.53 / height))
    shown: list[Effect] = []
    for row, problem in enumerate(level.by_problem):
        for effect in problem.effects:
            k = players.index(effect.players[0])
            shift = 0.2 * (k - (len(players) - 1) / 2)
            axes.plot(
                [effect.value],
                [row + shift],
                MARKERS[k % len(MARKERS)],
                color=COLOUR[f"who{k}"],
                markersize=5.5,
                markeredgecolor=COLOUR["paper"],
                markeredgewidth=0.7,
            )
            shown.append(effect.model_copy(update={"intervals": ()}))
    axes.set_ylim(len(level.by_problem) - 0.5, -0.5)
    axes.set_yticks(range(len(level.by_problem)), [shorten(one.problem, 18) for one in level.by_problem])
    _reach(axes, shown)
    _bare(axes, f"Banzhaf value, {title(level.level)}")
    words = "; ".join(
        f"{one.problem}: " + ", ".join(f"{e.players[0]} {signed(e.value)}" for e in one.effects)
        for one in level.by_problem
    )
    return inline(drawn, f"problems-{_slug(level.level)}", f"Banzhaf values by problem, {title(level.level)}", words)


def _direction(gain: float) -> str:
    return COLOUR["flat" if abs(gain) < 0.005 else "up" if gain > 0 else "down"]


def _slug(level: str) -> str:
    """Part of an id: different for different levels, whatever their names hold."""
    return level if level.isascii() and level.isidentifier() else level.encode("utf-8", "surrogatepass").hex()
