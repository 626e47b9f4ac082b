"""Command lines of Nsight Compute: pure."""

import re
from pathlib import Path
from typing import Final

from cudanalyst.tools.selection import MOST_LAUNCHES, MetricSet, Selection
from cudanalyst.tools.toolchain.ncu.metric_sets import FULL_SECTIONS, QUICK, STANDARD

REPORT: Final = "profile.ncu-rep"
LOG: Final = "ncu.log"
_SETS: Final[dict[MetricSet, tuple[str, ...]]] = {"quick": QUICK, "standard": STANDARD, "full": STANDARD}
_SPECIAL: Final = re.compile(r"([\\^$.|?*+()\[\]{}])")


def collect_prefix(ncu: Path, work: Path, selection: Selection, *, only_between: bool) -> tuple[str | Path, ...]:
    """What stands before a command so that ncu collects counters of it.

    Clocks are left alone: locking them needs rights, and would not be the state that a user's kernel runs in. Caches are flushed before
    each replay (ncu's default), so that all passes see the same.

    Args:
        ncu: The program.
        work: Folder for the report and the log.
        selection: Metric set, kernel and launch.
        only_between: Only what lies between cuProfilerStart and cuProfilerStop is profiled.
    """
    prefix: list[str | Path] = [
        ncu, "--target-processes", "application-only", "--replay-mode", "kernel", "--clock-control", "none", "--force-overwrite",
        "--export", work / REPORT, "--log-file", work / LOG, "--metrics", ",".join(dict.fromkeys(_SETS[selection.metrics])),
    ]  # fmt: skip
    if selection.metrics == "full":
        for section in FULL_SECTIONS:
            prefix += ["--section", section]
    if only_between:
        prefix += ["--profile-from-start", "off"]
    if selection.kernel is not None:
        prefix += [
            "--kernel-name-base",
            "demangled",
            "--kernel-name",
            "regex:" + _SPECIAL.sub(r"\\\1", selection.kernel),
        ]
    if selection.launch is not None:
        prefix += ["--launch-skip", str(selection.launch), "--launch-count", "1"]
    else:
        prefix += ["--launch-count", str(MOST_LAUNCHES)]
    return tuple(prefix)


def page_argv(ncu: Path, report: Path, page: str) -> list[str | Path]:
    """Prints a page of a report as CSV."""
    units = ["--print-units", "base"] if page == "raw" else []
    return [ncu, "--import", report, "--csv", "--page", page, *units]
