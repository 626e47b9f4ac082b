"""How a candidate's process may end, and what its report may claim: each gets the verdict that it has earned."""

from typing import Any

import pytest

from cudanalyst.tools.run import run
from cudanalyst.tools.toolchain.protocol import Execution
from tests.tools.fakes import (
    CANDIDATE,
    DOUBLE,
    SECRET,
    VERIFY,
    Device,
    Ended,
    FakeToolchain,
    double_expected,
    doubled,
    ended,
    rewrite,
    verdict,
)

pytestmark = pytest.mark.anyio


def report_of(execution: Execution, report: tuple[Any, ...]) -> Execution:
    return ended("returned", report=report, downloads=execution.downloads)


@pytest.mark.parametrize("status", [0, 1, 42])
async def test_exit_inside_solve_is_a_crash_whatever_the_status(status: int) -> None:
    def leaves(device: Device) -> None:
        raise Ended("exited", status=status)

    result = await verdict(leaves)
    assert result.status == "crashed"
    assert f"exit status {status} before `solve` returned" in result.summary


async def test_a_signal_is_a_crash_that_names_it() -> None:
    def aborts(device: Device) -> None:
        raise Ended("signalled", signal="SIGABRT")

    result = await verdict(aborts)
    assert result.status == "crashed"
    assert "SIGABRT" in result.summary


async def test_calls_before_a_crash_are_judged_and_cases_after_it_are_not_run() -> None:
    def late(device: Device) -> None:
        if device.index == 1:
            raise Ended("signalled", signal="SIGSEGV")
        doubled(device)

    result = await verdict(late)
    assert result.status == "crashed"
    assert len(result.cases) == 6
    assert [case.status for case in result.cases].count("crashed") == 1
    assert {case.status for case in result.cases[2:]} == {"not_run"}


async def test_one_crash_ends_the_evaluation() -> None:
    toolchain = FakeToolchain(script=lambda _: ended("signalled", signal="SIGSEGV"))
    await run(CANDIDATE, DOUBLE, toolchain, VERIFY, expected=double_expected, secret=SECRET)
    assert toolchain.log.count("execute") == 1


async def test_a_wrong_answer_does_not_end_it() -> None:
    toolchain = FakeToolchain(solve=lambda _: None)
    await run(CANDIDATE, DOUBLE, toolchain, VERIFY, expected=double_expected, secret=SECRET)
    assert toolchain.log.count("execute") == 3


async def test_a_process_that_does_not_end_is_timed_out() -> None:
    result = await verdict(script=lambda _: ended("timed_out"))
    assert result.status == "timed_out"
    assert "did not end within 20 s" in result.summary


async def test_an_endless_kernel_is_timed_out_where_the_watchdog_says() -> None:
    warps = [{"block": [0, 0, 0], "warp": 0, "file": "candidate.cu", "line": 7, "state": "running"}]
    record = {"type": "watchdog", "kernel": "k", "warps": warps, "message": "still running after 1000 instructions"}
    result = await verdict(script=lambda _: ended("returned", report=(record,)))
    assert result.status == "timed_out"
    assert "endless_loop at candidate.cu:7" in result.summary


async def test_a_flood_of_output_is_a_violation() -> None:
    result = await verdict(script=lambda _: ended("output_limit"))
    assert result.status == "contract_violation"


async def test_a_device_fault_is_a_crash_with_its_cuda_error_and_place() -> None:
    fault = {"type": "error", "name": "cudaErrorIllegalAddress", "file": "candidate.cu", "line": 9}
    call = {"type": "call", "index": 0, "status": "cuda_error", "cuda_error_name": "cudaErrorIllegalAddress"}
    result = await verdict(script=lambda _: ended("exited", exit_status=1, report=(fault, call)))
    assert result.status == "crashed"
    assert result.cuda_error == "cudaErrorIllegalAddress"
    assert "candidate.cu:9" in result.summary


async def test_the_name_of_an_error_in_a_report_is_not_passed_on_unless_it_is_one() -> None:
    fault = {"type": "error", "name": "the size is 1013"}
    result = await verdict(script=lambda _: ended("returned", report=(fault,)))
    assert "1013" not in result.model_dump_json()


async def test_a_contract_record_is_a_violation_with_its_words() -> None:
    call = {"type": "call", "index": 0, "status": "contract", "message": "cudaMalloc inside solve; use a workspace"}
    result = await verdict(script=lambda _: ended("returned", report=(call,)))
    assert result.status == "contract_violation"
    assert "cudaMalloc inside solve" in result.summary


async def test_a_value_returned_by_solve_that_is_not_0_is_a_crash() -> None:
    result = await verdict(lambda _: 7)
    assert result.status == "crashed"
    assert "returned 7" in result.summary


@pytest.mark.parametrize(
    "change",
    [
        lambda execution: report_of(execution, execution.report[:-1]),
        lambda execution: report_of(execution, (*execution.report, execution.report[-1])),
        lambda execution: report_of(execution, (*execution.report[:-1], execution.report[1], execution.report[-1])),
        lambda execution: report_of(execution, (execution.report[0], *execution.report[2:])),
        lambda execution: report_of(execution, (*execution.report, {"type": "call", "index": 99, "status": "ok"})),
    ],
    ids=["no end", "two ends", "an answer too many", "an answer missing", "an answer after the end"],
)
async def test_a_report_that_does_not_add_up_is_a_violation(change) -> None:
    result = await verdict(**rewrite(change))
    assert result.status == "contract_violation"


async def test_answers_beyond_the_calls_are_a_violation_though_the_process_left_in_order() -> None:
    result = await verdict(
        **rewrite(
            lambda e: ended("exited", exit_status=0, report=(*e.report[:-1], *e.report[1:]), downloads=e.downloads)
        )
    )
    assert result.status == "contract_violation"
    assert "does not add up" in result.summary


async def test_a_report_that_claims_success_without_outputs_is_a_violation() -> None:
    result = await verdict(**rewrite(lambda execution: ended("returned", report=execution.report)))
    assert result.status == "contract_violation"


async def test_a_report_that_claims_success_over_poison_is_wrong() -> None:
    result = await verdict(lambda _: None)
    assert result.status == "wrong"
