"""Scripted models: every regime has a known policy, and it is what is drawn."""

import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cudanalyst.clients.characters import CHARACTERS, DEAF, STRONG_A, STRONG_B, WEAK_A, family_of, is_digest, phrased
from cudanalyst.clients.planner import State
from cudanalyst.clients.scripted import ScriptedCoder, ScriptedPlanner, named_in
from cudanalyst.kernels.editbook import applicable
from cudanalyst.resources.regimes.dummy import DUMMY_PLAN
from tests.clients.behaviours import Drifting, Remembering, Seedless
from tests.clients.fakes import CATALOGUE

RACE = "[debugger.1] racecheck shared_race_raw at candidate.cu:19, in matmul: read races with a write"
LONG = RACE + " " + "and so on; " * 40
MATMUL = CATALOGUE.problem("matmul")
FAULTY = next(one.source for one in MATMUL.starts if one.name == "faulty")
TITLE = next(edit.title for edit in MATMUL.edits if edit.id == "barrier_after_use")
STARTS = [(name, start.name) for name in CATALOGUE.ids for start in CATALOGUE.problem(name).starts]


def state(seed: int = 1, **evidence: str) -> State:
    return State(problem="matmul", source=FAULTY, base_status="wrong", evidence=evidence, seed=seed)


def coder(character) -> ScriptedCoder:
    return ScriptedCoder(CATALOGUE.problem, character)


@pytest.mark.parametrize("at", STARTS)
@pytest.mark.parametrize("family", ["A", "B"])
def test_a_plan_in_any_familys_words_names_its_edit(at: tuple[str, str], family: str) -> None:
    book = CATALOGUE.problem(at[0])
    source = next(one.source for one in book.starts if one.name == at[1])
    for edit in applicable(book, source):
        text = phrased(edit.title, family)
        assert named_in(book, source, text) == edit.id
        assert family_of(text) == family


def test_digests_help_the_weak_model_and_full_evidence_the_strong_one() -> None:
    assert is_digest({"debugger": RACE})
    assert not is_digest({"debugger": LONG})
    gains = {
        one.name: one.trusts({"debugger": RACE}) - one.trusts({"debugger": LONG})
        for one in (STRONG_A, WEAK_A, STRONG_B)
    }
    assert gains["weak-a"] > 0 > max(gains["strong-a"], gains["strong-b"])


def test_without_a_plan_the_coder_reads_the_evidence_itself_and_less_well() -> None:
    policy = coder(STRONG_A).policy(state(debugger=LONG), None)
    uniform = 1 / len(policy)
    assert policy["barrier_after_use"] == pytest.approx(STRONG_A.direct + (1 - STRONG_A.direct) * uniform)
    assert STRONG_A.direct < STRONG_A.trust


def test_a_plan_counts_as_much_as_the_coder_follows_its_family() -> None:
    for family, obedience in STRONG_A.follows.items():
        policy = coder(STRONG_A).policy(state(), phrased(TITLE, family))
        assert policy["barrier_after_use"] == pytest.approx(obedience + (1 - obedience) / len(policy))


@pytest.mark.parametrize("plan", [DUMMY_PLAN, phrased("Something that no book holds", "A")])
def test_a_plan_that_names_nothing_leaves_the_coder_where_it_was_without_one(plan: str) -> None:
    given = state(debugger=LONG)
    assert coder(STRONG_A).policy(given, plan) == pytest.approx(coder(STRONG_A).policy(given, None))


def test_a_deaf_coder_does_the_same_whatever_the_plan() -> None:
    policy = coder(DEAF).policy(state(), phrased(TITLE, "A"))
    assert len({round(chance, 12) for chance in policy.values()}) == 1


@given(
    st.sampled_from(list(CHARACTERS.values())),
    st.sampled_from(STARTS),
    st.text(max_size=80),
    st.none() | st.text(max_size=80),
)
def test_every_policy_is_a_distribution(character, at: tuple[str, str], evidence: str, plan: str | None) -> None:
    source = next(one.source for one in CATALOGUE.problem(at[0]).starts if one.name == at[1])
    given = State(problem=at[0], source=source, base_status="wrong", evidence={"debugger": evidence}, seed=0)
    for policy in (
        ScriptedPlanner(CATALOGUE.problem, character=character).policy(at[0], source, given.evidence),
        coder(character).policy(given, plan),
    ):
        assert math.isclose(sum(policy.values()), 1)
        assert min(policy.values()) >= 0


@pytest.mark.anyio
async def test_what_is_drawn_follows_the_policy() -> None:
    planner, draws = ScriptedPlanner(CATALOGUE.problem, character=WEAK_A), 2000
    given = [await planner.plan(state(seed, debugger=LONG)) for seed in range(draws)]
    cut = sum(one.failure == "truncation" for one in given)
    named = Counter(named_in(MATMUL, FAULTY, one.text) for one in given if one.text is not None)
    policy = planner.policy("matmul", FAULTY, {"debugger": LONG})
    assert abs(cut / draws - WEAK_A.truncates) < 4 * math.sqrt(WEAK_A.truncates / draws)
    for edit, chance in policy.items():
        assert abs(named[edit] / (draws - cut) - chance) < 4 * math.sqrt(0.25 / draws)


@pytest.mark.anyio
async def test_a_planner_that_remembers_uses_what_another_trial_gave_it() -> None:
    plain = ScriptedPlanner(CATALOGUE.problem, tremble=0.0)
    remembering = Remembering(plain)
    told = await remembering.plan(state(5, debugger=RACE))
    later = [await remembering.plan(state(seed)) for seed in range(20)]
    fresh = [await plain.plan(state(seed)) for seed in range(20)]
    assert {one.text for one in later} == {told.text}
    assert len({one.text for one in fresh}) > 1


@pytest.mark.anyio
async def test_a_planner_that_drifts_loses_its_trust_by_the_call() -> None:
    drifting = Drifting(ScriptedPlanner(CATALOGUE.problem, character=STRONG_A), per_call=0.4)
    trusts = []
    for _ in range(4):
        trusts.append(drifting.trust(drifting.calls))
        await drifting.plan(state(debugger=LONG))
    assert trusts == pytest.approx([0.92, 0.52, 0.12, 0.0])
    assert drifting.policy(state(debugger=LONG), 4)["barrier_after_use"] == pytest.approx(
        1 / len(applicable(MATMUL, FAULTY))
    )


@pytest.mark.anyio
async def test_a_planner_that_ignores_seeds_answers_the_same_question_differently() -> None:
    seedless = Seedless(ScriptedPlanner(CATALOGUE.problem), stream="s")
    assert len({(await seedless.plan(state(1))).text for _ in range(20)}) > 1
    again = Seedless(ScriptedPlanner(CATALOGUE.problem), stream="s")
    repeated = Seedless(ScriptedPlanner(CATALOGUE.problem), stream="s")
    assert [await again.plan(state(1)) for _ in range(5)] == [await repeated.plan(state(1)) for _ in range(5)]
