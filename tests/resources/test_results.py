"""Results as rows: complete blocks, nested levels, and what is missing counted by coalition."""

from collections import Counter

import pytest

from cudanalyst.errors import BadRequest
from cudanalyst.resources.blocks import coalitions
from cudanalyst.resources.experiment import Experiments
from cudanalyst.resources.trial_rows import rows_of


def counted(lab, experiment):
    """Rows that count in estimates."""
    rows = rows_of(lab.experiments, lab.owner, experiment)
    return [row for row in rows if row.passed is not None and not row.contaminated]


def test_rows_are_complete_blocks_at_every_level(lab) -> None:
    experiment = lab.start(lab.freeze("a"), lab.freeze("b", problem="sum"), repeats=2)
    lab.finish(experiment)
    rows = counted(lab, experiment)
    assert len(rows) == 32
    assert all(row.compiled and row.passed and row.fast_modelled for row in rows)
    assert set(Counter((row.checkpoint, row.block, row.coalition) for row in rows).values()) == {1}
    assert {row.coalition for row in rows} == set(coalitions(("analyzer", "debugger", "profiler")))
    assert {row.problem for row in rows} == {"scale", "sum"}


def test_levels_tell_apart_what_happened(lab) -> None:
    experiment = lab.start(lab.freeze(), players=("debugger",), repeats=2)
    for i, (status, speedup) in enumerate([("compile_failed", 1.0), ("wrong", 1.0), ("passed", 1.0), ("passed", 2.0)]):
        lab.submit(lab.next(experiment, f"c{i}"), f"c{i}")
        lab.judge(experiment, status, speedup)
    rows = counted(lab, experiment)
    assert [sum(getattr(row, level) for row in rows) for level in ("compiled", "passed", "fast_modelled")] == [3, 2, 1]
    assert {row.fast for row in rows} <= {None, False}


def test_an_experiment_stopped_early_tells_what_it_has_and_counts_the_rest_as_not_run(lab) -> None:
    experiment = lab.start(lab.freeze())
    payload = lab.next(experiment, "c")
    lab.submit(payload, "c")
    lab.judge(experiment)
    late = lab.next(experiment, "d")
    lab.experiments.end(lab.owner, experiment, "enough")
    assert len(counted(lab, experiment)) == 1
    with lab.experiments.step(lab.owner, experiment) as state:
        assert sum(tally.not_run for tally in state.tallies()) == 7
    with pytest.raises(BadRequest):
        lab.submit(late, "d")
    assert len(rows_of(lab.experiments, lab.owner, experiment)) == 8


def test_rows_say_which_levels_a_checkpoint_met_before_and_whose_evidence_is_a_placebo(lab) -> None:
    experiment = lab.start(lab.freeze("a", status="passed"), lab.freeze("b", status="compile_failed"))
    rows = rows_of(lab.experiments, lab.owner, experiment)
    assert {(row.base_status_before, row.no_op["passed"], row.structural) for row in rows} == {
        ("passed", True, ()),
        ("compile_failed", False, ("debugger", "profiler")),
    }


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
    assert rows_of(restarted, lab.owner, experiment) == rows_of(lab.experiments, lab.owner, experiment)
