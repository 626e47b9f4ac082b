"""From a matplotlib figure to a picture: SVG that stands in a page and follows its theme, or a file of its own."""

import io
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from html import escape
from typing import Any, Final, Literal, ParamSpec, TypeVar

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.typing import LineStyleType

from cudanalyst.resources.report.palette import COLOUR, TOKENS
from cudanalyst.resources.report.text import one_line

WIDTH: Final = 4.0
"""Inches; a phone shows it at about 85 pixels an inch, so that 10 points are 12 pixels."""
PNG_DPI: Final = 220
_SETTINGS: Final[Any] = {
    "svg.fonttype": "none", "text.parse_math": False, "font.size": 9.0, "svg.hashsalt": "cudanalyst",
    "font.family": "DejaVu Sans",
}  # fmt: skip
_ROLE: Final = {colour: f"var(--{role})" for role, colour in TOKENS.items()}
P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True)
class Key:
    """One entry of a plot's legend. A page says it in its own words; a file of its own carries it."""

    label: str
    role: str = "ink"
    """Of its colour."""
    marker: str = ""
    style: LineStyleType = "none"
    """Of a line; `none` for a mark alone."""
    width: float = 1.6


@dataclass(frozen=True)
class Plot:
    """A drawn figure with its accessible name."""

    name: str
    """Unique in a report; also the name of its file."""
    title: str
    description: str
    """Its numbers in words, for whoever cannot see it."""
    figure: Figure
    keys: tuple[Key, ...] = ()


def themed(draw: Callable[P, R]) -> Callable[P, R]:
    """Draws with the report's settings: text stays text, a dollar sign is no formula, ids are the same every time."""

    @wraps(draw)
    def drawn(*args: P.args, **kwargs: P.kwargs) -> R:
        with mpl.rc_context(_SETTINGS), _unwarned():
            return draw(*args, **kwargs)

    return drawn


class _unwarned(warnings.catch_warnings):  # noqa: N801 - a context manager, named like its kin
    """The page's own font draws the text; that matplotlib's lacks a glyph changes nothing."""

    def __enter__(self) -> None:
        super().__enter__()
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")


def figure(width: float, height: float) -> Figure:
    """A bare figure in inches."""
    made = Figure(figsize=(width, height))
    made.patch.set_visible(False)
    return made


def bare(axes: Axes, label: str, *, grid: Literal["x", "y"] = "x") -> None:
    """Takes away frame and ticks; leaves a light grid along one axis, which gets the label."""
    for side in axes.spines.values():
        side.set_visible(False)
    axes.patch.set_visible(False)
    axes.tick_params(length=0, colors=COLOUR["ink"], labelsize=9.5)
    axes.grid(axis=grid, color=COLOUR["rule"], linewidth=0.6)
    axes.set_axisbelow(True)
    written = axes.set_xlabel if grid == "x" else axes.set_ylabel
    written(one_line(label), color=COLOUR["soft"], fontsize=9)


def slug(text: str) -> str:
    """Part of an id: different for different texts, whatever they hold."""
    return text if text.isascii() and text.isidentifier() else text.encode("utf-8", "surrogatepass").hex()


def inline(plot: Plot) -> str:
    """SVG markup for a page, whose variables it takes its colours from."""
    body, width, height = _body(plot)
    return (
        f'<svg class="plot" viewBox="0 0 {width:g} {height:g}" role="img" {_named(plot)} '
        f'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">{_words(plot)}{body}</svg>'
    )


@themed
def completed(plot: Plot) -> Plot:
    """The same figure with its title and legend in it, for a file of its own."""
    plot.figure.suptitle(one_line(plot.title), x=0.02, y=1.0, ha="left", va="bottom", fontsize=10, color=COLOUR["ink"])
    handles = [
        Line2D([], [], label=one_line(key.label), color=COLOUR[key.role], marker=key.marker, linestyle=key.style,
               linewidth=key.width, markersize=6)
        for key in plot.keys
    ]  # fmt: skip
    if handles:
        plot.figure.legend(
            handles=handles, loc="upper left", bbox_to_anchor=(0.0, -0.01), ncols=2, frameon=False, fontsize=8.5,
            labelcolor=COLOUR["ink"],
        )  # fmt: skip
    return plot


def to_svg(plot: Plot) -> bytes:
    """A file of its own, in the colours that it was drawn in, on paper."""
    buffer = io.StringIO()
    _save(plot, buffer, "svg", {"Date": None, "Creator": None})
    text = re.sub(r"<metadata>.*?</metadata>", "", buffer.getvalue(), flags=re.DOTALL)
    start = text.index("<svg")
    opened = text.index(">", start) + 1
    head = text[start : opened - 1]
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n'
        f'{head} role="img" {_named(plot)}>{_words(plot)}{text[opened:].rstrip()}\n'
    ).encode("utf-8", "replace")


def to_png(plot: Plot) -> bytes:
    """Pixels, in the colours that it was drawn in, on paper."""
    buffer = io.BytesIO()
    _save(plot, buffer, "png", {"Software": None, "Title": one_line(plot.title)})
    return buffer.getvalue()


@themed
def _save(plot: Plot, buffer: io.StringIO | io.BytesIO, form: str, metadata: dict[str, str | None]) -> None:
    (FigureCanvasSVG if form == "svg" else FigureCanvasAgg)(plot.figure)
    plot.figure.savefig(
        buffer, format=form, dpi=PNG_DPI if form == "png" else "figure", facecolor=COLOUR["card"], bbox_inches="tight",
        pad_inches=0.12, metadata=metadata,
    )  # fmt: skip


@themed
def _body(plot: Plot) -> tuple[str, float, float]:
    buffer = io.StringIO()
    FigureCanvasSVG(plot.figure)
    plot.figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    body = text[text.index("<svg") : text.rindex("</svg>")]
    body = body[body.index(">") + 1 :]
    body = re.sub(r"<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
    # matplotlib's style rule would apply to the whole page; style.css holds it, limited to plots.
    body = re.sub(r"<style type=\"text/css\">.*?</style>", "", body, flags=re.DOTALL)
    body = re.sub(r"#fe01[0-9a-f]{2}", lambda found: _ROLE[found.group()], body)
    body = re.sub(r"font: ([0-9.]+)px [^;\"]+", r"font-size: \1px", body)
    body = re.sub(r"font: (bold|[0-9]+) ([0-9.]+)px [^;\"]+", r"font-weight: \1; font-size: \2px", body)
    body = re.sub(r"\bid=\"", f'id="{plot.name}-', body)
    body = re.sub(r"(href=\"#|url\(#)", rf"\g<1>{plot.name}-", body)
    width, height = (72 * side for side in plot.figure.get_size_inches())
    return body, width, height


def _named(plot: Plot) -> str:
    return f'aria-labelledby="{plot.name}-title {plot.name}-desc"'


def _words(plot: Plot) -> str:
    title, description = escape(one_line(plot.title)), escape(one_line(plot.description))
    return f'<title id="{plot.name}-title">{title}</title><desc id="{plot.name}-desc">{description}</desc>'
