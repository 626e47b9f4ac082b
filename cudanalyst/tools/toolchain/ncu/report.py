"""A report of Nsight Compute as it was read: ncu's own counter names, base units, nothing computed. Bounded and without native objects."""

import math
import re
from collections.abc import Mapping
from typing import Any, Final

from pydantic import Field, ValidationError

from cudanalyst.errors import Unavailable
from cudanalyst.values import Frozen

MOST_ACTIONS: Final = 200
_FACTORS: Final = {"k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}
_TIMES: Final = {
    "ns": 1.0,
    "nsecond": 1.0,
    "us": 1e3,
    "usecond": 1e3,
    "ms": 1e6,
    "msecond": 1e6,
    "s": 1e9,
    "second": 1e9,
}
_PREFIXED: Final = re.compile(r"([KMGT])(byte|hz)\b", re.IGNORECASE)


class Instruction(Frozen):
    """One machine instruction with its counters."""

    offset: int
    """From the kernel's first instruction, in bytes."""
    text: str | None = None
    """None where the reader left it to the disassembly of the same code, as it does file and line."""
    file: str | None = None
    line: int | None = None
    values: dict[str, float] = {}
    """By our names (`names.SOURCE`)."""
    stalls: dict[str, int] = {}
    """Samples by reason, in our words; zeros are left out."""


class Rule(Frozen):
    """One rule's message."""

    rule: str
    title: str = ""
    message: str = ""
    speedup: float | None = None
    scope: str | None = None


class Action(Frozen):
    """One profiled launch."""

    name: str
    symbol: str | None = None
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    metrics: dict[str, float] = {}
    """By ncu's names; what has no value or is not a number is absent."""
    instructions: tuple[Instruction, ...] = ()
    rules: tuple[Rule, ...] = ()


class Report(Frozen):
    """All profiled launches, in their order."""

    reader: str
    device: str | None = None
    actions: tuple[Action, ...] = Field(default=(), max_length=MOST_ACTIONS)


def base_units(value: float, unit: str) -> float:
    """A value in bytes, nanoseconds and hertz from whatever multiple ncu chose to print."""
    word = unit.strip()
    if word in _TIMES:
        return value * _TIMES[word]
    match = _PREFIXED.match(word)
    return value * _FACTORS[match[1].lower()] if match else value


def number(text: str) -> float | None:
    """A printed number with its thousands separators; None for anything that is not a finite number."""
    try:
        value = float(text.replace(",", "").strip())
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def parse_report(data: Mapping[str, Any]) -> Report:
    """Checks what the reading process wrote.

    Raises:
        Unavailable: It is no report.
    """
    try:
        return Report.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise Unavailable(f"the report of Nsight Compute could not be understood at {place}: {first['msg']}") from error
