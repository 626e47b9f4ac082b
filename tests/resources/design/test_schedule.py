"""Laying down: every coalition of every regime once in a block, at random places, with one seed."""

from collections import Counter

import pytest

from cudanalyst.errors import BadRequest
from cudanalyst.resources.blocks import MAX_TRIALS
from cudanalyst.resources.design.cells import cells_of
from cudanalyst.resources.design.models import Design
from cudanalyst.resources.design.schedule import count_trials, lay_down
from cudanalyst.resources.trials import Trial

CHECKPOINTS = {"chk_" + digit * 32: f"problem {digit}" for digit in "abc"}


def design(**changes: object) -> Design:
    """A small design on made-up checkpoints."""
    whole = {
        "name": "d",
        "players": ["debugger", "analyzer"],
        "checkpoints": [{"id": one} for one in CHECKPOINTS],
        "planners": [{"name": "a", "kind": "external"}, {"name": "b", "kind": "external", "plans_from": ["a"]}],
        "regimes": ["NP+NF", "P+NF", "NP+F", "P+F", "NP+S", "P+S", "DP", "RF", "PT"],
        "repeats": 3,
    }
    return Design.model_validate({**whole, **changes})


def laid(wanted: Design) -> tuple[Trial, ...]:
    names = list(CHECKPOINTS)
    donors = {(one, repeat): names[0] for one in names for repeat in range(wanted.repeats)}
    counter = iter(range(10**6))
    return lay_down(
        "exp",
        wanted,
        problems=CHECKPOINTS,
        donors=donors,
        mint=lambda count: [f"tri_{next(counter)}" for _ in range(count)],
    )


def test_every_block_holds_every_coalition_of_every_regime_once() -> None:
    wanted = design()
    blocks: dict[int, list[Trial]] = {}
    for trial in laid(wanted):
        blocks.setdefault(trial.block, []).append(trial)
    # Two regimes without feedback have one cell each, the others four; only planner b is given plans.
    per_planner = 2 + 6 * 4
    for trials in blocks.values():
        cells = Counter((one.planner, one.regime, one.coalition, one.plan_of) for one in trials)
        assert set(cells.values()) == {1}
        assert len(cells) == 2 * per_planner + 4
        assert len({one.checkpoint for one in trials}) == 1
        assert [one.order for one in trials] == list(range(len(trials)))
    assert len(blocks) == 9
    assert len(laid(wanted)) == count_trials(wanted, 3)


def test_within_a_block_everybody_has_the_same_seed_and_another_experiment_gives_it_again() -> None:
    seeds: dict[tuple[str, int], set[int]] = {}
    for trial in [*laid(design()), *laid(design(regimes=["P+F"], players=["profiler"]))]:
        if trial.plan_of is None:
            seeds.setdefault((trial.checkpoint, trial.repeat), set()).add(trial.seed)
    assert all(len(one) == 1 for one in seeds.values())
    assert len(set.union(*seeds.values())) == len(seeds)


def test_seeds_by_trial_differ_where_a_design_asks_for_it() -> None:
    seeds = [trial.seed for trial in laid(design(seeds="trial"))]
    assert len(set(seeds)) == len(seeds)


def test_the_order_is_the_designs_own_and_random() -> None:
    orders = [[(one.checkpoint, one.regime, one.coalition) for one in laid(design(seed=seed))] for seed in (1, 1, 2)]
    assert orders[0] == orders[1] != orders[2]


def test_sentinels_repeat_one_cell_of_the_first_checkpoint_at_random_places() -> None:
    wanted = design(sentinels={"coalition": ["debugger"], "per_block": 2}, repeats=20)
    watched = [trial for trial in laid(wanted) if trial.sentinel]
    assert {(one.checkpoint, one.regime, one.coalition) for one in watched} == {
        (next(iter(CHECKPOINTS)), "P+F", ("debugger",))
    }
    assert Counter(one.repeat for one in watched) == dict.fromkeys(range(20), 4)
    assert len({one.order for one in watched}) > 10
    assert len({one.seed for one in watched}) == len(watched)
    assert len(laid(wanted)) == count_trials(wanted, 3)


def test_sampled_coalitions_are_drawn_anew_in_every_block_and_are_the_same_for_all_regimes() -> None:
    wanted = design(coalitions={"sample": 6, "seed": 3}, regimes=["P+F", "NP+F"])
    blocks: dict[int, dict[str, Counter[object]]] = {}
    for trial in laid(wanted):
        blocks.setdefault(trial.block, {}).setdefault(trial.regime, Counter())[trial.coalition] += 1
    assert all(one["P+F"] == one["NP+F"] for one in blocks.values())
    assert len({str(sorted(one["P+F"].items())) for one in blocks.values()}) > 1
    assert all(one["P+F"].total() == 12 for one in blocks.values())


def test_named_coalitions_are_the_only_ones() -> None:
    cells = cells_of(design(coalitions=[["debugger"], ["debugger", "analyzer"]], regimes=["P+F"]))
    assert {one.coalition for one in cells} == {("debugger",), ("analyzer", "debugger")}


@pytest.mark.parametrize(("changes", "said"), [({"repeats": 1000}, "too many"), ({}, "none is filled in")])
def test_a_design_that_lays_down_nothing_or_too_much_is_refused(changes: dict[str, object], said: str) -> None:
    wanted = design(**changes)
    with pytest.raises(BadRequest, match=said):
        lay_down("exp", wanted, problems=CHECKPOINTS if changes else {}, donors={}, mint=lambda count: ["x"] * count)
    assert count_trials(design(repeats=1000), 3) > MAX_TRIALS


def test_a_seed_of_a_trials_own_cannot_be_traced_to_its_cell_without_the_design() -> None:
    """A planner is told its seed, and may know or guess the design's."""
    one, other = (
        {
            (trial.checkpoint, trial.repeat, trial.regime, trial.coalition): trial.seed
            for trial in laid(design(seeds="trial", **more))
        }
        for more in ({}, {"description": "another"})
    )
    assert one.keys() == other.keys()
    assert not [cell for cell, seed in one.items() if other[cell] == seed]
