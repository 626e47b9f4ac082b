"""What real runs on an H200 mean: kinds in the engine's words, lines, threads, counts, and what is not clean."""

import pytest

from cudanalyst.tools.toolchain.paths import PathNames
from cudanalyst.tools.toolchain.sanitizer.context import Context
from cudanalyst.tools.toolchain.sanitizer.places import Allocation
from cudanalyst.tools.toolchain.sanitizer.verdict import STOPPED, Verdict, interpret, of_stopped

# name of the recording, kind, text of the line, thread, block, count
DEVICE = [
    ("oob_before.memcheck", "invalid_global_write", "void oob_before", (0, 0, 0), (0, 0, 0), 1),
    ("null_w.memcheck", "invalid_global_write", "void null_w", (0, 0, 0), (0, 0, 0), 4),
    ("shared_static.memcheck", "invalid_shared_write", "void shared_static", (0, 0, 0), (0, 0, 0), 32),
    ("shared_near.memcheck", "invalid_shared_write", "void shared_static", (31, 0, 0), (0, 0, 0), 1),
    ("shared_dynamic.memcheck", "invalid_shared_write", "void shared_dynamic", (63, 0, 0), (0, 0, 0), 1),
    ("cluster_oob.memcheck", "invalid_shared_write", "cluster_oob(int* x", (0, 0, 0), (0, 0, 0), 64),
    ("misaligned.memcheck", "misaligned_global_write", "void misaligned(", (0, 0, 0), (0, 0, 0), 32),
    ("misaligned_r.memcheck", "misaligned_global_read", "void misaligned_r", (0, 0, 0), (0, 0, 0), 32),
    ("uaf.memcheck", "invalid_global_read", "void clean(", (0, 0, 0), (0, 0, 0), 32),
    ("heap_double.memcheck", "double_free", "void heap_double", (0, 0, 0), (0, 0, 0), 1),
    ("heap_oob.memcheck", "invalid_global_write", "void heap_oob", (0, 0, 0), (0, 0, 0), 1),
    ("stack_overflow.memcheck", "device_fault", "int deep(", (0, 0, 0), (0, 0, 0), 1),
    ("asserts.memcheck", "assertion_failed", "void asserts", (0, 0, 0), (0, 0, 0), 8),
    ("traps.memcheck", "device_fault", "void traps", (3, 0, 0), (0, 0, 0), 1),
    ("bar_count.memcheck", "device_fault", "void bar_count", (32, 0, 0), (0, 0, 0), 32),
    ("raw.racecheck", "shared_race_raw", "void raw(", None, None, 512),
    ("war.racecheck", "shared_race_war", "s[threadIdx.x] = v; __syncthreads();", None, None, 512),
    ("waw.racecheck", "shared_race_waw", "void waw(", None, None, 268),
    ("warp_race.racecheck", "shared_race_raw", "void warp_race", None, None, 128),
    ("async_nowait.racecheck", "shared_race_raw", "void async_nowait", None, None, 512),
    ("cluster_race.racecheck", "shared_race_waw", "cluster_race(int* x", None, None, 62),
    ("uninit.initcheck", "uninitialized_global_read", "void uninit(", (64, 0, 0), (0, 0, 0), 10),
    ("divsync.synccheck", "divergent_barrier", "void divsync(", (0, 0, 0), (0, 0, 0), 16),
    ("two_places.synccheck", "divergent_barrier", "void two_places", (1, 0, 0), (0, 0, 0), 32),
    ("bad_mask.synccheck", "invalid_warp_mask", "void bad_mask", (0, 0, 0), (0, 0, 0), 16),
    ("mbar_noinit.synccheck", "invalid_barrier", "void mbar_noinit", (0, 0, 0), (0, 0, 0), 32),
    ("mbar_over.synccheck", "invalid_barrier", "void mbar_over", (0, 0, 0), (0, 0, 0), 32),
]


@pytest.mark.parametrize(("name", "kind", "line", "thread", "block", "count"), DEVICE)
def test_a_defect_in_device_code_has_its_kind_line_thread_and_count(
    recordings, name, kind, line, thread, block, count
) -> None:
    verdict = recordings.verdict(name)
    assert verdict.broken is None
    (finding,) = verdict.findings
    assert (finding.kind, finding.file, finding.line) == (kind, "p.cu", recordings.line_of(line))
    assert (finding.thread, finding.block, finding.count) == (thread, block, count)


CALLS = [
    ("badfree.memcheck", "invalid_free", "cudaFree"),
    ("dfree.memcheck", "invalid_free", "cudaFree"),
    ("badlaunch.memcheck", "invalid_launch", "cudaLaunchKernel"),
    ("badgrid.memcheck", "invalid_launch", "cudaLaunchKernel"),
    ("bigsmem.memcheck", "invalid_launch", "cudaLaunchKernel"),
    ("silentsmem.memcheck", "invalid_launch", "cudaLaunchKernel"),
    ("copy_oob.memcheck", "invalid_copy", "cudaMemcpy"),
    ("copy_null.memcheck", "invalid_copy", "cudaMemcpy"),
    ("memset_oob.memcheck", "invalid_copy", "cudaMemset"),
    ("uninit_copy.initcheck", "uninitialized_copy", "cudaMemcpy"),
]


@pytest.mark.parametrize(("name", "kind", "call"), CALLS)
def test_a_misused_call_is_told_once_with_the_hosts_stack(recordings, name, kind, call) -> None:
    (finding,) = recordings.verdict(name).findings
    assert finding.kind == kind
    assert f"{call} < main" in finding.message
    assert finding.line is None


CLEAN = (
    "alone.memcheck", "alone.racecheck", "alone.initcheck", "alone.synccheck", "async_ok.racecheck", "atomic_mix.racecheck", "mbar_ok.synccheck",
    "stdin.memcheck", "noop.memcheck",
)  # fmt: skip


@pytest.mark.parametrize("name", CLEAN)
def test_a_correct_program_is_clean(recordings, name) -> None:
    verdict = recordings.verdict(name)
    assert verdict == type(verdict)((), None, None, None)


NOT_SEEN = ("global_race.racecheck", "uninit_shared.initcheck", "early_exit.synccheck", "half_shfl.synccheck", "bad_shfl.synccheck", "async_nowait.synccheck")  # fmt: skip


@pytest.mark.parametrize("name", NOT_SEEN)
def test_what_the_coverage_excludes_is_indeed_not_found(recordings, name) -> None:
    assert recordings.verdict(name).findings == ()


def test_each_of_the_recordings_without_records_and_summary_is_no_clean_result(recordings) -> None:
    unclear = [name for name in recordings.names() if not name.startswith(("talk", "sameport"))]
    assert len(unclear) > 100
    for name in unclear:
        verdict = recordings.verdict(name)
        complete = f"{name}.xml" in recordings.files and b"SUMMARY: " in recordings.files[f"{name}.txt"]
        if not complete:
            assert verdict.broken is not None, name


def test_a_program_without_a_cuda_call_is_not_clean(recordings) -> None:
    verdict = recordings.verdict("nocuda.memcheck")
    assert verdict.broken is not None
    assert "before first instrumented API call" in verdict.broken
    assert "no GPU is visible" in verdict.broken


def test_a_host_crash_is_not_the_tools_failure_and_not_clean(recordings) -> None:
    verdict = recordings.verdict("crash.memcheck")
    assert verdict.broken is None
    assert verdict.stopped is not None
    assert "crashed" in verdict.stopped


def test_a_program_that_ends_with_an_error_status_is_noted(recordings) -> None:
    verdict = recordings.verdict("exit3.memcheck")
    assert (verdict.findings, verdict.broken, verdict.stopped) == ((), None, None)
    assert verdict.note is not None
    assert "ended with an error" in verdict.note


def test_errors_beyond_the_print_limit_are_said(recordings) -> None:
    assert recordings.verdict("uninit.initcheck").note == (
        "118 more errors were met beyond the limit of what is kept: counts and places are not complete"
    )
    assert (recordings.verdict("raw.racecheck_hazard").note or "").startswith("492 more errors were met")


def test_a_race_has_both_sides(recordings) -> None:
    (finding,) = recordings.verdict("war.racecheck").findings
    assert finding.other is not None
    assert (finding.other.access, finding.other.line) == ("read", recordings.line_of("float v = s["))
    assert finding.kernel == "war"


def test_a_hazard_has_the_threads_of_both_sides(recordings) -> None:
    (finding,) = recordings.verdict("raw.racecheck_all").findings
    assert finding.other is not None
    assert (finding.thread, finding.other.thread) == ((64, 0, 0), (97, 0, 0))
    assert finding.address == "shared + 388"


def test_the_buffers_of_the_executor_are_named(recordings) -> None:
    (first,) = recordings.verdict("talk.k_oob.memcheck", own="k.cu", replayed=True).findings
    named = recordings.verdict(
        "talk.k_oob.memcheck",
        own="k.cu",
        replayed=True,
        allocations=(Allocation("x", 0x7F6864800000, 4000), Allocation("y", 0x7F6864801000, 4000)),
    )
    (finding,) = named.findings
    assert (first.address, finding.address) == ("allocation[4000 B] + 4000", "x[4000 B] + 4000")
    assert finding.message == "Invalid global read of 4 bytes at x[4000 B] + 4000, just past the end of the allocation"
    assert (finding.kernel, finding.line, finding.count) == ("k_oob", recordings.line_of("k_oob", "k.cu"), 24)


def test_a_null_pointer_is_called_so(recordings) -> None:
    (finding,) = recordings.verdict("null_w.memcheck").findings
    assert finding.message.endswith("at 0x0, a null pointer or an offset from one")


def test_a_failed_assertion_tells_its_text_and_place(recordings) -> None:
    (finding,) = recordings.verdict("asserts.memcheck").findings
    assert finding.message == "Assertion `x[threadIdx.x] == 7` failed"


def test_a_place_in_a_header_is_moved_to_its_caller_in_the_source(recordings) -> None:
    (finding,) = recordings.verdict("mbar_over.synccheck").findings
    assert (finding.kernel, finding.file) == ("mbar_over", "p.cu")


PADDED = [
    ("oob_w.padded", "invalid_global_write", "void oob_w(", 1),
    ("oob_r.padded", "invalid_global_read", "void oob_r(", 2),
    ("oob_atomic.padded", "invalid_global_atomic", "void oob_atomic", 28),
    ("oob_inline.padded", "invalid_global_write", "void oob_inline", 1),
    ("tmpl.padded", "invalid_global_write", "void tmpl(", 16),
]


@pytest.mark.parametrize(("name", "kind", "line", "count"), PADDED)
def test_padding_shows_an_overrun_that_would_land_in_the_neighbour(recordings, name, kind, line, count) -> None:
    assert recordings.verdict(name.replace(".padded", ".memcheck")).findings == ()
    (finding,) = recordings.verdict(name, check="memcheck").findings
    assert (finding.kind, finding.line, finding.count) == (kind, recordings.line_of(line), count)
    assert "past the end of the" in finding.message


@pytest.mark.parametrize(("name", "check"), [("raw.padding", "racecheck"), ("divsync.padding", "synccheck")])
def test_padding_changes_nothing_for_the_other_tools(recordings, name, check) -> None:
    padded, plain = recordings.verdict(name, check=check), recordings.verdict(name.replace("padding", check))
    assert [(one.kind, one.line, one.count) for one in padded.findings] == [
        (one.kind, one.line, one.count) for one in plain.findings
    ]


def test_leaks_are_told_by_their_allocation(recordings) -> None:
    found = recordings.verdict("leak.memcheck_full").findings
    assert [(one.kind, one.message) for one in found] == [
        ("leak", f"{size} bytes of device memory were never freed; call stack: cudaMalloc < buf < main")
        for size in (1000, 2000)
    ]
    (heap,) = recordings.verdict("heap_leak.memcheck_full").findings
    assert (heap.kind, heap.count) == ("leak", 4)


@pytest.mark.parametrize(("name", "kind"), [("overrun", "invalid_global_write"), ("asserts", "assertion_failed")])
def test_what_a_stopped_program_could_not_free_is_no_leak(recordings, name, kind) -> None:
    assert b"<kind>Leak</kind>" in recordings.files[f"program.{name}.memcheck.xml"]
    found = recordings.verdict(f"program.{name}.memcheck", own="program.cu").findings
    assert [one.kind for one in found] == [kind]


def test_a_hundred_thousand_errors_are_bounded_and_what_was_dropped_is_said(recordings) -> None:
    verdict = recordings.verdict("uninit_many.limit1000", check="initcheck")
    assert verdict.broken is None
    assert [(one.kind, one.line, one.count) for one in verdict.findings] == [
        ("uninitialized_global_read", recordings.line_of("void uninit_many"), 256)
    ]
    assert (verdict.note or "").startswith("99744 more errors were met")


def test_a_run_that_the_time_limit_stopped_among_errors_has_those_that_were_told(recordings) -> None:
    name = "uninit_many.initcheck"
    assert f"{name}.xml" not in recordings.files
    verdict = of_stopped("initcheck", recordings.files[f"{name}.txt"], Context(PathNames("p.cu", {})))
    (finding,) = verdict.findings
    assert (finding.kind, finding.line, finding.count, finding.kernel) == (
        "uninitialized_global_read", recordings.line_of("void uninit_many"), 100, "uninit_many",
    )  # fmt: skip
    assert verdict.note == STOPPED


@pytest.mark.parametrize("name", ["loops.memcheck", "loops.racecheck", "bar_deadlock.synccheck"])
def test_a_run_that_the_time_limit_stopped_without_an_error_has_none(recordings, name) -> None:
    text = recordings.files[f"{name}.txt"]
    assert recordings.verdict(name).broken is not None
    assert of_stopped("memcheck", text, Context(PathNames("p.cu", {}))) == Verdict((), None, None, None)


TEXTS = ("talk.k_oob.memcheck", "talk._Z9k_mangledPKfPfi.memcheck", "misaligned.memcheck", "shared_static.memcheck", "uninit.initcheck", "divsync.synccheck", "bad_mask.synccheck", "mbar_over.synccheck")  # fmt: skip


@pytest.mark.parametrize("name", TEXTS)
def test_the_text_tells_of_a_wrong_access_what_the_records_tell(recordings, name) -> None:
    own = "k.cu" if name.startswith("talk") else "p.cu"
    check = recordings.check(name + ".")
    told = of_stopped(check, recordings.files[f"{name}.txt"], Context(PathNames(own, {}))).findings
    recorded = recordings.verdict(name, own=own).findings
    assert [(one.kind, one.kernel, one.file, one.line, one.thread, one.count) for one in told] == [
        (one.kind, one.kernel, one.file, one.line, one.thread, one.count) for one in recorded
    ]


@pytest.mark.parametrize("name", ["asserts.initcheck", "asserts.synccheck"])
def test_an_assertion_that_failed_leaves_the_other_checks_without_a_verdict(recordings, name) -> None:
    verdict = recordings.verdict(name)
    assert (verdict.findings, verdict.broken) == ((), None)
    assert "a failed assertion stopped a kernel" in (verdict.stopped or "")


def test_a_tool_that_was_killed_or_cannot_write_is_not_clean(recordings) -> None:
    for name in ("killed", "badsave", "missing.injection", "missing.program"):
        assert recordings.verdict(name, check="memcheck").broken is not None, name


def test_children_that_fork_or_stay_behind_change_nothing(recordings) -> None:
    for name in ("forked.app", "daemon.app"):
        assert recordings.verdict(name, check="memcheck") == Verdict((), None, None, None), name


def test_without_lines_the_kernel_is_still_named(recordings) -> None:
    (finding,) = recordings.verdict("raw.nolines", check="racecheck").findings
    assert (finding.kind, finding.kernel, finding.file, finding.line) == ("shared_race_raw", "raw", None, None)


def _refused(recordings, call: str) -> bytes:
    """A recorded failing call under another name: the executor's own were seen in results of an H200 only."""
    return recordings.files["badgrid.memcheck.xml"].replace(b"cudaLaunchKernel", call.encode())


@pytest.mark.parametrize(
    ("call", "replayed", "kinds"),
    [
        ("cuFuncGetParamInfo", True, []),
        ("cuCtxGetDevice", True, []),
        ("cuFuncGetParamInfo", False, ["api_error"]),
        ("cuLaunchKernelEx", True, ["invalid_launch"]),
        ("cuMemcpyDtoDAsync_v2", True, ["invalid_copy"]),
        ("cuMemsetD32Async", True, ["invalid_copy"]),
    ],
)
def test_of_failing_calls_only_those_count_that_a_trace_or_the_program_can_make(
    recordings, call, replayed, kinds
) -> None:
    context = Context(PathNames("p.cu", {}), replayed=replayed)
    verdict = interpret("memcheck", _refused(recordings, call), recordings.files["badgrid.memcheck.txt"], context)
    assert [one.kind for one in verdict.findings] == kinds
    assert verdict.broken is None
