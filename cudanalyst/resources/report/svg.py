"""From a matplotlib figure to SVG that can stand in a page: themed by CSS variables, named, with ids of its own."""

import io
import re
import warnings
from collections.abc import Callable
from functools import wraps
from html import escape
from typing import Final, ParamSpec, TypeVar

import matplotlib as mpl
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from cudanalyst.resources.report.text import one_line

STEPS: Final = 10
"""Steps of the sequential scale, from 0 to 1."""
_NAMES: Final = (
    *("ink", "soft", "rule", "paper", "up", "down", "flat", "truth", "on-lo", "on-hi"),
    *(f"level{k}" for k in range(6)),
    *(f"who{k}" for k in range(6)),
    *(f"seq{k}" for k in range(STEPS + 1)),
)
# matplotlib knows no CSS variables, so each role is drawn in a colour that nothing else uses and exchanged afterwards.
COLOUR: Final = {name: f"#fe01{k:02x}" for k, name in enumerate(_NAMES)}
_ROLE: Final = {colour: f"var(--{name})" for name, colour in COLOUR.items()}
P = ParamSpec("P")
R = TypeVar("R")


def themed(draw: Callable[P, R]) -> Callable[P, R]:
    """Draws with the page's settings: text stays text, a dollar sign is no formula, ids are the same every time."""

    @wraps(draw)
    def drawn(*args: P.args, **kwargs: P.kwargs) -> R:
        with (
            mpl.rc_context(
                {"svg.fonttype": "none", "text.parse_math": False, "font.size": 9.0, "svg.hashsalt": "cudanalyst"}
            ),
            warnings.catch_warnings(),
        ):
            # The page's own font draws the text; that matplotlib's lacks a glyph changes nothing.
            warnings.filterwarnings("ignore", message="Glyph .* missing from font")
            return draw(*args, **kwargs)

    return drawn


def figure(width: float, height: float) -> Figure:
    """A bare figure in inches; at the page's sizes one inch is about 90 pixels on a phone."""
    made = Figure(figsize=(width, height))
    FigureCanvasSVG(made)
    made.patch.set_visible(False)
    return made


def inline(drawn: Figure, name: str, title: str, description: str) -> str:
    """SVG markup for a page. `name` must be unique in the page; `title` and `description` are its accessible name."""
    buffer = io.StringIO()
    drawn.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    body = text[text.index("<svg") : text.rindex("</svg>")]
    body = body[body.index(">") + 1 :]
    body = re.sub(r"<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
    # matplotlib's style rule would apply to the whole page; style.css holds it, limited to plots.
    body = re.sub(r"<style type=\"text/css\">.*?</style>", "", body, flags=re.DOTALL)
    body = re.sub(r"#fe01[0-9a-f]{2}", lambda found: _ROLE[found.group()], body)
    body = re.sub(r"font: ([0-9.]+)px [^;\"]+", r"font-size: \1px", body)
    body = re.sub(r"font: (bold|[0-9]+) ([0-9.]+)px [^;\"]+", r"font-weight: \1; font-size: \2px", body)
    body = re.sub(r"\bid=\"", f'id="{name}-', body)
    body = re.sub(r"(href=\"#|url\(#)", rf"\g<1>{name}-", body)
    width, height = (72 * side for side in drawn.get_size_inches())
    label = escape(one_line(f"{title}. {description}"))
    return (
        f'<svg class="plot" viewBox="0 0 {width:g} {height:g}" role="img" aria-label="{label}" '
        f'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">'
        f"<title>{escape(one_line(title))}</title>{body}</svg>"
    )
