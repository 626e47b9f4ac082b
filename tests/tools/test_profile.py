"""`profile`: kernels, lines and what is said of them first."""

from dataclasses import replace
from typing import Any, get_args

import pytest
from pydantic import ValidationError

from cudanalyst.errors import BadRequest
from cudanalyst.tools.devices import load_device
from cudanalyst.tools.insights import insights_of
from cudanalyst.tools.modelled import model_report
from cudanalyst.tools.profile import Bound, Insight, ProfileRequest, ProfileResult, profile
from cudanalyst.tools.profile_view import kernel_profiles
from cudanalyst.tools.roofline import PIPE_OF_CLASS
from tests.tools.fakes import (
    CANDIDATE,
    DOUBLE,
    MEASURED_ON,
    PROGRAM,
    SECRET,
    Device,
    Ended,
    FakeToolchain,
    ended,
    profile_record,
    resources,
)

H200 = load_device("h200")


def insights(
    launches: tuple[dict[str, Any], ...] = (), ptxas: dict[str, Any] | None = None, **fields: Any
) -> tuple[Insight, ...]:
    kernels = model_report([*launches, profile_record(**fields)], [resources(**(ptxas or {}))], "sm_90", H200)
    return insights_of(kernels, H200)


def line(number: int, **fields: Any) -> dict[str, Any]:
    return {"file": "candidate.cu", "line": number, **fields}


def kinds(found: tuple[Insight, ...]) -> list[str]:
    return [insight.kind for insight in found]


def test_a_coalesced_streaming_kernel_gives_no_insight_on_its_accesses() -> None:
    assert kinds(insights()) == []


def test_uncoalesced_accesses_are_tied_to_their_line_and_number() -> None:
    (first, *_) = insights(
        global_sectors=8192 * 4 + 8192 * 32,
        lines=[
            line(5, global_requests=8192, global_sectors=8192 * 4),
            line(6, global_requests=8192, global_sectors=8192 * 32),
        ],
    )
    assert first.kind == "uncoalesced_global"
    assert first.lines == (6,)
    assert first.value == 32
    assert first.message.startswith("candidate.cu:6: 32.0 sectors per global request where 4.0 would do")
    assert first.estimated_gain is not None
    assert first.estimated_gain > 1.2


def test_vector_loads_that_use_every_byte_are_coalesced() -> None:
    wide = insights(
        global_requests=4096, global_sectors=65536, lines=[line(5, global_requests=4096, global_sectors=65536)]
    )
    assert "uncoalesced_global" not in kinds(wide)


def test_bytes_asked_for_decide_where_the_engine_counts_them() -> None:
    strided = insights(
        global_requests=8192,
        global_sectors=8192 * 8,
        lines=[line(5, global_requests=8192, global_sectors=8192 * 8, global_bytes=8192 * 128)],
    )
    assert "uncoalesced_global" in kinds(strided)


def test_bank_conflicts_are_told_with_their_ways_and_padding() -> None:
    shared = {"shared_requests": 10**6, "shared_wavefronts": 32 * 10**6, "shared_wavefronts_ideal": 10**6}
    (first, *_) = insights(**shared, lines=[line(9, **shared)])
    assert first.kind == "shared_bank_conflict"
    assert first.value == 32
    assert first.lines == (9,)
    assert "pad" in first.remedy


def test_idle_lanes_with_divergent_branches_name_the_branch() -> None:
    found = insights(
        warp_instructions=10**8,
        thread_instructions=8 * 10**8,
        mix={"fp32": 9 * 10**7},
        branches=10**6,
        divergent_branches=10**6,
        lines=[line(4, divergent_branches=10**6, branches=10**6), line(8, warp_instructions=10**8)],
    )
    assert found[0].kind == "divergent_branches"
    assert found[0].lines == (4,)
    assert found[0].value == 8


def test_idle_lanes_without_branches_are_low_lane_efficiency() -> None:
    found = insights(warp_instructions=10**8, thread_instructions=8 * 10**8, mix={"fp32": 9 * 10**7})
    assert found[0].kind == "low_lane_efficiency"


def test_contended_atomics_are_told_with_updates_per_sector() -> None:
    (first, *_) = insights(
        atomics=8192,
        mix={"atomic": 8192, "load_global": 8192},
        dram_bytes_unique_written=32,
        lines=[line(3, atomics=8192)],
    )
    assert first.kind == "atomic_contention"
    assert first.lines == (3,)


def test_low_occupancy_names_what_limits_it() -> None:
    found = insights(
        ptxas={"registers": 255},
        mix={"load_global": 10**7, "fp32": 10**7},
        warp_instructions=3 * 10**7,
        thread_instructions=32 * 3 * 10**7,
    )
    assert "low_occupancy" in kinds(found)
    assert "255 registers" in next(i for i in found if i.kind == "low_occupancy").message


def test_dynamic_shared_memory_counts_for_occupancy() -> None:
    launch = {
        "type": "launch",
        "symbol": "_Z1k",
        "grid": [1024, 1, 1],
        "block": [256, 1, 1],
        "shared_bytes": 100 * 1024,
    }
    (kernel,) = model_report([launch, profile_record()], [resources()], "sm_90", H200)
    assert kernel.occupancy is not None
    assert kernel.occupancy.blocks_per_sm == 2
    assert kernel.occupancy.limiter == "shared_memory"


def test_reads_of_the_same_data_again_and_again_ask_for_tiling() -> None:
    found = insights(
        mix={"load_global": 2 * 10**6, "fp32": 10**6},
        warp_instructions=4 * 10**6,
        thread_instructions=128 * 10**6,
        global_requests=2 * 10**6,
        global_sectors=5 * 10**6,
        dram_bytes_unique_read=2 * 10**6,
        lines=[line(7, global_requests=2 * 10**6, global_sectors=5 * 10**6)],
    )
    assert found[0].kind == "redundant_global_reads"
    assert found[0].lines == (7,)


def test_a_grid_smaller_than_the_device_is_told() -> None:
    found = insights(
        grid=[8, 1, 1], warps=64, mix={"fp32": 10**7}, warp_instructions=10**7, thread_instructions=32 * 10**7
    )
    assert found[0].kind == "small_grid"


def test_double_precision_is_told() -> None:
    found = insights(mix={"fp64": 10**8}, warp_instructions=10**8, thread_instructions=32 * 10**8)
    assert "double_precision" in kinds(found)


def test_local_memory_is_told_with_the_spills() -> None:
    found = insights(ptxas={"spill_store_bytes": 64}, mix={"load_local": 10**7, "store_local": 10**7})
    assert found[0].kind == "local_memory"
    assert "spills 64 bytes" in found[0].message


def test_at_most_three_insights_the_largest_gain_first() -> None:
    shared = {"shared_requests": 10**6, "shared_wavefronts": 32 * 10**6, "shared_wavefronts_ideal": 10**6}
    found = insights(
        **shared,
        global_sectors=16384 * 32,
        mix={"fp64": 10**8, "load_local": 10**7, "load_global": 10**6},
        atomics=10**5,
        dram_bytes_unique_written=32,
        grid=[8, 1, 1],
    )
    assert len(found) == 3


@pytest.mark.anyio
async def test_a_profile_holds_kernels_lines_bound_and_occupancy() -> None:
    record = profile_record(lines=[line(5, warp_instructions=81920, thread_instructions=81920 * 16)])
    result = await profile(CANDIDATE, DOUBLE, FakeToolchain(profiles=[record]), secret=SECRET)
    assert result.status == "profiled"
    assert result.ok is True
    assert result.level == "ptx"
    (kernel,) = result.kernels
    assert kernel.name == "k(float*)"
    assert kernel.sectors_per_request == 4
    assert kernel.occupancy is not None
    assert kernel.bound is not None
    assert kernel.share == 1
    assert kernel.lines[0].active_lanes_mean == 16
    assert result.sizes == {"n": 16384}
    assert "modelled (not measured)" in result.summary


@pytest.mark.anyio
async def test_the_longest_kernel_comes_first() -> None:
    short = profile_record(kernel="short", symbol="_Z5short", launches=1)
    long = profile_record(kernel="long", symbol="_Z4long", global_sectors=16384 * 32)
    result = await profile(CANDIDATE, DOUBLE, FakeToolchain(profiles=[short, long]), secret=SECRET)
    assert [kernel.name for kernel in result.kernels] == ["long", "short"]
    assert sum(kernel.share or 0 for kernel in result.kernels) == pytest.approx(1, rel=1e-3)


@pytest.mark.anyio
async def test_busy_lines_are_kept_and_shown_in_source_order() -> None:
    lines = [line(number, warp_instructions=100 * number) for number in range(1, 31)]
    toolchain = FakeToolchain(profiles=[profile_record(lines=lines)])
    result = await profile(CANDIDATE, DOUBLE, toolchain, ProfileRequest(lines=3), secret=SECRET)
    assert [shown.line for shown in result.kernels[0].lines] == [28, 29, 30]


@pytest.mark.anyio
async def test_named_sizes_are_profiled_and_unknown_ones_refused() -> None:
    result = await profile(CANDIDATE, DOUBLE, FakeToolchain(), ProfileRequest(sizes={"n": 97}), secret=SECRET)
    assert result.sizes == {"n": 97}
    with pytest.raises(BadRequest, match="use one of"):
        await profile(CANDIDATE, DOUBLE, FakeToolchain(), ProfileRequest(sizes={"n": 1013}), secret=SECRET)


@pytest.mark.anyio
async def test_a_crash_is_not_profiled_and_says_why() -> None:
    def aborts(device: Device) -> None:
        raise Ended("signalled", signal="SIGABRT")

    result = await profile(CANDIDATE, DOUBLE, FakeToolchain(solve=aborts), secret=SECRET)
    assert result.status == "crashed"
    assert result.ok is False
    assert "SIGABRT" in result.summary


@pytest.mark.anyio
async def test_a_program_that_launches_nothing_has_nothing_to_profile() -> None:
    result = await profile(PROGRAM, None, FakeToolchain(profiles=[]))
    assert result.status == "unavailable"
    assert "no kernel was launched" in (result.reason or "")


@pytest.mark.anyio
async def test_a_program_is_profiled_as_it_is() -> None:
    assert (await profile(PROGRAM, None, FakeToolchain())).status == "profiled"


@pytest.mark.anyio
async def test_a_program_that_does_not_end_is_timed_out() -> None:
    result = await profile(PROGRAM, None, FakeToolchain(script=lambda _: ended("timed_out")))
    assert result.status == "timed_out"


@pytest.mark.anyio
async def test_a_source_that_does_not_compile_is_compile_failed() -> None:
    result = await profile(CANDIDATE, DOUBLE, FakeToolchain(build_status="failed"), secret=SECRET)
    assert result.status == "compile_failed"
    assert result.diagnostics


@pytest.mark.anyio
async def test_where_nothing_can_be_profiled_the_reason_is_given() -> None:
    offered = {"profile": False, "reasons": {"profile": "counters are refused: ask the administrator"}}
    result = await profile(CANDIDATE, DOUBLE, FakeToolchain(offered=offered), secret=SECRET)
    assert result.status == "unavailable"
    assert result.reason == "counters are refused: ask the administrator"


@pytest.mark.parametrize(
    "fields", [{"status": "profiled"}, {"status": "unavailable"}, {"status": "crashed", "modelled_us": 1.0}]
)
def test_a_result_whose_fields_do_not_fit_its_status_cannot_be_made(fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        ProfileResult(summary="", measured_on=MEASURED_ON, **fields)


@pytest.mark.parametrize("bound", get_args(Bound))
def test_whatever_bounds_a_kernel_can_be_shown(bound: str) -> None:
    (kernel,) = model_report([profile_record()], [resources()], "sm_90", H200)
    (shown,) = kernel_profiles([replace(kernel, modelled=replace(kernel.modelled, bound=bound))], 1.0, 1)
    assert shown.bound == bound


def test_every_resource_of_the_model_is_a_bound() -> None:
    mix = dict.fromkeys(PIPE_OF_CLASS, 1000)
    (kernel,) = model_report([profile_record(mix=mix)], [resources()], "sm_90", H200)
    assert set(kernel.modelled.terms) <= set(get_args(Bound))
