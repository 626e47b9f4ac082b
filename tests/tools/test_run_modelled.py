"""The modelled time: what must make it better or worse, and where it is given."""

import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cudanalyst.tools.counts import KernelCounts, parse_profiles
from cudanalyst.tools.devices import load_device
from cudanalyst.tools.roofline import LAUNCH_US, atomic_lanes, modelled_time
from cudanalyst.tools.run import RunRequest, run
from cudanalyst.tools.speedup import feasible_sizes
from cudanalyst.tools.toolchain.protocol import Build, Execution, ExecutionRequest
from tests.tools.fakes import CANDIDATE, DOUBLE, SECRET, Device, FakeToolchain, double_expected, doubled, profile_record

H200 = load_device("h200")


def counts(**fields: Any) -> KernelCounts:
    return parse_profiles([profile_record(**fields)])[0][0]


def gemm(n: int, *, tiled: bool) -> KernelCounts:
    """PTX-level counts of an n x n x n product: one thread an output, 16 x 16 blocks."""
    products = n**3 // 32
    outputs = n * n // 32
    loads = 2 * products // (16 if tiled else 1)
    shared = 2 * products if tiled else 0
    return counts(
        grid=[n // 16, n // 16, 1],
        block=[16, 16, 1],
        warp_instructions=4 * products,
        mix={
            "fp32": products,
            "integer": products,
            "load_global": loads,
            "load_shared": shared,
            "store_global": outputs,
        },
        global_requests=loads + outputs,
        global_sectors=(4 if tiled else 3) * loads + 4 * outputs,
        shared_requests=shared,
        shared_wavefronts=shared,
        shared_wavefronts_ideal=shared,
        barriers=(n // 16) * 2 * outputs if tiled else 0,
        dram_bytes_unique_read=8 * n * n,
        dram_bytes_unique_written=4 * n * n,
    )


def test_streaming_is_bound_by_dram_and_near_its_bandwidth() -> None:
    n = 1 << 26
    warps = n // 32
    model = modelled_time(
        counts(
            grid=[n // 256, 1, 1],
            warp_instructions=10 * warps,
            mix={"fp32": warps, "load_global": warps, "store_global": warps},
            global_requests=2 * warps,
            global_sectors=8 * warps,
            dram_bytes_unique_read=4 * n,
            dram_bytes_unique_written=4 * n,
        ),
        H200,
    )
    assert model.bound == "dram"
    assert 8 * n / 4.8e6 < model.us < 1.3 * 8 * n / 4.8e6


@pytest.mark.parametrize("n", [256, 512, 1024, 2048])
def test_a_tiled_product_is_faster_than_a_naive_one(n: int) -> None:
    assert modelled_time(gemm(n, tiled=True), H200).us < modelled_time(gemm(n, tiled=False), H200).us


def test_the_recorded_products_of_an_h200_are_within_a_factor_of_one_and_a_half() -> None:
    # Nsight Compute, one H200, n = 2048: naive 2.51 ms, tiled (32 x 32) 1.85 ms.
    assert modelled_time(gemm(2048, tiled=False), H200).us == pytest.approx(2510, rel=0.5)
    assert modelled_time(gemm(2048, tiled=True), H200).us == pytest.approx(1850, rel=0.5)


@given(st.integers(1, 16), st.integers(1, 16))
def test_more_sectors_are_never_faster(few: int, more: int) -> None:
    less, many = sorted((few, more))
    low = modelled_time(counts(global_sectors=16384 * less), H200).us
    high = modelled_time(counts(global_sectors=16384 * many), H200).us
    assert low <= high


def test_uncoalesced_is_slower_than_coalesced() -> None:
    apart = counts(global_sectors=16384 * 32)
    assert modelled_time(apart, H200).us > 1.2 * modelled_time(counts(), H200).us


@given(st.integers(1, 32), st.integers(1, 32))
def test_more_bank_conflicts_are_never_faster(few: int, more: int) -> None:
    less, many = sorted((few, more))
    shared = {"shared_requests": 10**6, "shared_wavefronts_ideal": 10**6}
    low = modelled_time(counts(**shared, shared_wavefronts=10**6 * less), H200).us
    high = modelled_time(counts(**shared, shared_wavefronts=10**6 * many), H200).us
    assert low < high or less == many


@given(st.integers(1, 64), st.integers(1, 64))
def test_lower_occupancy_is_never_faster(few: int, more: int) -> None:
    less, many = sorted((few, more))
    kernel = gemm(1024, tiled=True)
    assert modelled_time(kernel, H200, less).us >= modelled_time(kernel, H200, many).us


def test_low_occupancy_is_slower() -> None:
    kernel = gemm(1024, tiled=True)
    assert modelled_time(kernel, H200, 8).us > modelled_time(kernel, H200, 64).us


def test_atomics_on_one_address_are_slower_than_on_many() -> None:
    one = counts(atomics=8192, dram_bytes_unique_written=32)
    many = counts(atomics=8192, dram_bytes_unique_written=32 * 8192)
    assert modelled_time(one, H200).us > 3 * modelled_time(many, H200).us
    assert modelled_time(one, H200).bound == "atomic"


def test_atomics_in_shared_memory_do_not_follow_each_other_across_sms() -> None:
    line = {"file": "candidate.cu", "line": 5, "atomics": 8192, "shared_requests": 8192}
    apart = counts(atomics=8192, dram_bytes_unique_written=32, lines=[line])
    together = counts(atomics=8192, dram_bytes_unique_written=32)
    assert modelled_time(apart, H200).us < modelled_time(together, H200).us


def test_one_atomic_lane_of_each_block_is_counted_as_one() -> None:
    line = {"file": "candidate.cu", "line": 5, "atomics": 4096, "warp_instructions": 8192, "thread_instructions": 8192}
    assert atomic_lanes(counts(atomics=4096, lines=[line])) == (4096, 0)


def test_double_precision_is_slower_than_single() -> None:
    assert (
        modelled_time(counts(mix={"fp64": 10**8}), H200).us > 1.5 * modelled_time(counts(mix={"fp32": 10**8}), H200).us
    )


def test_one_block_leaves_the_other_sms_idle() -> None:
    one = modelled_time(counts(grid=[1, 1, 1], block=[1024, 1, 1], mix={"fp32": 10**7}), H200)
    assert one.bound == "tail"
    assert one.us > 50 * modelled_time(counts(mix={"fp32": 10**7}), H200).us


def test_an_almost_empty_kernel_is_bound_by_its_launch() -> None:
    model = modelled_time(
        counts(grid=[1, 1, 1], warps=8, warp_instructions=10, mix={}, global_requests=0, global_sectors=0,
               dram_bytes_unique_read=0, dram_bytes_unique_written=0), H200)  # fmt: skip
    assert model.bound == "launch"
    assert model.us == pytest.approx(LAUNCH_US, rel=0.1)


def test_traffic_beyond_the_l2_goes_to_dram_again() -> None:
    small = counts(
        global_sectors=2**24, global_requests=2**22, dram_bytes_unique_read=2**24, dram_bytes_unique_written=0
    )
    large = counts(
        global_sectors=2**24, global_requests=2**22, dram_bytes_unique_read=2**28, dram_bytes_unique_written=0
    )
    assert modelled_time(large, H200).terms["dram"] > 16 * modelled_time(small, H200).terms["dram"]


COUNT = st.integers(0, 2**40)


@given(
    st.builds(
        dict,
        launches=st.integers(1, 1000),
        grid=st.tuples(st.integers(1, 10**5), st.integers(1, 100), st.just(1)).map(list),
        block=st.tuples(st.integers(1, 1024), st.just(1), st.just(1)).map(list),
        warp_instructions=COUNT,
        thread_instructions=COUNT,
        mix=st.dictionaries(st.sampled_from(["fp32", "fp64", "integer", "load_global", "unheard_of"]), COUNT),
        global_requests=COUNT,
        global_sectors=COUNT,
        shared_wavefronts=COUNT,
        atomics=COUNT,
        barriers=COUNT,
        dram_bytes_unique_read=COUNT,
        dram_bytes_unique_written=COUNT,
    ),
    st.one_of(st.none(), st.integers(1, 64)),
)
def test_any_counts_give_a_finite_positive_time(fields: dict[str, Any], warps: int | None) -> None:
    model = modelled_time(counts(**fields), H200, warps)
    assert math.isfinite(model.us)
    assert model.us > 0


@given(st.dictionaries(st.text(max_size=20), st.one_of(st.none(), st.integers(), st.text(max_size=5), st.booleans())))
def test_records_that_are_not_well_formed_are_counted_and_left_out(fields: dict[str, Any]) -> None:
    good = profile_record()
    kept, refused = parse_profiles([{**fields, "type": "profile", "launches": -1}, good])
    assert len(kept) == 1
    assert refused == 1


@pytest.mark.anyio
async def test_a_candidate_that_passes_gets_a_modelled_time_for_a_named_device() -> None:
    result = await run(CANDIDATE, DOUBLE, FakeToolchain(), expected=double_expected, secret=SECRET)
    assert result.status == "passed"
    assert result.modelled_device == "NVIDIA H200"
    assert result.modelled_us is not None
    assert result.modelled_speedup == pytest.approx(1.0)
    assert [case.modelled_us for case in result.cases if case.group == "eval"] == [result.modelled_us] * 2
    assert "Modelled (not measured)" in result.summary


@pytest.mark.anyio
async def test_a_slower_baseline_gives_a_speedup_above_1() -> None:
    slow = profile_record(global_sectors=16384 * 32)
    toolchain = FakeToolchain(baseline_profiles=[slow])
    result = await run(CANDIDATE, DOUBLE, toolchain, expected=double_expected, secret=SECRET)
    assert result.modelled_speedup is not None
    assert result.modelled_speedup > 1.2


@pytest.mark.anyio
async def test_the_baseline_is_modelled_once_for_a_cache() -> None:
    baselines: dict[str, float] = {}
    for text in ("// first", "// second"):
        toolchain = FakeToolchain()
        source = CANDIDATE.model_copy(update={"text": text})
        await run(source, DOUBLE, toolchain, expected=double_expected, secret=SECRET, baselines=baselines)
    assert toolchain.log.count("profile") == 2
    assert len(baselines) == 2


@pytest.mark.anyio
async def test_work_left_out_while_profiled_is_wrong_and_has_no_time() -> None:
    def lazy(device: Device) -> None:
        if device.sizes["n"] < 4000:
            doubled(device)

    result = await run(CANDIDATE, DOUBLE, FakeToolchain(solve=lazy), expected=double_expected, secret=SECRET)
    assert result.status == "wrong"
    assert result.modelled_us is None
    assert result.cases[-1].group == "eval"


@pytest.mark.anyio
async def test_what_is_wrong_is_not_modelled() -> None:
    toolchain = FakeToolchain(solve=lambda _: None)
    result = await run(CANDIDATE, DOUBLE, toolchain, expected=double_expected, secret=SECRET)
    assert result.modelled_us is None
    assert "profile" not in toolchain.log


@pytest.mark.anyio
async def test_sizes_beyond_the_budget_are_not_profiled() -> None:
    toolchain = FakeToolchain()
    request = RunRequest(model_budget=10)
    result = await run(CANDIDATE, DOUBLE, toolchain, request, expected=double_expected, secret=SECRET)
    assert result.status == "passed"
    assert result.modelled_us is None
    assert "no size could be modelled" in result.summary


def test_feasible_sizes_are_the_eval_sizes_within_the_budget_or_the_largest_test_size() -> None:
    assert [sizes["n"] for _, sizes in feasible_sizes(DOUBLE, 1e9)] == [4096, 16384]
    assert [sizes["n"] for _, sizes in feasible_sizes(DOUBLE, 2000)] == [4096]
    assert feasible_sizes(DOUBLE, 50) == (("test", {"n": 97}),)
    assert feasible_sizes(DOUBLE, 1) == ()


@pytest.mark.anyio
async def test_kernels_that_move_less_than_the_problem_must_get_no_time() -> None:
    idle = profile_record(dram_bytes_unique_read=32, dram_bytes_unique_written=32)
    result = await run(CANDIDATE, DOUBLE, FakeToolchain(profiles=[idle]), expected=double_expected, secret=SECRET)
    assert result.status == "passed"
    assert result.modelled_us is None
    assert "outside kernels is not modelled" in result.summary


class NativeWhereItIsModelled(FakeToolchain):
    """A candidate that can be recorded at the sizes that are verified, and asks for more at those that are modelled."""

    async def execute(self, build: Build, request: ExecutionRequest) -> Execution:
        """Replayed."""
        return replace(await super().execute(build, request), extra={"trust": "replayed"})

    async def profile(self, build: Build, request: ExecutionRequest) -> Execution:
        """Native."""
        extra = {"trust": "native", "native_because": "cudaMemcpy: copies to the host"}
        return replace(await super().profile(build, request), extra=extra)


@pytest.mark.anyio
async def test_a_time_that_was_modelled_on_a_native_run_makes_the_result_native() -> None:
    toolchain = NativeWhereItIsModelled(profiles=[profile_record()])
    result = await run(CANDIDATE, DOUBLE, toolchain, RunRequest(), expected=double_expected, secret=SECRET)
    assert (result.status, result.trust) == ("passed", "native"), result.summary
    assert result.trust_reason == "cudaMemcpy: copies to the host"
