"""Verdicts on candidates: what `run` believes, and what it does not."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from cudanalyst.errors import BadRequest
from cudanalyst.kernels.problem import Problem
from cudanalyst.tools.judge import Judgement
from cudanalyst.tools.large import LargeVerifier
from cudanalyst.tools.run import RunRequest, RunResult, run
from cudanalyst.tools.toolchain.protocol import Build, CandidateRequest, Execution, ExecutionRequest
from tests.tools.fakes import (
    CANDIDATE,
    DOUBLE,
    MEASURED_ON,
    PROGRAM,
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


async def test_one_native_run_makes_the_whole_result_native_and_says_why() -> None:
    def replayed(execution: Execution) -> Execution:
        return replace(execution, extra={"trust": "replayed"})

    assert (await verdict(**rewrite(replayed))).trust == "replayed"
    turns = iter(range(100))

    def once_native(execution: Execution) -> Execution:
        if next(turns) == 1:
            return replace(
                execution, extra={"trust": "native", "native_because": "cudaMemcpyAsync: copies to the host"}
            )
        return replayed(execution)

    result = await verdict(**rewrite(once_native))
    assert (result.status, result.trust) == ("passed", "native")
    assert result.trust_reason == "cudaMemcpyAsync: copies to the host"
    assert "ran natively, which is not forgery-proof (cudaMemcpyAsync" in result.summary


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
    assert "Not deterministic: on the same input y[0] was " in result.summary


async def test_both_values_of_a_result_that_differs_are_told() -> None:
    def trembling(device: Device) -> None:
        doubled(device)
        device.view("y")[3] += np.float32(device.index * 2.0**-20)

    seen = (await verdict(trembling, RunRequest(model=False, seeds=1, groups=("test",)))).nondeterminism

    assert seen is not None
    assert (seen.output, seen.index, seen.differing_elements, seen.total_elements) == ("y", (3,), 1, 128)
    assert seen.first is not None
    assert seen.second is not None
    assert abs(seen.first - seen.second) == pytest.approx(2.0**-20, rel=1e-3)
    assert seen.first_text in (await verdict(trembling, RunRequest(model=False, seeds=1, groups=("test",)))).summary
    assert (seen.sizes, seen.seed_index) == ({"n": 128}, 0)


async def test_a_difference_on_a_held_out_size_is_told_without_values() -> None:
    def trembling(device: Device) -> None:
        doubled(device)
        if device.index % 2 and device.sizes["n"] == 1013:
            device.view("y")[0] = np.nextafter(device.view("y")[0], np.float32(np.inf))

    result = await verdict(trembling, RunRequest(model=False, seeds=1))

    assert result.deterministic is False
    assert result.nondeterminism is None
    assert "not deterministic" in result.summary


async def test_an_element_that_was_never_written_is_no_difference_between_runs() -> None:
    def half(device: Device) -> None:
        device.view("y")[:32] = 2.0 * device.view("x")[:32]

    result = await verdict(half, RunRequest(model=False, groups=("test",)))

    assert result.status == "wrong"
    assert result.nondeterminism is None


async def test_a_race_is_wrong_and_said_to_differ_from_run_to_run() -> None:
    def racing(device: Device) -> None:
        doubled(device)
        device.view("y")[5] = 10.0 + device.index

    result = await verdict(racing, RunRequest(model=False, groups=("test",)))

    assert result.status == "wrong"
    assert "Not deterministic: on the same input y[5] was 1" in result.summary


async def test_a_kernel_right_at_the_test_sizes_and_wrong_at_the_next_is_wrong_there() -> None:
    def short(device: Device) -> None:
        device.view("y")[:] = 0.0
        device.view("y")[:2048] = 2.0 * device.view("x")[:2048]

    result = await verdict(short, RunRequest())

    assert result.status == "wrong"
    assert {case.status for case in result.cases if case.group != "eval"} == {"passed"}
    wrong = next(case for case in result.cases if case.status == "wrong")
    assert wrong.sizes == {"n": 4096}
    assert wrong.mismatch is not None
    assert wrong.mismatch.index == (2048,)


HUGE = DOUBLE.model_copy(
    update={"sizes": {"test": ({"n": 64},), "eval": ({"n": 4096}, {"n": 5_000_011}), "held_out": ({"n": 9_000_001},)}}
)


async def test_large_sizes_are_left_out_where_there_is_no_gpu_and_the_result_says_so() -> None:
    toolchain = FakeToolchain()
    request = RunRequest(groups=("test", "eval", "held_out"), model=False)

    result = await run(CANDIDATE, HUGE, toolchain, request, expected=double_expected, secret=SECRET)

    assert result.status == "passed"
    assert [case.sizes for case in result.cases] == [{"n": 64}, {"n": 64}, {"n": 4096}, {"n": 4096}]
    assert result.large_sizes_left_out == 2
    assert "2 large sizes left out: only a GPU runs them." in result.summary
    assert len(toolchain.requests) == 2


class UnrecordedWhereLarge(FakeToolchain):
    """Replays small sizes, and meets a call that cannot be recorded at large ones."""

    async def execute(self, build: Build, request: ExecutionRequest) -> Execution:
        """Replayed."""
        return replace(await super().execute(build, request), extra={"trust": "replayed"})

    def large_verifier(self, problem: Problem, folder: Path, secret: bytes) -> LargeVerifier:
        """One that leaves everything out."""

        async def verify(*_: object, **__: object) -> Judgement:
            return Judgement(
                cases=(), cuda_error=None, deterministic=None, unrecordable="cudaMemcpy copies to the host in `init`"
            )

        return verify


async def test_a_large_size_that_cannot_be_recorded_is_left_out_and_costs_the_better_label(tmp_path) -> None:
    request = RunRequest(groups=("test", "eval", "held_out"), model=False)

    result = await run(
        CANDIDATE, HUGE, UnrecordedWhereLarge(), request, expected=double_expected, secret=SECRET, folder=tmp_path
    )

    assert (result.status, result.trust, result.fast) == ("passed", "native", None)
    assert result.trust_reason == "cudaMemcpy copies to the host in `init`"
    assert result.large_sizes_left_out == 2
    assert "2 large sizes left out: they are verified only where calls can be recorded." in result.summary


async def test_where_only_large_sizes_were_asked_for_nothing_is_claimed() -> None:
    request = RunRequest(groups=("held_out",), model=False)

    result = await run(CANDIDATE, HUGE, FakeToolchain(), request, expected=double_expected, secret=SECRET)

    assert result.status == "unavailable"
    assert "only large sizes (only a GPU runs them)" in (result.reason or "")


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
