"""Trials of several steps: the planner goes on from its own candidate, and the last one is judged."""

import pytest

from cudanalyst.errors import BadRequest
from cudanalyst.resources import judging, trial_flow
from cudanalyst.resources.delivery import NoTrial
from cudanalyst.resources.events import CheckpointRestored
from cudanalyst.resources.experiment import Experiments
from cudanalyst.resources.freeze import Moment, checkpoint_of
from cudanalyst.resources.guard import Request, guard
from cudanalyst.resources.outcomes import outcome_of
from cudanalyst.resources.plans import Plan
from cudanalyst.resources.regimes.digest import digest
from cudanalyst.resources.trial_rows import rows_of
from cudanalyst.resources.trials import Usage
from tests.resources.conftest import PLAYERS, tool_results
from tests.resources.test_regimes import begin, judged, other_checkpoint, take, trials_of


def start(lab, regime: str = "P+F", horizons=(3,), **changes) -> str:
    own = lab.freeze("a", status="wrong")
    donor = [other_checkpoint(lab, "donor", "sum")] if regime == "RF" else []
    return begin(
        lab,
        own,
        *donor,
        regimes=[regime],
        coalitions=[["debugger"]],
        horizons=horizons,
        planners=[{"name": "a", "kind": "external"}],
        **changes,
    )


def look(lab, experiment: str, status: str = "passed") -> list[str]:
    """Freezes what waits for a next step; gives the sources that were looked at."""
    seen = []
    for one in judging.pending(lab.experiments, lab.owner, experiment):
        assert one.step is not None
        moment = Moment(source=one.source, lineage=(one.checkpoint.source.id,), generation=one.step)
        frozen = checkpoint_of(moment, tool_results(status, 1.2))
        judging.record_step(lab.experiments, lab.owner, one.trial, one.step, frozen, evaluate_s=1.0)
        seen.append(one.source.text)
    return seen


def answer(lab, payload, context: str, text: str, **options):
    return lab.submit(payload, context, source=text, plan=Plan(text="p"), **options)


@pytest.mark.parametrize("regime", ["P+F", "NP+S", "P+NF", "DP", "RF"])
def test_later_steps_start_from_the_planners_own_candidate_with_all_of_the_regimes_feedback(lab, regime: str) -> None:
    experiment = start(lab, regime)
    first = take(lab, experiment, "c")
    assert (first.step, first.steps) == (1, 3)
    assert [one.component for one in first.evidence] == ([] if regime == "P+NF" else ["debugger"])
    receipt = answer(lab, first, "c", "// step 1")
    assert receipt.goes_on
    assert "being looked at" in take(lab, experiment, "c").message
    assert look(lab, experiment) == ["// step 1"]
    second = take(lab, experiment, "c")
    assert (second.trial, second.step, second.source, second.base_status) == (first.trial, 2, "// step 1", "passed")
    assert (second.plan_step, second.evidence_for, second.plan) == (first.plan_step, first.evidence_for, first.plan)
    assert [one.component for one in second.evidence] == ([] if regime == "P+NF" else list(PLAYERS))
    if regime == "NP+S":
        own = checkpoint_of(Moment(source=lab.source("x")), tool_results("passed", 1.2))
        assert [one.text for one in second.evidence] == [digest(own.evidence[one]) for one in PLAYERS]
    answer(lab, second, "c", "// step 2")
    look(lab, experiment)
    third = take(lab, experiment, "c")
    receipt = answer(lab, third, "c", "// step 3")
    assert not receipt.goes_on
    (pending,) = [one for one in judging.pending(lab.experiments, lab.owner, experiment) if one.trial == first.trial]
    assert (pending.step, pending.source.text, pending.checkpoint.base_status) == (None, "// step 3", "wrong")


def test_in_an_end_to_end_arm_the_coalition_holds_to_the_end(lab) -> None:
    experiment = start(lab, horizons=(2,), later_steps="coalition")
    answer(lab, take(lab, experiment, "c"), "c", "// 1")
    look(lab, experiment)
    assert [one.component for one in take(lab, experiment, "c").evidence] == ["debugger"]
    told = [one.event for one in lab.store.events(lab.owner, kinds=("evidence_delivered",))]
    assert [(one.component, one.trial is not None) for one in told] == [("debugger", True)] * 2


def test_costs_of_all_steps_are_added_and_the_trial_is_one_row(lab) -> None:
    experiment = start(lab, horizons=(2,))
    first = take(lab, experiment, "c")
    answer(lab, first, "c", "// 1", usage=Usage(model="m", input_tokens=10, plan_s=1.5))
    look(lab, experiment)
    second = take(lab, experiment, "c")
    answer(lab, second, "c", "// 2", usage=Usage(model="m", input_tokens=5, output_tokens=2))
    (last,) = judging.pending(lab.experiments, lab.owner, experiment)
    judging.record_outcome(lab.experiments, lab.owner, last.trial, judged(last), evaluate_s=2.0, device_s=0.5)
    (row,) = rows_of(lab.experiments, lab.owner, experiment)
    assert (row.horizon, row.input_tokens, row.output_tokens, row.plan_s, row.model) == (2, 15, 2, 1.5, "m")
    assert (row.evaluate_s, row.device_s) == (3.0, 0.5)
    assert (row.base_status_before, row.passed, row.improved) == ("wrong", True, True)


def test_between_steps_every_other_road_stays_closed(lab) -> None:
    experiment = start(lab)
    first = take(lab, experiment, "c")
    answer(lab, first, "c", "// 1")
    for moment in ("stepping", "ready"):
        for context in ("c", "another"):
            with pytest.raises(BadRequest):
                guard(lab.experiments, lab.context(context), Request(tool="debug", problem="scale"))
        if moment == "stepping":
            judging.record_infrastructure_failure(lab.experiments, lab.owner, first.trial, "evaluator", "busy")
            with pytest.raises(BadRequest):
                guard(lab.experiments, lab.context("another"), Request(tool="debug", problem="scale"))
            look(lab, experiment)
    answer(lab, take(lab, experiment, "c"), "c", "// 2")
    look(lab, experiment)
    answer(lab, take(lab, experiment, "c"), "c", "// 3")
    lab.judge(experiment)
    assert [row.contaminated for row in rows_of(lab.experiments, lab.owner, experiment)] == [False]


def test_a_step_that_is_looked_at_does_not_run_out_of_time_and_the_next_has_its_own(lab) -> None:
    experiment = start(lab, horizons=(2,), time_limit_s=100)
    first = take(lab, experiment, "c")
    answer(lab, first, "c", "// 1")
    lab.clock.now += 500
    look(lab, experiment)
    second = take(lab, experiment, "c")
    assert second.deadline_at == lab.clock.now + 100
    lab.clock.now += 101
    (row,) = rows_of(lab.experiments, lab.owner, experiment)
    assert (row.state, row.planner_failure, row.compiled) == ("evaluated", "abandoned", False)


def test_a_step_that_cannot_be_looked_at_is_infrastructure_once_the_cap_is_reached(lab) -> None:
    experiment = start(lab, attempts=2)
    first = take(lab, experiment, "c")
    answer(lab, first, "c", "// 1")
    fail = judging.record_infrastructure_failure
    assert fail(lab.experiments, lab.owner, first.trial, "evaluator", "busy")
    assert not fail(lab.experiments, lab.owner, first.trial, "evaluator", "busy")
    assert lab.experiments.progress(lab.owner, experiment).ended
    guard(lab.experiments, lab.context("c"), Request(tool="debug", problem="scale"))


def test_steps_survive_a_restart_and_the_same_answer_again_is_harmless(lab) -> None:
    experiment = start(lab, horizons=(2,))
    first = take(lab, experiment, "c")
    answer(lab, first, "c", "// 1")
    assert answer(lab, first, "c", "// 1").goes_on
    with pytest.raises(BadRequest, match="answered already"):
        answer(lab, first, "c", "// other")
    lab.experiments = Experiments(lab.store)
    look(lab, experiment)
    again = trial_flow.next_trial(Experiments(lab.store), lab.context("c"), experiment)
    assert not isinstance(again, NoTrial)
    assert again == take(lab, experiment, "c")
    assert again.step == 2


def test_a_planner_that_fails_in_a_later_step_fails_the_trial(lab) -> None:
    experiment = start(lab, horizons=(2,))
    answer(lab, take(lab, experiment, "c"), "c", "// 1")
    look(lab, experiment)
    lab.submit(take(lab, experiment, "c"), "c", failure="refusal")
    (row,) = rows_of(lab.experiments, lab.owner, experiment)
    assert (row.planner_failure, row.compiled, row.passed) == ("refusal", False, False)
    assert trials_of(lab, experiment)[row.trial].outcome == outcome_of(
        "wrong", None, None, None, planner_failure="refusal"
    )


def test_a_step_that_a_context_answers_which_knew_the_program_contaminates_the_trial(lab) -> None:
    own = lab.freeze("a", status="wrong")
    experiment = begin(
        lab, own, regimes=["P+F"], coalitions=[["debugger"]], horizons=[2], planners=[{"name": "a", "kind": "external"}]
    )
    first = take(lab, experiment, "c")
    lab.store.append(
        lab.context("knows it"), CheckpointRestored(checkpoint=own.id, candidate=own.source.id, problem="scale")
    )
    assert answer(lab, first, "knows it", "// step 1").goes_on
    look(lab, experiment)
    answer(lab, take(lab, experiment, "c"), "c", "// step 2")
    (trial,) = trials_of(lab, experiment).values()
    assert "answered from another context" in (trial.contamination or "")
