"""Why a source did not get as far as running: the fields that the three running tools share for that."""

from typing import Any

from cudanalyst.errors import BadRequest
from cudanalyst.kernels.problem import Problem
from cudanalyst.tools.source import Source
from cudanalyst.tools.text import at, count_of, one_line
from cudanalyst.tools.toolchain.protocol import Build, Capabilities


def check_pair(source: Source, problem: Problem | None) -> None:
    """Refuses a candidate without its problem, and a program with one.

    Raises:
        BadRequest: The text says which.
    """
    if source.problem is None and problem is not None:
        raise BadRequest(f"this source is a program; leave the problem {problem.id} out, or submit it as a candidate")
    if source.problem is not None and (problem is None or problem.id != source.problem):
        raise BadRequest(f"this source is a candidate of problem {source.problem}; name that problem")


def build_failure(build: Build, capabilities: Capabilities) -> dict[str, Any]:
    """Fields of a result for a build without a binary: `compile_failed`, or `unavailable` with a reason."""
    if build.status == "failed":
        return {
            "status": "compile_failed",
            "summary": _compile_summary(build),
            "measured_on": build.measured_on,
            "diagnostics": build.diagnostics,
        }
    reason = build.reason or capabilities.reasons.get("build")
    if build.status == "timed_out":
        reason = reason or "the compiler did not end in time; make the source lighter (fewer headers, less unrolling)"
        return {
            "status": "compile_failed",
            "summary": f"Does not compile: {reason}.",
            "measured_on": build.measured_on,
            "diagnostics": build.diagnostics,
            "reason": reason,
        }
    return unavailable(reason or "this machine cannot build CUDA sources; run `cudanalyst doctor`", build.measured_on)


def unavailable(reason: str, measured_on: object) -> dict[str, Any]:
    """Fields of a result for what cannot be done here."""
    return {
        "status": "unavailable",
        "summary": f"Not available: {one_line(reason, 600)}",
        "measured_on": measured_on,
        "reason": reason,
    }


def _compile_summary(build: Build) -> str:
    errors = [entry for entry in build.diagnostics if entry.severity == "error"]
    if not errors:
        return "Does not compile: the compiler gave no error message. Next: call compile for the whole output."
    first = errors[0]
    text = f"Does not compile: {one_line(first.text)}{at(first.place.file, first.place.line)}"
    rest = f" ({count_of(len(errors) - 1, 'more error')})" if len(errors) > 1 else ""
    return f"{text}{rest}. Next: fix the first error; later ones often follow from it."
