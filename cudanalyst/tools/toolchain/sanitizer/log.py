"""Reads the text that compute-sanitizer writes about its own run (`--log-file`). Pure.

Records come from the XML; the text says what the XML leaves out: how many errors were not printed, whether the run got to its end,
which allocation was nearest to an address, and what went wrong with the tool itself.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from cudanalyst.tools.text import one_line

MAX_LOG_BYTES: Final = 8 << 20
_PREFIX: Final = re.compile(r"^=========[ \t]?", re.MULTILINE)
_BANNER: Final = "COMPUTE-SANITIZER"
_ERRORS: Final = re.compile(
    r"^(?:ERROR|LEAK) SUMMARY: ([\d,]+) (?:errors?|bytes leaked in [\d,]+ allocations?)\s*$", re.MULTILINE
)
_HAZARDS: Final = re.compile(
    r"^RACECHECK SUMMARY: ([\d,]+) hazards? displayed \(([\d,]+) errors?, ([\d,]+) warnings?\)", re.MULTILINE
)
_NOT_PRINTED: Final = re.compile(r"\b([\d,]+) errors? (?:were|was) not printed\b")
_SKIPPED: Final = re.compile(r"\b([\d,]+) errors? (?:were|was) skipped \(error buffer overflow\)")
_NEAREST: Final = re.compile(
    r"(?:Access (?:to|at)|Address) (0x[0-9a-f]+)[^\n]*\n[^\n]*?\b(?:bytes? (?:before|after)|inside) the nearest allocation at (0x[0-9a-f]+) of size ([\d,]+) bytes?"
)
_TOOL_ERRORS: Final = (
    r"Error: (?!Race reported|Potential |process didn't terminate successfully).*",
    r"Target application terminated before first instrumented .*",
    r"Target application doesn't exist .*",
    r"Unable to find (?:32bit )?injection library.*",
    r"Unable to create log-file.*",
    r"Device not supported.*",
    r"Some options are not supported.*",
    r"Options not supported.*",
    r"Injection is wrong architecture.*",
    r"Process requires administrator access.*",
    r"Internal (?:Sanitizer )?[Ee]rror.*",
    r"Internal error encountered.*",
    r"Failed to .*",
    r"Failed while .*",
    r"An error happened during connection.*",
)
_TOOL_ERROR: Final = re.compile(rf"^(?:{'|'.join(_TOOL_ERRORS)})$", re.MULTILINE)
_CRASHED: Final = "Error: process didn't terminate successfully"
_RETURNED_ERROR: Final = "Target application returned an error"
_MAX_TOOL_ERRORS: Final = 5
_MAX_NEAREST: Final = 10_000


@dataclass(frozen=True)
class Log:
    """What the text says of the run."""

    started: bool
    errors: int | None
    """As the summary counts them, printed or not; None where the run did not get as far."""
    not_printed: int = 0
    skipped: int = 0
    """Errors that the tool had no room for."""
    target_failed: bool = False
    """The target itself ended with an error."""
    crashed: bool = False
    """A signal ended the target."""
    tool_errors: tuple[str, ...] = ()
    """What the tool says went wrong with itself."""
    nearest: Mapping[int, tuple[int, int]] | None = None
    """Address of a finding to (address, bytes) of the allocation nearest to it."""


def read_log(data: bytes) -> Log:
    """Reads the text, whatever it is."""
    text = _PREFIX.sub("", data[:MAX_LOG_BYTES].decode("utf-8", "replace"))
    total, not_printed = _last(_ERRORS, text), _last(_NOT_PRINTED, text) or 0
    for match in _HAZARDS.finditer(text):
        displayed, errors, warnings = (_number(part) for part in match.groups())
        total = max(displayed, errors + warnings)
        not_printed = max(not_printed, total - displayed)
    nearest: dict[int, tuple[int, int]] = {}
    for match in _NEAREST.finditer(text):
        if len(nearest) >= _MAX_NEAREST:
            break
        nearest.setdefault(int(match[1], 16), (int(match[2], 16), _number(match[3])))
    return Log(
        started=_BANNER in text,
        errors=total,
        not_printed=not_printed,
        skipped=_last(_SKIPPED, text) or 0,
        target_failed=_RETURNED_ERROR in text,
        crashed=_CRASHED in text,
        tool_errors=tuple(one_line(line) for line in dict.fromkeys(_TOOL_ERROR.findall(text)))[:_MAX_TOOL_ERRORS],
        nearest=nearest,
    )


def _last(pattern: re.Pattern[str], text: str) -> int | None:
    found = None
    for match in pattern.finditer(text):
        found = _number(match[1])
    return found


def _number(text: str) -> int:
    digits = text.replace(",", "")[:18]
    return int(digits) if digits else 0
