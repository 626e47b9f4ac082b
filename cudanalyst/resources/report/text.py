"""Names and numbers as a reader sees them."""

import unicodedata
from collections.abc import Sequence

from cudanalyst.resources.attribution.levels import title
from cudanalyst.resources.attribution.plan import EffectName
from cudanalyst.resources.attribution.result import Condition, Slice
from cudanalyst.resources.attribution.table import Effect, Interval, LevelAttribution

_SCORES = {"score_modelled": "speedup (modelled)", "score": "speedup (measured)"}


def one_line(text: str) -> str:
    """Text without control characters and line breaks, which no name needs and SVG does not allow."""
    return "".join(" " if unicodedata.category(mark)[0] in "CZ" else mark for mark in text)


def shorten(text: str, most: int) -> str:
    """One line of at most `most` characters."""
    line = one_line(text)
    return line if len(line) <= most else line[: most - 1] + "…"


def signed(value: float) -> str:
    """An effect with its sign, to two decimals; a true minus sign, and no sign at zero."""
    return _signed(value, 2)


def signed3(value: float) -> str:
    """The same to three decimals, for small changes."""
    return _signed(value, 3)


def _signed(value: float, digits: int) -> str:
    shown = f"{value:+.{digits}f}"
    return f"{0:.{digits}f}" if float(shown) == 0 else shown.replace("-", "−")  # noqa: RUF001 - typographic minus


def share(value: float) -> str:
    """A probability, to two decimals."""
    return f"{value:.2f}"


def span(interval: Interval | None, *, effect: bool = True) -> str:
    """An interval, or a dash where there is none."""
    if interval is None:
        return "–"  # noqa: RUF001 - en dash
    shown = signed if effect else share
    return f"{shown(interval.low)} to {shown(interval.high)}"


def evidence(coalition: Sequence[str]) -> str:
    """A coalition in words."""
    return " + ".join(coalition) or "no evidence"


def abbreviations(players: Sequence[str]) -> dict[str, str]:
    """Shortest capitalised prefixes that tell the players apart."""
    found = {}
    for player in players:
        length = next(
            (
                size
                for size in range(1, len(player) + 1)
                if sum(other.lower().startswith(player[:size].lower()) for other in players) == 1
            ),
            len(player),
        )
        found[player] = one_line(player[:length]).capitalize()
    return found


def level_title(level: str) -> str:
    """A level's or a score's name for people; modelled speed always says that it is modelled."""
    return _SCORES.get(level) or title(level)


def condition_title(condition: Condition) -> str:
    """Planner, regime and, beyond one step, horizon."""
    steps = "" if condition.horizon == 1 else f", {condition.horizon} steps"
    plans = "" if condition.plan_of is None else f" of {condition.plan_of}"
    return f"{condition.planner}, {condition.regime}{plans}{steps}"


def effect_title(effect: EffectName) -> str:
    """An index of some players, in words."""
    names = {"banzhaf": "", "banzhaf_interaction": "interaction of "}
    return names.get(effect.index, f"{effect.index.replace('_', ' ')} of ") + " × ".join(effect.players)  # noqa: RUF001 - multiplication sign


def effects_of(level: LevelAttribution | Slice, index: str) -> dict[tuple[str, ...], Effect]:
    """A level's effects of one index, by players."""
    return {effect.players: effect for effect in level.effects if effect.index == index}
