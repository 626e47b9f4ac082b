"""What each regime gives to whom, byte for byte, and nothing else."""

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cudanalyst.errors import BadRequest
from cudanalyst.resources import judging, trial_flow
from cudanalyst.resources.delivery import NoTrial, TrialPayload, prompt_hash
from cudanalyst.resources.design.models import Design
from cudanalyst.resources.design.start import start_design
from cudanalyst.resources.evidence import Evidence, EvidenceItem
from cudanalyst.resources.freeze import Moment, checkpoint_of, commit
from cudanalyst.resources.plans import Plan
from cudanalyst.resources.regimes.digest import MAX_HEADING, MAX_STATEMENT, STATEMENTS, digest
from cudanalyst.resources.regimes.dummy import DUMMY_PLAN
from cudanalyst.resources.regimes.misaligned import choose_donor
from cudanalyst.resources.trial_rows import pooled, rows_of
from cudanalyst.resources.trials import Usage
from tests.resources.conftest import PLAYERS, STATEMENT, tool_results

REGIMES = ("NP+NF", "P+NF", "NP+F", "P+F", "NP+S", "P+S", "DP", "RF", "PT")


def other_checkpoint(lab, name: str, problem: str, status: str = "wrong"):
    """A checkpoint whose evidence shares no statement with that of `lab.freeze`."""
    results = tool_results(status)
    changed = results.model_copy(
        update={
            "analyzed": results.analyzed.model_copy(
                update={
                    "suspicions": (results.analyzed.suspicions[0].model_copy(update={"message": f"Of {name} only."}),)
                }
            ),
            "debugged": results.debugged.model_copy(
                update={
                    "findings": (results.debugged.findings[0].model_copy(update={"message": f"Wild write in {name}."}),)
                }
            )
            if results.debugged.findings
            else results.debugged,
            "profiled": results.profiled.model_copy(
                update={"kernels": (results.profiled.kernels[0].model_copy(update={"name": name}),)}
            )
            if results.profiled.kernels
            else results.profiled,
        }
    )
    wanted = Moment(source=lab.source(name, problem))
    return commit(lab.store, lab.scope, wanted, checkpoint_of(wanted, changed))


def begin(lab, *checkpoints, **changes) -> str:
    whole = {
        "name": "d",
        "players": PLAYERS,
        "regimes": REGIMES,
        "checkpoints": [{"id": one.id} for one in checkpoints],
        "planners": [
            {"name": "a", "kind": "external", "options": {"temperature": 1}},
            {"name": "b", "kind": "external", "plans_from": ["a"]},
        ],
    }
    design = Design.model_validate({**whole, **changes})
    return start_design(lab.experiments, lab.scope, design, {one.problem: STATEMENT for one in checkpoints}).id


def take(lab, experiment: str, context: str, **options):
    return trial_flow.next_trial(lab.experiments, lab.context(context), experiment, **options)


def run(lab, experiment: str, status: str = "passed", **answers) -> dict[str, TrialPayload]:
    """Answers every trial, each in a fresh context, and judges it."""
    given = {}
    for number in itertools.count():
        payload = take(lab, experiment, f"{experiment} {number}")
        if isinstance(payload, NoTrial):
            assert payload.reason == "ended", payload
            return given
        given[payload.trial] = payload
        plan = Plan(text=f"plan of {payload.planner} in {payload.trial}") if payload.plan_step else None
        lab.submit(payload, f"{experiment} {number}", plan=plan, **answers)
        lab.judge(experiment, status)
    raise AssertionError


def trials_of(lab, experiment: str):
    with lab.experiments.step(lab.owner, experiment) as state:
        return {one.trial.id: one for one in state.trials.values()}


@pytest.mark.parametrize("coder_sees", ["plan", "plan+evidence"])
def test_each_regime_gives_exactly_what_it_is_defined_to_give(lab, coder_sees: str) -> None:
    own, donor = lab.freeze("a"), other_checkpoint(lab, "donor", "sum")
    experiment = begin(lab, own, donor, coder_sees=coder_sees, coalitions=[[], ["profiler"], ["analyzer", "debugger"]])
    given = run(lab, experiment)
    trials = trials_of(lab, experiment)
    assert len(given) == len(trials)
    seen = set()
    for payload in given.values():
        trial = trials[payload.trial].trial
        checkpoint, other = (own, donor) if trial.checkpoint == own.id else (donor, own)
        texts = {component: checkpoint.evidence[component].text for component in PLAYERS}
        foreign = {component: other.evidence[component].text for component in PLAYERS}
        digests = {component: digest(checkpoint.evidence[component]) for component in PLAYERS}
        both = coder_sees == "plan+evidence"
        expected = {
            "NP+NF": ({}, False, None, ("coder",)),
            "P+NF": ({}, True, None, ("planner", "coder") if both else ("planner",)),
            "NP+F": (texts, False, None, ("coder",)),
            "P+F": (texts, True, None, ("planner", "coder") if both else ("planner",)),
            "NP+S": (digests, False, None, ("coder",)),
            "P+S": (digests, True, None, ("planner", "coder") if both else ("planner",)),
            "DP": (texts, False, DUMMY_PLAN, ("coder",)),
            "RF": (foreign, True, None, ("planner", "coder") if both else ("planner",)),
            "PT": (texts if both else {}, False, "plan of a in", ("coder",) if both else ()),
        }[trial.regime]
        evidence, plan_step, plan, readers = expected
        shown = {one.component: one.text for one in payload.evidence}
        assert shown == {one: evidence[one] for one in trial.coalition if one in evidence}
        assert payload.plan_step is plan_step
        assert payload.evidence_for == readers
        assert (payload.plan or "").startswith(plan or "")
        assert (payload.plan is None) == (plan is None)
        # Neither the regime's name nor a byte of what is withheld.
        sent = payload.model_dump_json()
        assert f'"{trial.regime}"' not in sent
        for component in PLAYERS:
            for text in (texts[component], foreign[component], digests[component]):
                if text not in shown.values():
                    for line in text.splitlines():
                        told = "\n".join(shown.values())
                        assert line in told or json.dumps(line)[1:-1] not in sent
        seen.add(trial.regime)
    assert seen == set(REGIMES)


def test_prompts_decoding_and_seeds_are_the_same_for_all_coalitions_but_for_the_coalition(lab) -> None:
    own, donor = lab.freeze("a"), other_checkpoint(lab, "donor", "sum")
    experiment = begin(lab, own, donor, repeats=2, coalitions=[[], ["debugger"], ["analyzer", "profiler"]])
    given = run(lab, experiment)
    trials = trials_of(lab, experiment)
    hashes: dict[tuple, set[str]] = {}
    for payload in given.values():
        trial = trials[payload.trial].trial
        rest = payload.model_copy(update={"evidence": (), "trial": "", "deadline_at": 0.0, "plan": None})
        key = (trial.checkpoint, trial.repeat, trial.planner, trial.regime)
        hashes.setdefault(key, set()).add(rest.model_dump_json())
        assert trials[payload.trial].prompt_hash == prompt_hash(payload)
        assert payload.decoding == (
            {} if trial.planner == "b" else {r: {"temperature": 1} for r in ("planner", "coder")}
        )
    assert all(len(same) == 1 for same in hashes.values())
    # Repeats are given the same prompt: only their seeds differ.
    again: dict[tuple, set[str | None]] = {}
    for one in trials.values():
        if one.trial.regime not in {"PT", "RF"}:
            cell = (one.trial.checkpoint, one.trial.planner, one.trial.regime, one.trial.coalition)
            again.setdefault(cell, set()).add(one.prompt_hash)
    assert all(len(same) == 1 for same in again.values())


def test_a_transferred_plan_waits_until_it_is_written_and_is_that_of_the_same_repeat(lab) -> None:
    own = lab.freeze("a")
    experiment = begin(lab, own, regimes=["P+F", "PT"], players=["profiler"], repeats=2)
    for number in range(4):
        payload = take(lab, experiment, f"b {number}", planner="b")
        assert payload.plan is None
        lab.submit(payload, f"b {number}", plan=Plan(text="b's own"))
    waits = take(lab, experiment, "early", planner="b")
    assert (waits.reason, "wait for another planner's plan" in waits.message) == ("none_waiting", True)
    run(lab, experiment)
    trials = trials_of(lab, experiment)
    transferred = [one for one in trials.values() if one.trial.regime == "PT"]
    assert len(transferred) == 4
    for one in transferred:
        source = trials[one.plan_from].trial
        assert (source.planner, source.regime) == ("a", "P+F")
        assert (source.coalition, source.repeat) == (one.trial.coalition, one.trial.repeat)


def test_where_the_plan_never_comes_another_repeats_is_taken_and_without_any_the_trial_is_infrastructure(lab) -> None:
    own = lab.freeze("a")
    experiment = begin(lab, own, regimes=["P+F", "PT"], players=["profiler"], repeats=2)
    planned = 0
    for number in range(4):
        payload = take(lab, experiment, f"a {number}", planner="a")
        coalition = trials_of(lab, experiment)[payload.trial].trial.coalition
        # No plan at all for the empty coalition, and one of two for the other.
        refuses = coalition == () or planned == 1
        planned += not refuses
        lab.submit(payload, f"a {number}", **({"failure": "refusal"} if refuses else {"plan": Plan(text="a's")}))
    run(lab, experiment)
    trials = trials_of(lab, experiment)
    for one in trials.values():
        if one.trial.regime == "PT" and one.trial.coalition == ():
            assert one.state == "infrastructure_failed"
            assert one.plan_from is None
        elif one.trial.regime == "PT":
            assert trials[one.plan_from].plan_blob is not None
            assert one.state == "evaluated"


def test_misaligned_evidence_is_recorded_and_drawn_from_the_same_base_status(lab) -> None:
    own = lab.freeze("a")
    fitting = [other_checkpoint(lab, "x", "sum"), other_checkpoint(lab, "y", "dot")]
    crashed = other_checkpoint(lab, "z", "sum", "crashed")
    known = {one.id: one for one in (own, *fitting, crashed)}
    drawn = {choose_donor(own.id, known, PLAYERS, seed=seed, repeat=0) for seed in range(40)}
    assert drawn == {one.id for one in fitting}
    again = [choose_donor(own.id, known, PLAYERS, seed=3, repeat=repeat) for repeat in range(40)]
    assert again == [choose_donor(own.id, known, PLAYERS, seed=3, repeat=repeat) for repeat in range(40)]
    assert len(set(again)) == 2


def test_without_a_partner_of_the_same_base_status_misaligned_evidence_is_refused(lab) -> None:
    with pytest.raises(BadRequest, match="RF needs"):
        begin(lab, lab.freeze("a"), other_checkpoint(lab, "z", "sum", "crashed"))
    # The same evidence of another program would not be misaligned.
    with pytest.raises(BadRequest, match="RF needs"):
        begin(lab, lab.freeze("a"), lab.freeze("b", problem="sum"))


def test_a_context_that_knows_the_donor_is_not_fresh_for_its_evidence(lab) -> None:
    own, donor = lab.freeze("a"), other_checkpoint(lab, "donor", "sum")
    experiment = begin(
        lab, own, donor, regimes=["RF"], players=["profiler"], planners=[{"name": "a", "kind": "external"}]
    )
    lab.store.add_candidate(lab.context("knows"), donor.source)
    assert take(lab, experiment, "knows").reason == "context_not_fresh"


def test_budgets_stop_an_experiment_once_what_is_under_way_is_done(lab) -> None:
    own = lab.freeze("a")
    experiment = begin(
        lab, own, regimes=["P+F"], planners=[{"name": "a", "kind": "external"}], budget={"tokens": 100}, repeats=2
    )
    first = take(lab, experiment, "one")
    second = take(lab, experiment, "two")
    lab.submit(first, "one", plan=Plan(text="p"), usage=Usage(input_tokens=60, output_tokens=40))
    assert "budget of 100 tokens is spent" in take(lab, experiment, "three").message
    lab.submit(second, "two", plan=Plan(text="p"))
    lab.judge(experiment)
    stopped = take(lab, experiment, "four")
    assert (stopped.reason, "budget" in stopped.message) == ("ended", True)
    rows = rows_of(lab.experiments, lab.owner, experiment)
    assert sorted(row.state for row in rows).count("waiting") == len(rows) - 2


@pytest.mark.parametrize("minutes", [{"wall_minutes": 5}, {"calls": 2}, {"device_minutes": 1}])
def test_every_kind_of_budget_stops(lab, minutes) -> None:
    experiment = begin(
        lab, lab.freeze("a"), regimes=["P+F"], planners=[{"name": "a", "kind": "external"}], budget=minutes
    )
    payload = take(lab, experiment, "one")
    lab.submit(payload, "one", plan=Plan(text="p"))
    (waiting,) = judging.pending(lab.experiments, lab.owner, experiment)
    lab.clock.now += 301
    judging.record_outcome(lab.experiments, lab.owner, waiting.trial, judged(waiting), evaluate_s=70.0, device_s=60.0)
    assert take(lab, experiment, "two").reason == "ended"
    row = next(row for row in rows_of(lab.experiments, lab.owner, experiment) if row.state == "evaluated")
    assert (row.evaluate_s, row.device_s) == (70.0, 60.0)


def judged(pending):
    from cudanalyst.resources.outcomes import outcome_of

    return outcome_of(pending.checkpoint.base_status, "compiled", "passed", 1.5, threshold=pending.threshold)


def test_the_designs_threshold_decides_what_is_fast(lab) -> None:
    experiments = {}
    for threshold in (1.4, 1.6):
        experiment = begin(
            lab,
            lab.freeze("a"),
            regimes=["P+F"],
            players=["profiler"],
            planners=[{"name": "a", "kind": "external"}],
            thresholds={"fast": threshold},
        )
        for number in range(2):
            context = f"{threshold} {number}"
            lab.submit(take(lab, experiment, context), context, plan=Plan(text="p"))
        for one in judging.pending(lab.experiments, lab.owner, experiment):
            judging.record_outcome(lab.experiments, lab.owner, one.trial, judged(one))
        experiments[threshold] = {row.fast_modelled for row in rows_of(lab.experiments, lab.owner, experiment)}
    assert experiments == {1.4: {True}, 1.6: {False}}


# Reuse


def reusing(lab, *checkpoints, **changes) -> str:
    options = {"regimes": ["P+F", "P+NF"], "planners": [{"name": "a", "kind": "external"}], "reuse": True}
    return begin(lab, *checkpoints, **{**options, **changes})


def test_a_trial_that_is_the_same_in_everything_is_taken_over_marked_and_counted_once(lab) -> None:
    own = lab.freeze("a")
    first = reusing(lab, own)
    assert len(run(lab, first)) == 9
    second = reusing(lab, own, repeats=2)
    given = run(lab, second)
    assert len(given) == 9
    rows = {one: rows_of(lab.experiments, lab.owner, one) for one in (first, second)}
    reused = [row for row in rows[second] if row.reused_from is not None]
    origins = {row.trial: row for row in rows[first]}
    assert len(reused) == 9
    for row in reused:
        origin = origins[row.reused_from]
        assert (row.regime, row.coalition, row.passed, row.candidate) == (
            origin.regime,
            origin.coalition,
            origin.passed,
            origin.candidate,
        )
        assert row.prompt_hash == origin.prompt_hash
        assert (row.opened_at, row.evaluate_s) == (None, None)
    assert len({row.reused_from for row in reused}) == 9
    both = pooled([*rows[second], *rows[first]])
    assert len(both) == 18
    assert all(row.reused_from is None for row in both)
    # A third takes over from who ran it, not from who took it over.
    third = reusing(lab, own)
    assert run(lab, third) == {}
    assert {row.reused_from for row in rows_of(lab.experiments, lab.owner, third)} == set(origins)


@pytest.mark.parametrize(
    "changes",
    [
        {"seed": 1},
        {"planners": [{"name": "a", "kind": "external", "options": {"temperature": 0}}]},
        {"planners": [{"name": "a", "kind": "external", "model": "other"}]},
        {"planners": [{"name": "a", "kind": "external", "coder": "c"}], "coders": [{"name": "c", "kind": "external"}]},
        {"thresholds": {"fast": 2}},
        {"coder_sees": "plan+evidence"},
        {"open": True},
        {"reuse": False},
    ],
)
def test_whatever_defines_a_trial_keeps_it_from_being_taken_over_where_it_differs(lab, changes) -> None:
    own = lab.freeze("a")
    run(lab, reusing(lab, own))
    assert len(run(lab, reusing(lab, own, **changes))) == 9


def test_failures_of_a_planner_are_taken_over_too_and_contaminated_trials_are_not(lab) -> None:
    own = lab.freeze("a")
    first = reusing(lab, own, players=["profiler"])
    refused = take(lab, first, "r")
    lab.submit(refused, "r", failure="refusal")
    lab.store.add_candidate(lab.context("stale"), own.source)
    stale = take(lab, first, "stale", accept_contaminated=True)
    lab.submit(stale, "stale", plan=Plan(text="p"))
    lab.judge(first)
    run(lab, first)
    second = reusing(lab, own, players=["profiler"])
    given = run(lab, second)
    rows = rows_of(lab.experiments, lab.owner, second)
    assert len(given) == 1
    assert [row.planner_failure for row in rows if row.reused_from == refused.trial] == ["refusal"]
    assert stale.trial not in {row.reused_from for row in rows}


def test_a_locked_confirmatory_design_takes_over_nothing_and_starts_only_as_it_was_locked(lab) -> None:
    from cudanalyst.resources.design.lock import digest_of, lock

    own = lab.freeze("a")
    run(lab, reusing(lab, own))
    with pytest.raises(BadRequest, match="lock: a confirmatory design is locked before it starts"):
        reusing(lab, own, reuse=False, kind="confirmatory")
    whole = {
        "name": "d",
        "kind": "confirmatory",
        "players": PLAYERS,
        "checkpoints": [{"id": own.id}],
        "regimes": ["P+F"],
    }
    design = Design.model_validate({**whole, "planners": [{"name": "a", "kind": "external"}]})
    locked = lock(design, at=1.0)
    digest = digest_of(design)
    assert locked.digest == digest
    ready = design.model_copy(update={"lock": digest})
    started = start_design(lab.experiments, lab.scope, ready, {own.problem: STATEMENT})
    assert len(run(lab, started.id)) == 8
    changed = ready.model_copy(update={"repeats": 2})
    with pytest.raises(BadRequest, match="changed after it was locked"):
        start_design(lab.experiments, lab.scope, changed, {own.problem: STATEMENT})


# Digests


@given(
    st.lists(st.text(alphabet=st.characters(exclude_categories=("Cs", "Cc")), max_size=900), max_size=6),
    st.text(max_size=50),
)
def test_digests_are_short_name_what_they_say_and_hold_nothing_but_the_evidence(texts, heading) -> None:
    items = tuple(EvidenceItem(id=f"profiler.{i}", text=text) for i, text in enumerate(texts, start=1))
    evidence = Evidence(component="profiler", candidate="c", items=items, text="\n".join([heading, *texts]))
    said = digest(evidence)
    assert said == digest(evidence)
    assert len(said) <= MAX_HEADING + STATEMENTS * (MAX_STATEMENT + 20)
    for item in items[:STATEMENTS]:
        assert f"[{item.id}]" in said
