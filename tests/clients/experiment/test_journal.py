"""The journal: what was written is read back, a torn line is dropped, damage is told."""

import os
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cudanalyst.clients.experiment.journal import Answered, Journal, Note, Prompt, Submitted, _line, records
from cudanalyst.clients.planner import Code, PlanText, State
from cudanalyst.errors import CudanalystError

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
STATES = st.builds(
    State,
    problem=st.just("matmul"),
    source=TEXT,
    base_status=st.sampled_from(["wrong", "passed"]),
    evidence=st.dictionaries(st.sampled_from(["analyzer", "debugger"]), TEXT),
    seed=st.integers(0, 2**31),
    task=TEXT,
    references=st.lists(TEXT, max_size=2).map(tuple),
)
RECORDS = st.one_of(
    st.builds(Note, words=TEXT, at=st.floats(0, 1e10)),
    st.builds(Prompt, prompt=TEXT, state=STATES, plan=st.none() | TEXT),
    st.builds(Submitted, context=st.integers(0, 10**6), trial=TEXT, at=st.floats(0, 1e10)),
    st.builds(
        Answered,
        key=TEXT,
        trial=TEXT,
        role=st.sampled_from(["plan", "code"]),
        who=TEXT,
        prompt=TEXT,
        plan=st.none() | st.builds(PlanText, text=st.none() | TEXT, cites=st.lists(TEXT, max_size=2).map(tuple)),
        code=st.none() | st.builds(Code, source=st.none() | TEXT),
        at=st.floats(0, 1e10),
        seconds=st.floats(0, 1e6),
    ),
)


@given(st.lists(RECORDS, max_size=6), st.integers(0, 400))
def test_whatever_was_written_is_read_back_and_a_torn_line_is_dropped(
    tmp_path_factory: pytest.TempPathFactory, kept: list, cut: int
) -> None:
    path = tmp_path_factory.mktemp("journal") / "journal.jsonl"
    whole = b"".join(_line(one) for one in kept)
    torn = _line(Note(words="x" * 400, at=0))[:cut]
    path.write_bytes(whole + torn)
    assert list(records(path)) == kept
    with closing(Journal.opened(path)) as journal:
        assert list(journal.past) == kept
    assert path.read_bytes() == whole


@pytest.mark.anyio
async def test_a_prompt_is_written_once_however_often_it_is_asked(tmp_path: Path) -> None:
    state = State(problem="matmul", source="x", base_status="wrong", evidence={}, seed=0)
    prompt = Prompt(prompt=state.prompt, state=state)
    with closing(Journal.opened(tmp_path / "run" / "journal.jsonl")) as journal:
        await journal.keep(prompt, Note(words="a", at=1))
        await journal.keep(prompt, Note(words="b", at=2))
    assert [one.kind for one in records(journal.path)] == ["prompt", "note", "note"]


def test_damage_in_the_middle_is_told_and_not_repaired(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(b'{"kind": "note"\n' + _line(Note(words="later", at=1)))
    with pytest.raises(CudanalystError, match="Line 1 of the journal"):
        list(records(path))


@pytest.mark.anyio
async def test_a_full_disk_leaves_no_half_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "journal.jsonl"
    with closing(Journal.opened(path)) as journal:
        await journal.keep(Note(words="first", at=1))
        whole = os.write

        def full(descriptor: int, data) -> int:
            if len(data) > 10:
                return whole(descriptor, bytes(data[:10]))
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patched:
            patched.setattr(os, "write", full)
            with pytest.raises(CudanalystError, match="Make room"):
                await journal.keep(Note(words="second", at=2))
        await journal.keep(Note(words="third", at=3))
    assert [one.words for one in records(path)] == ["first", "third"]
