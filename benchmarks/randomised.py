"""Whether the intervals for randomised delivery hold what they promise, by simulation with known effects.

Simulated agents have skill of their own, remember evidence (later evidence of the same kind helps less and the work carries over),
take up only part of what they are offered, ask for what was withheld, stop early, drift, and meet problems of different
difficulty. The true effect of each component and pair is summed over every draw and every uptake at each history that a
large population reaches under the logging policy. What is simulated is the product's own estimator.

    python benchmarks/randomised.py [--sets 2000] [--sessions 40] [--json FILE]
"""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

# Run as a file, the folder above is where the package `benchmarks` lies.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.randomised_agents import COMPONENTS, SCENARIOS, Scenario, Simulated, simulate
from cudanalyst.resources.randomised.controls import controls_of
from cudanalyst.resources.randomised.excursion import Decisions, excursions, shape
from cudanalyst.resources.randomised.regression import Fit, Floats, Ints
from cudanalyst.resources.usage.association import associations


def decisions(scenario: Scenario, sessions: int, sets: int, made: Simulated) -> Decisions:
    """The product's input."""
    p = np.tile(np.array(scenario.propensities), (len(made.session), 1))
    clusters, count = made.session, sessions
    if sessions == 1:  # as the product does: the decisions of one session are what varies independently
        clusters, count = made.session * scenario.steps + made.number - 1, scenario.steps
    return Decisions(
        offered=made.offered,
        propensities=p,
        joint=np.prod(np.where(made.offered > 0, p, 1 - p), axis=1),
        outcomes=np.column_stack((made.success, made.stopped)),
        controls=controls_of(made.status, made.number, made.earlier),
        clusters=clusters,
        count=count,
        replications=sets,
        crossing=made.problem if scenario.shared else None,
        crossing_count=scenario.shared,
    )


@dataclass(frozen=True)
class Coverage:
    """How often 95 % intervals held the truth."""

    effect: str
    truth: float
    covered: float
    bias: float
    half_width: float
    undetermined: float
    """Share of data sets without an interval; they count as not covered."""


def study(
    scenario: Scenario, sets: int, sessions: int, seed: int, population: int = 20_000, batch: int = 100
) -> dict[str, Any]:
    """Coverage of both kinds of estimate in one scenario."""
    rng = np.random.default_rng(seed)
    sessions = scenario.sessions or sessions
    ordinary = replace(scenario, requested=True)
    found, observed = [], []
    # One session is asked about its own decisions; its truth follows with each data set.
    many = 1 if sessions == 1 else population
    truth = np.tile(simulate(scenario, many, rng).truth.mean(0), (sets, 1))
    observed_truth = np.tile(simulate(ordinary, many, rng).seen_truth.mean(0), (sets, 1))
    for start in range(0, sets, batch):
        count = min(batch, sets - start)
        made = simulate(scenario, sessions, rng, count)
        if sessions == 1:
            truth[start : start + count] = _by_session(made.truth, made.session, count)
        data, wanted = shape(decisions(scenario, sessions, count, made))
        found.append(_first(excursions(data, wanted)))
        made = simulate(ordinary, sessions, rng, count)
        clusters, clustered = made.session, sessions
        if sessions == 1:
            observed_truth[start : start + count] = _by_session(made.seen_truth, made.session, count)
            clusters, clustered = clusters * scenario.steps + made.number - 1, scenario.steps
        observed.append(_first(associations(made.seen, made.success[:, None], made.status, clusters, clustered, count)))
    return {
        "scenario": scenario.name,
        "sets": sets,
        "sessions": sessions,
        "decisions_per_session": round(len(made.session) / (sessions * count), 1),
        "randomised": _coverages(["+".join(COMPONENTS[one] for one in term) for term in wanted], truth, found),
        "observational": _coverages(COMPONENTS, observed_truth, observed),
    }


def _first(one: Fit) -> tuple[Floats, Floats]:
    """Values and half widths for the first outcome, success."""
    return one.value[:, :, 0], one.half_width()[:, :, 0]


def _by_session(values: Floats, session: Ints, count: int) -> Floats:
    return np.stack(
        [np.bincount(session, column, count) / np.bincount(session, minlength=count) for column in values.T], 1
    )


def _coverages(names: Sequence[str], truth: Floats, parts: Sequence[tuple[Floats, Floats]]) -> list[dict[str, Any]]:
    value, half = (np.concatenate([part[side] for part in parts]) for side in (0, 1))
    return [
        asdict(
            Coverage(
                effect=name,
                truth=round(float(truth[:, i].mean()), 4),
                covered=round(float(np.mean(np.abs(value[:, i] - truth[:, i]) <= half[:, i])), 4),
                bias=round(float(np.nanmean(value[:, i] - truth[:, i])), 4),
                half_width=round(float(np.nanmean(half[:, i])), 4),
                undetermined=round(float(np.mean(~np.isfinite(half[:, i]))), 4),
            )
        )
        for i, name in enumerate(names)
    ]


def main() -> int:
    """Prints a table; status 1 where a randomised coverage is outside 93 to 97 % by more than chance."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--sets", type=int, default=2000, help="simulated data sets per scenario")
    parser.add_argument("--sessions", type=int, default=40, help="sessions of a data set")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, help="write every figure here")
    options = parser.parse_args()
    begun, rows = time.perf_counter(), []
    print(f"{options.sets} data sets of {options.sessions} sessions; 95 % intervals, share that held the truth")
    print(f"{'scenario':28} {'components':>15} {'pairs':>15} {'observational':>15}")
    for number, scenario in enumerate(SCENARIOS):
        row = study(scenario, options.sets, options.sessions, options.seed + number)
        rows.append(row)
        spans = [row["randomised"][:3], row["randomised"][3:], row["observational"]]
        print(f"{row['scenario']:28} " + " ".join(f"{_span(part):>15}" for part in spans), flush=True)
    shares = [one["covered"] for row in rows for one in row["randomised"]]
    print(
        f"randomised: {min(shares):.1%} to {max(shares):.1%} over {len(shares)} effects; {time.perf_counter() - begun:.0f} s"
    )
    if options.json:
        options.json.write_text(
            json.dumps({"options": {"sets": options.sets, "seed": options.seed}, "rows": rows}, indent=1)
        )
    error = 2 * (0.95 * 0.05 / options.sets) ** 0.5  # two standard errors of a share
    return 0 if min(shares) >= 0.93 - error and max(shares) <= 0.97 + error else 1


def _span(part: Sequence[dict[str, Any]]) -> str:
    shares = [one["covered"] for one in part]
    if not shares:
        return "not estimated"
    return f"{min(shares):.1%}-{max(shares):.1%}"


if __name__ == "__main__":
    sys.exit(main())
