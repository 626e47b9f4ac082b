"""What ncu says while it collects."""

from hypothesis import given
from hypothesis import strategies as st

from cudanalyst.tools.toolchain.ncu.log import no_kernels, parse_log


def test_passes_are_counted_of_kernels_with_and_without_a_number(recorded):
    log = parse_log(recorded("full.txt"))
    assert (log.passes, log.profiled) == (38, 9)
    assert (parse_log(recorded("quick.txt")).passes, parse_log(recorded("standard.txt")).passes) == (5, 11)
    assert (parse_log(recorded("range.txt")).profiled, parse_log(recorded("second.txt")).profiled) == (1, 1)
    assert parse_log(recorded("basic.txt")).passes == 10
    assert parse_log(recorded("one_pcsamp.txt")).passes == 2
    assert parse_log(recorded("exit3.txt")).passes == 1


def test_counters_that_cannot_be_had_are_named(recorded):
    assert parse_log(recorded("full.txt")).missing[0] == "ctc__rx_bytes_data_user.sum"


def test_where_no_kernel_matched_those_seen_are_listed(recorded):
    log = parse_log(recorded("none_matched.txt"))
    assert log.nothing
    assert log.seen == ("fma_bound", "stream_add")
    assert no_kernels(log, "gemm") == "0 kernels matched `gemm`; these were launched: fma_bound, stream_add"
    assert log.failure() is None


def test_a_program_without_kernels_is_told_so(recorded):
    log = parse_log(recorded("nokernel.txt"))
    assert log.nothing
    assert no_kernels(log, None) == "no kernel was launched, so there is nothing to profile"


def test_a_programs_own_end_is_no_failure_of_the_tool(recorded):
    assert parse_log(recorded("exit3.txt")).ended == 3
    assert parse_log(recorded("crash.txt")).ended == 11
    assert parse_log(recorded("exit3.txt")).failure() is None


def test_refused_counters_come_with_the_remedy():
    text = "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance Counters on the target device 0."
    failure = parse_log(text).failure()
    assert failure is not None
    assert "NVreg_RestrictProfilingToAdminUsers=0" in failure


def test_counters_held_by_another_tool_are_told_from_a_broken_one():
    busy = "==ERROR== Profiling failed because a driver resource was unavailable. Ensure that no other tool (like DCGM) is concurrently collecting profiling data."
    assert "DCGM" in (parse_log(busy).failure() or "")
    assert parse_log("==ERROR== Failed to find metric x").failure() == "Nsight Compute failed: Failed to find metric x"


@given(st.text())
def test_any_text_is_read(text):
    log = parse_log(text)
    assert log.profiled >= 0
    assert len(log.seen) <= 20
