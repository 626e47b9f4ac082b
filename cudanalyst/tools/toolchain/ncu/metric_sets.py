"""The metric sets: which counters are asked for.

Which counters share a replay pass was found with NVIDIA's own scheduler for GH100 (CUPTI's host API of CUDA 13.0). `sm__throughput` alone
takes eight passes, since it is a maximum over every rarely used unit; its parts that decide real kernels fit into three together with
those of DRAM, L2 and L1. `STANDARD` therefore asks for the parts and takes the maximum itself, as ncu's breakdown does. The order in a
set matters: counters are packed into passes in this order. One counter can cost a pass of its own: `l1tex__f_wavefronts` (texture filtering) did,
so texture work is seen by its instructions.
"""

from typing import Final

from cudanalyst.tools.toolchain.ncu.names import NAMES, UNITS

_PCT: Final = "avg.pct_of_peak_sustained_elapsed"
SAMPLING: Final = ("group:smsp__pcsamp_warp_stall_reasons", "smsp__pcsamp_sample_count")
INSTRUCTION_COUNTERS: Final = (
    "inst_executed",
    "thread_inst_executed_true",
    "memory_l2_theoretical_sectors_global",
    "memory_l2_theoretical_sectors_global_ideal",
    "memory_l1_tag_requests_global",
    "memory_l1_wavefronts_shared",
    "memory_l1_wavefronts_shared_ideal",
)
LAUNCH: Final = (
    *(name for names in NAMES.values() for name in names if name.startswith("launch__")),
    "sm__maximum_warps_per_active_cycle_pct",
)
"""Facts of the launch; they cost no pass."""

QUICK: Final = (
    "gpu__time_duration.sum",
    "gpc__cycles_elapsed.max",
    "gpc__cycles_elapsed.avg.per_second",
    "dram__cycles_elapsed.avg.per_second",
    "sm__cycles_active.avg",
    "sm__cycles_elapsed.avg",
    *UNITS["dram"][:2],
    *UNITS["l2"][:5],
    "lts__t_sector_hit_rate.pct",
    "l1tex__t_sector_hit_rate.pct",
    *UNITS["l1"][:4],
    "sm__warps_active.avg.pct_of_peak_sustained_active",
    "sm__warps_active.avg.per_cycle_active",
    "dram__bytes_read.sum",
    "dram__bytes_write.sum",
    "dram__bytes.sum.peak_sustained",
    "smsp__inst_executed.sum",
    f"sm__inst_executed.{_PCT}",
    f"sm__issue_active.{_PCT}",
    f"sm__pipe_alu_cycles_active.{_PCT}",
    f"sm__pipe_fma_cycles_active.{_PCT}",
    f"sm__pipe_fmaheavy_cycles_active.{_PCT}",
    f"sm__pipe_fp64_cycles_active.{_PCT}",
    f"sm__pipe_tensor_cycles_active.{_PCT}",
    f"sm__inst_executed_pipe_alu.{_PCT}",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",
    f"sm__inst_executed_pipe_lsu.{_PCT}",
    f"sm__inst_executed_pipe_xu.{_PCT}",
    "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    *LAUNCH,
)
"""What bounds each kernel."""
STANDARD: Final = (
    *QUICK,
    "lts__t_sectors_srcunit_tex.sum",
    "lts__t_requests_srcunit_tex.sum",
    "lts__t_sectors_srcunit_tex_op_read.sum",
    "lts__t_sectors_srcunit_tex_op_write.sum",
    "lts__t_sectors_srcunit_tex_op_red.sum",
    "lts__t_sectors_srcunit_tex_op_atom.sum",
    "lts__t_sector_op_read_hit_rate.pct",
    "lts__t_sector_op_write_hit_rate.pct",
    "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum",
    "l1tex__t_requests_pipe_lsu_mem_global_op_red.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum",
    "l1tex__t_requests_pipe_lsu_mem_local_op_ld.sum",
    "l1tex__t_requests_pipe_lsu_mem_local_op_st.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_st_lookup_hit.sum",
    f"lts__d_atomic_input_cycles_active.{_PCT}",
    f"lts__d_sectors_fill_device.{_PCT}",
    f"l1tex__data_bank_writes.{_PCT}",
    f"sm__mio_pq_write_cycles_active.{_PCT}",
    f"sm__inst_executed_pipe_tensor_op_hmma.{_PCT}",
    f"sm__inst_executed_pipe_tensor_op_gmma.{_PCT}",
    f"sm__inst_executed_pipe_fp64.{_PCT}",
    f"sm__inst_executed_pipe_uniform.{_PCT}",
    "smsp__inst_issued.sum",
    "smsp__thread_inst_executed.sum",
    "smsp__thread_inst_executed_per_inst_executed.ratio",
    "smsp__issue_active.avg.pct_of_peak_sustained_active",
    "smsp__warps_eligible.avg.per_cycle_active",
    "sm__inst_executed_pipe_tensor.sum",
    "sm__sass_thread_inst_executed_op_ffma_pred_on.sum.peak_sustained",
    *SAMPLING,
    *INSTRUCTION_COUNTERS,
)
"""Why, and at which lines: memory table, stall reasons, arithmetic, counters of single instructions."""
FULL_SECTIONS: Final = (
    "SpeedOfLight",
    "ComputeWorkloadAnalysis",
    "MemoryWorkloadAnalysis",
    "SchedulerStats",
    "WarpStateStats",
    "Occupancy",
    "LaunchStats",
    "SourceCounters",
    "InstructionStats",
)
"""Sections of ncu that its own rules read; `full` adds them, with the rules, to `STANDARD`."""
