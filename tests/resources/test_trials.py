"""Trials: one per problem and fresh context, exactly the coalition's evidence, and only a receipt in return."""

import json

import pytest

from cudanalyst.errors import BadRequest, NotFound
from cudanalyst.resources import judging, trial_flow
from cudanalyst.resources.delivery import NoTrial, payload_for, prompt_hash, statement_of
from cudanalyst.resources.events import EvidenceDelivered, ToolFinished, ToolStarted, TrialOpened
from cudanalyst.resources.experiment import Experiments
from cudanalyst.resources.freeze import restore
from cudanalyst.resources.outcomes import outcome_of
from cudanalyst.resources.plans import MAX_PLAN, Plan
from cudanalyst.resources.trial_rows import rows_of


def ask(lab, context: str, experiment: str, **options):
    return trial_flow.next_trial(lab.experiments, lab.context(context), experiment, **options)


def rows(lab, experiment: str):
    return rows_of(lab.experiments, lab.owner, experiment)


def counted(lab, experiment: str):
    """Rows that count in estimates."""
    return [row for row in rows(lab, experiment) if row.passed is not None and not row.contaminated]


def tallies(lab, experiment: str):
    with lab.experiments.step(lab.owner, experiment) as state:
        return state.tallies()


def coalition_of(lab, experiment: str, payload) -> tuple[str, ...]:
    with lab.experiments.step(lab.owner, experiment) as state:
        return state.trials[payload.trial].trial.coalition


def test_each_coalition_gets_exactly_its_evidence_bytes_and_nothing_marks_what_is_withheld(lab) -> None:
    checkpoint = lab.freeze(status="compile_failed")
    players = ("analyzer", "compiler", "debugger", "profiler")
    experiment = lab.start(checkpoint, players=players, repeats=2)
    given = lab.finish(experiment)
    hashes: dict[tuple[str, ...], set[str]] = {}
    assert len(given) == 32
    for payload in given.values():
        coalition = coalition_of(lab, experiment, payload)
        assert [(one.component, one.text) for one in payload.evidence] == [
            (component, checkpoint.evidence[component].text) for component in coalition
        ]
        sent = payload.model_dump_json()
        for component in players:
            if component not in coalition:
                assert json.dumps(checkpoint.evidence[component].text)[1:-1] not in sent
                assert component not in sent
        assert "structural" not in sent
        assert "coalition" not in sent
        assert payload.base_status == "compile_failed"
        assert payload.source == checkpoint.source.text
        hashes.setdefault(coalition, set()).add(prompt_hash(payload))
    assert all(len(same) == 1 for same in hashes.values())
    assert len(set.union(*hashes.values())) == 16


def test_the_empty_coalition_is_shown_the_state_and_its_base_status_only(lab) -> None:
    checkpoint = lab.freeze()
    experiment = lab.start(checkpoint)
    given = lab.finish(experiment)
    (empty,) = [payload for payload in given.values() if coalition_of(lab, experiment, payload) == ()]
    shown = {name: value for name, value in empty.model_dump().items() if value not in ((), "")}
    told = {"trial", "problem", "statement", "base_status", "source", "seed", "deadline_at"}
    # The same in every trial of the experiment, whatever its coalition.
    constant = {"planner", "coder", "plan_step", "evidence_for", "template", "step", "steps"}
    assert {name for name, value in shown.items() if value not in (None, {})} == told | constant
    assert len({json.dumps([one.model_dump()[name] for name in sorted(constant)]) for one in given.values()}) == 1


def test_references_are_shown_as_sources(lab) -> None:
    reference = lab.store.add_candidate(lab.scope, lab.source("reference"))
    experiment = lab.start(lab.freeze(references=(reference,)))
    assert lab.next(experiment, "c").references == (lab.source("reference").text,)


def test_a_trial_asked_for_again_in_its_context_is_the_same_trial(lab) -> None:
    experiment = lab.start(lab.freeze())
    first = lab.next(experiment, "c")
    lab.clock.now += 10
    assert lab.next(experiment, "c") == first
    assert len(lab.store.events(lab.owner, kinds=("trial_opened",))) == 1
    restarted = trial_flow.next_trial(Experiments(lab.store), lab.context("c"), experiment)
    assert restarted == first


def test_trials_go_out_in_the_order_of_the_design(lab) -> None:
    experiment = lab.start(lab.freeze("a"), lab.freeze("b", problem="sum"))
    order = [lab.next(experiment, f"c{i}").trial for i in range(16)]
    with lab.experiments.step(lab.owner, experiment) as state:
        assert order == [trial.id for trial in state.spec.trials]


def test_a_context_gets_one_trial_per_problem(lab) -> None:
    experiment = lab.start(lab.freeze("a"), lab.freeze("b"), lab.freeze("c", problem="sum"))
    problems = []
    for _ in range(2):
        payload = lab.next(experiment, "one")
        problems.append(payload.problem)
        lab.submit(payload, "one")
    assert sorted(problems) == ["scale", "sum"]
    refused = ask(lab, "one", experiment)
    assert isinstance(refused, NoTrial)
    assert refused.reason == "context_not_fresh"
    assert "fresh conversation" in refused.message


def test_one_trial_per_problem_holds_across_experiments(lab) -> None:
    first, second = lab.start(lab.freeze("a")), lab.start(lab.freeze("b"))
    lab.submit(lab.next(first, "c"), "c")
    assert ask(lab, "c", second).reason == "context_not_fresh"


def test_a_context_with_an_open_trial_gets_no_other(lab) -> None:
    first, second = lab.start(lab.freeze("a")), lab.start(lab.freeze("b", problem="sum"))
    open_one = lab.next(first, "c")
    with pytest.raises(BadRequest, match=open_one.trial):
        ask(lab, "c", second)


def test_the_context_that_froze_gets_none(lab) -> None:
    experiment = lab.start(lab.freeze())
    refused = trial_flow.next_trial(lab.experiments, lab.scope, experiment)
    assert isinstance(refused, NoTrial)
    assert refused.reason == "context_not_fresh"


def expose_by_tool(lab, candidate):
    lab.store.append(lab.context("c"), ToolStarted(call="1", tool="compile", candidate=candidate))


def expose_by_submission(lab, candidate):
    lab.store.add_candidate(lab.context("c"), lab.store.candidate(lab.owner, candidate))


def expose_by_evidence(lab, candidate):
    event = EvidenceDelivered(candidate=candidate, component="compiler", evidence="e", via="get_evidence")
    lab.store.append(lab.context("c"), event)


def expose_by_descendant(lab, candidate):
    child = lab.store.add_candidate(lab.scope, lab.source("child"), parents=[candidate])
    grandchild = lab.store.add_candidate(lab.scope, lab.source("grandchild"), parents=[child])
    expose_by_tool(lab, grandchild)


@pytest.mark.parametrize("expose", [expose_by_tool, expose_by_submission, expose_by_evidence, expose_by_descendant])
@pytest.mark.parametrize("which", ["frozen", "ancestor"])
def test_a_context_that_touched_the_lineage_gets_none(lab, expose, which: str) -> None:
    ancestor = lab.store.add_candidate(lab.scope, lab.source("ancestor"))
    checkpoint = lab.freeze("frozen", lineage=(ancestor,))
    experiment = lab.start(checkpoint)
    expose(lab, ancestor if which == "ancestor" else checkpoint.source.id)
    assert ask(lab, "c", experiment).reason == "context_not_fresh"


def test_restoring_exposes_a_context(lab) -> None:
    checkpoint = lab.freeze()
    experiment = lab.start(checkpoint)
    restore(lab.store, lab.context("c"), checkpoint.id)
    assert ask(lab, "c", experiment).reason == "context_not_fresh"


def test_work_on_another_lineage_leaves_a_context_fresh(lab) -> None:
    experiment = lab.start(lab.freeze())
    expose_by_tool(lab, lab.store.add_candidate(lab.scope, lab.source("unrelated")))
    assert lab.next(experiment, "c").problem == "scale"


def test_a_stale_context_may_be_given_a_trial_that_is_kept_and_left_out(lab) -> None:
    experiment = lab.start(lab.freeze())
    payload = trial_flow.next_trial(lab.experiments, lab.scope, experiment, accept_contaminated=True)
    trial_flow.submit_trial(lab.experiments, lab.scope, payload.trial, source="// x")
    lab.judge(experiment)
    lab.finish(experiment)
    marked = [row for row in rows(lab, experiment) if row.contaminated]
    assert [row.trial for row in marked] == [payload.trial]
    assert marked[0].passed is not None
    assert len(counted(lab, experiment)) == 7
    assert sum(tally.contaminated for tally in tallies(lab, experiment)) == 1


def contaminated(lab, experiment: str, trial: str) -> bool:
    with lab.experiments.step(lab.owner, experiment) as state:
        return state.trials[trial].contamination is not None


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([ToolStarted(call="1", tool="compile")], True),
        ([ToolStarted(call="1", tool="compile"), ToolFinished(call="1", tool="compile", status="refused")], False),
        ([ToolStarted(call="1", tool="compile"), ToolFinished(call="1", tool="compile", status="compiled")], True),
        ([ToolFinished(call="0", tool="profile", status="profiled")], False),
        ([ToolStarted(call="1", tool="get_problem")], False),
        ([EvidenceDelivered(candidate="x", component="profiler", evidence="e", via="get_evidence")], True),
    ],
)
def test_feedback_that_reached_the_context_meanwhile_contaminates(lab, events, expected: bool) -> None:
    experiment = lab.start(lab.freeze())
    payload = lab.next(experiment, "c")
    lab.store.append_many(lab.context("c"), events)
    lab.submit(payload, "c")
    assert contaminated(lab, experiment, payload.trial) is expected


def test_an_answer_from_the_context_that_froze_contaminates(lab) -> None:
    experiment = lab.start(lab.freeze())
    payload = lab.next(experiment, "c")
    trial_flow.submit_trial(lab.experiments, lab.scope, payload.trial, source="// x")
    assert contaminated(lab, experiment, payload.trial)


def test_an_answer_from_another_fresh_context_is_valid(lab) -> None:
    experiment = lab.start(lab.freeze())
    payload = lab.next(experiment, "c")
    lab.submit(payload, "d")
    assert not contaminated(lab, experiment, payload.trial)


def test_submitting_returns_a_receipt_and_no_word_of_the_outcome(lab) -> None:
    experiment = lab.start(lab.freeze())
    payload = lab.next(experiment, "c")
    receipt = lab.submit(payload, "c", plan=Plan(text="Guard the index.", cites=("debugger.1",)))
    assert receipt.model_dump() == {"trial": payload.trial, "received": True, "goes_on": False}
    lab.judge(experiment)
    assert lab.submit(payload, "c") == receipt


def test_an_answer_cannot_be_changed(lab) -> None:
    experiment = lab.start(lab.freeze())
    payload = lab.next(experiment, "c")
    lab.submit(payload, "c")
    with pytest.raises(BadRequest, match="cannot be changed"):
        lab.submit(payload, "c", source="// a better idea")


@pytest.mark.parametrize(
    "answer",
    [
        {"source": None, "failure": None},
        {"source": "x", "failure": "refusal"},
        {"source": "x" * 1_000_001},
        {"source": "x", "plan": Plan(text="p" * (MAX_PLAN + 1))},
    ],
)
def test_a_malformed_answer_is_refused_and_the_trial_stays_open(lab, answer) -> None:
    experiment = lab.start(lab.freeze())
    payload = lab.next(experiment, "c")
    with pytest.raises(BadRequest):
        trial_flow.submit_trial(lab.experiments, lab.context("c"), payload.trial, **answer)
    assert lab.experiments.progress(lab.owner, experiment).open == 1


def test_a_trial_that_nobody_was_given_cannot_be_answered(lab) -> None:
    experiment = lab.start(lab.freeze())
    with lab.experiments.step(lab.owner, experiment) as state:
        waiting = next(iter(state.trials))
    with pytest.raises(BadRequest, match="trial_next"):
        trial_flow.submit_trial(lab.experiments, lab.context("c"), waiting, source="x")


@pytest.mark.parametrize("failure", ["refusal", "truncation"])
def test_a_planner_that_fails_is_judged_at_once_and_counts_as_a_failure(lab, failure: str) -> None:
    experiment = lab.start(lab.freeze())
    payload = lab.next(experiment, "c")
    lab.submit(payload, "c", failure=failure)
    assert judging.pending(lab.experiments, lab.owner, experiment) == ()
    lab.finish(experiment)
    assert len(counted(lab, experiment)) == 8
    assert [row.planner_failure for row in counted(lab, experiment) if not row.compiled] == [failure]


def test_a_trial_that_is_not_answered_in_time_counts_as_abandoned(lab) -> None:
    experiment = lab.start(lab.freeze(), time_limit_s=60)
    payload = lab.next(experiment, "c")
    lab.clock.now += 59
    assert lab.experiments.progress(lab.owner, experiment).open == 1
    lab.clock.now += 1
    progress = lab.experiments.progress(lab.owner, experiment)
    assert (progress.open, progress.evaluated) == (0, 1)
    with pytest.raises(BadRequest, match="abandoned"):
        lab.submit(payload, "c")
    lab.finish(experiment)
    failures = [row.planner_failure for row in rows(lab, experiment)]
    assert failures.count("abandoned") == 1


def test_an_experiment_ends_by_itself_when_its_last_trial_is_abandoned(lab) -> None:
    experiment = lab.start(lab.freeze(), time_limit_s=60)
    for i in range(8):
        lab.next(experiment, f"c{i}")
    lab.clock.now += 61
    assert len(counted(lab, experiment)) == 8


def test_a_model_that_failed_is_tried_again_elsewhere_up_to_the_cap(lab) -> None:
    experiment = lab.start(lab.freeze(), attempts=2)
    first = lab.next(experiment, "c")
    assert judging.record_infrastructure_failure(lab.experiments, lab.owner, first.trial, "model", "429")
    assert ask(lab, "c", experiment).reason == "context_not_fresh"
    again = lab.next(experiment, "d")
    assert again.trial == first.trial
    assert again.evidence == first.evidence
    assert not judging.record_infrastructure_failure(lab.experiments, lab.owner, first.trial, "model", "429")
    assert lab.next(experiment, "e").trial != first.trial
    attempts = [
        r.event.attempt for r in lab.store.events(lab.owner, experiment=experiment) if isinstance(r.event, TrialOpened)
    ]
    assert attempts == [1, 2, 1]


def test_an_evaluator_that_failed_evaluates_the_same_answer_again_up_to_the_cap(lab) -> None:
    experiment = lab.start(lab.freeze(), attempts=2)
    payload = lab.next(experiment, "c")
    lab.submit(payload, "c")
    (before,) = judging.pending(lab.experiments, lab.owner, experiment)
    assert judging.record_infrastructure_failure(lab.experiments, lab.owner, payload.trial, "evaluator", "GPU lost")
    assert judging.pending(lab.experiments, lab.owner, experiment) == (before,)
    assert not judging.record_infrastructure_failure(lab.experiments, lab.owner, payload.trial, "evaluator", "GPU lost")
    assert judging.pending(lab.experiments, lab.owner, experiment) == ()
    lab.finish(experiment)
    assert len(counted(lab, experiment)) == 7
    lost = {tally.coalition: tally.infrastructure_failed for tally in tallies(lab, experiment)}
    assert sum(lost.values()) == 1
    assert lost[coalition_of(lab, experiment, payload)] == 1


def test_infrastructure_cannot_fail_where_nothing_is_under_way(lab) -> None:
    experiment = lab.start(lab.freeze())
    payload = lab.next(experiment, "c")
    with pytest.raises(BadRequest, match="evaluator"):
        judging.record_infrastructure_failure(lab.experiments, lab.owner, payload.trial, "evaluator", "x")


def test_an_outcome_is_recorded_once(lab) -> None:
    experiment = lab.start(lab.freeze())
    payload = lab.next(experiment, "c")
    won, lost = outcome_of("wrong", "compiled", "passed", 1.0), outcome_of("wrong", "failed", None, None)
    with pytest.raises(BadRequest, match="awaits no outcome"):
        judging.record_outcome(lab.experiments, lab.owner, payload.trial, won)
    lab.submit(payload, "c")
    judging.record_outcome(lab.experiments, lab.owner, payload.trial, won)
    judging.record_outcome(lab.experiments, lab.owner, payload.trial, won)
    with pytest.raises(BadRequest, match="awaits no outcome"):
        judging.record_outcome(lab.experiments, lab.owner, payload.trial, lost)
    assert len(lab.store.events(lab.owner, kinds=("trial_evaluated",))) == 1


def test_what_waits_for_evaluation_says_nothing_of_the_coalition(lab) -> None:
    experiment = lab.start(lab.freeze())
    lab.submit(lab.next(experiment, "c"), "c", source="// mine")
    (waiting,) = judging.pending(lab.experiments, lab.owner, experiment)
    assert set(type(waiting).model_fields) == {"trial", "source", "checkpoint", "threshold", "step"}
    assert waiting.source.text == "// mine"
    assert waiting.source.problem == "scale"


@pytest.mark.parametrize("call", ["next", "progress", "rows"])
def test_an_experiment_of_another_owner_is_unknown(lab, call: str) -> None:
    experiment = lab.start(lab.freeze())
    theirs = lab.store.scope("bob", lab.store.start_session("bob"))
    calls = {
        "next": lambda: trial_flow.next_trial(lab.experiments, theirs, experiment),
        "progress": lambda: lab.experiments.progress("bob", experiment),
        "rows": lambda: rows_of(lab.experiments, "bob", experiment),
    }
    with pytest.raises(NotFound, match="Unknown experiment"):
        calls[call]()


def test_a_trial_of_another_owner_is_unknown(lab) -> None:
    payload = lab.next(lab.start(lab.freeze()), "c")
    theirs = lab.store.scope("bob", lab.store.start_session("bob"))
    with pytest.raises(NotFound, match="Unknown trial"):
        trial_flow.submit_trial(lab.experiments, theirs, payload.trial, source="x")
    with pytest.raises(NotFound, match="Unknown trial"):
        judging.record_outcome(lab.experiments, "bob", payload.trial, outcome_of("wrong", "failed", None, None))


@pytest.mark.parametrize(
    "options",
    [{"players": ("analyzer", "analyzer")}, {"players": ()}, {"repeats": 0}, {"time_limit_s": 0}, {"attempts": 0}],
)
def test_a_senseless_experiment_is_refused_and_leaves_nothing(lab, options) -> None:
    checkpoint = lab.freeze()
    with pytest.raises(BadRequest):
        lab.start(checkpoint, **options)
    assert lab.store.events(lab.owner, kinds=("experiment_started",)) == []
    assert lab.store._database.query("SELECT count(*) FROM handles WHERE kind IN ('experiment', 'trial')") == [(0,)]


def test_an_experiment_needs_checkpoints_that_exist(lab) -> None:
    with pytest.raises(NotFound, match="Unknown checkpoint"):
        lab.experiments.start(lab.scope, players=("debugger",), checkpoints=["chk_x"], statements={}, repeats=1, seed=0)


def test_trial_handles_say_nothing_of_their_place(lab) -> None:
    checkpoint = lab.freeze()
    first, second = lab.start(checkpoint, seed=3), lab.start(checkpoint, seed=3)
    with lab.experiments.step(lab.owner, first) as one, lab.experiments.step(lab.owner, second) as other:
        assert [t.coalition for t in one.spec.trials] == [t.coalition for t in other.spec.trials]
        assert not set(one.trials) & set(other.trials)


def test_a_payload_is_a_function_of_what_was_frozen(lab) -> None:
    checkpoint = lab.freeze()
    experiment = lab.start(checkpoint)
    payload = lab.next(experiment, "c")
    with lab.experiments.step(lab.owner, experiment) as state:
        trial = state.trials[payload.trial].trial
    assert payload == payload_for(trial, checkpoint, "Scale a vector by two.", (), payload.deadline_at)


def test_a_statement_keeps_held_out_sizes_faults_and_baseline_back() -> None:
    from cudanalyst.kernels.problem import Fault, Parameter, Problem, Tolerance, Work

    problem = Problem(
        id="scale",
        title="Scale a vector",
        description="Multiply by two.",
        parameters=(
            Parameter(name="y", dtype="f32", role="inout", shape=("n",)),
            Parameter(name="n", dtype="i32", role="scalar"),
        ),
        sizes={"test": ({"n": 64},), "eval": ({"n": 4096},), "held_out": ({"n": 777},)},
        tolerance=Tolerance(),
        work=Work(bytes_moved="8*n"),
        baseline="BASELINE",
        faults=(Fault(id="FAULT", description="FAULT", visible_in=(("debugger",),), level="passed"),),
    )
    text = statement_of(problem)
    assert "y: f32 [n], inout" in text
    assert "n=64" in text
    assert "n=4096" in text
    assert not any(word in text for word in ("777", "BASELINE", "FAULT"))
