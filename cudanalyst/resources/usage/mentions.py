"""Which evidence a free text speaks of, found by rules that would rather miss a mention than invent one.

A mention counts for a component only if its evidence had been delivered, and only by something that no other delivered evidence
holds:

- `id`: an item's id, e.g. `debugger.2`;
- `kind`: the code of a finding, e.g. `invalid_global_write`, `register_spill`, or a check's name such as `racecheck`; written with
  underscores, spaces or hyphens if it has two words or more;
- `metric`: a figure's name of two words or more that stands in the evidence, e.g. `sectors per request`;
- `line`: a line of the source, as `line 42`, `lines 10-12` or `candidate.cu:42`;
- `quote`: six words in a row that stand in the evidence.

The bare name of a tool is no mention (`I will run the profiler`), nor is anything in fenced code or a link. A mention says that
the text speaks of evidence, not that it follows it: `the race at line 12 is harmless` counts as one.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Final, Literal, TypeVar

from cudanalyst.kernels.problem import Component
from cudanalyst.resources.evidence import Evidence
from cudanalyst.values import Frozen

T = TypeVar("T")
By = Literal["id", "kind", "metric", "line", "quote"]
QUOTED_WORDS: Final = 6
MAX_TEXT: Final = 20_000
"""Characters of a text that are looked at: as long as a plan may be."""
METRICS: Final = (
    "sectors per global request", "sectors per request", "lane efficiency", "warp instructions", "share of peak",
    "achieved occupancy", "shared wavefronts", "bytes of global traffic",
)  # fmt: skip
"""Names of figures; words of the trade that need no evidence, such as bank conflicts, are not among them."""
_CHECKS: Final = ("memcheck", "racecheck", "initcheck", "synccheck")
_ID: Final = re.compile(r"(?<![\w.])(compiler|analyzer|debugger|profiler)\.(\d{1,4})(?![\w]|\.\d)")
_CODE: Final = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)+")
_LINE: Final = re.compile(
    r"(?:(?<![\w])lines?\s+|(?<![\w])(?:candidate|program)\.cu:)(\d{1,6})(?:\s*(?:-|to|and|,)\s*(\d{1,6}))?(?![\w%]|\.\d)",
    re.IGNORECASE,
)
_AT_LINES: Final = re.compile(r"(?:lines?\s|\.cu:)((?:\d+(?:,\s?|\sto\s)?)+)")
_FENCED: Final = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*[;{}=()<>][^`\n]*`|https?://\S+", re.DOTALL)
_WORD: Final = re.compile(r"[a-z0-9_.%]+")


class Mention(Frozen):
    """Something in a text that only one component's evidence holds."""

    component: Component
    by: By
    text: str
    """What was found, as written in the text; at most 80 characters."""


def mentions(text: str, delivered: Iterable[Evidence]) -> tuple[Mention, ...]:
    """What a text says of the evidence that was delivered before it, each thing once."""
    shown = [one for one in delivered if not one.structural]
    prose = _FENCED.sub(" ", text[:MAX_TEXT])
    lowered = prose.lower()
    found: dict[tuple[Component, By, str], Mention] = {}

    def add(component: Component, by: By, words: str) -> None:
        found.setdefault((component, by, words.lower()), Mention(component=component, by=by, text=words.strip()[:80]))

    ids = {item.id: one.component for one in shown for item in one.items}
    for match in _ID.finditer(prose):
        if match.group() in ids:
            add(ids[match.group()], "id", match.group())
    for kind, component in _own({one.component: _kinds(one) for one in shown}).items():
        pattern = rf"(?<![\w]){re.escape(kind).replace('_', '[_ -]')}(?![\w(])"
        if (spoken := re.search(pattern, lowered)) is not None:
            add(component, "kind", spoken.group())
    for metric, component in _own({one.component: _metrics(one) for one in shown}).items():
        if re.search(rf"(?<![\w]){re.escape(metric)}(?![\w])", lowered):
            add(component, "metric", metric)
    lines = _own({one.component: _lines(one) for one in shown})
    for match in _LINE.finditer(prose):
        named = {int(number) for number in match.groups() if number}
        for component in {lines[number] for number in named if number in lines}:
            add(component, "line", match.group())
    quoted = _own({one.component: _quotes(one.text) for one in shown})
    for run in _quotes(prose):
        if run in quoted:
            add(quoted[run], "quote", " ".join(run))
            del quoted[run]
    return _without_overlap(found.values())


def _own(held: Mapping[Component, set[T]]) -> dict[T, Component]:
    """What exactly one component holds."""
    owners: dict[T, set[Component]] = {}
    for component, things in held.items():
        for thing in things:
            owners.setdefault(thing, set()).add(component)
    return {thing: next(iter(names)) for thing, names in owners.items() if len(names) == 1}


def _kinds(evidence: Evidence) -> set[str]:
    """Codes that begin an item; names of kernels and variables stand further on and are the agent's own."""
    codes: set[str] = set()
    for item in evidence.items:
        first, *more = [word.rstrip(":,;") for word in item.text.split(maxsplit=2)[:2]] or [""]
        codes |= {word for word in (first, *(more if first in _CHECKS else ())) if _CODE.fullmatch(word)}
        codes |= {first} & set(_CHECKS)
    return codes


def _metrics(evidence: Evidence) -> set[str]:
    text = evidence.text.lower().replace("-", " ")
    return {metric for metric in METRICS if metric in text}


def _lines(evidence: Evidence) -> set[int]:
    numbers: set[int] = set()
    for group in _AT_LINES.findall(evidence.text):
        numbers |= {int(number) for number in re.findall(r"\d+", group) if len(number) <= 6}
    return numbers


def _quotes(text: str) -> set[tuple[str, ...]]:
    words = _WORD.findall(text.lower())
    return {tuple(words[start : start + QUOTED_WORDS]) for start in range(len(words) - QUOTED_WORDS + 1)}


def _without_overlap(found: Iterable[Mention]) -> tuple[Mention, ...]:
    """Of several quotes that overlap, one a component is told."""
    kept: list[Mention] = []
    quoting: set[Component] = set()
    for one in found:
        if one.by == "quote":
            if one.component in quoting:
                continue
            quoting.add(one.component)
        kept.append(one)
    return tuple(sorted(kept, key=lambda one: (one.component, one.by, one.text)))
