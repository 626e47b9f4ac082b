"""What evidence costs against what it brings."""

from collections.abc import Mapping, Sequence

from cudanalyst.resources.attribution.result import Slice
from cudanalyst.resources.attribution.table import TARGETS, interval_for
from cudanalyst.resources.report.drawing import WIDTH, Plot, bare, figure, themed
from cudanalyst.resources.report.palette import COLOUR
from cudanalyst.resources.report.plots.lattice import letters
from cudanalyst.resources.report.text import abbreviations, evidence, level_title


@themed
def cost_benefit(
    level: Slice, players: Sequence[str], tokens: Mapping[tuple[str, ...], float], label: str
) -> Plot | None:
    """v(S) against what S costs; the line joins coalitions that no other beats at their cost.

    Args:
        level: which values.
        players: for abbreviations.
        tokens: mean tokens of a trial by coalition.
        label: of the axis: which tokens.
    """
    points = [(tokens[v.coalition], v.value, v) for v in level.values if v.coalition in tokens]
    points.sort(key=lambda point: (point[0], -point[1]))
    if len({x for x, _, _ in points}) < 2:
        return None
    short = abbreviations(players)
    drawn = figure(WIDTH, 2.9)
    axes = drawn.add_axes((0.13, 0.155, 0.84, 0.82))
    frontier: list[tuple[float, float]] = []
    for x, y, value in points:
        if not frontier or y > frontier[-1][1]:
            frontier.append((x, y))
        if (interval := interval_for(value.intervals, TARGETS[0])) is not None:
            axes.plot([x, x], [interval.low, interval.high], color=COLOUR["flat"], linewidth=1.0, zorder=1)
    axes.step(*zip(*frontier, strict=True), where="post", color=COLOUR["up"], linewidth=1.4, zorder=2)
    best = set(frontier)
    reach = max(points[-1][0] - points[0][0], 1.0)
    placed: list[tuple[float, float, bool]] = []
    for x, y, value in points:
        on = (x, y) in best
        axes.plot(
            [x], [y], "o", color=COLOUR["up" if on else "flat"], markersize=6, markeredgecolor=COLOUR["card"], zorder=3
        )
        # A label goes above its point, unless a neighbour's is there.
        near = {up for at, height, up in placed if abs(at - x) < 0.13 * reach and abs(height - y) < 0.09}
        up = True not in near
        placed.append((x, y, up))
        name = "".join(short[p] for p in players if p in value.coalition) or "none"
        axes.annotate(
            name, (x, y), (5, 5 if up else -11), textcoords="offset points", fontsize=9, color=COLOUR["ink"], zorder=4,
            weight="bold" if on else "normal",
        )  # fmt: skip
    bare(axes, label)
    axes.grid(axis="y", color=COLOUR["rule"], linewidth=0.6)
    axes.set_ylabel("v(S)", color=COLOUR["soft"], fontsize=9)
    axes.margins(x=0.1, y=0.1)
    words = "; ".join(f"{evidence(value.coalition)}: {x:.0f} tokens, v {y:.2f}" for x, y, value in points)
    return Plot("cost", f"Success against cost, {level_title(level.level)}", words, drawn, letters(short))
