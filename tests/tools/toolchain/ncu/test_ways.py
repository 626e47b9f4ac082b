"""What the benchmark of profiling concludes from repeated runs."""

from pathlib import Path

import pytest

from benchmarks.profiling.runs import Row
from benchmarks.profiling.variants import BOOST, VARIANTS
from benchmarks.profiling.ways import ways_summary

RUN = (Path("/nowhere/ncu"), Path("/work"), "2025.3.1.0")


def rows(name: str, runs: list[float], reading: float = 0.0) -> list[Row]:
    return [Row("k", name, passes=9, run_s=run, seconds=run + reading, kernels=1) for run in runs]


def test_the_ratio_to_the_full_set_has_an_interval_from_runs_that_followed_each_other():
    found = ways_summary([*rows("standard", [2.0, 2.5, 3.0], 0.5), *rows("ncu_full", [5.0, 4.5, 7.5], 0.5)])
    whole, run = (found["standard_over_ncu_full"][what] for what in ("seconds", "run_s"))
    assert (whole["pairs"], whole["median"], whole["from_to"]) == (3, 0.455, [0.438, 0.6])
    assert (run["median"], run["from_to"]) == (0.4, [0.4, 0.556])
    assert whole["confidence"] == 0.75
    assert found["ways"]["standard"]["seconds_from_to"] == (2.5, 3.5)


def test_five_pairs_hold_the_median_with_more_than_nine_in_ten():
    found = ways_summary([*rows("standard", [1.0] * 5), *rows("ncu_full", [2.0] * 5)])
    assert found["standard_over_ncu_full"]["seconds"]["confidence"] == 0.9375


def test_a_run_without_a_partner_or_without_kernels_makes_no_pair():
    failed = Row("k", "ncu_full", run_s=1.0, seconds=1.0, reason="refused")
    found = ways_summary([*rows("standard", [1.0, 1.0, 1.0]), *rows("ncu_full", [2.0]), failed])
    assert found["standard_over_ncu_full"]["seconds"]["pairs"] == 1
    assert ways_summary(rows("standard", [1.0]))["standard_over_ncu_full"] == {}


@pytest.mark.parametrize("name", ["ncu_full", "defaults"])
def test_ncus_defaults_are_without_any_option_of_ours(name):
    (variant,) = (one for one in VARIANTS if one.name == name)
    words = variant.prefix(*RUN)
    assert not {"--apply-rules", "--disable-extra-suffixes", BOOST[0]} & set(words)


def test_each_way_is_listed_once_and_changes_something():
    assert len({one.name for one in VARIANTS}) == len(VARIANTS)
    standard = VARIANTS[0].prefix(*RUN)
    same = [one.name for one in VARIANTS[1:] if one.prefix(*RUN) == standard and not one.environment]
    assert same == ["binary"]  # where no program lies beside the script
