"""The guard: while a trial is open every other road is closed, and outcomes stay closed until the end."""

import pytest

from cudanalyst.errors import BadRequest, NotFound
from cudanalyst.resources import judging
from cudanalyst.resources.events import EvidenceDelivered, SessionStarted, ToolFinished, TrialOpened, TrialSubmitted
from cudanalyst.resources.guard import EVIDENCE_TOOLS, Request, guard, visible_events
from cudanalyst.resources.trial_flow import next_trial, submit_trial
from cudanalyst.resources.trials import Usage
from cudanalyst.tools.source import Source

ROADS = (
    "compile",
    "run",
    "debug",
    "analyze",
    "profile",
    "feedback",
    "freeze",
    "restore",
    "get_evidence",
    "job_status",
    "job_cancel",
    "attribution",
    "experiment_start",
    "checkpoints",
    "candidates",
    "sessions",
    "experiments",
    "report",
    "a_tool_of_tomorrow",
)
HARMLESS = ("trial_next", "trial_submit", "plan", "get_problem", "list_problems", "device_info")
AFTERWARDS = ("compile", "run", "debug", "analyze", "profile", "feedback", "freeze", "get_evidence", "job_status")


def closed(lab, scope, tool: str, **about) -> bool:
    try:
        guard(lab.experiments, scope, Request(tool=tool, **about))
    except BadRequest:
        return True
    return False


def test_every_road_but_the_trials_own_is_closed_while_it_is_open(lab) -> None:
    experiment = lab.start(lab.freeze())
    payload = lab.next(experiment, "c")
    for tool in ROADS:
        for problem in (None, "scale", "sum"):
            with pytest.raises(BadRequest, match=payload.trial):
                guard(lab.experiments, lab.context("c"), Request(tool=tool, problem=problem))


def test_what_says_nothing_of_a_candidate_stays_open(lab) -> None:
    experiment = lab.start(lab.freeze())
    lab.next(experiment, "c")
    assert [tool for tool in HARMLESS if closed(lab, lab.context("c"), tool, problem="scale")] == []


def test_a_call_that_names_no_context_is_closed_while_any_context_of_its_session_has_a_trial_open(lab) -> None:
    experiment = lab.start(lab.freeze())
    payload = lab.next(experiment, "c")
    assert closed(lab, lab.scope, "compile", problem="scale")
    assert closed(lab, lab.context("another"), "compile", problem="scale")
    lab.submit(payload, "c")
    assert not closed(lab, lab.scope, "compile", problem="scale")


def test_a_planner_that_names_another_context_finds_the_same_roads_closed(lab) -> None:
    experiment = lab.start(lab.freeze())
    payload = lab.next(experiment, "c")
    for tool in sorted(EVIDENCE_TOOLS):
        assert closed(lab, lab.context("another name"), tool, problem="scale")
        assert closed(lab, lab.context("another name"), tool)
        assert not closed(lab, lab.context("another name"), tool, problem="sum")
    lab.clock.now = payload.deadline_at
    assert not closed(lab, lab.context("another name"), "compile", problem="scale")


def test_outside_the_experimenters_session_the_outcome_is_closed_whatever_the_context_is_called(lab) -> None:
    experiment = lab.start(lab.freeze(), players=("debugger",))
    session = lab.store.start_session(lab.owner)
    planner, renamed = (lab.store.scope(lab.owner, session, name) for name in ("c", "another name"))
    payload = next_trial(lab.experiments, planner, experiment)
    submit_trial(lab.experiments, planner, payload.trial, source="// mine")
    assert closed(lab, renamed, "run", problem="scale")
    assert not closed(lab, renamed, "run", problem="sum")
    assert not closed(lab, lab.context("the experimenter's own"), "run", problem="scale")
    lab.judge(experiment)
    lab.finish(experiment)
    assert not closed(lab, renamed, "run", problem="scale")


def test_another_session_is_not_disturbed(lab) -> None:
    lab.next(lab.start(lab.freeze()), "c")
    elsewhere = lab.store.scope(lab.owner, lab.store.start_session(lab.owner))
    assert not closed(lab, elsewhere, "compile", problem="scale")


def test_after_the_answer_its_outcome_stays_closed_in_that_context_until_the_experiment_ends(lab) -> None:
    experiment = lab.start(lab.freeze(), players=("debugger",))
    payload = lab.next(experiment, "c")
    lab.submit(payload, "c")
    lab.judge(experiment)

    def shut(problem: str | None) -> list[str]:
        return [tool for tool in AFTERWARDS if closed(lab, lab.context("c"), tool, problem=problem)]

    assert shut("scale") == list(AFTERWARDS)
    # A program may be the candidate in disguise.
    assert shut(None) == list(AFTERWARDS)
    assert shut("sum") == []
    lab.finish(experiment)
    assert shut("scale") == []


@pytest.mark.parametrize("tool", ["attribution", "report"])
def test_results_are_closed_to_everybody_until_the_experiment_ends(lab, tool: str) -> None:
    experiment = lab.start(lab.freeze())
    with pytest.raises(BadRequest, match="0 of 8 trials are done"):
        guard(lab.experiments, lab.scope, Request(tool=tool, experiment=experiment))
    lab.finish(experiment)
    assert not closed(lab, lab.scope, tool, experiment=experiment)


def test_results_of_another_owners_experiment_are_unknown(lab) -> None:
    experiment = lab.start(lab.freeze())
    theirs = lab.store.scope("bob", lab.store.start_session("bob"))
    with pytest.raises(NotFound):
        guard(lab.experiments, theirs, Request(tool="attribution", experiment=experiment))


def close_by_answer(lab, experiment, payload):
    lab.submit(payload, "c")


def close_by_time(lab, experiment, payload):
    lab.clock.now += 1e6


def close_by_infrastructure(lab, experiment, payload):
    judging.record_infrastructure_failure(lab.experiments, lab.owner, payload.trial, "model", "429")


def close_by_end(lab, experiment, payload):
    lab.experiments.end(lab.owner, experiment, "enough")


@pytest.mark.parametrize("close", [close_by_answer, close_by_time, close_by_infrastructure, close_by_end])
def test_roads_open_again_when_the_trial_is_over_however_it_ends(lab, close) -> None:
    experiment = lab.start(lab.freeze())
    payload = lab.next(experiment, "c")
    assert closed(lab, lab.context("c"), "restore")
    close(lab, experiment, payload)
    assert not closed(lab, lab.context("c"), "restore")


def test_events_that_tell_coalition_or_outcome_are_shown_only_after_the_end(lab) -> None:
    experiment = lab.start(lab.freeze(), players=("debugger",))
    lab.store.append(lab.scope, EvidenceDelivered(candidate="x", component="compiler", evidence="e", via="feedback"))
    payload = lab.next(experiment, "c")
    lab.submit(payload, "c")
    lab.judge(experiment)
    events = lab.store.events(lab.owner)
    before = visible_events(lab.experiments, lab.scope, events)
    kinds = [recorded.event.kind for recorded in before]
    assert "trial_evaluated" not in kinds
    assert "experiment_started" not in kinds
    assert [r.event for r in before if isinstance(r.event, EvidenceDelivered)] == [
        r.event for r in events if isinstance(r.event, EvidenceDelivered) and r.event.trial is None
    ]
    assert {"trial_opened", "trial_submitted", "checkpoint_frozen"} <= set(kinds)
    lab.finish(experiment)
    assert visible_events(lab.experiments, lab.scope, lab.store.events(lab.owner)) == tuple(lab.store.events(lab.owner))


def test_a_context_without_a_trial_is_free(lab) -> None:
    lab.store.append(lab.scope, SessionStarted())
    assert not closed(lab, lab.scope, "compile", problem="scale")


def test_a_session_that_was_begun_in_one_with_an_open_trial_gives_no_way_round_it(lab) -> None:
    experiment = lab.start(lab.freeze())
    begun = lab.store.start_session(lab.owner, begun_in=lab.scope.session)
    within = lab.store.start_session(lab.owner, begun_in=begun)
    payload = lab.next(experiment, "c")
    for session in (begun, within):
        elsewhere = lab.store.scope(lab.owner, session, "another name")
        assert [tool for tool in sorted(EVIDENCE_TOOLS) if not closed(lab, elsewhere, tool, problem="scale")] == []
        assert not closed(lab, elsewhere, "debug", problem="sum")
    lab.submit(payload, "c")
    assert not closed(lab, lab.store.scope(lab.owner, begun), "debug", problem="scale")


def test_the_session_that_began_a_planners_is_closed_while_its_trial_is_open(lab) -> None:
    experiment = lab.start(lab.freeze())
    begun = lab.store.start_session(lab.owner, begun_in=lab.scope.session)
    next_trial(lab.experiments, lab.store.scope(lab.owner, begun, "c"), experiment)
    assert closed(lab, lab.context("another name"), "debug", problem="scale")


def test_events_say_nothing_that_can_be_traced_to_a_coalition_or_an_outcome_before_the_end(lab) -> None:
    experiment = lab.start(lab.freeze(), players=("debugger",))
    first, second = lab.next(experiment, "c"), lab.next(experiment, "d")
    lab.submit(first, "c")
    submit_trial(lab.experiments, lab.context("d"), second.trial, failure="refusal", usage=Usage(input_tokens=7))
    for name in ("trial_next", "trial_submit", "get_problem"):
        lab.store.append(lab.scope, ToolFinished(call="call_1", tool=name, status="open", seconds=1.0, tokens=1234))
    before = [one.event for one in visible_events(lab.experiments, lab.scope, lab.store.events(lab.owner))]
    assert {one.prompt_hash for one in before if isinstance(one, TrialOpened)} == {""}
    answers = [one for one in before if isinstance(one, TrialSubmitted)]
    assert len(answers) == 2
    hidden = ("plan_blob", "candidate", "candidate_blob", "failure", "usage")
    assert {getattr(one, name) for one in answers for name in hidden} == {None}
    assert [one.tokens for one in before if isinstance(one, ToolFinished)] == [None, None, 1234]
    lab.judge(experiment)
    after = [one.event for one in visible_events(lab.experiments, lab.scope, lab.store.events(lab.owner))]
    assert all(one.prompt_hash for one in after if isinstance(one, TrialOpened))
    assert "refusal" in {one.failure for one in after if isinstance(one, TrialSubmitted)}


def test_evidence_of_the_very_program_elsewhere_contaminates_the_open_trial(lab) -> None:
    checkpoint = lab.freeze()
    experiment = lab.start(checkpoint)
    elsewhere = lab.store.scope(lab.owner, lab.store.start_session(lab.owner))
    reasons = []
    for number, candidate in enumerate(("cand_of_somebody", checkpoint.source.id)):
        payload = lab.next(experiment, f"c{number}")
        told = EvidenceDelivered(candidate=candidate, component="debugger", evidence="e", via="debug")
        lab.store.append(elsewhere, told)
        lab.submit(payload, f"c{number}")
        with lab.experiments.step(lab.owner, experiment) as state:
            reasons.append(state.trials[payload.trial].contamination)
    assert reasons[0] is None
    assert "another conversation" in (reasons[1] or "")


PROGRAM = (
    "__global__ void scale(float *y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] *= 2; }"
)


def test_a_frozen_program_passed_off_as_one_of_another_problem_stays_closed(lab, monkeypatch) -> None:
    monkeypatch.setattr(lab, "source", lambda _, problem: Source(text=PROGRAM, problem=problem))
    payload = lab.next(lab.start(lab.freeze()), "c")
    other = lab.context("another name")
    disguised = payload.source.replace("scale", "sum").replace("y[", "out[").replace("*y", "*out")
    assert closed(lab, other, "analyze", problem="sum", source=disguised)
    assert not closed(lab, other, "analyze", problem="sum", source="int main() { return 0; }")


def test_an_answer_passed_off_as_one_of_another_problem_keeps_its_outcome(lab) -> None:
    payload = lab.next(lab.start(lab.freeze(), players=("debugger",)), "c")
    lab.submit(payload, "c", source=PROGRAM)
    disguised = PROGRAM.replace("scale", "sum")
    assert closed(lab, lab.context("c"), "compile", problem="sum", source=disguised)
    assert not closed(lab, lab.context("c"), "compile", problem="sum", source="int main() { return 0; }")
