"""Candidates that try to look better than they are, on the CPU engine: each gets the status it has earned."""

import contextlib
from pathlib import Path

import pytest

from cudanalyst.kernels.catalogue import Catalogue
from cudanalyst.tools.debug import DebugRequest, debug
from cudanalyst.tools.profile import profile
from cudanalyst.tools.run import RunRequest, RunResult, run
from cudanalyst.tools.source import Source
from cudanalyst.tools.toolchain.default import default_toolchain

pytestmark = pytest.mark.anyio
FOLDER = Path(__file__).parent.parent / "adversarial"
SECRET = b"a secret of the tests"
CATALOGUE = Catalogue()
TOOLCHAIN = default_toolchain()
QUICK = RunRequest(model=False, timeout_s=5, max_warp_instructions=2_000_000)

EXPECTED = {
    "honest": ("passed", "Passed"),
    "host_dereference": ("crashed", "SIGSEGV"),
    "leaves_poison": ("wrong", "was never written"),
    "writes_input": ("contract_violation", "input `a` was changed"),
    "writes_after_end": ("contract_violation", "beyond the end of buffer `out`"),
    "writes_before_start": ("contract_violation", "beyond the start of buffer `out`"),
    "writes_far_away": ("crashed", "cudaErrorIllegalAddress"),
    "half_output": ("wrong", "out["),
    "constant_output": ("wrong", "is 0,"),
    "cached_by_pointer": ("wrong", "out["),
    "special_sizes": ("wrong", "all shown sizes are right"),
    "exit_zero": ("crashed", "exit status 0 before `solve` returned"),
    "exit_quietly": ("crashed", "exit status 0 before `solve` returned"),
    "abort": ("crashed", "SIGABRT"),
    "null_dereference": ("crashed", "SIGSEGV"),
    "infinite_kernel": ("timed_out", "endless_loop at candidate.cu"),
    "infinite_host_loop": ("timed_out", "did not end within"),
    "prints_100_mb": ("contract_violation", "printing"),
    "prints_report_words": ("wrong", "was never written"),
    "forges_report": ("contract_violation", "was not written by the engine"),
    "legacy_stream": ("contract_violation", "default stream"),
    "allocates": ("contract_violation", "allocates"),
    "synchronises": ("contract_violation", "waits on the host"),
    "unjoined_stream": ("contract_violation", "own stream"),
    "returns_error": ("crashed", "returned 1"),
    "silent_launch_failure": ("crashed", "cudaErrorInvalid"),
    "no_solve": ("compile_failed", "does not export `solve`"),
    "half_precision": ("wrong", "out["),
    "reads_inputs_on_host": ("passed", "Passed"),
    "uploads_answer": ("contract_violation", "more than 64 KB from the host"),
    "writes_through_alias": ("crashed", "SIGSEGV"),
    "maps_device_file": ("passed", "Passed"),
    "asks_engine": ("passed", "Passed"),
    "forges_profile": ("contract_violation", "was not written by the engine"),
    "rewrites_results": ("contract_violation", "result `out` of call 1 was not written by the engine"),
    "truncates_report": ("contract_violation", "was not written by the engine"),
    "managed_memory": ("contract_violation", "managed memory: a candidate may use device memory only"),
    "managed_variable": ("contract_violation", "a __managed__ variable"),
    "hangs_at_exit": ("passed", "Passed"),
    "thread_outlives_solve": ("passed", "Passed"),
    "swallows_signals": ("timed_out", "did not end within"),
    "exits_when_loaded": ("crashed", "exit status 0 before `solve` returned"),
    "throws": ("crashed", "threw an exception"),
    "overflows_stack": ("crashed", "SIGSEGV"),
}


async def evaluated(name: str, request: RunRequest = QUICK) -> RunResult:
    source = Source(text=(FOLDER / f"{name}.cu").read_text(), problem="vector_add")
    problem = CATALOGUE.problem("vector_add")
    return await run(source, problem, TOOLCHAIN, request, expected=CATALOGUE.expected, secret=SECRET)


@pytest.mark.parametrize("name", EXPECTED)
async def test_each_adversary_gets_the_status_and_the_reason_that_it_has_earned(name: str) -> None:
    status, words = EXPECTED[name]
    result = await evaluated(name)
    assert (result.status, result.reason) == (status, None), result.summary
    assert words in result.summary


@pytest.mark.parametrize("name", ["forges_report", "forges_all"])
async def test_a_forged_report_never_passes(name: str) -> None:
    assert (await evaluated(name)).status in {"crashed", "contract_violation", "wrong"}


async def test_a_daemon_that_a_candidate_starts_does_not_outlive_the_evaluation() -> None:
    def left_behind() -> list[str]:
        found = []
        for entry in Path("/proc").iterdir():
            with contextlib.suppress(OSError):  # gone by now, or no process
                if (entry / "comm").read_text().strip() == "left-behind":
                    found.append(entry.name)
        return found

    result = await evaluated("fork_daemon")
    assert result.status in {"passed", "crashed", "timed_out", "contract_violation"}
    assert left_behind() == []


@pytest.mark.parametrize("problem_id", CATALOGUE.ids)
async def test_the_baseline_of_each_problem_passes_and_is_modelled(problem_id: str) -> None:
    problem = CATALOGUE.problem(problem_id)
    source = Source(text=problem.baseline, problem=problem_id)
    result = await run(source, problem, TOOLCHAIN, expected=CATALOGUE.expected, secret=SECRET)
    assert result.status == "passed", result.summary
    assert result.modelled_us is not None
    assert result.modelled_speedup == pytest.approx(1.0)


@pytest.mark.parametrize("problem_id", CATALOGUE.ids)
async def test_the_baseline_of_each_problem_is_clean_and_profiled(problem_id: str) -> None:
    problem = CATALOGUE.problem(problem_id)
    source = Source(text=problem.baseline, problem=problem_id)
    assert (await debug(source, problem, TOOLCHAIN, secret=SECRET)).status == "clean"
    profiled = await profile(source, problem, TOOLCHAIN, secret=SECRET)
    assert profiled.status == "profiled", profiled.summary
    assert all(line.file == "candidate.cu" for kernel in profiled.kernels for line in kernel.lines)


async def debugged(name: str) -> list[tuple[str, str]]:
    source = Source(text=(FOLDER / f"{name}.cu").read_text(), problem="vector_add")
    request = DebugRequest(timeout_s=10, max_warp_instructions=2_000_000)
    result = await debug(source, CATALOGUE.problem("vector_add"), TOOLCHAIN, request, secret=SECRET)
    return [(finding.kind, str(finding.file)) for finding in result.findings]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("writes_after_end", "invalid_global_"),
        ("writes_before_start", "invalid_global_write"),
        ("infinite_kernel", "endless_loop"),
    ],
)
async def test_debug_finds_the_defect_in_the_submitted_file(name: str, kind: str) -> None:
    found = await debugged(name)
    assert any(each.startswith(kind) and file == "candidate.cu" for each, file in found), found


async def test_a_crash_of_host_code_is_no_finding_and_not_clean() -> None:
    source = Source(text=(FOLDER / "null_dereference.cu").read_text(), problem="vector_add")
    result = await debug(source, CATALOGUE.problem("vector_add"), TOOLCHAIN, secret=SECRET)
    assert result.status == "tool_failed"
    assert "host code crashed: SIGSEGV" in (result.reason or "")
