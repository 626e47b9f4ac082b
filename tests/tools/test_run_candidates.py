"""Verdicts on candidates: what `run` believes, and what it does not."""

from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from cudanalyst.errors import BadRequest
from cudanalyst.tools.run import RunRequest, RunResult, run
from cudanalyst.tools.toolchain.protocol import CandidateRequest, Execution, ExecutionRequest
from tests.tools.fakes import (
    CANDIDATE,
    DOUBLE,
    MEASURED_ON,
    PROGRAM,
    SECRET,
    Device,
    Ended,
    FakeToolchain,
    double_expected,
    doubled,
    ended,
    run_calls,
)

pytestmark = pytest.mark.anyio
VERIFY = RunRequest(model=False)


async def verdict(solve=doubled, request: RunRequest = VERIFY, **fields: Any) -> RunResult:
    toolchain = FakeToolchain(solve=solve, **fields)
    return await run(CANDIDATE, DOUBLE, toolchain, request, expected=double_expected, secret=SECRET)


def rewrite(change) -> dict[str, Any]:
    """A right candidate whose process leaves something else than the runner wrote."""

    def script(request: ExecutionRequest) -> Execution:
        assert isinstance(request, CandidateRequest)
        return change(run_calls(doubled, request))

    return {"script": script}


def report_of(execution: Execution, report: tuple[Any, ...]) -> Execution:
    return ended("returned", report=report, downloads=execution.downloads)


async def test_a_right_candidate_passes_on_every_size_and_seed() -> None:
    result = await verdict()
    assert result.status == "passed"
    assert result.ok is True
    assert [(case.group, case.seed_index) for case in result.cases] == [
        ("test", 0), ("test", 1), ("test", 0), ("test", 1), ("held_out", 0), ("held_out", 1),
    ]  # fmt: skip
    assert result.deterministic is True
    assert result.trust == "native"
    assert result.summary.startswith("Passed: 6 cases")


async def test_each_process_makes_shuffled_calls_with_the_first_input_twice() -> None:
    toolchain = FakeToolchain()
    await run(CANDIDATE, DOUBLE, toolchain, RunRequest(model=False, seeds=4), expected=double_expected, secret=SECRET)
    orders = []
    for request in toolchain.requests:
        assert isinstance(request, CandidateRequest)
        inputs = [call.buffers["x"][1][4096:-4096] for call in request.calls]
        assert len(inputs) == 5
        assert len(set(inputs)) == 4
        orders.append(tuple(inputs.index(data) for data in inputs))
    assert len(set(orders)) > 1


async def test_outputs_hold_two_different_poisons_before_the_two_calls_on_one_input() -> None:
    toolchain = FakeToolchain()
    await run(CANDIDATE, DOUBLE, toolchain, VERIFY, expected=double_expected, secret=SECRET)
    request = toolchain.requests[0]
    assert isinstance(request, CandidateRequest)
    by_input: dict[bytes, set[bytes]] = {}
    for call in request.calls:
        by_input.setdefault(call.buffers["x"][1], set())
    poisons = {call.buffers["y"][1][4096:-4096] for call in request.calls}
    assert len(poisons) == 2


async def test_a_candidate_that_writes_nothing_is_wrong_and_told_so() -> None:
    result = await verdict(lambda _: None)
    assert result.status == "wrong"
    assert result.ok is False
    assert "was never written" in (result.cases[0].message or "")
    assert result.cases[0].mismatch is not None
    assert result.cases[0].mismatch.index == (0,)
    assert result.cases[0].mismatch.wrong_elements == 128


async def test_a_candidate_that_writes_only_a_part_is_wrong_at_the_first_element_it_left() -> None:
    def half(device: Device) -> None:
        device.view("y")[:32] = 2.0 * device.view("x")[:32]

    result = await verdict(half)
    assert result.status == "wrong"
    assert result.cases[0].mismatch is not None
    assert result.cases[0].mismatch.index == (32,)


@pytest.mark.parametrize("value", [0.0, 1.0, np.nan, np.inf])
async def test_constant_outputs_are_wrong(value: float) -> None:
    result = await verdict(lambda device: device.view("y").fill(value))
    assert result.status == "wrong"
    RunResult.model_validate_json(result.model_dump_json())


async def test_nan_is_told_as_text_since_json_cannot_carry_it() -> None:
    result = await verdict(lambda device: device.view("y").fill(np.nan))
    assert result.cases[0].mismatch is not None
    assert result.cases[0].mismatch.got is None
    assert result.cases[0].mismatch.got_text == "nan"


async def test_results_cached_by_pointer_meet_other_inputs_and_are_wrong() -> None:
    def cached(device: Device) -> None:
        if "y" not in device.statics:
            device.statics["y"] = 2.0 * device.view("x")
        device.view("y")[:] = device.statics["y"]

    assert (await verdict(cached)).status == "wrong"


async def test_a_size_that_is_special_cased_is_wrong_on_held_out_sizes() -> None:
    def special(device: Device) -> None:
        if device.sizes["n"] in {128, 97}:
            doubled(device)

    result = await verdict(special)
    assert result.status == "wrong"
    assert {case.status for case in result.cases if case.group == "test"} == {"passed"}
    assert "all shown sizes are right" in result.summary


async def test_held_out_cases_tell_neither_size_nor_index_nor_count() -> None:
    def special(device: Device) -> None:
        if device.sizes["n"] in {128, 97}:
            doubled(device)

    result = await verdict(special)
    hidden = [case for case in result.cases if case.group == "held_out"]
    assert hidden
    for case in hidden:
        assert case.sizes is None
        assert case.mismatch is None
        assert case.error_ratio is None
    assert "1013" not in result.model_dump_json()


async def test_a_held_out_exit_status_cannot_spell_the_size() -> None:
    def spelled(device: Device) -> None:
        if device.sizes["n"] == 1013:
            raise Ended("exited", status=1013 % 256)
        doubled(device)

    result = await verdict(spelled)
    assert result.status == "crashed"
    assert str(1013 % 256) not in "".join(case.message or "" for case in result.cases)


@pytest.mark.parametrize(("offset", "side"), [(0, "start"), (-1, "end")])
async def test_writing_outside_a_buffer_names_buffer_and_side(offset: int, side: str) -> None:
    def outside(device: Device) -> None:
        doubled(device)
        device.memory["y"][device.guard - 1 if side == "start" else len(device.memory["y"]) - device.guard] ^= 1

    result = await verdict(outside)
    assert result.status == "contract_violation"
    assert f"beyond the {side} of buffer `y`" in (result.cases[0].message or "")


async def test_writing_to_an_input_is_a_violation_that_names_it() -> None:
    def greedy(device: Device) -> None:
        doubled(device)
        device.view("x")[3] = 0.5

    result = await verdict(greedy)
    assert result.status == "contract_violation"
    assert "input `x` was changed" in (result.cases[0].message or "")


async def test_results_that_differ_within_the_tolerance_pass_as_not_deterministic() -> None:
    def trembling(device: Device) -> None:
        doubled(device)
        if device.index % 2:
            device.view("y")[0] = np.nextafter(device.view("y")[0], np.float32(np.inf))

    result = await verdict(trembling, RunRequest(model=False, seeds=1))
    assert result.status == "passed"
    assert result.deterministic is False
    assert "not deterministic" in result.summary


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


async def test_what_the_engine_does_not_support_is_unavailable_not_wrong() -> None:
    record = {"type": "unsupported", "name": "wgmma.mma_async", "file": "candidate.cu", "line": 4, "message": "use mma"}
    result = await verdict(script=lambda _: ended("returned", report=(record,)))
    assert result.status == "unavailable"
    assert result.ok is None
    assert "wgmma.mma_async at candidate.cu:4" in (result.reason or "")


async def test_a_candidate_that_does_not_compile_shows_the_first_error() -> None:
    result = await verdict(build_status="failed")
    assert result.status == "compile_failed"
    assert result.candidate == CANDIDATE.id
    assert "candidate.cu:3" in result.summary
    assert result.diagnostics


async def test_a_missing_compiler_is_unavailable_with_the_reason() -> None:
    result = await verdict(build_status="unavailable")
    assert result.status == "unavailable"
    assert result.reason == "nvcc is missing; install it"


async def test_nothing_is_run_where_nothing_can_be_executed() -> None:
    result = await verdict(offered={"execute": False, "reasons": {"execute": "no engine: install g++"}})
    assert result.status == "unavailable"
    assert result.reason == "no engine: install g++"


async def test_the_same_secret_gives_the_same_inputs_and_another_gives_others() -> None:
    async def inputs(secret: bytes, repeat: int = 0) -> list[Any]:
        toolchain = FakeToolchain()
        request = RunRequest(model=False, repeat=repeat)
        await run(CANDIDATE, DOUBLE, toolchain, request, expected=double_expected, secret=secret)
        return [call.buffers["x"] for request in toolchain.requests for call in request.calls]  # type: ignore[union-attr]

    assert await inputs(b"a") == await inputs(b"a")
    assert await inputs(b"a") != await inputs(b"b")
    assert await inputs(b"a") != await inputs(b"a", repeat=1)


async def test_another_candidate_meets_other_inputs() -> None:
    first, second = FakeToolchain(), FakeToolchain()
    other = CANDIDATE.model_copy(update={"text": "// another"})
    await run(CANDIDATE, DOUBLE, first, VERIFY, expected=double_expected, secret=SECRET)
    await run(other, DOUBLE, second, VERIFY, expected=double_expected, secret=SECRET)
    assert first.requests[0].calls[0].buffers != second.requests[0].calls[0].buffers  # type: ignore[union-attr]


async def test_a_candidate_without_its_problem_is_refused() -> None:
    with pytest.raises(BadRequest, match="name that problem"):
        await run(CANDIDATE, None, FakeToolchain())


async def test_a_program_with_a_problem_is_refused() -> None:
    with pytest.raises(BadRequest, match="is a program"):
        await run(PROGRAM, DOUBLE, FakeToolchain())


async def test_an_unknown_device_is_refused_with_those_known() -> None:
    with pytest.raises(BadRequest, match="h200"):
        await verdict(request=RunRequest(device="h300"))


@pytest.mark.parametrize(
    "fields",
    [
        {"status": "passed"},
        {"status": "wrong"},
        {"status": "exited"},
        {"status": "unavailable"},
        {"status": "compile_failed", "modelled_us": 1.0},
    ],
)
async def test_a_result_whose_fields_do_not_fit_its_status_cannot_be_made(fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        RunResult(summary="", measured_on=MEASURED_ON, **fields)
