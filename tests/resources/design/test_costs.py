"""Costs before a token is spent: counted by hand for small designs, and in proportion for large ones."""

import pytest

from cudanalyst.resources.design.costs import Assumed, costs
from cudanalyst.resources.design.models import Design
from cudanalyst.resources.design.schedule import count_trials

ASSUMED = Assumed(
    state_tokens=1000, evidence_tokens=100, digest_tokens=10, plan_tokens=50, source_tokens=500, plan_s=2, code_s=4,
    evaluate_s=6, device_s=3, at_once=2,
)  # fmt: skip


def design(checkpoints: int = 2, **changes: object) -> Design:
    whole = {
        "name": "d",
        "players": ["debugger", "profiler"],
        "checkpoints": [{"id": f"chk_{number:032x}"} for number in range(checkpoints)],
        "planners": [{"name": "a", "kind": "external", "price_input": 2, "price_output": 10}],
        "repeats": 5,
    }
    return Design.model_validate({**whole, **changes})


def test_calls_tokens_seconds_and_price_are_those_counted_by_hand() -> None:
    found = costs(design(), ASSUMED)
    # Two checkpoints, five repeats, four coalitions; a plan and a source each.
    assert (found.trials, found.calls, found.blocks, found.cells) == (40, 80, 10, 4)
    planned = 10 * (4 * 1000 + 4 * 100)
    coded = 40 * (1000 + 50)
    assert found.input_tokens == planned + coded
    assert found.output_tokens == 40 * (50 + 500)
    assert found.price == pytest.approx((2 * found.input_tokens + 10 * found.output_tokens) / 1e6)
    assert found.device_minutes == pytest.approx(40 * 3 / 60)
    assert found.wall_minutes == pytest.approx(40 * (2 + 4 + 6) / 60 / 2)
    assert found.over == ()


@pytest.mark.parametrize(
    ("regime", "calls", "told"),
    [
        ("NP+NF", 1, 1000),
        ("P+NF", 2, 2050),
        ("NP+F", 4, 4 * 1000 + 400),
        ("P+F", 8, 4 * 2050 + 400),
        ("NP+S", 4, 4 * 1000 + 40),
        ("P+S", 8, 4 * 2050 + 40),
        ("DP", 4, 4 * 1050 + 400),
        ("RF", 8, 4 * 2050 + 400),
    ],
)
def test_each_regime_costs_what_it_gives(regime: str, calls: int, told: int) -> None:
    found = costs(design(1, regimes=[regime], repeats=1), ASSUMED)
    assert (found.calls, found.input_tokens) == (calls, told)


def test_transferred_plans_cost_their_reader_no_plan() -> None:
    two = [{"name": "a", "kind": "external"}, {"name": "b", "kind": "external", "plans_from": ["a"]}]
    found = costs(design(1, regimes=["P+F", "PT"], repeats=1, planners=two), ASSUMED)
    assert {one.name: one.calls for one in found.agents} == {"a": 8, "b": 12}
    assert found.price is None


def test_backbones_are_counted_with_the_checkpoints_that_they_will_induce() -> None:
    backbone = {"id": "b", "problem": "p", "agent": "a", "generations": [1, 4], "options": {"population": 3}}
    found = costs(design(0, backbones=[backbone], repeats=1), ASSUMED)
    assert (found.checkpoints, found.problems, found.trials) == (2, 1, 8)
    assert found.backbone_calls == 24
    assert found.calls == 24 + 16
    assert found.evaluations == 8 + 12


def test_trials_are_as_many_as_will_be_laid_down() -> None:
    for changes in ({}, {"sentinels": {"per_block": 3}}, {"regimes": ["P+F", "NP+NF"]}, {"horizons": [1, 3]}):
        wanted = design(**changes)
        assert costs(wanted, ASSUMED).trials == count_trials(wanted, 2)


def test_a_longer_horizon_costs_its_steps() -> None:
    short, long = (costs(design(horizons=[steps]), ASSUMED) for steps in (1, 3))
    assert (long.trials, long.calls, long.evaluations) == (short.trials, 3 * short.calls, 3 * short.evaluations)
    # Later steps are given both components, the first one on average.
    assert long.input_tokens == short.input_tokens + 2 * (short.input_tokens + 40 * 100)
    to_the_end = costs(design(horizons=[3], later_steps="coalition"), ASSUMED)
    assert to_the_end.input_tokens == 3 * short.input_tokens


def test_what_exceeds_the_budget_is_named() -> None:
    found = costs(design(budget={"calls": 79, "tokens": 10, "device_minutes": 100}), ASSUMED)
    assert [one.split(":")[0] for one in found.over] == ["budget.calls", "budget.tokens"]


def test_what_can_be_told_shrinks_with_repeats_and_a_family_that_cannot_be_tested_is_said() -> None:
    few, many = (costs(design(12, repeats=repeats), ASSUMED) for repeats in (2, 20))
    widths = [
        next(one.half_width for one in found.resolutions if one.index == "banzhaf" and one.half_width is not None)
        for found in (few, many)
    ]
    assert widths[1] < widths[0]
    assert any("significant" in note for note in costs(design(2), ASSUMED).notes)
    assert not any("significant" in note for note in costs(design(30), ASSUMED).notes)
