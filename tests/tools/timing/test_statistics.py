"""The sequential rule: its error rates on simulated data with known truth, and its arithmetic."""

import math
import random
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from cudanalyst.tools.timing.models import Comparison
from cudanalyst.tools.timing.schedule import (
    ALPHA,
    BLOCK_US,
    COLD_LOOKS,
    COLD_PLACEMENTS,
    LONG_LOOKS,
    WARM_LOOKS,
    calls_for,
    orders,
    plan_for,
    spend,
)
from cudanalyst.tools.timing.statistics import LOG_MARGIN, Estimate, decide, estimate, group_log_ratio

REPEATS = 1500


def sequential(draw, looks, *, by_cluster) -> tuple[str, int]:
    """Applies the rule to groups from `draw(index)`, which gives placement and log ratio."""
    clusters: dict[int, list[float]] = {}
    count, verdict = 0, "inconclusive"
    for look, alpha in zip(looks, spend(len(looks)), strict=True):
        while count < look:
            placement, value = draw(count)
            clusters.setdefault(placement, []).append(value)
            count += 1
        verdict = decide(estimate(clusters, alpha, by_cluster=by_cluster))
        if verdict != "inconclusive":
            break
    return verdict, count


def shares(
    truth: float, sd: float, looks, *, place_sd: float = 0.0, order: float = 0.0, by_cluster=False, repeats=REPEATS
):
    numbers = np.random.default_rng(11)
    found: dict[str, int] = {}
    for _ in range(repeats):
        places = numbers.normal(0, place_sd, COLD_PLACEMENTS) if place_sd else np.zeros(COLD_PLACEMENTS)
        values = numbers.normal(math.log(truth), sd, looks[-1])
        verdict, _ = sequential(
            lambda i, places=places, values=values: (
                i % COLD_PLACEMENTS // 2,
                float(values[i] + places[i % COLD_PLACEMENTS]) + order * (-1) ** i,
            ),
            looks,
            by_cluster=by_cluster,
        )
        found[verdict] = found.get(verdict, 0) + 1
    return {name: count / repeats for name, count in found.items()}


@pytest.mark.parametrize("sd", [0.002, 0.005])
def test_equal_kernels_are_called_the_same_and_never_different(sd) -> None:
    found = shares(1.0, sd, WARM_LOOKS)
    assert found.get("faster", 0) + found.get("slower", 0) <= 0.005
    assert found.get("inconclusive", 0) <= 0.05


@pytest.mark.parametrize("truth", [1 / 1.02, 1.02])
def test_two_per_cent_is_decided_rightly(truth) -> None:
    found = shares(truth, 0.004, WARM_LOOKS)
    assert found["faster" if truth > 1 else "slower"] >= 0.99


@pytest.mark.parametrize("truth", [1.0, 1 / 1.02, 1.02])
def test_four_groups_of_long_blocks_decide_as_surely_with_twice_the_noise_of_an_h200(truth) -> None:
    """At 5 ms a group's log ratio had a standard deviation of 0.08 %."""
    found = shares(truth, 0.0016, LONG_LOOKS[:3])
    assert found["same" if truth == 1 else "faster" if truth > 1 else "slower"] >= 0.99


def test_disturbances_of_single_groups_do_not_make_four_groups_wrong() -> None:
    """Noise with heavy tails (three degrees of freedom), and every tenth group off by one per cent."""
    numbers = np.random.default_rng(5)
    wrong = 0
    for _ in range(REPEATS):
        values = 0.0008 * numbers.standard_t(3, LONG_LOOKS[1]) + 0.01 * (numbers.random(LONG_LOOKS[1]) < 0.1)
        verdict, _ = sequential(lambda i, values=values: (0, float(values[i])), LONG_LOOKS[:2], by_cluster=False)
        wrong += verdict in {"faster", "slower"}
    assert wrong == 0


def test_long_looks_spend_no_more_than_alpha_at_the_margin() -> None:
    found = shares(1.01, 0.003, LONG_LOOKS[:2])
    assert sum(share for name, share in found.items() if name != "inconclusive") <= ALPHA + 3 * math.sqrt(
        ALPHA / REPEATS
    )


@pytest.mark.parametrize("truth", [1.01, 1 / 1.01])
def test_at_the_margin_itself_no_more_than_alpha_is_decided_either_way(truth) -> None:
    """The hardest case: whatever is said beyond or within the margin is said by chance."""
    found = shares(truth, 0.01, WARM_LOOKS)
    assert sum(share for name, share in found.items() if name != "inconclusive") <= ALPHA + 3 * math.sqrt(
        ALPHA / REPEATS
    )


def test_placements_that_differ_do_not_make_cold_verdicts_wrong() -> None:
    """Without clusters the same data are wrong far more often: what a placement does to all of its groups looks like a difference."""
    fair = shares(1.01, 0.005, COLD_LOOKS, place_sd=0.02, by_cluster=True, repeats=600)
    naive = shares(1.01, 0.005, COLD_LOOKS, place_sd=0.02, by_cluster=False, repeats=600)

    def decided(found):
        return sum(share for name, share in found.items() if name != "inconclusive")

    assert decided(fair) <= ALPHA + 3 * math.sqrt(ALPHA / 600)
    assert decided(naive) > 4 * ALPHA


def test_what_the_order_of_loading_does_falls_out() -> None:
    found = shares(1.0, 0.005, COLD_LOOKS, order=0.036, by_cluster=True, repeats=300)
    assert found == {"same": 1.0}


def test_five_per_cent_cold_is_decided_rightly_with_the_noise_of_an_h200() -> None:
    found = shares(1 / 1.05, 0.02, COLD_LOOKS, place_sd=0.02, order=0.036, by_cluster=True, repeats=600)
    assert found["slower"] >= 0.95


@given(st.integers(1, 12))
def test_what_looks_may_spend_adds_up_and_never_grows(looks) -> None:
    parts = spend(looks)
    assert sum(parts) == pytest.approx(ALPHA)
    assert all(first >= second * 0.999 for first, second in pairwise(parts))


@given(st.floats(0.01, 1e6), st.integers(4, 8))
def test_blocks_are_long_enough_and_go_round_evenly(us, sets) -> None:
    calls = calls_for(us, sets)
    assert calls * us >= min(BLOCK_US, 4080 * us) * 0.999
    assert calls < sets or calls % sets == 0


@given(st.sampled_from(["warm", "cold", "cold_data"]), st.floats(0.5, 5e5), st.floats(1, 1000), st.floats(1, 2000))
def test_plans_fit_their_budget_or_take_the_fewest_groups(mode, fast, factor, budget_ms) -> None:
    slow = min(fast * factor, 5e5)
    plan = plan_for(mode, fast, slow, 4, budget_ms)
    assert len(plan.alphas) == len(plan.looks)
    assert plan.looks == tuple(sorted(plan.looks))
    assert 2 <= plan.placements <= plan.looks[0]
    assert plan.placements % 2 == 0
    cost_ms = plan.looks[-1] * len(plan.patterns[0]) * plan.calls * (fast + slow) / 2e3
    assert cost_ms <= budget_ms * 1.001 or plan.looks == ((8,) if plan.clustered else (4,) if mode == "warm" else (3,))
    if mode == "warm":
        assert plan.calls * slow >= BLOCK_US * 0.99 or plan.calls >= 4080


@pytest.mark.parametrize("drift", [0.0, 0.0005, 0.005])
def test_pairs_of_long_calls_find_the_ratio_though_the_device_drifts(drift) -> None:
    plan = plan_for("warm", 24_000, 24_000, 4, 250)
    assert (plan.patterns, plan.looks, plan.calls) == (("AB", "BA"), (4,), 1)
    chance, truth, missed = random.Random(1), math.log(1.03), 0
    for _ in range(1000):
        ratios, place = [], 0
        for pattern in orders(plan, 4, chance):
            times = []
            for side in pattern:
                us = 24_000 * (1.03 if side == "B" else 1.0) * chance.gauss(1, 0.0008) * math.exp(drift * place)
                times.append(us)
                place += 1
            ratios.append(group_log_ratio(pattern, times))
        found = estimate({0: ratios}, plan.alphas[0], by_cluster=False)
        missed += not found.low <= math.exp(truth) <= found.high
    assert missed <= 20


def test_a_baseline_that_is_a_thousand_times_slower_does_not_make_blocks_of_seconds() -> None:
    plan = plan_for("warm", 5, 5000, 4, 250)
    assert plan.calls * 2 * (5 + 5000) <= 21_000


@given(st.integers(1, 40), st.integers(0, 99))
def test_groups_begin_with_either_side_equally_often(count, seed) -> None:
    plan = plan_for("warm", 50, 50, 4, 250)
    drawn = orders(plan, count, random.Random(seed))
    assert abs(2 * sum(pattern[0] == "A" for pattern in drawn) - count) <= 1


@given(st.lists(st.floats(0.1, 1e5), min_size=4, max_size=4), st.floats(0.5, 2.0))
def test_a_factor_on_one_side_is_what_the_log_ratio_shows(times, factor) -> None:
    base = group_log_ratio("ABBA", times)
    scaled = group_log_ratio(
        "ABBA", [us * factor if side == "B" else us for us, side in zip(times, "ABBA", strict=True)]
    )
    assert scaled - base == pytest.approx(math.log(factor), abs=1e-9)


@given(st.floats(-0.3, 0.3), st.floats(-0.3, 0.3))
def test_a_linear_drift_falls_out_of_a_group(ratio, drift) -> None:
    times = [math.exp((ratio if side == "B" else 0) + drift * index) for index, side in enumerate("ABBA")]
    assert group_log_ratio("ABBA", times) == pytest.approx(ratio, abs=1e-9)


def test_a_quadratic_drift_falls_out_of_a_cold_group() -> None:
    times = [math.exp((0.05 if side == "B" else 0) + 0.001 * i * i + 0.01 * i) for i, side in enumerate("ABBABAAB")]
    assert group_log_ratio("ABBABAAB", times) == pytest.approx(0.05)


@given(st.lists(st.floats(-0.5, 0.5), min_size=2, max_size=30), st.floats(0.0005, 0.2))
def test_swapping_the_sides_mirrors_the_verdict(values, alpha) -> None:
    there = estimate({0: values}, alpha, by_cluster=False)
    back = estimate({0: [-value for value in values]}, alpha, by_cluster=False)
    mirror = {"faster": "slower", "slower": "faster"}
    assert back.log_ratio == pytest.approx(-there.log_ratio, abs=1e-12)
    assert back.half_width == pytest.approx(there.half_width)
    verdict = decide(there)
    if abs(abs(there.log_ratio) - LOG_MARGIN) > 1e-9 and abs(there.half_width) > 1e-9:
        assert decide(back) == mirror.get(verdict, verdict)


def test_the_interval_is_students() -> None:
    """Textbook numbers: mean 3, s = 1.5811, t(0.975, 4) = 2.7764."""
    found = estimate({0: [1.0, 2.0, 3.0, 4.0, 5.0]}, 0.05, by_cluster=False)
    assert found.log_ratio == 3.0
    assert found.half_width == pytest.approx(2.7764 * 1.5811 / math.sqrt(5), rel=1e-4)


def test_one_observation_gives_no_interval() -> None:
    with pytest.raises(ValueError, match="two observations"):
        estimate({0: [0.1, 0.2]}, 0.01, by_cluster=True)


def test_a_group_needs_both_sides_and_a_time_for_each_block() -> None:
    with pytest.raises(ValueError, match="both sides"):
        group_log_ratio("AA", [1.0, 1.0])
    with pytest.raises(ValueError, match="one time"):
        group_log_ratio("AB", [1.0])


@given(st.floats(-0.6, 0.6), st.floats(0, 500))
def test_every_estimate_makes_a_valid_comparison_that_survives_json(log_ratio, half) -> None:
    found = Estimate(log_ratio, half, 8)
    comparison = Comparison(
        mode="warm", verdict=decide(found), speedup=found.speedup, speedup_low=found.low, speedup_high=found.high,
        resolvable=found.resolvable,
    )  # fmt: skip
    assert Comparison.model_validate_json(comparison.model_dump_json()) == comparison


@pytest.mark.parametrize(
    "fields",
    [
        {"verdict": "faster"},
        {"verdict": "same", "speedup": 1.0, "speedup_low": 1.01, "speedup_high": 1.02},
        {"verdict": "same", "speedup": 1.0, "speedup_low": 0.99, "speedup_high": 1.01, "fault": "wrong"},
        {"verdict": "suspicious"},
        {"verdict": "inconclusive", "speedup": 0.0},
    ],
)
def test_comparisons_that_contradict_themselves_are_refused(fields) -> None:
    with pytest.raises(ValidationError):
        Comparison(mode="warm", **fields)
