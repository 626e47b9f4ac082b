"""Coverage of intervals by seeded simulation, and the rules about when there is none."""

import numpy as np
import pytest

from cudanalyst.resources.attribution.cells import Blocks, Cells
from cudanalyst.resources.attribution.effects import terms
from cudanalyst.resources.attribution.inference.intervals import (
    BLOCKS,
    MOVER,
    WITHIN,
    jeffreys,
    population_of_problems,
    these_problems,
)

SIMULATIONS = 2000
SIZES = np.array([mask.bit_count() for mask in range(8)])
EFFECTS = terms(3).only("banzhaf", "banzhaf_interaction", "sigma").contrasts


def experiment(probabilities, repeats, rng, *, blocks=True, number=None):
    """One experiment, or `number` of them along a leading axis."""
    units, size = probabilities.shape[-2:]
    lead = () if number is None else (number,)
    outcomes = (rng.random((*lead, units, repeats, size)) < probabilities[..., :, None, :]).astype(float)
    flat = outcomes.reshape(*lead, -1, size)
    return Cells(
        players=("a", "b", "c"),
        units=tuple((f"problem_{g:02}", "start") for g in range(units)),
        successes=outcomes.sum(axis=-2).astype(np.int64),
        trials=np.full((units, size), repeats),
        blocks=Blocks(flat, np.repeat(np.arange(units), repeats)) if blocks else None,
    )


def covers(limits, truth):
    return ((limits.low <= truth + 1e-12) & (truth <= limits.high + 1e-12)).mean(axis=0)


@pytest.mark.parametrize(
    ("row", "units", "repeats", "blocks"),
    [
        pytest.param(0.25 + 0.15 * SIZES, 3, 10, True, id="additive"),
        pytest.param(0.25 + 0.15 * SIZES, 3, 3, True, id="few repeats"),
        pytest.param(0.25 + 0.15 * SIZES, 3, 1, False, id="one repeat"),
        pytest.param(np.where(SIZES > 1, 0.6, 0.0), 2, 6, False, id="some cells at 0"),
        pytest.param(np.where(SIZES == 3, 1.0, 0.0), 2, 5, True, id="every cell at 0 or 1"),
        pytest.param(np.full(8, 0.03), 3, 5, False, id="rare success"),
        pytest.param(np.where(SIZES > 0, 0.97, 0.1), 3, 8, False, id="nearly sure"),
    ],
)
def test_intervals_for_these_problems_cover_at_least_93_percent(row, units, repeats, blocks):
    rng = np.random.default_rng(7)
    probabilities = np.tile(row, (units, 1))
    truth = EFFECTS @ row
    cells = experiment(probabilities, repeats, rng, blocks=blocks, number=SIMULATIONS)
    assert covers(these_problems(cells, EFFECTS), truth).min() >= 0.93


def test_experiments_along_a_leading_axis_are_those_on_their_own():
    many = experiment(np.tile(0.25 + 0.15 * SIZES, (3, 1)), 6, np.random.default_rng(1), number=4)
    for function in (these_problems, population_of_problems):
        together = function(many, EFFECTS)
        for k in range(4):
            blocks = Blocks(many.blocks.outcomes[k], many.blocks.unit)
            alone = function(Cells(many.players, many.units, many.successes[k], many.trials, blocks), EFFECTS)
            assert together.low[k] == pytest.approx(alone.low, nan_ok=True)
            assert together.high[k] == pytest.approx(alone.high, nan_ok=True)


def test_block_contrasts_cover_when_blocks_drift_and_are_narrower_for_it():
    rng = np.random.default_rng(3)
    row = 0.35 + 0.1 * SIZES
    # Every trial of a block shares a good or bad moment.
    moment = rng.choice([-0.3, 0.3], size=(SIMULATIONS, 30, 1))
    outcomes = (rng.random((SIMULATIONS, 30, 8)) < row + moment).astype(float)
    successes, trials = outcomes.sum(axis=1, dtype=np.int64)[:, None], np.full((1, 8), 30)
    unit = (("a", "b", "c"), (("problem", "start"),), successes, trials)
    blocked = these_problems(Cells(*unit, Blocks(outcomes, np.zeros(30, dtype=np.int64))), EFFECTS)
    apart = these_problems(Cells(*unit, None), EFFECTS)
    assert covers(blocked, EFFECTS @ row).min() >= 0.93
    assert (blocked.base, apart.base) == (BLOCKS, WITHIN)
    assert np.mean((blocked.high - blocked.low)[:, 0] < (apart.high - apart.low)[:, 0]) > 0.9


def test_blocks_that_are_copies_of_each_other_still_leave_doubt():
    # Half of the blocks succeed everywhere, half nowhere: every contrast is 0 in each.
    outcomes = np.repeat(np.array([0.0, 1.0]), 10)[:, None].repeat(8, axis=1)
    cells = Cells(
        ("a", "b", "c"),
        (("problem", "start"),),
        np.full((1, 8), 10),
        np.full((1, 8), 20),
        Blocks(outcomes, np.zeros(20, dtype=np.int64)),
    )
    limits = these_problems(cells, EFFECTS)
    assert ((limits.high - limits.low) > 0.1).all()


def test_few_blocks_are_read_as_cells():
    few, many = (experiment(np.full((1, 8), 0.5), repeats, np.random.default_rng(1)) for repeats in (12, 13))
    assert (these_problems(few, EFFECTS).base, these_problems(many, EFFECTS).base) == (WITHIN, BLOCKS)


def test_population_intervals_cover_from_twelve_problems_on():
    rng = np.random.default_rng(5)
    has = np.array([[mask >> i & 1 for i in range(3)] for mask in range(8)])
    chance = 0.1 + rng.uniform(0, 0.28, (SIMULATIONS, 12, 3)) @ has.T
    cells = experiment(chance, 5, rng, number=SIMULATIONS)
    covered = covers(population_of_problems(cells, terms(3).only("banzhaf").contrasts), 0.14)
    assert 0.935 <= covered.min() <= covered.max() <= 0.965


def test_scores_are_covered_though_failures_pile_up_at_zero():
    rng, repeats = np.random.default_rng(2), 10
    chance, mean = 0.25 + 0.15 * SIZES, 0.2 + 0.1 * SIZES
    shape = (SIMULATIONS, 3, repeats, 8)
    scores = (rng.random(shape) < chance) * rng.gamma(2.0, mean / 2, shape)
    units = tuple((f"p{g}", "c") for g in range(3))
    cells = Cells(("a", "b", "c"), units, scores.sum(axis=2), np.full((3, 8), repeats), None, (scores**2).sum(axis=2))
    covered = covers(these_problems(cells, EFFECTS), EFFECTS @ (chance * mean))
    assert 0.935 <= covered.min() <= covered.max() <= 0.975


def test_no_population_interval_below_five_problems_and_a_caveat_below_twelve():
    rng = np.random.default_rng(0)
    four, eleven, twelve = (
        population_of_problems(experiment(np.full((groups, 8), 0.5), 5, rng), EFFECTS) for groups in (4, 11, 12)
    )
    assert np.isnan(four.low).all()
    assert four.interval(0, "population of problems") == ()
    assert "fewer than 12 problems" in eleven.method[0]
    assert twelve.method[0] == "t(11) on per-problem contrasts"


def test_no_population_interval_of_width_zero_where_every_problem_agrees():
    cells = experiment(np.tile(np.where(SIZES == 3, 1.0, 0.0), (12, 1)), 5, np.random.default_rng(0))
    assert np.isnan(population_of_problems(cells, EFFECTS).low).all()


def test_deterministic_cells_still_leave_doubt():
    cells = experiment(np.tile(np.where(SIZES == 3, 1.0, 0.0), (2, 1)), 5, np.random.default_rng(0))
    limits = these_problems(cells, EFFECTS)
    assert limits.method[0] == MOVER.format(WITHIN)
    assert ((limits.high - limits.low) > 0.1).all()


def test_the_method_says_whether_blocks_were_used():
    # 0.5 and 40 repeats: no cell is at 0 or 1.
    probabilities = np.full((2, 8), 0.5)
    methods = [
        these_problems(experiment(probabilities, 40, np.random.default_rng(1), blocks=blocks), EFFECTS).method[0]
        for blocks in (True, False)
    ]
    assert methods == [BLOCKS, WITHIN]


def test_jeffreys_limits_are_beta_quantiles_that_keep_the_ends():
    low, high = jeffreys(np.array([0, 1, 5, 10]), np.array([10, 10, 10, 10]))
    # Quantiles of Beta(x + 1/2, n - x + 1/2), tabulated for n = 10.
    assert low == pytest.approx([0, 0.011, 0.224, 0.783], abs=1e-3)
    assert high == pytest.approx([0.217, 0.381, 0.776, 1], abs=1e-3)


def test_limits_stay_within_the_range_of_the_effect():
    cells = experiment(np.tile(np.where(SIZES == 3, 1.0, 0.0), (1, 1)), 1, np.random.default_rng(0))
    limits = these_problems(cells, np.eye(8))
    assert limits.low.min() == 0
    assert limits.high.max() == 1
