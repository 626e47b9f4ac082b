"""Recorded counters to the stable model: right values, and the same bottleneck from a third of the passes."""

import pytest

from cudanalyst.tools.counter_gain import busiest_unit, measured_bound
from cudanalyst.tools.hardware import from_records, to_records
from cudanalyst.tools.sass import Decoded
from cudanalyst.tools.toolchain.ncu.reduce import hardware_kernels
from cudanalyst.tools.toolchain.ncu.report import Action, Instruction, Report


@pytest.fixture(scope="module")
def kernels(recorded):
    def read(name: str):
        return {k.name.partition("(")[0]: k for k in hardware_kernels(recorded(name), passes=11)}

    return read


BOUNDS = {
    "stream_add": "dram", "strided_copy": "l2", "transpose_conflict": "shared_memory", "fma_bound": "fp32", "histogram_atomics": "latency",
    "wmma_gemm": "l1", "spilling": "l2", "divergent": "issue", "double_axpy": "launch",
}  # fmt: skip


def test_each_kernel_is_bound_by_what_it_was_written_for(kernels):
    assert {name: measured_bound(kernel) for name, kernel in kernels("standard").items()} == BOUNDS


def test_the_standard_set_finds_the_bottleneck_of_ncus_full_set(kernels):
    full, standard = kernels("full"), kernels("standard")
    assert {name: measured_bound(kernel) for name, kernel in full.items()} == BOUNDS
    for name, kernel in standard.items():
        if (busiest_unit(full[name]) or ("", 0.0))[1] >= 0.6:
            assert busiest_unit(kernel)[0] == busiest_unit(full[name])[0]
            # Two runs on two days: L2 is filled by what ran before.
            assert busiest_unit(kernel)[1] == pytest.approx(busiest_unit(full[name])[1], abs=0.05)


def test_a_stream_stands_at_its_dram_ceiling(kernels):
    kernel = kernels("standard")["stream_add"]
    roofline = kernel.roofline
    assert roofline.flops == pytest.approx(4 * 4194304)
    assert roofline.dram_gb_per_s == pytest.approx(4124, rel=1e-3)
    assert roofline.ceiling_dram_gb_per_s == pytest.approx(4810, rel=1e-3)
    assert kernel.sol["dram"] == pytest.approx(0.8575, abs=1e-4)
    assert next(iter(kernel.stalls)) == "global_memory_latency"
    assert kernel.passes == 11


def test_matrix_instructions_give_operations_and_forms(kernels):
    kernel = kernels("standard")["wmma_gemm"]
    assert kernel.tensor == {"HMMA.16816.F32": 524288}
    assert kernel.flops_by_type["tensor"] == 2.0 * 1024**3
    assert kernel.tensor_instructions == 524288


def test_constants_loaded_through_the_half_pipe_are_no_arithmetic(kernels):
    assert kernels("standard")["histogram_atomics"].flops_by_type["fp16"] == pytest.approx(0.0, abs=1e-3)


def test_bank_conflicts_are_at_their_line(kernels):
    kernel = kernels("standard")["transpose_conflict"]
    worst = max(kernel.lines, key=lambda line: line.shared_wavefronts or 0)
    assert (worst.file, worst.line) == ("probe.cu", 25)
    assert (worst.shared_wavefronts, worst.shared_wavefronts_ideal) == (4194304, 131072)
    shared = next(row for row in kernel.memory if row.path == "shared")
    assert shared.bank_conflicts == pytest.approx(4_097_494, rel=1e-5)


def test_spills_are_at_their_lines(kernels):
    kernel = kernels("standard")["spilling"]
    assert kernel.lines[0].local_accesses == 2230272
    assert kernel.instruction_mix["load_local"] == 2318976
    assert sum(row.requests for row in kernel.memory if row.path == "local") == pytest.approx(4_363_392, rel=1e-5)


def test_occupancy_is_given_with_what_limits_it(kernels):
    fit = kernels("standard")["stream_add"].occupancy
    assert (fit.theoretical, fit.limiter) == (1.0, "warps")
    assert fit.achieved == pytest.approx(0.8039, abs=1e-4)


def test_the_quick_set_leaves_out_what_it_did_not_ask_for(kernels):
    kernel = kernels("quick")["stream_add"]
    assert measured_bound(kernel) == "dram"
    assert kernel.stalls == {}
    assert kernel.samples is None
    assert kernel.lines == ()
    assert kernel.roofline.flops is None
    assert kernel.instruction_mix == {}


def test_ncus_own_rules_come_with_their_gains(kernels):
    rules = kernels("full")["transpose_conflict"].rules
    assert rules[0].rule == "HighPipeUtilization" or rules[0].estimated_speedup_percent > 80
    conflicts = next(rule for rule in rules if rule.rule == "SharedMemoryConflicts")
    assert conflicts.scope == "kernel"
    assert conflicts.estimated_speedup_percent == pytest.approx(84.61)
    assert len(rules) <= 12


def test_launches_of_one_shape_are_added_and_ratios_averaged_by_time():
    def action(ns: float, hit: float, executed: float) -> Action:
        metrics = {"gpu__time_duration.sum": ns, "lts__t_sector_hit_rate.pct": hit, "smsp__inst_executed.sum": executed}
        return Action(name="k", grid=(1, 1, 1), block=(32, 1, 1), metrics=metrics)

    other = action(5.0, 0.0, 1.0).model_copy(update={"grid": (2, 1, 1)})
    kernels = hardware_kernels(Report(reader="test", actions=(action(1000, 50, 7), other, action(3000, 90, 5))))
    assert [kernel.launches for kernel in kernels] == [2, 1]
    assert kernels[0].duration_us == 4.0
    assert kernels[0].warp_instructions == 12
    assert next(row for row in kernels[0].memory if row.path == "l2").hit_rate == 0.8


def test_a_disassembly_of_the_same_code_says_where_inlined_code_was_called_from():
    def instruction(offset: int, text: str) -> Instruction:
        values = {"executed": 8.0, "samples": 2.0}
        return Instruction(offset=offset, text=text, file="/cuda/atomics.h", line=107, values=values)

    body = (instruction(0, "LDC R1, c[0x0][0x28]"), instruction(16, "REDG.E.ADD [R2], R7"))
    report = Report(
        reader="test", actions=(Action(name="k", symbol="k", grid=(1, 1, 1), block=(1, 1, 1), instructions=body),)
    )
    same = [Decoded(0, "LDC", (), "candidate.cu", 3), Decoded(16, "REDG", ("E", "ADD"), "candidate.cu", 5)]
    other = [*same[:1], Decoded(16, "STG", ("E",), "candidate.cu", 5)]
    for code, lines in (({"k": same}, [3, 5]), ({"k": other}, [107]), ({"else": same}, [107]), ({}, [107])):
        (kernel,) = hardware_kernels(report, code=code)
        assert sorted(line.line for line in kernel.lines) == lines
    (kernel,) = hardware_kernels(report, code={"k": same})
    assert next(line.atomics for line in kernel.lines if line.line == 5) == 8


def test_nothing_is_made_of_missing_counters():
    (kernel,) = hardware_kernels(Report(reader="test", actions=(Action(name="k", grid=(1, 1, 1), block=(1, 1, 1)),)))
    assert measured_bound(kernel) is None
    assert kernel.duration_us is None
    assert kernel.memory == ()
    assert kernel.occupancy.limiter is None


def test_records_of_a_report_give_the_kernels_back(kernels):
    before = tuple(kernels("standard").values())
    assert from_records([{"type": "engine"}, {"type": "hardware", "name": 3}, *to_records(before)]) == before
