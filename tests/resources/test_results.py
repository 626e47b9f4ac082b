"""Results: closed until the end, complete blocks, and what is missing counted by coalition."""

from collections import Counter

import pytest

from cudanalyst.errors import BadRequest
from cudanalyst.resources import results
from cudanalyst.resources.blocks import coalitions
from cudanalyst.resources.experiment import Experiments

CLOSED = (
    lambda lab, experiment: results.observations(lab.experiments, lab.owner, experiment, "passed"),
    lambda lab, experiment: results.trials(lab.experiments, lab.owner, experiment),
    lambda lab, experiment: results.tallies(lab.experiments, lab.owner, experiment),
    lambda lab, experiment: results.structural_checkpoints(lab.experiments, lab.owner, experiment),
)


@pytest.mark.parametrize("ask", CLOSED, ids=["observations", "trials", "tallies", "structural"])
def test_results_stay_closed_until_the_experiment_ends(lab, ask) -> None:
    experiment = lab.start(lab.freeze())
    lab.submit(lab.next(experiment, "c"), "c")
    lab.judge(experiment)
    with pytest.raises(BadRequest, match="1 of 8 trials are done"):
        ask(lab, experiment)
    lab.finish(experiment)
    assert ask(lab, experiment)


def test_observations_are_complete_blocks_at_every_level(lab) -> None:
    experiment = lab.start(lab.freeze("a"), lab.freeze("b", problem="sum"), repeats=2)
    lab.finish(experiment)
    for level in ("compiled", "passed", "fast_modelled"):
        observed = results.observations(lab.experiments, lab.owner, experiment, level)
        assert len(observed) == 32
        assert all(one.success for one in observed)
        cells = Counter((one.checkpoint, one.block, one.coalition) for one in observed)
        assert set(cells.values()) == {1}
        assert {one.coalition for one in observed} == set(coalitions(("analyzer", "debugger", "profiler")))
        assert {one.problem for one in observed} == {"scale", "sum"}


def test_levels_tell_apart_what_happened(lab) -> None:
    experiment = lab.start(lab.freeze(), players=("debugger",), repeats=2)
    for i, (status, speedup) in enumerate([("compile_failed", 1.0), ("wrong", 1.0), ("passed", 1.0), ("passed", 2.0)]):
        lab.submit(lab.next(experiment, f"c{i}"), f"c{i}")
        lab.judge(experiment, status, speedup)
    counts = {
        level: sum(one.success for one in results.observations(lab.experiments, lab.owner, experiment, level))
        for level in ("compiled", "passed", "fast_modelled")
    }
    assert counts == {"compiled": 3, "passed": 2, "fast_modelled": 1}
    with pytest.raises(BadRequest, match="measured"):
        results.observations(lab.experiments, lab.owner, experiment, "fast")


def test_an_experiment_stopped_early_tells_what_it_has_and_counts_the_rest_as_not_run(lab) -> None:
    experiment = lab.start(lab.freeze())
    payload = lab.next(experiment, "c")
    lab.submit(payload, "c")
    lab.judge(experiment)
    late = lab.next(experiment, "d")
    lab.experiments.end(lab.owner, experiment, "enough")
    assert len(results.observations(lab.experiments, lab.owner, experiment, "passed")) == 1
    assert sum(tally.not_run for tally in results.tallies(lab.experiments, lab.owner, experiment)) == 7
    with pytest.raises(BadRequest):
        lab.submit(late, "d")
    assert len(results.trials(lab.experiments, lab.owner, experiment)) == 8


def test_the_no_op_score_is_the_share_of_checkpoints_that_meet_the_level(lab) -> None:
    met, unmet = lab.freeze("a", status="passed"), lab.freeze("b", status="wrong")
    experiment = lab.start(met, unmet)
    score = results.no_op_score(lab.experiments, lab.owner, experiment, "passed")
    assert (score.score, score.ceiling_checkpoints) == (0.5, (met.id,))


def test_players_that_could_not_report_are_counted(lab) -> None:
    experiment = lab.start(lab.freeze("a", status="compile_failed"), lab.freeze("b"))
    lab.finish(experiment)
    counted = results.structural_checkpoints(lab.experiments, lab.owner, experiment)
    assert counted == {"analyzer": 0, "debugger": 1, "profiler": 1}


def test_a_restarted_server_sees_the_same_state(lab) -> None:
    experiment = lab.start(lab.freeze(), repeats=2)
    for i in range(5):
        lab.submit(lab.next(experiment, f"c{i}"), f"c{i}")
    lab.judge(experiment)
    payload = lab.next(experiment, "open")
    assert Experiments(lab.store).progress(lab.owner, experiment) == lab.experiments.progress(lab.owner, experiment)
    lab.submit(payload, "open")
    lab.finish(experiment)
    restarted = Experiments(lab.store)
    assert results.trials(restarted, lab.owner, experiment) == results.trials(lab.experiments, lab.owner, experiment)
