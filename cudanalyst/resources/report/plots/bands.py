"""How an estimate settles: confidence sequences over rounds, and estimates from more and more sampled coalitions."""

from collections.abc import Sequence
from dataclasses import dataclass

from cudanalyst.resources.report.drawing import WIDTH, Plot, bare, figure, themed
from cudanalyst.resources.report.palette import COLOUR
from cudanalyst.resources.report.text import signed


@dataclass(frozen=True)
class Band:
    """One estimate with its limits, at growing amounts of data."""

    name: str
    points: tuple[tuple[int, float, float | None, float | None], ...]
    """`(rounds or trials, estimate, low, high)`."""


@themed
def bands(name: str, title: str, label: str, shown: Sequence[Band]) -> Plot | None:
    """One panel a band, all on the same scale; None where there is none.

    Args:
        name: of the plot.
        title: what it shows.
        label: of the horizontal axis.
        shown: from top to bottom; an empty one is left out.
    """
    whole = [band for band in shown if band.points]
    if not whole:
        return None
    panel = 0.95
    height = 0.5 + panel * len(whole)
    drawn = figure(WIDTH, height)
    first = None
    for k, band in enumerate(whole):
        bottom = (0.42 + panel * (len(whole) - 1 - k)) / height
        axes = drawn.add_axes((0.13, bottom, 0.84, (panel - 0.22) / height), sharex=first, sharey=first)
        first = first or axes
        colour = COLOUR[f"who{k % 6}"]
        known = [(x, low, high) for x, _, low, high in band.points if low is not None and high is not None]
        if known:
            xs, lows, highs = zip(*known, strict=True)
            axes.fill_between(xs, lows, highs, color=colour, alpha=0.22, linewidth=0)
        axes.plot(
            [x for x, *_ in band.points], [y for _, y, *_ in band.points], color=colour, linewidth=1.6,
            marker="o" if len(band.points) == 1 else None,
        )  # fmt: skip
        axes.axhline(0, color=COLOUR["soft"], linewidth=1.0, zorder=0)
        bare(axes, "", grid="y")
        axes.set_title(band.name, loc="left", fontsize=9, color=COLOUR["ink"], pad=2)
        axes.tick_params(labelbottom=band is whole[-1])
        if band is whole[-1]:
            axes.set_xlabel(label, color=COLOUR["soft"], fontsize=9)
    words = "; ".join(
        f"{band.name}: {signed(estimate)} after {x}"
        + (f", {signed(low)} to {signed(high)}" if low is not None and high is not None else "")
        for band in whole
        for x, estimate, low, high in band.points[-1:]
    )
    return Plot(name, title, words, drawn)
