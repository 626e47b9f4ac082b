"""What each way of starting Nsight Compute saves: pure."""

import statistics
from collections.abc import Sequence
from typing import Any

from benchmarks.profiling.runs import Row
from benchmarks.profiling.variants import VARIANTS

LEFT_OUT = "left out: the budget is spent"


def ways_summary(rows: list[Row]) -> dict[str, Any]:
    """Medians of each way, what it saves against `standard`, and whether it counts the same."""
    by: dict[str, list[Row]] = {}
    for row in rows:
        by.setdefault(row.metrics, []).append(row)
    base = [row for row in by.get("standard", []) if row.kernels]
    if not base:
        return {"failed": ["standard was not measured"]}

    def median(found: Sequence[Row], what: str) -> float:
        return round(statistics.median(float(getattr(row, what)) for row in found), 3)

    def from_to(found: Sequence[Row], what: str) -> tuple[float, float]:
        values = [float(getattr(row, what)) for row in found]
        return min(values), max(values)

    found: dict[str, Any] = {}
    for variant in VARIANTS:
        measured = [row for row in by.get(variant.name, []) if row.kernels]
        if not measured:
            reasons = [row.reason for row in by.get(variant.name, [])]
            found[variant.name] = {"about": variant.about, "reason": reasons[0] if reasons else LEFT_OUT}
            continue
        one = measured[0]
        found[variant.name] = {
            "about": variant.about,
            "runs": len(measured),
            "passes": one.passes,
            "run_s": median(measured, "run_s"),
            "seconds": median(measured, "seconds"),
            "run_s_from_to": from_to(measured, "run_s"),
            "seconds_from_to": from_to(measured, "seconds"),
            "saves_s": round(median(base, "run_s") - median(measured, "run_s"), 3),
            "bound": f"{one.bound} ({one.unit} {one.share})",
            "exact_counts_differ": [
                key for key in ("warp_instructions", "operations") if key in one.figures and one.figures[key] != base[0].figures.get(key)
            ],
            "seen": {key: round(statistics.median(row.seen[key] for row in measured if key in row.seen), 3) for key in one.seen},
        }  # fmt: skip
    full = [row for row in by.get("ncu_full", []) if row.kernels]
    ratios = {what: ratio(base, full, what) for what in ("run_s", "seconds") if full}
    return {"ways": found, "standard_over_ncu_full": ratios}


def ratio(ours: Sequence[Row], theirs: Sequence[Row], what: str) -> dict[str, Any]:
    """How many times the seconds of the other way: run by run, as they followed each other.

    Of n pairs the least and the most hold the median of all such pairs between them with a probability of 1 - 2^(1-n), whatever the distribution.
    """
    pairs = [float(getattr(one, what)) / float(getattr(other, what)) for one, other in zip(ours, theirs, strict=False)]
    return {
        "pairs": len(pairs),
        "median": round(statistics.median(pairs), 3),
        "from_to": [round(min(pairs), 3), round(max(pairs), 3)],
        "confidence": 1 - 2 ** (1 - len(pairs)),
    }
