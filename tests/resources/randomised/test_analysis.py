"""Excursion effects: against a plain regression, against known truths, and with words where they cannot be had."""

import numpy as np
import pytest

from cudanalyst.errors import BadRequest
from cudanalyst.resources.randomised.analysis import analyse_decisions
from cudanalyst.resources.randomised.decisions import Decision
from cudanalyst.resources.randomised.excursion import Decisions, effective_size, excursions, terms
from cudanalyst.resources.randomised.regression import fit, independent, sums_by_cluster

P = {"debugger": 0.5, "profiler": 0.5}


def rows(sessions=24, steps=8, *, effect=0.5, seed=0, stop=0.0, problems=1, propensities=P, declared=True):
    """Decisions of sessions in which being offered the profiler helps by `effect`, the debugger not at all."""
    rng, made = np.random.default_rng(seed), []
    for session in range(sessions):
        earlier = dict.fromkeys(propensities, 0)
        for number in range(1, steps + 1):
            offered = tuple(c for c, p in sorted(propensities.items()) if rng.random() < p)
            stopped = rng.random() < stop
            success = bool(rng.random() < 0.25 + effect * ("profiler" in offered)) and not stopped
            joint = float(np.prod([p if c in offered else 1 - p for c, p in propensities.items()]))
            made.append(
                Decision(
                    session=f"ses_{session}", problem=f"problem_{session % problems}", candidate=f"cand_{session}_{number}",
                    number=number, offered=offered, propensities=propensities, joint=joint, declared=declared,
                    status="wrong", earlier=dict(earlier), state="stopped" if stopped else "followed",
                    levels={} if stopped else dict.fromkeys(("improved", "passed", "compiled"), success),
                )
            )  # fmt: skip
            earlier = {c: count + (c in offered) for c, count in earlier.items()}
            if stopped:
                break
    return tuple(made)


def test_the_jackknife_equals_leaving_each_cluster_out_by_hand():
    rng = np.random.default_rng(3)
    features = np.column_stack((np.ones(60), rng.normal(size=(60, 2))))
    outcomes, weights, clusters = rng.normal(size=(60, 1)), rng.uniform(0.5, 2, 60), rng.integers(0, 10, 60)
    found = fit(sums_by_cluster(features, outcomes, weights, clusters, 10))

    def solved(keep):
        root = np.sqrt(weights[keep])[:, None]
        return np.linalg.lstsq(features[keep] * root, outcomes[keep] * root, rcond=None)[0][:, 0]

    whole = solved(np.ones(60, bool))
    changes = np.array([whole - solved(clusters != one) for one in range(10)])
    assert found.value[0, :, 0] == pytest.approx(whole)
    assert found.error[0, :, 0] == pytest.approx(np.sqrt(0.9 * (changes**2).sum(0)))


def test_weights_make_unequal_propensities_estimate_the_same_effect():
    rng = np.random.default_rng(1)
    p = np.where(np.arange(40_000) % 2, 0.2, 0.8)[:, None]
    offered = (rng.random((40_000, 1)) < p).astype(float)
    joint = np.where(offered > 0, p, 1 - p)[:, 0]
    outcome = (rng.random(40_000) < 0.2 + 0.3 * offered[:, 0] + 0.2 * (p[:, 0] > 0.5)).astype(float)
    data = Decisions(offered, p, joint, outcome[:, None], np.empty((40_000, 0)), np.arange(40_000) // 100, 400)
    assert excursions(data, terms(1)).value[0, 0, 0] == pytest.approx(0.3, abs=0.02)


def test_a_true_effect_is_found_and_a_dummy_is_not():
    found = analyse_decisions(rows(60))
    helps, idle, pair = (
        found.of("improved", *some) for some in (("profiler",), ("debugger",), ("debugger", "profiler"))
    )
    assert helps.clear
    assert helps.low < 0.5 < helps.high
    assert not idle.clear
    assert pair.low < 0 < pair.high
    assert found.target == "sessions like these"
    assert {effect.history for effect in found.effects} == {None, "first offer", "offered before"}


def test_stops_are_failures_in_the_estimate_and_anything_in_its_bounds():
    found = analyse_decisions(rows(60, stop=0.1))
    effect = found.of("improved", "profiler")
    assert found.stopped > 20
    assert effect.worst < effect.value < effect.best
    assert effect.best - effect.worst == pytest.approx(2 * found.stopped / found.decisions, abs=0.03)
    assert found.of("stopped", "profiler").worst is None


def test_one_session_speaks_of_its_own_decisions():
    found = analyse_decisions(rows(1, 120))
    assert found.target == "this session's decisions"
    assert found.clusters == 120
    assert found.of("improved", "profiler").clear


def test_few_sessions_have_no_interval_and_say_so():
    found = analyse_decisions(rows(4))
    assert found.of("improved", "profiler").low is None
    assert any("too few for an interval" in note for note in found.notes)


def test_many_problems_are_crossed_with_sessions():
    found = analyse_decisions(rows(40, problems=10))
    assert found.target == "sessions and problems like these"


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (rows(4, declared=False), "adaptively weighted"),
        ((*rows(4), *rows(4, propensities={"profiler": 0.5})), "different components"),
    ],
)
def test_what_cannot_be_estimated_is_refused_with_the_next_step(made, words):
    with pytest.raises(BadRequest, match=words):
        analyse_decisions(made)


def test_nothing_yet_is_an_answer():
    pending = rows(1, 1)[0].model_copy(update={"state": "pending", "levels": {}})
    found = analyse_decisions([pending])
    assert (found.decisions, found.pending, found.effects) == (0, 1, ())


def test_overlap_tells_arms_their_worth_and_compliance():
    made = [one.model_copy(update={"delivered": one.offered, "requested": ()}) for one in rows(30)]
    (debugger, _) = analyse_decisions(made).overlap
    assert debugger.offered + debugger.withheld == len(made)
    assert debugger.taken == debugger.offered
    assert debugger.effective_offered == pytest.approx(debugger.offered)


def test_effective_size_shrinks_with_unequal_weights():
    offered = np.array([1.0, 1.0, 1.0, 0.0])
    assert effective_size(offered, np.array([0.5, 0.5, 0.5, 0.5])) == (3.0, 1.0)
    assert effective_size(offered, np.array([0.1, 0.8, 0.8, 0.5]))[0] < 2


def test_columns_that_others_hold_are_dropped():
    one = np.arange(5.0)
    assert independent(np.column_stack((np.ones(5), one, 2 * one + 1, one**2))) == [0, 1, 3]


def test_a_status_that_one_session_alone_had_takes_no_interval_away():
    made = tuple(
        one.model_copy(update={"status": "passed" if one.session == "ses_0" and one.number > 4 else "wrong"})
        for one in rows(60)
    )
    effect = analyse_decisions(made).of("improved", "profiler")
    assert effect.low < 0.5 < effect.high
