"""Command lines of Nsight Compute: pure."""

import re
from pathlib import Path
from typing import Final

from cudanalyst.tools.selection import MOST_LAUNCHES, MetricSet, Selection
from cudanalyst.tools.toolchain.ncu.metric_sets import FULL_SECTIONS, QUICK, STANDARD

REPORT: Final = "profile.ncu-rep"
LOG: Final = "ncu.log"
_SETS: Final[dict[MetricSet, tuple[str, ...]]] = {"quick": QUICK, "standard": STANDARD, "full": STANDARD}
_WITHOUT_SUFFIXES: Final = (2025, 3)
"""The release from whose manual on a counter can be had without its minimum, maximum, mean and sum beside what was asked for."""
_BOOST_STATE: Final = (2025, 3)
"""The first release that was seen to know the tensor cores' boost state."""
_SPECIAL: Final = re.compile(r"([\\^$.|?*+()\[\]{}])")


def collect_prefix(
    ncu: Path, work: Path, selection: Selection, *, only_between: bool, version: str | None = None
) -> tuple[str | Path, ...]:
    """What stands before a command so that ncu collects counters of it.

    Clocks are left alone, and so is the boost state of the tensor cores (which ncu holds `stable` by default, for runs that compare): locking them needs
    rights, changes a device that others may share, and would not be the state that a user's kernel runs in. Caches are flushed before
    each replay (ncu's default), so that all passes see the same.

    Args:
        ncu: The program.
        work: Folder for the report and the log.
        selection: Metric set, kernel and launch.
        only_between: Only what lies between cuProfilerStart and cuProfilerStop is profiled.
        version: What ncu says of itself; where it is unknown, options that older versions lack are left out.
    """
    prefix: list[str | Path] = [
        ncu, "--target-processes", "application-only", "--replay-mode", "kernel", "--clock-control", "none", "--force-overwrite",
        "--export", work / REPORT, "--log-file", work / LOG, "--metrics", ",".join(dict.fromkeys(_SETS[selection.metrics])),
    ]  # fmt: skip
    if release(version) >= _WITHOUT_SUFFIXES:
        prefix.append("--disable-extra-suffixes")
    if release(version) >= _BOOST_STATE:
        prefix += ["--pipeline-boost-state", "dynamic"]
    if selection.metrics != "full":
        prefix += [
            "--apply-rules",
            "no",
        ]  # without a section there is no word of theirs to keep, and they start a Python of their own
    else:
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


def release(version: str | None) -> tuple[int, int]:
    """Year and number of a release, such as (2025, 3) for `2025.3.1.0`; (0, 0) where it is unknown."""
    match = re.match(r"(\d{4})\.(\d+)", version or "")
    return (int(match[1]), int(match[2])) if match else (0, 0)


def page_argv(ncu: Path, report: Path, page: str) -> list[str | Path]:
    """Prints a page of a report as CSV."""
    units = ["--print-units", "base"] if page == "raw" else []
    return [ncu, "--import", report, "--csv", "--page", page, *units]
