"""Mentions in free text: found where they are, and not where they only seem to be."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cudanalyst.resources.evidence import Evidence, EvidenceItem
from cudanalyst.resources.usage.mentions import mentions


def evidence(component, *texts, structural=False):
    items = tuple(EvidenceItem(id=f"{component}.{number}", text=text) for number, text in enumerate(texts, 1))
    body = "\n".join(f"[{item.id}] {item.text}" for item in items)
    return Evidence(component=component, candidate="cand_a", items=items, text=body, structural=structural)


DEBUGGER = evidence(
    "debugger",
    "racecheck shared_race_raw at candidate.cu:42, in tile_kernel, 3 times: two threads reach the same word without a barrier",
    "memcheck: clean; it covers addresses",
)
PROFILER = evidence(
    "profiler",
    "uncoalesced_load at candidate.cu:17: each request touches four times the sectors that it needs",
    "kernel tile_kernel: launched 1 time; sectors per global request 16; lane efficiency 0.5",
)
COMPILER = evidence(
    "compiler", "register_spill in tile_kernel: 64 bytes stored", "warning #177-D at candidate.cu:42 (nvcc): unused"
)
SHOWN = (DEBUGGER, PROFILER)


def found(text, shown=SHOWN):
    return {(one.component, one.by) for one in mentions(text, shown)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Because of debugger.1 I add a barrier.", {("debugger", "id")}),
        ("See profiler.2.", {("profiler", "id")}),
        ("There is a shared_race_raw, so sync.", {("debugger", "kind")}),
        ("It says shared race raw in the tile.", {("debugger", "kind")}),
        ("racecheck complains", {("debugger", "kind")}),
        ("The uncoalesced-load has to go.", {("profiler", "kind")}),
        ("Lane efficiency is half, and sectors per global request 16.", {("profiler", "metric")}),
        ("Fix line 17 first.", {("profiler", "line")}),
        ("candidate.cu:42 needs __syncthreads()", {("debugger", "line")}),
        ("lines 40-42 and 17", {("debugger", "line")}),
        ("each request touches four times the sectors it needs, they say", {("profiler", "quote")}),
    ],
)
def test_what_only_one_components_evidence_holds_is_a_mention(text, expected):
    assert found(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "I will run the profiler and then the debugger.",
        "The analyzer might know more about memory accesses.",
        "debugger.9 is an item that was never delivered",
        "compiler.1 was not delivered either",
        "profiler.2.1 is a version, my.profiler.2 a module and profiler.2x nothing",
        "tile_kernel is the name that I gave it",
        "avoid bank conflicts and use more threads per block",
        "a race against time; check memory; init everything",
        "shared memory and a raw pointer",
        "inline 17 of them; deadline 42; 17 lines; version 1.17",
        "line 17.5 of the budget, line 42% done",
        "line 170 and candidate.cu:4",
        "```\nshared_race_raw(x); // line 17\n```",
        "an unclosed fence ```cuda\nint line 17; racecheck",
        "see https://example.org/racecheck/debugger.1",
        "shared_race_raw() is a helper of mine",
        "each request touches four other things",
        "",
    ],
)
def test_what_only_looks_like_one_is_none(text):
    assert found(text) == set()


def test_what_two_components_hold_tells_neither():
    assert found("line 42 again", (DEBUGGER, COMPILER)) == set()
    assert found("line 42 again", (DEBUGGER,)) == {("debugger", "line")}


def test_a_placebo_cannot_be_spoken_of():
    neutral = evidence("debugger", "racecheck concerns accesses to shared data", structural=True)
    assert found("racecheck concerns accesses to shared data, debugger.1", (neutral,)) == set()


def test_each_thing_is_told_once_and_briefly():
    several = mentions(
        "debugger.1, debugger.1; RACECHECK and racecheck; " + " ".join([DEBUGGER.items[0].text] * 3), SHOWN
    )
    assert len({(one.by, one.text.lower()) for one in several}) == len(several)
    assert sum(one.by == "quote" for one in several) == 1
    assert all(len(one.text) <= 80 for one in several)


@given(st.text(max_size=400))
def test_no_text_breaks_it_and_nothing_is_found_without_evidence(text):
    mentions(text, SHOWN)
    assert mentions(text, ()) == ()
