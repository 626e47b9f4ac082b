"""Queues over trials: they say what looking through all trials would say, whatever happens to them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cudanalyst.resources import trial_flow
from cudanalyst.resources.queues import Line, Place, Queues
from cudanalyst.resources.trials import Trial

TRIALS = tuple(
    Trial(
        id=f"tri_{number}",
        experiment="exp",
        checkpoint=f"chk_{number % 3}",
        problem="scale",
        coalition=(),
        repeat=0,
        block=0,
        order=number,
        seed=0,
        planner=("ada", "bob")[number % 2],
    )
    for number in range(12)
)
STATES = ("waiting", "open", "submitted", "evaluated", "infrastructure_failed")
CONTEXTS = ("one", "two", None)
NOW = 50.0

moves = st.lists(
    st.tuples(
        st.integers(0, len(TRIALS) - 1),
        st.sampled_from(STATES),
        st.sampled_from(CONTEXTS),
        st.floats(0.0, 100.0),
        st.booleans(),
    ),
    max_size=60,
)


def place(state, context, deadline_at, unjudged) -> Place:
    if state == "open":
        return Place(state, context, None if unjudged else deadline_at, unjudged)
    return Place(state, unjudged=unjudged and state == "submitted")


@given(moves)
def test_queues_say_what_looking_through_all_trials_would_say(steps) -> None:
    queues = Queues.of(TRIALS)
    places = {trial.id: Place() for trial in TRIALS}
    opened: dict[str, None] = {}
    for number, *rest in steps:
        trial, now = TRIALS[number], place(*rest)
        before, places[trial.id] = places[trial.id], now
        if (before.state, before.context) != (now.state, now.context):
            opened.pop(trial.id, None)
            if now.state == "open":
                opened[trial.id] = None
        queues.move(trial, now)
        late = [one for one in places.values() if one.deadline_at is not None and one.deadline_at <= NOW]
        assert queues.any_late(NOW) is bool(late)
    waiting = [trial for trial in TRIALS if places[trial.id].state == "waiting"]
    assert list(queues.waiting.of(None)) == [trial.id for trial in waiting]
    assert list(queues.waiting.of("bob")) == [trial.id for trial in waiting if trial.planner == "bob"]
    firsts = {(trial.planner, trial.checkpoint): trial.id for trial in reversed(waiting)}
    assert sorted(queues.waiting.first_of_groups(None)) == sorted(firsts.values())
    assert list(queues.open) == list(opened)
    for context in CONTEXTS:
        mine = [trial for trial in opened if places[trial].context == context]
        assert queues.open_in(context) == (mine[0] if mine else None)
    assert set(queues.unjudged) == {trial for trial, one in places.items() if one.unjudged}
    assert {state: queues.counts[state] for state in STATES} == {
        state: sum(one.state == state for one in places.values()) for state in STATES
    }
    assert queues.done is all(one.state in STATES[3:] for one in places.values())


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 20)), max_size=60))
def test_a_line_keeps_positions_in_order_and_each_once(steps) -> None:
    line, there = Line(range(5)), set(range(5))
    for adds, position in steps:
        (line.add if adds else line.discard)(position)
        (there.add if adds else there.discard)(position)
        assert list(line) == sorted(there)
        assert bool(line) is bool(there)
        if there:
            assert line.first() == min(there)


def test_an_experiment_names_planners_of_whom_nothing_waits_too() -> None:
    queues = Queues.of(TRIALS)
    for trial in TRIALS:
        queues.move(trial, Place("evaluated"))
    assert queues.waiting.planners == ("ada", "bob")
    assert list(queues.waiting.of("ada")) == []


@pytest.mark.parametrize("number", [100, 4_000])
def test_handing_out_looks_at_the_first_trials_only_however_many_wait(lab, monkeypatch, number) -> None:
    frozen = lab.freeze()
    experiment = lab.start(frozen, players=("analyzer",), repeats=number // 2)
    looked: list[str] = []
    real = trial_flow.stale_reason
    monkeypatch.setattr(trial_flow, "stale_reason", lambda *told: looked.append("once") or real(*told))
    for context in ("first", "second"):
        lab.submit(lab.next(experiment, context), context)
    lab.experiments.progress(lab.owner, experiment)
    assert looked == ["once", "once"]
