"""The design: every coalition once a block, in an order that only the seed decides."""

from collections import Counter
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cudanalyst.errors import BadRequest
from cudanalyst.resources.blocks import coalitions, schedule

COMPONENTS = ("analyzer", "compiler", "debugger", "profiler")
players = st.lists(st.sampled_from(COMPONENTS), min_size=1, max_size=4, unique=True)


def laid_down(players=COMPONENTS[:3], checkpoints=("c1", "c2"), repeats=2, seed=1, experiment="exp"):
    numbers = count()
    return schedule(
        experiment,
        players=players,
        problems={one: f"problem of {one}" for one in checkpoints},
        repeats=repeats,
        seed=seed,
        mint=lambda wanted: [f"tri_{next(numbers)}" for _ in range(wanted)],
    )


@given(players=players)
def test_coalitions_are_all_subsets_each_once_and_sorted(players) -> None:
    subsets = coalitions(players)
    assert len(set(subsets)) == len(subsets) == 2 ** len(players)
    assert all(list(subset) == sorted(subset) for subset in subsets)
    assert subsets[0] == ()
    assert set(subsets[-1]) == set(players)


@given(players=players, checkpoints=st.integers(1, 4), repeats=st.integers(1, 4), seed=st.integers(0, 2**31))
def test_each_block_holds_every_coalition_once_for_one_checkpoint(players, checkpoints, repeats, seed) -> None:
    names = tuple(f"c{i}" for i in range(checkpoints))
    trials = laid_down(players, names, repeats, seed)
    assert len(trials) == checkpoints * repeats * 2 ** len(players)
    blocks: dict[int, list] = {}
    for trial in trials:
        blocks.setdefault(trial.block, []).append(trial)
    assert list(blocks) == list(range(checkpoints * repeats))
    for block in blocks.values():
        assert sorted(trial.coalition for trial in block) == sorted(coalitions(players))
        assert [trial.order for trial in block] == list(range(len(block)))
        assert len({(trial.checkpoint, trial.repeat, trial.problem) for trial in block}) == 1
    assert Counter((block[0].checkpoint, block[0].repeat) for block in blocks.values()).most_common(1)[0][1] == 1


def test_the_order_depends_on_the_seed_alone() -> None:
    def order(**options):
        return [(trial.checkpoint, trial.coalition, trial.seed) for trial in laid_down(**options)]

    assert order() == order(experiment="another handle")
    assert order() == order(checkpoints=("c2", "c1"), players=tuple(reversed(COMPONENTS[:3])))
    assert order() != order(seed=2)


def test_every_coalition_comes_to_stand_in_every_position() -> None:
    places = Counter((trial.coalition, trial.order) for trial in laid_down(repeats=200, checkpoints=("c",)))
    assert len(places) == 64
    # 200 blocks over 8 positions: 25 expected, standard deviation 4.7.
    assert max(places.values()) < 25 + 5 * 4.7
    assert min(places.values()) > 25 - 5 * 4.7


@pytest.mark.parametrize("options", [{"players": ()}, {"checkpoints": ()}, {"repeats": 0}, {"repeats": 100_000}])
def test_an_empty_or_boundless_experiment_is_refused(options) -> None:
    with pytest.raises(BadRequest):
        laid_down(**options)
