"""Imported programs become candidates and checkpoints by the ordinary path; their scores stay claims."""

import pytest

from cudanalyst.errors import BadRequest
from cudanalyst.resources import folds
from cudanalyst.resources.imports.freezing import bring_in, imported_state
from cudanalyst.resources.imports.run import ImportedProgram, ImportedRun
from cudanalyst.server.commands.importing import as_toml

CODE = 'extern "C" void solve() {{ /* {} */ }}'


def imported(*programs, best=None):
    made = tuple(
        ImportedProgram(
            key=key, code=CODE.format(text), generation=k, parent=parent, claims={"combined_score": 99.0},
            found_in=f"programs/{key}.json",
        )
        for k, (key, text, parent) in enumerate(programs)
    )  # fmt: skip
    return ImportedRun(system="openevolve", programs=made, best=best or made[-1].key)


LINE = imported(("a", "1", None), ("b", "2", "a"), ("c", "3", "b"))


@pytest.fixture
def evaluated(results):
    """An evaluation by stand-in tools, which remembers what it was asked for."""
    seen = []

    async def evaluate(source):
        seen.append(source.text)
        return results("wrong")

    evaluate.seen = seen
    return evaluate


@pytest.mark.anyio
async def test_a_lineage_is_frozen_with_evidence_of_our_own_tools(lab, evaluated):
    result = await bring_in(lab.store, lab.scope, LINE, evaluated, problem="scale")
    assert [one.program for one in result.states] == ["a", "b", "c"]
    last = lab.store.checkpoint(lab.owner, result.states[-1].checkpoint)
    assert len(evaluated.seen) == 3
    assert last.base_status == "wrong"
    assert last.lineage == tuple(one.candidate for one in result.states[:-1])
    assert last.generation == 2
    assert "past the end of y" in last.evidence["debugger"].text


@pytest.mark.anyio
async def test_a_claimed_score_is_remembered_and_enters_no_measurement(lab, evaluated):
    result = await bring_in(lab.store, lab.scope, LINE, evaluated, problem="scale", choice="best")
    (state,) = result.states
    assert imported_state(lab.store, lab.owner, state.checkpoint) == state
    assert state.claims == {"combined_score": 99.0}
    assert "99" not in lab.store.checkpoint(lab.owner, state.checkpoint).model_dump_json()
    assert imported_state(lab.store, "somebody else", state.checkpoint) is None


@pytest.mark.anyio
async def test_candidates_know_their_parents_and_that_they_were_imported(lab, evaluated):
    result = await bring_in(lab.store, lab.scope, LINE, evaluated, problem="scale", choice="best")
    events = lab.store.events(lab.owner, session=lab.scope.session)
    submitted = [one.event for one in events if one.event.kind == "candidate_submitted"]
    assert {event.operator for event in submitted if event.operator is not None} == {"imported"}
    assert folds.lineage(folds.parents_of(events), result.states[0].candidate) == result.states[0].lineage
    assert len(result.states[0].lineage) == 2


@pytest.mark.anyio
async def test_importing_twice_freezes_nothing_anew(lab, evaluated):
    first = await bring_in(lab.store, lab.scope, LINE, evaluated, problem="scale")
    again = await bring_in(lab.store, lab.context("later"), LINE, evaluated, problem="scale")
    assert again == first
    assert len(evaluated.seen) == 3


@pytest.mark.anyio
async def test_a_program_that_came_back_unchanged_is_not_its_own_ancestor(lab, evaluated):
    run = imported(("a", "same", None), ("b", "other", "a"), ("c", "same", "b"))
    result = await bring_in(lab.store, lab.scope, run, evaluated, problem="scale", choice="best")
    (state,) = result.states
    assert state.candidate not in state.lineage
    assert result.candidates == 2


@pytest.mark.anyio
async def test_too_many_states_are_refused_before_any_tool_runs(lab, evaluated):
    with pytest.raises(BadRequest, match="3 programs, more than 2"):
        await bring_in(lab.store, lab.scope, LINE, evaluated, problem="scale", choice="all", limit=2)
    assert evaluated.seen == []


@pytest.mark.anyio
async def test_frozen_states_are_printed_as_an_experiment_file_names_them(lab, evaluated):
    result = await bring_in(lab.store, lab.scope, LINE, evaluated, problem="scale", choice="best")
    text = as_toml(result)
    assert f'id = "{result.states[0].checkpoint}"' in text
    assert f'backbone = "{LINE.backbone}"' in text
    assert 'operator = "imported"' in text


@pytest.mark.anyio
async def test_trials_on_an_imported_state_start_like_any_other(lab, evaluated):
    result = await bring_in(lab.store, lab.scope, LINE, evaluated, problem="scale", choice="best")
    checkpoint = lab.store.checkpoint(lab.owner, result.states[0].checkpoint)
    experiment = lab.start(checkpoint, repeats=1)
    lab.finish(experiment)
    assert lab.experiments.progress(lab.owner, experiment).ended
