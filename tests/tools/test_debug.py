"""`debug`: verdicts of the four checks, what they are based on, and how findings are counted."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from cudanalyst.errors import BadRequest
from cudanalyst.tools.checks import merge
from cudanalyst.tools.debug import ALL_CHECKS, DebugRequest, DebugResult, Finding, Side, debug
from cudanalyst.tools.toolchain.protocol import CandidateRequest, ProgramRequest
from tests.tools.fakes import CANDIDATE, DOUBLE, MEASURED_ON, PROGRAM, SECRET, FakeToolchain, ended

pytestmark = pytest.mark.anyio
OUT_OF_RANGE = Finding(
    check="memcheck",
    kind="invalid_global_write",
    message="4-byte write 0 bytes past the end of y",
    kernel="k",
    file="candidate.cu",
    line=7,
    thread=(97, 0, 0),
    block=(0, 0, 0),
    count=31,
)
RACE = Finding(
    check="racecheck",
    kind="shared_race_raw",
    message="read of a value that another thread writes",
    file="candidate.cu",
    line=5,
    other=Side(access="write", file="candidate.cu", line=4),
)
WATCHDOG = {
    "type": "watchdog",
    "kernel": "k",
    "warps": [{"block": [0, 0, 0], "warp": 0, "file": "candidate.cu", "line": 12, "state": "running"}],
    "message": "no end after 1000 warp instructions",
}


async def debugged(request: DebugRequest | None = None, **fields: Any) -> DebugResult:
    return await debug(CANDIDATE, DOUBLE, FakeToolchain(**fields), request, secret=SECRET)


async def test_a_clean_candidate_is_clean_under_each_of_the_four_checks() -> None:
    result = await debugged()
    assert result.status == "clean"
    assert result.ok is True
    assert [report.check for report in result.checks] == list(ALL_CHECKS)
    assert all(report.coverage for report in result.checks)


async def test_only_the_checks_asked_for_are_run() -> None:
    toolchain = FakeToolchain()
    result = await debug(CANDIDATE, DOUBLE, toolchain, DebugRequest(checks=("racecheck",)))
    assert [report.check for report in result.checks] == ["racecheck"]
    assert set(toolchain.log) == {"build // a candidate", "racecheck"}


async def test_buffers_are_exact_and_outputs_uninitialised_without_guards() -> None:
    toolchain = FakeToolchain()
    await debug(CANDIDATE, DOUBLE, toolchain, DebugRequest(checks=("memcheck",)), secret=SECRET)
    assert [dict(request.sizes) for request in toolchain.requests] == [{"n": 128}, {"n": 97}]  # type: ignore[union-attr]
    for request in toolchain.requests:
        assert isinstance(request, CandidateRequest)
        assert request.guard_bytes == 0
        (call,) = request.calls
        length, contents = call.buffers["x"]
        assert contents is not None
        assert len(contents) == length == 4 * request.sizes["n"]
        assert call.buffers["y"] == (length, None)


async def test_findings_are_counted_over_sizes_and_shown_once() -> None:
    result = await debugged(findings={"memcheck": (OUT_OF_RANGE,)})
    assert result.status == "findings"
    assert result.ok is False
    assert len(result.findings) == 1
    assert result.findings[0].count == 62
    verdicts = {report.check: report.verdict for report in result.checks}
    assert verdicts == {"memcheck": "findings", "racecheck": "clean", "initcheck": "clean", "synccheck": "clean"}


async def test_the_most_severe_finding_comes_first_and_into_the_summary() -> None:
    result = await debugged(findings={"racecheck": (RACE,), "memcheck": (OUT_OF_RANGE,)})
    assert [finding.kind for finding in result.findings] == ["invalid_global_write", "shared_race_raw"]
    assert "invalid_global_write at candidate.cu:7" in result.summary
    assert "guard the index" in result.summary


async def test_a_long_list_is_cut_with_its_total() -> None:
    many = tuple(OUT_OF_RANGE.model_copy(update={"line": line}) for line in range(50))
    result = await debugged(findings={"memcheck": many})
    assert len(result.findings) == 20
    assert result.truncated is not None
    assert (result.truncated.shown, result.truncated.total) == (20, 50)


async def test_a_check_that_failed_is_never_clean() -> None:
    result = await debugged(failed={"initcheck": "out of memory"})
    assert result.status == "tool_failed"
    assert result.ok is None
    assert "not a clean result" in result.summary
    assert result.reason == "out of memory"


async def test_findings_stand_beside_a_check_that_failed_and_both_are_told() -> None:
    result = await debugged(failed={"initcheck": "out of memory"}, findings={"memcheck": (OUT_OF_RANGE,)})
    assert result.status == "findings"
    assert "Not all was checked: initcheck: out of memory" in result.summary


async def test_an_endless_kernel_is_one_finding_not_a_failure() -> None:
    result = await debugged(script=lambda _: ended("returned", report=(WATCHDOG,)))
    assert result.status == "findings"
    assert [(finding.kind, finding.line) for finding in result.findings] == [("endless_loop", 12)]
    assert {report.verdict for report in result.checks} == {"findings"}


async def test_warps_that_all_wait_are_a_deadlock() -> None:
    warps = [{"file": "candidate.cu", "line": 9, "state": "barrier", "block": [1, 0, 0]}]
    result = await debugged(script=lambda _: ended("returned", report=({**WATCHDOG, "warps": warps},)))
    assert [(f.kind, f.check, f.line, f.block) for f in result.findings] == [("deadlock", "synccheck", 9, (1, 0, 0))]


async def test_a_crash_of_host_code_is_a_failed_check_with_its_signal() -> None:
    result = await debugged(script=lambda _: ended("signalled", signal="SIGSEGV"))
    assert result.status == "tool_failed"
    assert result.reason == "host code crashed: SIGSEGV"


async def test_a_crash_that_a_finding_explains_is_no_failure() -> None:
    result = await debugged(
        DebugRequest(checks=("memcheck",)),
        findings={"memcheck": (OUT_OF_RANGE,)},
        script=lambda _: ended("signalled", signal="SIGABRT"),
    )
    assert result.status == "findings"
    assert result.checks[0].reason is None


async def test_a_fault_that_stops_another_check_leaves_it_without_a_verdict() -> None:
    fault = {"type": "error", "name": "cudaErrorIllegalAddress", "file": "candidate.cu", "line": 7}
    result = await debugged(findings={"memcheck": (OUT_OF_RANGE,)}, script=lambda _: ended("returned", report=(fault,)))
    verdicts = {report.check: report.verdict for report in result.checks}
    assert verdicts == {**dict.fromkeys(ALL_CHECKS, "incomplete"), "memcheck": "findings"}
    assert (
        "Incomplete: racecheck, initcheck, synccheck: the kernel was stopped by cudaErrorIllegalAddress"
        in result.summary
    )
    assert result.reason is None


async def test_a_kernel_that_was_stopped_without_a_word_leaves_nothing_clean() -> None:
    failed = OUT_OF_RANGE.model_copy(update={"kind": "assertion_failed"})
    result = await debugged(findings={"memcheck": (failed,)})
    verdicts = {report.check: report.verdict for report in result.checks}
    assert verdicts == {**dict.fromkeys(ALL_CHECKS, "incomplete"), "memcheck": "findings"}
    assert "stopped by assertion_failed at candidate.cu:7" in (result.checks[1].reason or "")
    assert "tool_failed" not in result.summary


async def test_a_check_on_its_own_that_was_cut_short_is_no_verdict() -> None:
    fault = {"type": "error", "name": "cudaErrorIllegalAddress", "file": "candidate.cu", "line": 7}
    result = await debugged(DebugRequest(checks=("racecheck",)), script=lambda _: ended("returned", report=(fault,)))
    assert result.status == "tool_failed"
    assert result.checks[0].verdict == "incomplete"
    assert "stopped by cudaErrorIllegalAddress at candidate.cu:7" in (result.reason or "")
    assert "not a clean result" in result.summary


async def test_a_solve_that_refuses_to_work_was_not_checked() -> None:
    call = {"type": "call", "index": 0, "status": "contract", "message": "cudaMalloc allocates inside solve"}
    result = await debugged(script=lambda _: ended("returned", report=(call,)))
    assert result.status == "tool_failed"
    assert "cudaMalloc allocates inside solve" in (result.reason or "")


async def test_after_host_code_hung_under_one_check_the_others_are_not_tried() -> None:
    toolchain = FakeToolchain(script=lambda _: ended("timed_out"))
    result = await debug(CANDIDATE, DOUBLE, toolchain)
    assert result.status == "tool_failed"
    assert toolchain.log[1:] == ["memcheck"]
    assert "not tried" in (result.checks[1].reason or "")


async def test_what_the_engine_does_not_support_is_a_failed_check_that_names_it() -> None:
    record = {"type": "unsupported", "name": "wgmma.mma_async", "file": "candidate.cu", "line": 4, "message": "use mma"}
    result = await debugged(script=lambda _: ended("returned", report=(record,)))
    assert result.status == "tool_failed"
    assert "wgmma.mma_async at candidate.cu:4" in (result.reason or "")


async def test_a_check_that_is_not_offered_is_said_to_be_so() -> None:
    result = await debugged(offered={"sanitize": ("memcheck",)})
    assert result.status == "tool_failed"
    assert [report.verdict for report in result.checks] == ["clean", "tool_failed", "tool_failed", "tool_failed"]


async def test_without_any_check_debug_is_unavailable() -> None:
    result = await debugged(offered={"sanitize": (), "reasons": {"sanitize": "install compute-sanitizer"}})
    assert result.status == "unavailable"
    assert result.reason == "install compute-sanitizer"


async def test_a_candidate_that_does_not_compile_shows_why() -> None:
    result = await debugged(build_status="failed")
    assert result.status == "compile_failed"
    assert result.diagnostics
    assert result.candidate == CANDIDATE.id


async def test_a_program_is_checked_as_it_is() -> None:
    toolchain = FakeToolchain()
    result = await debug(PROGRAM, None, toolchain, DebugRequest(arguments=("3",)))
    assert result.status == "clean"
    assert all(isinstance(request, ProgramRequest) and request.arguments == ("3",) for request in toolchain.requests)


async def test_a_candidate_without_its_problem_is_refused() -> None:
    with pytest.raises(BadRequest):
        await debug(CANDIDATE, None, FakeToolchain())


@pytest.mark.parametrize(
    "fields",
    [
        {"status": "clean"},
        {"status": "findings"},
        {"status": "clean", "findings": (RACE,)},
        {"status": "tool_failed"},
        {"status": "unavailable"},
    ],
)
async def test_a_result_whose_fields_do_not_fit_its_status_cannot_be_made(fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        DebugResult(summary="", measured_on=MEASURED_ON, **fields)


FINDINGS = st.lists(
    st.builds(
        Finding,
        check=st.sampled_from(ALL_CHECKS),
        kind=st.sampled_from(["invalid_global_read", "shared_race_war", "uninitialized_global_read"]),
        message=st.just(""),
        line=st.integers(1, 3),
        count=st.integers(1, 100),
    )
)


@given(FINDINGS)
def test_merging_keeps_the_total_count_and_is_idempotent(findings: list[Finding]) -> None:
    merged = merge(findings)
    assert sum(finding.count for finding in merged) == sum(finding.count for finding in findings)
    assert merge(merged) == merged
    assert len({(f.check, f.kind, f.line) for f in merged}) == len(merged)
