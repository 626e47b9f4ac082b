"""The scripted planner: what it is given decides how well it does, and nothing else."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cudanalyst.clients.planner import State
from cudanalyst.clients.scripted import TREMBLE, ScriptedPlanner
from cudanalyst.errors import BadRequest
from cudanalyst.kernels.catalogue import Catalogue
from cudanalyst.kernels.editbook import applicable

CATALOGUE = Catalogue.from_environment({})
STARTS = [(problem, start.name) for problem in CATALOGUE.ids for start in CATALOGUE.problem(problem).starts]
RACE = "[debugger.1] racecheck shared_race_raw at candidate.cu:19, in matmul: read races with a write"


def planner(tremble: float = TREMBLE) -> ScriptedPlanner:
    return ScriptedPlanner(CATALOGUE.problem, tremble)


def source_of(problem: str, start: str) -> str:
    return next(one.source for one in CATALOGUE.problem(problem).starts if one.name == start)


@pytest.mark.parametrize(("problem", "start"), STARTS)
def test_without_evidence_every_edit_that_applies_is_equally_likely(problem: str, start: str) -> None:
    source = source_of(problem, start)
    policy = planner().policy(problem, source, {})
    assert set(policy) == {edit.id for edit in applicable(CATALOGUE.problem(problem), source)}
    assert len({round(chance, 12) for chance in policy.values()}) == 1


@given(st.sampled_from(STARTS), st.text(max_size=200), st.floats(0, 1))
def test_a_policy_is_a_distribution_whatever_the_evidence_says(at: tuple[str, str], text: str, tremble: float) -> None:
    policy = planner(tremble).policy(at[0], source_of(*at), {"debugger": text, "profiler": RACE})
    assert math.isclose(sum(policy.values()), 1)
    assert all(chance >= 0 for chance in policy.values())


def test_evidence_that_points_to_an_edit_makes_it_likely() -> None:
    policy = planner().policy("matmul", source_of("matmul", "faulty"), {"debugger": RACE})
    assert policy["barrier_after_use"] > 1 - TREMBLE
    assert all(chance > 0 for chance in policy.values())


@pytest.mark.anyio
async def test_the_same_state_and_seed_give_the_same_proposal_with_its_citations() -> None:
    state = State(
        problem="matmul",
        source=source_of("matmul", "faulty"),
        base_status="wrong",
        evidence={"debugger": RACE},
        seed=3,
    )
    first, second = [await planner(0.0).propose(state) for _ in range(2)]
    assert first == second
    assert (first.edit, first.cites) == ("barrier_after_use", ("debugger.1",))
    assert first.source is not None
    assert first.source != state.source


@pytest.mark.anyio
async def test_where_no_edit_applies_the_planner_refuses() -> None:
    state = State(problem="matmul", source="// nothing of the book", base_status="wrong", evidence={}, seed=1)
    assert (await planner().propose(state)).source is None


@pytest.mark.parametrize("tremble", [-0.1, 1.1])
def test_a_tremble_that_is_no_probability_is_refused(tremble: float) -> None:
    with pytest.raises(BadRequest, match="tremble"):
        planner(tremble)
