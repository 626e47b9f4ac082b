"""A slice of benchmarks/randomised.py: randomised intervals hold the truth where observed ones do not."""

import numpy as np

from benchmarks import randomised as benchmark


def test_intervals_cover_by_design_and_not_by_comparison():
    scenario = next(one for one in benchmark.SCENARIOS if one.name == "all of these")
    found = benchmark.study(scenario, sets=200, sessions=40, seed=5, population=10_000)
    by_design = [one["covered"] for one in found["randomised"]]
    assert min(by_design) > 0.9  # 200 sets: a standard error of 0.015
    assert np.mean(by_design) > 0.93
    assert max(one["covered"] for one in found["observational"]) < 0.9
    assert max(abs(one["bias"]) for one in found["randomised"]) < 0.02


def test_mutant_without_centring_would_be_caught(monkeypatch):
    """Comparing those who read it with those who did not, in the same data, is biased: the estimator must use the offers."""
    scenario = next(one for one in benchmark.SCENARIOS if one.name == "non-compliance")
    honest = benchmark.decisions

    def as_read(scenario, sessions, sets, made):
        made.offered = made.seen
        return honest(scenario, sessions, sets, made)

    monkeypatch.setattr(benchmark, "decisions", as_read)
    found = benchmark.study(scenario, sets=60, sessions=40, seed=5, population=5_000)
    assert min(one["covered"] for one in found["randomised"][:3]) < 0.9
