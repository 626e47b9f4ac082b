"""The store: owners, handles, visibility, threads."""

import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cudanalyst.errors import BadRequest, NotFound
from cudanalyst.resources.events import CandidateSubmitted, SessionStarted, ToolStarted
from cudanalyst.resources.store import Scope, Store
from cudanalyst.tools.source import MAX_SOURCE_BYTES, Source

KINDS = ("session", "experiment", "trial", "job")


@pytest.mark.parametrize("kind", KINDS)
def test_a_handle_of_another_owner_reads_exactly_as_an_unknown_one(store: Store, kind) -> None:
    (theirs,) = store.mint("bob", kind)
    unknown = theirs[:4] + "f" * 32
    texts = []
    for handle in (theirs, unknown):
        with pytest.raises(NotFound) as caught:
            store.check("ada", kind, handle)
        texts.append(str(caught.value).replace(handle, "HANDLE"))
    assert texts[0] == texts[1]
    assert store.check("bob", kind, theirs) is None


def test_a_handle_serves_only_for_its_kind(store: Store) -> None:
    (job,) = store.mint("ada", "job")
    with pytest.raises(NotFound):
        store.check("ada", "trial", job)


def test_handles_are_128_random_bits_and_never_repeat(store: Store) -> None:
    handles = store.mint("ada", "trial", 500)
    assert len(set(handles)) == 500
    assert all(re.fullmatch(r"tri_[0-9a-f]{32}", handle) for handle in handles)


def test_a_candidate_is_seen_by_its_owner_only(store: Store) -> None:
    scope = store.scope("ada", store.start_session("ada"))
    source = Source(text="int x;", problem="scale")
    identity = store.add_candidate(scope, source)
    assert store.candidate("ada", identity) == source
    texts = []
    for wanted in (identity, "cand_" + "0" * 32):
        with pytest.raises(NotFound) as caught:
            store.candidate("bob", wanted)
        texts.append(str(caught.value).replace(wanted, "ID"))
    assert texts[0] == texts[1]


def test_two_owners_may_submit_the_same_source(store: Store) -> None:
    source = Source(text="int x;", problem="scale")
    for owner in ("ada", "bob"):
        store.add_candidate(store.scope(owner, store.start_session(owner)), source)
        assert store.candidate(owner, source.id) == source


def test_a_checkpoint_id_does_not_open_a_candidate_nor_the_other_way_round(lab) -> None:
    checkpoint = lab.freeze()
    with pytest.raises(NotFound):
        lab.store.candidate(lab.owner, checkpoint.id)
    with pytest.raises(NotFound):
        lab.store.checkpoint(lab.owner, checkpoint.source.id)
    with pytest.raises(NotFound):
        lab.store.checkpoint("bob", checkpoint.id)


def test_a_session_of_another_owner_gives_no_scope(store: Store) -> None:
    session = store.start_session("bob")
    with pytest.raises(NotFound):
        store.scope("ada", session)


@pytest.mark.parametrize("context", ["", "x" * 201])
def test_a_context_has_a_sensible_name(store: Store, context: str) -> None:
    session = store.start_session("ada")
    with pytest.raises(BadRequest, match="context"):
        store.scope("ada", session, context)


@pytest.mark.parametrize("owner", ["", "x" * 201])
def test_an_owner_has_a_sensible_name(store: Store, owner: str) -> None:
    with pytest.raises(BadRequest, match="owner"):
        store.start_session(owner)


def test_submitting_the_same_source_again_in_a_context_says_nothing_new(lab) -> None:
    parent = lab.store.add_candidate(lab.scope, lab.source("parent"))
    for _ in range(3):
        lab.store.add_candidate(lab.scope, lab.source("child"), parents=[parent])
        lab.store.add_candidate(lab.scope, lab.source("child"))
    said = [r.event for r in lab.store.events(lab.owner) if isinstance(r.event, CandidateSubmitted)]
    assert [event.parents for event in said] == [(), (parent,)]
    lab.store.add_candidate(lab.context("other"), lab.source("child"))
    assert len(lab.store.events(lab.owner, context="other")) == 1


def test_a_parent_must_be_ones_own(lab) -> None:
    with pytest.raises(BadRequest, match="not a candidate that you submitted"):
        lab.store.add_candidate(lab.scope, lab.source(), parents=["cand_" + "0" * 32])


def test_a_source_that_is_too_long_is_refused(lab) -> None:
    with pytest.raises(BadRequest, match="at most 1000000"):
        lab.store.add_candidate(lab.scope, Source(text="x" * (MAX_SOURCE_BYTES + 1), problem="scale"))


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(st.characters(), max_size=200))
def test_any_text_is_kept_as_it_is_lone_surrogates_and_nul_too(lab, text: str) -> None:
    source = Source(text=text, problem="scale")
    assert lab.store.candidate(lab.owner, lab.store.add_candidate(lab.scope, source)) == source


def test_events_are_narrowed_by_what_is_asked(lab) -> None:
    other = lab.context("c1")
    lab.store.append(lab.scope, ToolStarted(call="1", tool="run"))
    lab.store.append(other, ToolStarted(call="2", tool="run"))
    by_context = lab.store.events(lab.owner, context="c1")
    assert [r.event for r in by_context] == [ToolStarted(call="2", tool="run")]
    assert [r.session for r in by_context] == [lab.scope.session]
    session = lab.store.events(lab.owner, session=lab.scope.session)
    assert [r.event.kind for r in session] == ["session_started", "tool_started", "tool_started"]
    assert lab.store.events(lab.owner, kinds=("tool_started",), after=session[1].seq) == [session[2]]
    assert lab.store.events(lab.owner, limit=1) == [session[0]]
    assert lab.store.events("bob") == []


def test_the_newest_events_of_what_is_asked_come_in_order(store: Store) -> None:
    scope = Scope("ada", "s", "c")
    for number in range(6):
        store.append(scope, ToolStarted(call=str(number), tool="run"))
        store.append(scope, SessionStarted())
    found = store.events("ada", session="s", kinds=("tool_started",), newest=2)
    assert [one.event.call for one in found] == ["4", "5"]
    assert len(store.events("ada", newest=100)) == 12
    assert [one.event.call for one in store.events("ada", kinds=("tool_started",), newest=3, limit=1)] == ["3"]


def test_events_carry_the_stores_clock(lab) -> None:
    lab.clock.now = 5.0
    lab.store.append(lab.scope, ToolStarted(call="1", tool="run"))
    assert lab.store.events(lab.owner)[-1].at == 5.0


def test_threads_may_append_at_once(store: Store) -> None:
    def work(thread: int) -> list[int]:
        return [store.append(Scope("ada"), SessionStarted(client=f"{thread} {i}")) for i in range(20)]

    with ThreadPoolExecutor(6) as pool:
        positions = [seq for run in pool.map(work, range(6)) for seq in run]
    held = store.events("ada")
    assert sorted(positions) == [recorded.seq for recorded in held]
    assert len({recorded.event.client for recorded in held}) == 120


def test_a_transaction_that_fails_appends_nothing(store: Store) -> None:
    def write_and_fail() -> None:
        with store.transaction():
            store.append(Scope("ada"), SessionStarted())
            raise RuntimeError

    with pytest.raises(RuntimeError):
        write_and_fail()
    assert store.events("ada") == []


def test_only_the_owner_of_the_machine_may_read_the_folder(tmp_path: Path) -> None:
    Store.open(tmp_path / "s").close()
    assert (tmp_path / "s").stat().st_mode & 0o077 == 0


def test_a_submission_that_was_undone_is_made_again(tmp_path: Path) -> None:
    source = Source(text="__global__ void k() {}")
    with Store.open(tmp_path / "store") as store:
        scope = store.scope("ada", store.start_session("ada"))
        with suppress(ZeroDivisionError), store.transaction():
            assert store.candidate("ada", store.add_candidate(scope, source)) == source
            raise ZeroDivisionError
        with pytest.raises(NotFound):
            store.candidate("ada", source.id)
        assert store.candidate("ada", store.add_candidate(scope, source)) == source
        store.add_candidate(scope, source)
        assert len(store.events("ada", kinds=("candidate_submitted",))) == 1
