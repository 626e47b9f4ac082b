"""The one table of Nsight Compute's names: what this package calls a counter, and what versions of ncu call it."""

from typing import Final, Literal

MetricSet = Literal["quick", "standard", "full"]
_PCT: Final = "avg.pct_of_peak_sustained_elapsed"

NAMES: Final[dict[str, tuple[str, ...]]] = {
    "duration_ns": ("gpu__time_duration.sum", "gpu__time_duration.avg"),
    "sm_cycles": ("gpc__cycles_elapsed.max", "sm__cycles_elapsed.max"),
    "sm_hz": ("gpc__cycles_elapsed.avg.per_second", "sm__cycles_elapsed.avg.per_second"),
    "dram_hz": ("dram__cycles_elapsed.avg.per_second",),
    "sm_cycles_active": ("sm__cycles_active.avg",),
    "sm_cycles_elapsed": ("sm__cycles_elapsed.avg", "gpc__cycles_elapsed.avg"),
    "dram_bytes_read": ("dram__bytes_read.sum",),
    "dram_bytes_written": ("dram__bytes_write.sum",),
    "dram_bytes_per_cycle_peak": ("dram__bytes.sum.peak_sustained", "dram__bytes_read.sum.peak_sustained"),
    "warps_active": ("sm__warps_active.avg.per_cycle_active",),
    "achieved_occupancy_pct": ("sm__warps_active.avg.pct_of_peak_sustained_active",),
    "theoretical_occupancy_pct": ("sm__maximum_warps_per_active_cycle_pct",),
    "warp_instructions": ("smsp__inst_executed.sum", "inst_executed"),
    "warp_instructions_issued": ("smsp__inst_issued.sum",),
    "thread_instructions": ("smsp__thread_inst_executed.sum", "thread_inst_executed"),
    "lanes_per_instruction": ("smsp__thread_inst_executed_per_inst_executed.ratio",),
    "lanes_predicated_on": ("smsp__thread_inst_executed_pred_on_per_inst_executed.ratio",),
    "issue_active_pct": ("smsp__issue_active.avg.pct_of_peak_sustained_active",),
    "eligible_warps": ("smsp__warps_eligible.avg.per_cycle_active",),
    "l1_hit_pct": ("l1tex__t_sector_hit_rate.pct",),
    "l2_hit_pct": ("lts__t_sector_hit_rate.pct",),
    "l2_read_hit_pct": ("lts__t_sector_op_read_hit_rate.pct",),
    "l2_write_hit_pct": ("lts__t_sector_op_write_hit_rate.pct",),
    "l2_requests": ("lts__t_requests_srcunit_tex.sum",),
    "l2_sectors": ("lts__t_sectors_srcunit_tex.sum",),
    "l2_sectors_read": ("lts__t_sectors_srcunit_tex_op_read.sum", "lts__t_sectors_op_read.sum"),
    "l2_sectors_written": ("lts__t_sectors_srcunit_tex_op_write.sum", "lts__t_sectors_op_write.sum"),
    "l2_sectors_reduction": ("lts__t_sectors_srcunit_tex_op_red.sum", "lts__t_sectors_op_red.sum"),
    "l2_sectors_atomic": ("lts__t_sectors_srcunit_tex_op_atom.sum", "lts__t_sectors_op_atom.sum"),
    "global_load_requests": ("l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",),
    "global_load_sectors": ("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",),
    "global_load_hits": ("l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum",),
    "global_store_requests": ("l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",),
    "global_store_sectors": ("l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",),
    "global_store_hits": ("l1tex__t_sectors_pipe_lsu_mem_global_op_st_lookup_hit.sum",),
    "global_atomic_requests": ("l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum",),
    "global_atomic_sectors": ("l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum",),
    "global_reduction_requests": ("l1tex__t_requests_pipe_lsu_mem_global_op_red.sum",),
    "global_reduction_sectors": ("l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum",),
    "local_load_requests": ("l1tex__t_requests_pipe_lsu_mem_local_op_ld.sum",),
    "local_store_requests": ("l1tex__t_requests_pipe_lsu_mem_local_op_st.sum",),
    "shared_wavefronts": ("l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",),
    "shared_conflicts": ("l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",),
    "lsu_wavefronts_pct": (f"l1tex__data_pipe_lsu_wavefronts.{_PCT}",),
    "tensor_instructions": ("sm__inst_executed_pipe_tensor.sum",),
    "fp32_peak_per_cycle": (
        "sm__sass_thread_inst_executed_op_ffma_pred_on.sum.peak_sustained",
        "sm__sass_thread_inst_executed_op_ffma_pred_on.sum.peak_sustained_elapsed",
    ),
    "samples": ("smsp__pcsamp_sample_count",),
    "samples_dropped_bytes": ("smsp__pcsamp_dropped_bytes",),
    "grid_blocks": ("launch__grid_size",),
    "block_threads": ("launch__block_size",),
    "registers": ("launch__registers_per_thread",),
    "static_shared_bytes": ("launch__shared_mem_per_block_static",),
    "dynamic_shared_bytes": ("launch__shared_mem_per_block_dynamic",),
    "waves": ("launch__waves_per_multiprocessor",),
    "sm_count": ("launch__sm_count",),
    "limit_warps": ("launch__occupancy_limit_warps",),
    "limit_blocks": ("launch__occupancy_limit_blocks",),
    "limit_registers": ("launch__occupancy_limit_registers",),
    "limit_shared_memory": ("launch__occupancy_limit_shared_mem",),
    "limit_barriers": ("launch__occupancy_limit_barriers",),
}
"""Our name to ncu's names, newest first; the first that has a value counts."""

FLOPS: Final[dict[str, tuple[str, float]]] = {
    f"smsp__sass_thread_inst_executed_op_{letter}{word}_pred_on.sum": (kind, operations * lanes)
    for letter, kind, lanes in (("f", "fp32", 1.0), ("d", "fp64", 1.0), ("h", "fp16", 2.0))
    for word, operations in (("add", 1.0), ("mul", 1.0), ("fma", 2.0))
}
"""Counters of arithmetic instructions: their class, and operations a thread and instruction (half precision works on pairs)."""

UNITS: Final[dict[str, tuple[str, ...]]] = {
    "dram": (f"gpu__dram_throughput.{_PCT}", f"dram__cycles_active.{_PCT}", f"fbpa__dram_sectors.{_PCT}"),
    "l2": (
        f"lts__t_sectors.{_PCT}",
        f"lts__d_sectors.{_PCT}",
        f"lts__lts2xbar_cycles_active.{_PCT}",
        f"lts__xbar2lts_cycles_active.{_PCT}",
        f"lts__t_tag_requests.{_PCT}",
        f"lts__d_sectors_fill_device.{_PCT}",
        f"lts__t_sectors_srcunit_tex.{_PCT}",
        f"lts__t_sectors_srcunit_tex_op_write.{_PCT}",
    ),
    "l1": (
        f"l1tex__data_pipe_lsu_wavefronts.{_PCT}",
        f"l1tex__lsuin_requests.{_PCT}",
        f"l1tex__lsu_writeback_active.{_PCT}",
        f"l1tex__f_wavefronts.{_PCT}",
        f"l1tex__data_bank_writes.{_PCT}",
        f"l1tex__data_bank_reads.{_PCT}",
        f"l1tex__tex_writeback_active.{_PCT}",
        f"l1tex__m_xbar2l1tex_read_sectors.{_PCT}",
        f"l1tex__m_l1tex2xbar_req_cycles_active.{_PCT}",
        f"sm__inst_executed_pipe_lsu.{_PCT}",
        f"sm__mio_inst_issued.{_PCT}",
        f"sm__mio2rf_writeback_active.{_PCT}",
        f"sm__mio_pq_read_cycles_active.{_PCT}",
        f"sm__mio_pq_write_cycles_active.{_PCT}",
        f"sm__inst_executed_pipe_tex.{_PCT}",
        f"sm__inst_executed_pipe_tma.{_PCT}",
    ),
    "atomic": (f"lts__d_atomic_input_cycles_active.{_PCT}",),
    "issue": (
        f"sm__inst_executed.{_PCT}",
        f"sm__issue_active.{_PCT}",
        f"sm__inst_issued.{_PCT}",
        f"sm__inst_executed_pipe_cbu.{_PCT}",
        f"sm__inst_executed_pipe_adu.{_PCT}",
        f"idc__request_cycles_active.{_PCT}",
    ),
    "fp32": (
        f"sm__pipe_fma_cycles_active.{_PCT}",
        f"sm__pipe_fmaheavy_cycles_active.{_PCT}",
        f"sm__inst_executed_pipe_fma.{_PCT}",
    ),
    "fp16": (f"sm__inst_executed_pipe_fp16.{_PCT}", f"sm__inst_executed_pipe_fma_type_fp16.{_PCT}"),
    "fp64": (f"sm__pipe_fp64_cycles_active.{_PCT}", f"sm__inst_executed_pipe_fp64.{_PCT}"),
    "tensor": (
        f"sm__pipe_tensor_cycles_active.{_PCT}",
        f"sm__inst_executed_pipe_tensor_op_hmma.{_PCT}",
        f"sm__inst_executed_pipe_tensor_op_gmma.{_PCT}",
        f"sm__inst_executed_pipe_tensor_op_imma.{_PCT}",
        f"sm__inst_executed_pipe_tensor_op_dmma.{_PCT}",
    ),
    "integer": (
        f"sm__pipe_alu_cycles_active.{_PCT}",
        f"sm__inst_executed_pipe_alu.{_PCT}",
        f"sm__inst_executed_pipe_uniform.{_PCT}",
    ),
    "special_function": (f"sm__inst_executed_pipe_xu.{_PCT}",),
}
"""Counters of how busy a unit is, in percent of its peak; the largest of a unit is its share of the speed of light.

`lts__throughput` and `l1tex__throughput` are left out: they count parts that ncu's own headline (`gpu__compute_memory_throughput`) leaves
out, and read 92 % for L2 where a plain stream was bound by DRAM at 85 %."""

STALLS: Final[dict[str, str]] = {
    "barrier": "barrier",
    "branch_resolving": "branch",
    "dispatch_stall": "dispatch",
    "drain": "memory_drain",
    "imc_miss": "constant_cache_miss",
    "lg_throttle": "global_memory_queue",
    "long_scoreboard": "global_memory_latency",
    "math_pipe_throttle": "arithmetic_pipe_busy",
    "membar": "memory_fence",
    "mio_throttle": "shared_memory_queue",
    "misc": "other",
    "no_instructions": "instruction_fetch",
    "no_inst": "instruction_fetch",
    "not_selected": "not_selected",
    "selected": "issued",
    "short_scoreboard": "shared_memory_latency",
    "sleeping": "sleeping",
    "sleep": "sleeping",
    "tex_throttle": "texture_queue",
    "wait": "fixed_latency",
    "warpgroup_arrive": "warpgroup_arrive",
    "gmma": "warpgroup_arrive",
    "dispatch": "dispatch",
    "lg": "global_memory_queue",
    "long_sb": "global_memory_latency",
    "math": "arithmetic_pipe_busy",
    "mio": "shared_memory_queue",
    "short_sb": "shared_memory_latency",
    "tex": "texture_queue",
}
"""Reasons of ncu (in metric names, and as its source page abbreviates them) to words that say what is waited for."""
STALL_PREFIX: Final = "smsp__pcsamp_warps_issue_stalled_"

SOURCE: Final[dict[str, tuple[str, ...]]] = {
    "executed": ("inst_executed", "Instructions Executed"),
    "threads_executed": (
        "thread_inst_executed_true",
        "Predicated-On Thread Instructions Executed",
        "Thread Instructions Executed",
    ),
    "global_sectors": ("memory_l2_theoretical_sectors_global", "L2 Theoretical Sectors Global"),
    "global_sectors_ideal": ("memory_l2_theoretical_sectors_global_ideal", "L2 Theoretical Sectors Global Ideal"),
    "global_requests": ("memory_l1_tag_requests_global", "L1 Tag Requests Global"),
    "shared_wavefronts": ("memory_l1_wavefronts_shared", "L1 Wavefronts Shared"),
    "shared_wavefronts_ideal": ("memory_l1_wavefronts_shared_ideal", "L1 Wavefronts Shared Ideal"),
    "samples": ("smsp__pcsamp_sample_count", "# Samples", "Warp Stall Sampling (All Samples)"),
}
"""Counters of single instructions: ncu's metric, then the column of its source page."""
