"""What a program did: its own words, bounded, and a comparison with expected output where one is given."""

import math
from itertools import zip_longest
from typing import Final, Literal

from cudanalyst.tools.checks import hang_finding, int_or_none, text_or_none
from cudanalyst.tools.ending import error_name
from cudanalyst.tools.text import at, clean, one_line, printable
from cudanalyst.tools.toolchain.protocol import Execution
from cudanalyst.tools.verdicts import ProgramOutput

STDOUT_SHOWN: Final = 4000
STDERR_SHOWN: Final = 2000
ProgramStatus = Literal["exited", "crashed", "timed_out"]


def output_of(execution: Execution, expected: str | None, tolerance: float | None) -> ProgramOutput:
    """Exit status, bounded output, and whether it is what was expected."""
    return ProgramOutput(
        exit_status=execution.exit_status,
        signal=execution.signal,
        stdout=clean(execution.stdout, STDOUT_SHOWN),
        stderr=clean(execution.stderr, STDERR_SHOWN),
        stdout_bytes=execution.stdout_bytes,
        stderr_bytes=execution.stderr_bytes,
        matches_expected=None if expected is None else same_output(execution.stdout, expected, tolerance),
    )


def same_output(got: str, expected: str, tolerance: float | None) -> bool:
    """Compares outputs: line by line without trailing blanks, or word by word with numbers within a tolerance.

    Args:
        got: What the program wrote.
        expected: What it should write.
        tolerance: Largest error of a number, relative to the expected one (absolute below 1); None: equal text.
    """
    if tolerance is None:
        return _lines(got) == _lines(expected)
    return all(_same_word(a, b, tolerance) for a, b in zip_longest(printable(got).split(), printable(expected).split()))


def describe(execution: Execution) -> tuple[ProgramStatus, str, str | None]:
    """Status, a sentence, and the CUDA error that the run left."""
    fault = next((record for record in execution.report if record.get("type") == "error"), None)
    hang = next((record for record in execution.report if record.get("type") == "watchdog"), None)
    error = None if fault is None else error_name(fault.get("name"))
    where = ""
    if fault is not None:
        where = at(text_or_none(fault.get("file")), int_or_none(fault.get("line")))
    if hang is not None:
        finding = hang_finding("synccheck", hang)
        return "timed_out", f"A kernel did not end: {finding.kind}{at(finding.file, finding.line)}.", error
    left = f" A kernel left {error}{where}." if error else ""
    if execution.how == "timed_out":
        return "timed_out", f"The program did not end in time ({execution.duration_s:.1f} s).{left}", error
    if execution.how == "output_limit":
        return "crashed", "The program was stopped for printing without end.", error
    if execution.how == "signalled":
        said = one_line(execution.stderr[-300:])
        return (
            "crashed",
            f"The program was ended by {execution.signal}.{left}" + (f" stderr: {said}" if said else ""),
            error,
        )
    return "exited", f"The program ended with exit status {execution.exit_status}.{left}", error


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in printable(text).rstrip().split("\n")]


def _same_word(got: str | None, expected: str | None, tolerance: float) -> bool:
    if got is None or expected is None:
        return False
    if got == expected:
        return True
    try:
        a, b = float(got.strip(",;")), float(expected.strip(",;"))
    except ValueError:
        return False
    return (math.isnan(a) and math.isnan(b)) or a == b or abs(a - b) <= tolerance * max(1.0, abs(b))
