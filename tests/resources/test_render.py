"""Rendering: bounded, stable, and each component's own news only."""

import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cudanalyst.resources.render import placebo, render_analyzer, render_compiler, render_debugger, render_profiler
from cudanalyst.resources.render.text import MAX_TEXT, clean, shorten
from cudanalyst.tools.analyze import AnalyzeResult, KernelFacts, Suspicion
from cudanalyst.tools.compile import CompileResult, Diagnostic, KernelResources, Occupancy
from cudanalyst.tools.cross_check import Disagreement
from cudanalyst.tools.debug import ALL_CHECKS, CheckReport, DebugResult, EngineReport, Finding, Side
from cudanalyst.tools.profile import Insight, KernelProfile, LineProfile, ProfileResult
from cudanalyst.tools.result import MeasuredOn, Place, Truncation

COMPONENTS = ("analyzer", "compiler", "debugger", "profiler")
RENDER = {
    "compiler": render_compiler,
    "analyzer": render_analyzer,
    "debugger": render_debugger,
    "profiler": render_profiler,
}
ON = MeasuredOn(toolchain="cpu", device="cpu-engine", versions={"nvcc": "SECRETversion"})
FOREIGN = "FOREIGN"
"""Marks what must not come out: news of others, clocks, machines."""
PATH = "/home/FOREIGN/build.1/"

words = st.text(st.sampled_from("abcdefghij {}\n\t;<>/"), max_size=60)
own = words.map(lambda text: f"OWN {text}")
places = st.builds(
    Place, file=st.sampled_from([f"{PATH}candidate.cu", "candidate.cu"]), line=st.integers(1, 99), column=st.none()
)
foreign_diagnostics = st.lists(
    st.builds(
        Diagnostic,
        severity=st.sampled_from(["error", "warning"]),
        text=words.map(lambda text: FOREIGN + text),
        place=places,
    ),
    max_size=3,
).map(tuple)
common = {
    "summary": st.just(f"{FOREIGN} summary"),
    "measured_on": st.just(ON),
    "duration_s": st.floats(7000, 7999),
    "reason": st.just(f"{FOREIGN} reason"),
}
triples = st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(0, 9))


@st.composite
def compile_results(draw):
    status = draw(st.sampled_from(["compiled", "failed", "timed_out", "unavailable", "running"]))
    diagnostics = draw(
        st.lists(
            st.builds(
                Diagnostic,
                severity=st.sampled_from(["error", "warning", "note"]),
                text=own.map(lambda text: f"{text} in {PATH}candidate.cu"),
                place=places,
                code=st.sampled_from([None, "20-D"]),
            ),
            max_size=14,
        )
    )
    kernels = draw(
        st.lists(
            st.builds(
                KernelResources,
                name=own,
                symbol=st.just("_Z"),
                **dict.fromkeys(
                    (
                        "registers",
                        "shared_bytes",
                        "stack_bytes",
                        "spill_store_bytes",
                        "spill_load_bytes",
                        "constant_bytes",
                        "barriers",
                    ),
                    st.integers(0, 10**6),
                ),
                uses_double=st.booleans(),
                occupancy=st.lists(
                    st.builds(
                        Occupancy,
                        block_threads=st.sampled_from([128, 256]),
                        blocks_per_sm=st.just(1),
                        warps_per_sm=st.just(8),
                        fraction=st.floats(0, 1),
                        limiter=st.just("registers"),
                    ),
                    max_size=3,
                ).map(tuple),
            ),
            max_size=5,
        )
    )
    return CompileResult(
        status=status,
        arch="sm_90",
        diagnostics=tuple(diagnostics),
        kernels=tuple(kernels),
        **{k: draw(v) for k, v in common.items()},
    )


@st.composite
def analyze_results(draw):
    suspicions = draw(
        st.lists(
            st.builds(
                Suspicion,
                kind=st.sampled_from(["divergent_barrier", "uncoalesced_access"]),
                place=places,
                kernel=st.sampled_from([None, "scale"]),
                message=own,
                remedy=own,
                confidence=st.sampled_from(["high", "medium", "low"]),
            ),
            max_size=14,
        )
    )
    kernels = draw(
        st.lists(
            st.builds(KernelFacts, name=own, place=places, barriers=st.lists(places, max_size=3).map(tuple)), max_size=4
        )
    )
    return AnalyzeResult(
        status=draw(st.sampled_from(["clean", "findings", "not_parsed", "running"])),
        kernels=tuple(kernels),
        suspicions=tuple(suspicions),
        parse_confidence=draw(st.floats(0, 1)),
        kernels_seen_by_ptxas=(f"{FOREIGN} kernel",),
        **{k: draw(v) for k, v in common.items()},
    )


@st.composite
def debug_results(draw):
    status = draw(st.sampled_from(["clean", "findings", "tool_failed", "compile_failed", "unavailable"]))
    findings = ()
    if status == "findings":
        findings = draw(
            st.lists(
                st.builds(
                    Finding,
                    check=st.sampled_from(ALL_CHECKS),
                    kind=st.sampled_from(["shared_race_raw", "invalid_global_write"]),
                    message=own,
                    kernel=st.sampled_from([None, "scale"]),
                    file=st.sampled_from([None, f"{PATH}candidate.cu"]),
                    line=st.integers(1, 99),
                    thread=triples,
                    block=triples,
                    address=st.sampled_from([None, "y[256 B] + 256", "0x7f12345678ab"]),
                    other=st.one_of(
                        st.none(),
                        st.builds(Side, access=st.just("write"), line=st.integers(1, 9), thread=triples, block=triples),
                    ),
                    count=st.integers(1, 10**6),
                ),
                min_size=1,
                max_size=14,
            ).map(tuple)
        )
    verdict = {"clean": "clean", "tool_failed": "tool_failed", "findings": "findings"}.get(status)
    checks = tuple(
        CheckReport(
            check=check, verdict=verdict, coverage="OWN coverage", reason=f"{FOREIGN} reason", duration_s=7123.0
        )
        for check in ALL_CHECKS
        if verdict is not None
    )
    return DebugResult(
        status=status,
        checks=checks,
        findings=findings,
        diagnostics=draw(foreign_diagnostics),
        **{k: draw(v) for k, v in common.items()},
    )


@st.composite
def profile_results(draw):
    status = draw(st.sampled_from(["profiled", "crashed", "timed_out", "compile_failed", "unavailable"]))
    insights, kernels = (), ()
    if status == "profiled":
        lines = st.builds(
            LineProfile,
            file=st.just(f"{PATH}candidate.cu"),
            line=st.integers(1, 99),
            warp_instructions=st.integers(0, 10**9),
            global_requests=st.integers(0, 99),
            global_sectors=st.integers(0, 99),
        )
        kernels = draw(
            st.lists(
                st.builds(
                    KernelProfile,
                    name=own,
                    launches=st.integers(1, 9),
                    grid=triples,
                    block=triples,
                    warp_instructions=st.integers(0, 10**9),
                    instruction_mix=st.dictionaries(st.sampled_from(["fp32", "integer"]), st.integers(0, 99)),
                    lane_efficiency=st.floats(0, 1),
                    global_bytes=st.integers(0, 10**9),
                    sectors_per_request=st.floats(0, 32),
                    shared_conflict_ratio=st.none(),
                    occupancy=st.just(
                        Occupancy(
                            block_threads=64, blocks_per_sm=1, warps_per_sm=2, fraction=0.03125, limiter="registers"
                        )
                    ),
                    bound=st.sampled_from([None, "dram"]),
                    modelled_us=st.floats(0, 999),
                    share=st.floats(0, 1),
                    lines=st.lists(lines, max_size=12).map(tuple),
                ),
                min_size=1,
                max_size=6,
            ).map(tuple)
        )
        insights = draw(
            st.lists(
                st.builds(
                    Insight,
                    kind=st.sampled_from(["uncoalesced_global", "low_occupancy"]),
                    message=own,
                    kernel=st.just("scale"),
                    file=st.just(f"{PATH}candidate.cu"),
                    lines=st.lists(st.integers(1, 99), max_size=3).map(tuple),
                    metric=st.just("sectors_per_request"),
                    value=st.floats(0, 32),
                    remedy=own,
                    estimated_gain=st.one_of(st.none(), st.floats(1, 9)),
                ),
                max_size=3,
            ).map(tuple)
        )
    return ProfileResult(
        status=status,
        level="ptx",
        kernels=kernels,
        insights=insights,
        diagnostics=draw(foreign_diagnostics),
        **{k: draw(v) for k, v in common.items()},
    )


RESULTS = {
    "compiler": compile_results(),
    "analyzer": analyze_results(),
    "debugger": debug_results(),
    "profiler": profile_results(),
}
REPORTED = {
    "compiler": lambda result: result.status in {"compiled", "failed", "timed_out"},
    "analyzer": lambda result: result.status in {"clean", "findings"},
    "debugger": lambda result: result.status in {"clean", "findings"},
    "profiler": lambda result: result.status == "profiled",
}


@pytest.mark.parametrize("component", COMPONENTS)
def test_evidence_is_bounded_numbered_stable_and_holds_no_foreign_word(component: str) -> None:
    @settings(max_examples=25)
    @given(result=RESULTS[component], seed=st.integers(0, 99))
    def holds(result, seed: int) -> None:
        evidence = RENDER[component]("cand_x", result)
        assert len(evidence.text) <= MAX_TEXT
        assert evidence.component == component
        assert [item.id for item in evidence.items] == [f"{component}.{i}" for i in range(1, len(evidence.items) + 1)]
        for item in evidence.items:
            assert f"[{item.id}] {item.text}" in evidence.text.split("\n")
        assert evidence.structural != REPORTED[component](result)
        assert FOREIGN not in evidence.text
        assert "SECRET" not in evidence.text
        assert not re.search(r"7\d\d\d\.|/home|0x[0-9a-f]{6}", evidence.text)
        if evidence.structural:
            assert "OWN" not in evidence.text
            assert evidence == placebo(component, "cand_x")
        assert RENDER[component]("cand_x", shuffled(result, seed)) == evidence

    holds()


def shuffled(result, seed: int):
    """The same result with its lists in another order and other durations: nothing of it may show."""
    draw = random.Random(seed)
    update = {"duration_s": draw.random()}
    for name in ("kernels", "suspicions", "launches", "findings", "checks", "insights"):
        if hasattr(result, name):
            entries = list(getattr(result, name))
            draw.shuffle(entries)
            update[name] = tuple(entries)
    return result.model_copy(update=update)


@pytest.mark.parametrize("component", COMPONENTS)
def test_real_evidence_carries_codes_places_numbers_and_remedies(component: str, results) -> None:
    gathered = results("wrong")
    result = {
        "compiler": gathered.compiled,
        "analyzer": gathered.analyzed,
        "debugger": gathered.debugged,
        "profiler": gathered.profiled,
    }
    text = RENDER[component]("cand_x", result[component]).text
    expected = {
        "compiler": ["18 registers", "sm_90"],
        "analyzer": ["missing_bounds_guard", "candidate.cu:5", "Return where i >= n.", "high"],
        "debugger": [
            "invalid_global_write",
            "candidate.cu:5",
            "y[256 B] + 256",
            "64 times",
            "thread (64, 0, 0)",
            "racecheck: clean",
        ],
        "profiler": ["uncoalesced_global", "candidate.cu:5", "= 32", "1.8 x", "dram", "Let threadIdx.x index"],
    }
    for words_of_it in expected[component]:
        assert words_of_it in text


def test_a_compile_error_names_place_and_code_without_a_directory(results) -> None:
    text = render_compiler("cand_x", results("compile_failed").compiled).text
    assert 'error 20 at candidate.cu:7:3 (nvcc): identifier "n" is undefined in candidate.cu' in text
    assert "/tmp" not in text


@pytest.mark.parametrize("component", COMPONENTS)
def test_a_placebo_is_as_long_as_evidence_and_silent_about_the_cause(component: str, results) -> None:
    fixed = placebo(component, "cand_x")
    assert fixed.structural
    assert fixed.text == placebo(component, "cand_y").text
    assert 500 <= len(fixed.text) <= 1200
    assert len(fixed.items) == 4
    silent = r"fail|error|crash|wrong|compil(ed|ation)|unavailable|cannot|could not|not available|nothing (was|ran)|missing|withheld"
    assert not re.search(silent, fixed.text, re.IGNORECASE)


@pytest.mark.parametrize("status", ["compile_failed", "unavailable"])
def test_why_a_component_could_not_report_does_not_show(status: str) -> None:
    debugged = DebugResult(status=status, summary="s", reason="r", measured_on=ON)
    profiled = ProfileResult(status=status, summary="s", reason="r", measured_on=ON)
    assert render_debugger("c", debugged) == placebo("debugger", "c")
    assert render_profiler("c", profiled) == placebo("profiler", "c")


def test_what_was_left_out_is_counted_also_what_the_tool_itself_left_out() -> None:
    findings = tuple(
        Finding(check="memcheck", kind="invalid_global_write", message="m" * 400, line=line, file="candidate.cu")
        for line in range(50)
    )
    checks = (CheckReport(check="memcheck", verdict="findings", coverage="global"),)
    result = DebugResult(
        status="findings",
        summary="s",
        measured_on=ON,
        findings=findings,
        checks=checks,
        truncated=Truncation(shown=50, total=80),
    )
    evidence = render_debugger("c", result)
    assert len(evidence.text) <= MAX_TEXT
    assert evidence.text.endswith(f"Shown: {len(evidence.items)} of 81 statements, the most important first.")
    assert "80 distinct findings" in evidence.text


def test_what_only_the_engine_saw_beside_a_gpu_is_told_apart() -> None:
    write = Finding(check="memcheck", kind="invalid_global_write", message="past the end", line=7, file="candidate.cu")
    race = Finding(check="racecheck", kind="global_race_waw", message="two writes", line=9, file="candidate.cu")
    why = "racecheck did not do its work there: a reason"
    item = Disagreement(
        seen_by="engine", check="racecheck", kind="global_race_waw", file="candidate.cu", line=9, why=why
    )
    engine = EngineReport(status="findings", findings=(write, race), disagreements=(item,))
    checks = (CheckReport(check="memcheck", verdict="findings", coverage="global"),)
    result = DebugResult(
        status="findings", summary="s", measured_on=ON, findings=(write,), checks=checks, engine=engine
    )
    texts = [item.text for item in render_debugger("c", result).items]
    assert [text for text in texts if text.startswith("on the CPU engine only: racecheck global_race_waw")]
    assert sum("invalid_global_write" in text for text in texts) == 1
    assert "a reason" not in " ".join(texts)


def test_a_note_stays_with_its_error() -> None:
    diagnostics = (
        Diagnostic(severity="error", text="second", place=Place(file="candidate.cu", line=9)),
        Diagnostic(severity="note", text="of second", place=Place(file="candidate.cu", line=1)),
        Diagnostic(severity="warning", text="third", place=Place(file="candidate.cu", line=2)),
        Diagnostic(severity="error", text="first", place=Place(file="candidate.cu", line=3)),
    )
    items = render_compiler(
        "c", CompileResult(status="failed", summary="s", measured_on=ON, diagnostics=diagnostics)
    ).items
    assert [re.findall(r"first|second|third", item.text) for item in items] == [
        ["first"],
        ["second", "second"],
        ["third"],
    ]


@pytest.mark.parametrize(
    ("raw", "cleaned"),
    [
        ("in /tmp/a.b/c-1/candidate.cu(3)", "in candidate.cu(3)"),
        ("'/usr/include/c++/12/vector'", "'vector'"),
        ("x = a / b / c", "x = a / b / c"),
        ("a/b/c per thread", "a/b/c per thread"),
        ("at 0x7f00deadbeef, mask 0xff", "at 0x..., mask 0xff"),
        ("bell\x07 esc\x1b[31m\r\nnext", "bell esc [31m next"),
        ("~/private/key.pem", "key.pem"),
    ],
)
def test_cleaning_removes_directories_pointers_and_control_characters(raw: str, cleaned: str) -> None:
    assert clean(raw) == cleaned


@given(text=st.text(max_size=300), limit=st.integers(20, 100))
def test_shortening_keeps_the_limit_and_the_beginning(text: str, limit: int) -> None:
    short = shorten(text, limit)
    assert len(short) <= max(limit, 0)
    assert text.startswith(short.removesuffix(" ..."))
