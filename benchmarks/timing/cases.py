"""The cases of the study, and a case under way with the line of the table that comes of it."""

import math
import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from benchmarks.timing.bench import Bench
from benchmarks.timing.rig import Work
from cudanalyst.tools.timing.models import Comparison, Uncompared
from cudanalyst.tools.timing.statistics import Estimate


@dataclass(frozen=True)
class Case:
    """One line of the table."""

    us: float
    mode: Literal["warm", "cold", "cold_data"]
    difference: float
    count: int = 200

    @property
    def name(self) -> str:
        """E.g. `warm_5us_2%`."""
        size = f"{self.us:g}us" if self.us < 1000 else f"{self.us / 1000:g}ms"
        return f"{self.mode}_{size}_" + ("equal" if not self.difference else f"{100 * self.difference:g}%")


CASES = (
    *(Case(us, "warm", d) for us in (5, 50, 500, 5000) for d in (0.0, 0.02)),
    *(Case(us, "cold", d) for us in (5, 50, 500) for d in (0.0, 0.05)),
    Case(5, "cold_data", 0.0),
)


STUDY = (
    *(Case(us, "warm", d, 200) for us in (5, 200, 5000) for d in (0.0, 0.02)),
    *(Case(us, "cold", d, 60) for us in (5, 50) for d in (0.0, 0.05)),
)
"""What the figures to be reached ask for; about eight minutes on an H200."""


def verdict_counts(results: Sequence[tuple[Any, bool]], *, equal: bool) -> dict[str, int]:
    """Right, wrong and inconclusive; `swapped` marks comparisons in which the candidate has the more work."""
    counts = {
        "right": 0,
        "wrong": 0,
        "inconclusive": 0,
        "faster": 0,
        "slower": 0,
        "same": 0,
        "suspicious": 0,
        "uncompared": 0,
    }
    for result, swapped in results:
        if isinstance(result, Uncompared):
            counts["uncompared"] += 1
            continue
        counts[result.verdict] += result.verdict != "inconclusive"
        if result.verdict == "inconclusive":
            counts["inconclusive"] += 1
        elif result.verdict == ("same" if equal else "slower" if swapped else "faster"):
            counts["right"] += 1
        else:
            counts["wrong"] += 1
    return counts


@dataclass
class Running:
    """A case under way."""

    case: Case
    base: Work
    more: Work
    truth: Estimate | None
    results: list[tuple[Any, bool]] = field(default_factory=list)
    held: list[float] = field(default_factory=list)
    failed: str | None = None

    @property
    def open(self) -> bool:
        """Whether there is more to do."""
        return self.failed is None and len(self.results) < self.case.count

    async def step(self, bench: Bench) -> None:
        """One comparison; the candidate has the more work in every second one."""
        swapped = len(self.results) % 2 == 1
        a, b = (self.more, self.base) if swapped else (self.base, self.more)
        result, took = await bench.compare(a, b, self.case.mode, len(self.results), looked=bool(self.results))
        self.results.append((result, swapped))
        self.held.append(took)

    def row(self) -> dict[str, Any]:
        """All that is known, small enough to be kept for every comparison."""
        case, truth, held = self.case, self.truth, self.held
        good = [(one, swapped) for one, swapped in self.results if isinstance(one, Comparison) and one.speedup]
        logs = [math.log(one.speedup) * (-1 if swapped and case.difference else 1) for one, swapped in good]
        clocks = [one.conditions.between.sm_clock_mhz for one, _ in good if one.conditions]
        seconds = [one.second for one, _ in good if one.second]
        notes = Counter(
            note for one, _ in self.results for note in getattr(one, "notes", (getattr(one, "reason", ""),))
        )
        return {
            "case": case.name,
            "wanted": case.count,
            "comparisons": len(self.results),
            "failed": self.failed,
            **verdict_counts(self.results, equal=not case.difference),
            "true_ratio": None if truth is None else math.exp(truth.log_ratio),
            "true_ratio_half_width": None if truth is None else truth.resolvable,
            "mean_ratio": math.exp(statistics.fmean(logs)) if logs else None,
            "sd_of_log_ratio": statistics.pstdev(logs) if logs else None,
            "half_width_median": statistics.median(one.resolvable for one, _ in good) if good else None,
            "groups_median": statistics.median(one.groups for one, _ in good) if good else None,
            "groups_max": max((one.groups for one, _ in good), default=None),
            "us": statistics.median(one.candidate_us for one, _ in good) if good else None,
            "device_s_median": statistics.median(held) if held else None,
            "device_s_max": max(held, default=None),
            "second_clock_disagrees": sum(not one.agrees for one in seconds) if seconds else None,
            "vectors": self.base.vectors,
            "passes": self.base.passes,
            "extra_vectors": self.more.vectors - self.base.vectors,
            "sm_clock_mhz": [min(filter(None, clocks), default=None), max(filter(None, clocks), default=None)],
            "ungated": sum(one.gated is False for one, _ in good),
            "notes": dict(notes.most_common(5)),
            "each": self._each(),
        }

    def _each(self) -> dict[str, list[Any]]:
        """Every comparison, by column; the ratio is the baseline's time over the candidate's."""
        columns: dict[str, list[Any]] = {
            name: []
            for name in (
                "verdict",
                "more_work",
                "ratio",
                "half_width",
                "groups",
                "us",
                "held_s",
                "second_us",
                "second_ratio",
            )
        }
        for (result, swapped), took in zip(self.results, self.held, strict=True):
            known = result if isinstance(result, Comparison) else None
            second = known.second if known else None
            values = (
                known.verdict if known else "uncompared",
                ("A" if swapped else "B") if self.case.difference else None,
                _short(known and known.speedup, 5),
                _short(known and known.resolvable, 5),
                known.groups if known else 0,
                _short(known and known.candidate_us, 3),
                _short(took, 3),
                _short(second and second.candidate_us, 3),
                _short(second and second.speedup, 5),
            )
            for column, value in zip(columns.values(), values, strict=True):
                column.append(value)
        return columns


def _short(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits)


HEADER = (
    f"{'case':<20}{'n':>5}{'right':>7}{'wrong':>7}{'incon':>7}{'fas/slo/sus/none':>18}{'true':>9}{'mean':>9}{'sd':>8}{'half':>8}"
    f"{'groups':>8}{'us':>10}{'held s':>8}{'max':>7}  MHz"
)


def line(row: dict[str, Any]) -> str:
    """One line of the table; ratios as per cent above 1."""

    def share(value: float | None, *, offset: float = 0.0) -> str:
        return "-" if value is None else f"{100 * (value - offset):+.2f}%" if offset else f"{100 * value:.2f}%"

    odd = "/".join(str(row[name]) for name in ("faster", "slower", "suspicious", "uncompared"))
    us = "-" if row["us"] is None else f"{row['us']:.2f}"
    text = (
        f"{row['case']:<20}{row['comparisons']:>5}{row['right']:>7}{row['wrong']:>7}{row['inconclusive']:>7}{odd:>18}"
        f"{share(row['true_ratio'], offset=1.0):>9}{share(row['mean_ratio'], offset=1.0):>9}{share(row['sd_of_log_ratio']):>8}"
        f"{share(row['half_width_median']):>8}{row['groups_median'] or 0:>8.0f}{us:>10}{row['device_s_median'] or 0:>8.3f}{row['device_s_max'] or 0:>7.3f}"
        f"  {row['sm_clock_mhz']}"
    )
    notes = [f"{count} x {note}" for note, count in row["notes"].items()]
    return text + "".join(f"\n    {note}" for note in (*notes, *([f"FAILED {row['failed']}"] if row["failed"] else [])))
