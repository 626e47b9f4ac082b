"""A modelled time of a kernel from its counts, its occupancy and a device's rates. Never a measurement.

Each resource gives the time that it alone would take; overlap between resources is imperfect, so the times are
combined with a p-norm (p = 4: two equal bounds cost 1.19 times one). Sources of the parts:

- DRAM: compulsory traffic (distinct sectors); where the footprint exceeds the L2, the part of the L2 traffic that
  cannot stay there is fetched again (a fully associative cache under uniform reuse).
- L2: every sector requested, less what the L1 caches can serve. An SM fetches each distinct sector at least once, so
  the traffic is at most `distinct sectors x SMs in use`. On the recorded H200 run of a naive 2048^3 GEMM this gives
  138 M sectors where Nsight Compute counted 164 M, and 67 M of 55 M for the tiled one.
- L1 and shared memory: one wavefront of 128 bytes a cycle and SM for both (NVIDIA Hopper tuning guide); a request
  costs at least one. Reached shares of that peak on the recorded run: 0.82 for global, 0.92 for shared accesses.
- Pipes: results per cycle and SM of the throughput table in the CUDA C++ Programming Guide; 4 warp instructions
  are issued per cycle and SM.
- Atomics: one lane per cycle and SM, and updates of the same sector follow each other in the L2 or shared memory.
- Latency: each warp waits for its own instructions (latencies as published for Hopper, divided by the accesses that a
  warp keeps in flight); warps beyond the occupancy wait for a place. This is Little's law with the occupancy in it.
- Tail: the SM with the most blocks decides: work on SMs is scaled by `ceil(blocks / SMs) * SMs / blocks`.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from cudanalyst.tools.counts import LANES, SECTOR_BYTES, KernelCounts
from cudanalyst.tools.devices import Device

OVERLAP_NORM: Final = 4.0
GLOBAL_WAVEFRONT_EFFICIENCY: Final = 0.82
SHARED_WAVEFRONT_EFFICIENCY: Final = 0.92
ISSUE_PER_CYCLE: Final = 4.0
DRAM_EFFICIENCY: Final = 0.92
"""No kernel reaches the data sheet's bandwidth."""
LAUNCH_US: Final = 0.51
"""An empty kernel in a CUDA graph of many, measured on an H200."""
TENSOR_RATE: Final = 1.0
"""`mma.sync` m16n8k16 per cycle and SM, about half of Hopper's dense peak; device files state no tensor rate."""
L1_SECTORS_PER_WAVEFRONT: Final = 4
L2_BYTES_PER_CYCLE_AND_SM: Final = 64.0
LATENCY: Final = {
    "arithmetic": 4.5,
    "special_function": 20.0,
    "shared": 29.0,
    "l1": 38.0,
    "l2": 273.0,
    "dram": 600.0,
    "barrier": 30.0,
    "atomic": 350.0,
}
"""Cycles from issue to use."""
IN_FLIGHT: Final = {"arithmetic": 2.0, "memory": 4.0}
"""Independent instructions that a warp has in flight; PTX counts cannot tell, so a typical unrolling is assumed."""
PIPE_OF_CLASS: Final = {
    "fp32": "fp32",
    "fp64": "fp64",
    "fp16": "fp16",
    "tensor": "tensor",
    "integer": "integer",
    "predicate": "integer",
    "special_function": "special_function",
    "conversion": "conversion",
    "shuffle": "shuffle",
}


@dataclass(frozen=True)
class Modelled:
    """A modelled time and what it is made of."""

    us: float
    bound: str
    """The resource that alone would take longest."""
    terms: dict[str, float]
    """Microseconds by resource, all launches together."""
    launch_us: float


def modelled_time(counts: KernelCounts, device: Device, warps_per_sm: int | None = None) -> Modelled:
    """Models one kernel's time over all its launches.

    Args:
        counts: The kernel's counts.
        device: Rates to model for.
        warps_per_sm: Warps that fit on an SM (from registers, shared memory and block size); the device's most if None.

    Returns:
        Time in microseconds, launch overhead included, and the dominating bound.
    """
    launches = counts.launches
    in_use = min(device.sm_count, counts.blocks)
    balance = math.ceil(counts.blocks / device.sm_count) * device.sm_count / counts.blocks
    cycles_to_us = 1.0 / (device.clock_ghz * 1e3)

    def on_sms(warp_cycles: float) -> float:
        return warp_cycles / device.sm_count * balance * cycles_to_us

    l2_bytes, dram_bytes = _traffic(counts, device, in_use)
    l2_rate = min(device.l2_gb_per_s, in_use * L2_BYTES_PER_CYCLE_AND_SM * device.clock_ghz)
    terms = {
        "dram": dram_bytes / (device.dram_gb_per_s * DRAM_EFFICIENCY * 1e3),
        "l2": l2_bytes / (l2_rate * 1e3),
        "shared_memory": on_sms(counts.shared_wavefronts / SHARED_WAVEFRONT_EFFICIENCY),
        "l1": on_sms(_l1_wavefronts(counts) / GLOBAL_WAVEFRONT_EFFICIENCY),
        "issue": on_sms(counts.warp_instructions / ISSUE_PER_CYCLE),
        "atomic": _atomic_us(counts, device, on_sms),
        "latency": _latency_us(counts, device, warps_per_sm, l2_bytes, dram_bytes),
    }
    # One data path serves L1 and shared memory: their times add. The larger share names the bound.
    path = terms["shared_memory"] + terms["l1"]
    larger, smaller = ("shared_memory", "l1") if terms["shared_memory"] >= terms["l1"] else ("l1", "shared_memory")
    terms[larger], terms[smaller] = path, 0.0
    for name, warp_instructions in _by_pipe(counts).items():
        terms[name] = on_sms(warp_instructions / _rate(device, name))
    bound = max(terms, key=lambda name: terms[name])
    total = sum(value**OVERLAP_NORM for value in terms.values()) ** (1.0 / OVERLAP_NORM)
    launch_us = launches * LAUNCH_US
    if bound not in {"dram", "l2", "latency"} and balance >= 2.0:
        bound = "tail"
    if launch_us > total:
        bound = "launch"
    return Modelled(us=total + launch_us, bound=bound, terms=terms, launch_us=launch_us)


def _traffic(counts: KernelCounts, device: Device, sms_in_use: int) -> tuple[float, float]:
    """Bytes through the L2 and through DRAM."""
    requested = counts.global_sectors * SECTOR_BYTES
    unique = min(counts.unique_bytes, requested) if requested else counts.unique_bytes
    l2_bytes = float(max(unique, min(requested, unique * sms_in_use)))
    excess = max(0.0, 1.0 - device.l2_bytes / unique) if unique else 0.0
    return l2_bytes, unique + max(0.0, l2_bytes - unique) * excess


def _l1_wavefronts(counts: KernelCounts) -> float:
    local = counts.mix.get("load_local", 0) + counts.mix.get("store_local", 0)
    return max(counts.global_requests, counts.global_sectors / L1_SECTORS_PER_WAVEFRONT) + local


def _by_pipe(counts: KernelCounts) -> dict[str, int]:
    pipes: dict[str, int] = {}
    for name, pipe in PIPE_OF_CLASS.items():
        if counts.mix.get(name):
            pipes[pipe] = pipes.get(pipe, 0) + counts.mix[name]
    return pipes


def _rate(device: Device, pipe: str) -> float:
    return TENSOR_RATE if pipe == "tensor" else next(rate for name, rate in device.pipes.items() if name == pipe)


def atomic_lanes(counts: KernelCounts) -> tuple[float, float]:
    """Single-lane updates behind the warp-level atomic requests: in global memory, in shared memory.

    A line whose accesses are all to shared memory updates shared memory; everything else is taken for global.
    """
    shared = elsewhere = 0.0
    requests = 0
    for line in counts.lines:
        if not line.atomics:
            continue
        requests += line.atomics
        # Lanes of the line stand for lanes of its atomics: often one thread of a block adds the block's result.
        lanes = line.atomics * min(LANES, line.thread_instructions / max(1, line.warp_instructions) or LANES)
        if line.shared_requests and not line.global_requests:
            shared += lanes
        else:
            elsewhere += lanes
    unplaced = max(0, counts.atomics - requests) * LANES * (counts.lane_efficiency or 1.0)
    return elsewhere + unplaced, shared


def _atomic_us(counts: KernelCounts, device: Device, on_sms: Callable[[float], float]) -> float:
    in_global, in_shared = atomic_lanes(counts)
    targets = max(1.0, counts.dram_bytes_unique_written / SECTOR_BYTES)
    serial = in_global / targets / (device.clock_ghz * 1e3)
    return max(serial, on_sms(in_global + in_shared))


def _latency_us(
    counts: KernelCounts, device: Device, warps_per_sm: int | None, l2_bytes: float, dram_bytes: float
) -> float:
    warps_per_block = math.ceil(counts.block_threads / LANES)
    warps = counts.blocks * warps_per_block * counts.launches
    resident = max(warps_per_block, warps_per_sm or device.warps_per_sm)
    waves = max(1.0, counts.blocks * warps_per_block / (resident * device.sm_count))
    mix = counts.mix
    requested = counts.global_sectors * SECTOR_BYTES
    to_l2 = min(1.0, l2_bytes / requested) if requested else 1.0
    to_dram = min(1.0, dram_bytes / l2_bytes) if l2_bytes else 1.0
    beyond_l1 = to_dram * LATENCY["dram"] + (1.0 - to_dram) * LATENCY["l2"]
    load = to_l2 * beyond_l1 + (1.0 - to_l2) * LATENCY["l1"]
    loads = mix.get("load_global", 0)
    shared = mix.get("load_shared", 0)
    arithmetic = sum(mix.get(name, 0) for name in PIPE_OF_CLASS)
    special = mix.get("special_function", 0)
    cycles = (
        loads * load / IN_FLIGHT["memory"]
        + mix.get("load_local", 0) * LATENCY["l1"] / IN_FLIGHT["memory"]
        + shared * LATENCY["shared"] / IN_FLIGHT["memory"]
        + (arithmetic - special) * LATENCY["arithmetic"] / IN_FLIGHT["arithmetic"]
        + special * LATENCY["special_function"] / IN_FLIGHT["arithmetic"]
        + counts.barriers * LATENCY["barrier"]
        + counts.atomics * LATENCY["atomic"] / IN_FLIGHT["memory"]
    ) / warps
    return cycles * waves * counts.launches / (device.clock_ghz * 1e3)
