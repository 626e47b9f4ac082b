"""Recorded counters to the stable model: right values, and the same bottleneck from a third of the passes."""

import re

import pytest

from cudanalyst.tools.counter_gain import busiest_unit, measured_bound
from cudanalyst.tools.hardware import from_records, to_records
from cudanalyst.tools.sass import Decoded, decode_text
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


def test_operations_from_single_instructions_are_those_that_the_hardware_counters_say(recorded):
    """The recorded run asked for both."""
    for action in recorded("standard").actions:
        (kernel,) = hardware_kernels(Report(reader="test", actions=(action,)))
        counted: dict[str, float] = {"fp32": 0.0, "fp64": 0.0}
        for name, value in action.metrics.items():
            if match := re.fullmatch(r"smsp__sass_thread_inst_executed_op_([fd])(add|mul|fma)_pred_on\.sum", name):
                kind = {"f": "fp32", "d": "fp64"}[match[1]]
                counted[kind] += value * (2.0 if match[2] == "fma" else 1.0)
        assert {kind: kernel.flops_by_type[kind] for kind in counted} == counted
        assert sum(counted.values()) > 0 or kernel.name.startswith(("transpose", "wmma"))


@pytest.mark.parametrize(
    ("text", "operations"),
    [
        ("@!P0 FFMA R1, R2, R3, R4", {"fp32": 200.0}), ("FFMA2 R2, R4, R6, R8", {"fp32": 400.0}), ("DMUL R2, R4, R6", {"fp64": 100.0}),
        ("HFMA2.BF16_V2 R1, R2, R3, R4", {"fp16": 400.0}), ("HADD2.F32 R1, -RZ, R2.H0_H0", {}), ("HFMA2.MMA R1, -RZ, RZ, 0, 1", {}),
        ("FSETP.GT.AND P0, PT, R1, R2, PT", {}), ("IMAD R1, R2, R3, R4", {}),
    ],
)  # fmt: skip
def test_each_arithmetic_instruction_counts_its_operations(text, operations):
    one = Instruction(offset=0, text=text, values={"threads_executed": 100.0, "executed": 4.0})
    action = Action(name="k", grid=(1, 1, 1), block=(32, 1, 1), instructions=(one,))
    (kernel,) = hardware_kernels(Report(reader="test", actions=(action,)))
    assert {kind: count for kind, count in kernel.flops_by_type.items() if count} == operations


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


def test_what_the_disassembly_says_of_an_instruction_is_worth_its_text(recorded):
    """Reading the recorded kernels without texts, files and lines gives the same figures, since a disassembly of the same code has them."""
    report = recorded("standard")
    code = {
        action.symbol: [
            one
            for each in action.instructions
            if (one := decode_text(each.offset, each.text, each.file, each.line)) is not None
        ]
        for action in report.actions
    }
    assert sum(map(len, code.values())) > 1000
    silent = {"text": None, "file": None, "line": None}
    bare = report.model_copy(
        update={
            "actions": tuple(
                action.model_copy(
                    update={"instructions": tuple(one.model_copy(update=silent) for one in action.instructions)}
                )
                for action in report.actions
            )
        }
    )
    assert hardware_kernels(bare, code=code) == hardware_kernels(report)
    assert not any(kernel.lines or kernel.instruction_mix for kernel in hardware_kernels(bare))
