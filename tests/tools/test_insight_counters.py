"""What is said first about measured counters: each pathology that a recorded kernel was written for, and silence about the good ones."""

import gzip
import json
from pathlib import Path

import pytest

from cudanalyst.tools.counter_gain import busiest_unit, measured_bound
from cudanalyst.tools.hardware import HardwareKernel, MeasuredLine, MeasuredOccupancy, MemoryRow
from cudanalyst.tools.insight_counters import counter_insights
from cudanalyst.tools.toolchain.ncu.reduce import hardware_kernels
from cudanalyst.tools.toolchain.ncu.report import parse_report

DATA = Path(__file__).parent / "toolchain/ncu/data/ncu-2025.3.1"


@pytest.fixture(scope="module")
def recorded():
    report = parse_report(json.loads(gzip.decompress((DATA / "standard.json.gz").read_bytes())))
    return {kernel.name.partition("(")[0]: kernel for kernel in hardware_kernels(report)}


def kernel(**fields) -> HardwareKernel:
    plain = {
        "name": "k",
        "launches": 1,
        "grid": (1000, 1, 1),
        "block": (256, 1, 1),
        "duration_us": 100.0,
        "sm_ghz": 1.9,
        "sm_count": 132,
        "sm_busy": 0.95,
    }
    return HardwareKernel(**{**plain, **fields})


@pytest.mark.parametrize(
    ("name", "kind", "line"),
    [
        ("strided_copy", "uncoalesced_global", 17),
        ("transpose_conflict", "shared_bank_conflict", 25),
        ("spilling", "local_memory", 61),
        ("divergent", "low_lane_efficiency", 70),
        ("wmma_gemm", "redundant_global_reads", 99),
        ("histogram_atomics", "atomic_contention", 107),
    ],
)
def test_each_recorded_pathology_is_named_first_at_its_line(recorded, name, kind, line):
    first = counter_insights([recorded[name]])[0]
    assert first.kind == kind
    assert first.lines[0] == line
    assert first.estimated_gain > 1.3
    assert first.remedy


@pytest.mark.parametrize("name", ["stream_add", "fma_bound", "double_axpy"])
def test_nothing_is_found_fault_with_where_a_kernel_stands_at_its_ceiling(recorded, name):
    assert counter_insights([recorded[name]]) == ()


def test_what_waits_in_line_for_an_address_may_run_many_times_as_fast(recorded):
    (found,) = counter_insights([recorded["histogram_atomics"]])
    assert found.estimated_gain > 9
    assert found.value == pytest.approx(1.45, abs=0.05)


def test_over_several_kernels_what_saves_most_of_the_whole_comes_first_and_five_are_enough(recorded):
    found = counter_insights(tuple(recorded.values()))
    assert len(found) == 5
    assert [insight.kernel.partition("(")[0] for insight in found[:2]] == ["histogram_atomics", "wmma_gemm"]


def test_a_gain_is_bounded_by_the_next_unit():
    row = MemoryRow(path="shared", operation="all", sectors=1000.0, bank_conflicts=900.0)
    (found,) = counter_insights([kernel(sol={"shared_memory": 0.9, "l2": 0.6}, memory=(row,))])
    assert (found.kind, found.estimated_gain) == ("shared_bank_conflict", 1.5)


def test_shared_memory_that_is_busy_without_conflicts_asks_for_reuse_in_registers():
    row = MemoryRow(path="shared", operation="all", sectors=4200.0, bank_conflicts=20.0)
    sol = {"shared_memory": 0.91, "issue": 0.37, "fp32": 0.16}
    tiled = kernel(sol=sol, memory=(row,), instruction_mix={"fp32": 2680, "integer": 520, "load_shared": 3350})
    (found,) = counter_insights([tiled])
    assert (found.kind, found.estimated_gain) == ("shared_memory_traffic", pytest.approx(0.91 / 0.37, abs=1e-3))
    assert "registers" in found.remedy
    reused = tiled.model_copy(update={"instruction_mix": {"fp32": 26800}})
    assert counter_insights([reused]) == ()


def test_few_blocks_leave_multiprocessors_idle():
    few = kernel(grid=(33, 1, 1), sm_busy=0.25, sol={"dram": 0.2})
    assert counter_insights([few])[0].kind == "small_grid"
    assert measured_bound(few) == "tail"


def test_low_occupancy_is_worth_a_word_only_where_nothing_is_busy():
    fit = MeasuredOccupancy(theoretical=0.25, achieved=0.2, limiter="registers")
    (found,) = counter_insights([kernel(sol={"dram": 0.3}, occupancy=fit)])
    assert found.kind == "low_occupancy"
    assert "registers" in found.message
    assert counter_insights([kernel(sol={"tensor": 0.9}, occupancy=fit)]) == ()


def test_waiting_for_memory_and_at_barriers_is_told_with_the_lines():
    lines = (
        MeasuredLine(file="candidate.cu", line=3, samples=70, stalls={"global_memory_latency": 1.0}),
        MeasuredLine(file="candidate.cu", line=9, samples=30, stalls={"barrier": 1.0}),
    )
    stalls = {"global_memory_latency": 0.7, "barrier": 0.3}
    found = {one.kind: one for one in counter_insights([kernel(sol={"dram": 0.3}, stalls=stalls, lines=lines)])}
    assert found["memory_latency"].lines == (3,)
    assert found["memory_latency"].estimated_gain == pytest.approx(1 / 0.3, abs=1e-3)
    assert found["barrier_heavy"].lines == (9,)


def test_double_precision_counts_where_its_pipe_bounds():
    (found,) = counter_insights([kernel(sol={"fp64": 0.9, "fp32": 0.3}, flops_by_type={"fp64": 9.0, "fp32": 1.0})])
    assert (found.kind, found.estimated_gain) == ("double_precision", 3.0)


def test_spread_atomics_that_keep_the_l2_busy_are_no_contention():
    row = MemoryRow(path="global", operation="reduction", requests=1e6)
    assert counter_insights([kernel(sol={"l2": 0.8}, memory=(row,), stalls={"memory_drain": 0.9}, lanes=32.0)]) == ()


def test_a_pipe_nearly_as_busy_as_the_issue_slots_is_the_better_name():
    assert busiest_unit(kernel(sol={"issue": 0.95, "fp32": 0.93})) == ("fp32", 0.93)
    assert busiest_unit(kernel(sol={"issue": 0.8, "fp32": 0.4})) == ("issue", 0.8)
    assert busiest_unit(kernel()) is None


def test_a_kernel_without_counters_gives_no_insight():
    assert counter_insights([kernel(sm_busy=None, sm_count=None, duration_us=None)]) == ()
