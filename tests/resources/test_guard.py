"""The guard: while a trial is open every other road is closed, and outcomes stay closed until the end."""

import pytest

from cudanalyst.errors import BadRequest, NotFound
from cudanalyst.resources import judging
from cudanalyst.resources.events import EvidenceDelivered, SessionStarted
from cudanalyst.resources.guard import Request, guard, visible_events

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
    assert not closed(lab, lab.context("another"), "compile", problem="scale")
    lab.submit(payload, "c")
    assert not closed(lab, lab.scope, "compile", problem="scale")


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
