"""Rules on hardware counters of memory: coalescing, bank conflicts, atomics, traffic, local memory."""

from collections.abc import Iterator
from typing import Final

from cudanalyst.tools.counter_gain import (
    BUSY,
    LANES,
    LINE_SHARE,
    Found,
    busiest_unit,
    requests_of,
    row_of,
    top_lines,
    with_less,
    without_wait,
)
from cudanalyst.tools.hardware import HardwareKernel, MeasuredLine

COALESCED_SECTORS: Final = 4.0
CYCLES_PER_UPDATE: Final = 1.5
"""Of one address, by atomics of whole warps: eight bins and a million updates took 1.5 M cycles on an H200."""


def _uncoalesced(kernel: HardwareKernel) -> Iterator[Found]:
    remedy = "let threadIdx.x run along the fastest index, or stage the tile through shared memory"
    sectors = sum(line.global_sectors or 0 for line in kernel.lines)
    if sectors:

        def excess(line: MeasuredLine) -> float:
            return float((line.global_sectors or 0) - (line.global_sectors_ideal or line.global_sectors or 0))

        wasted = sum(max(0.0, excess(line)) for line in kernel.lines)
        if wasted < LINE_SHARE * sectors:
            return
        top = top_lines(kernel, excess)
        worst = top[0]
        ratio = (worst.global_sectors or 0) / max(1, worst.global_sectors_ideal or 1)
        left = 1.0 - wasted / sectors
        yield Found(
            "uncoalesced_global",
            f"global accesses move {ratio:.1f} times the 32-byte sectors that coalesced ones would: neighbouring threads do not access "
            f"neighbouring elements ({wasted * 100 / sectors:.0f} % of the kernel's sectors are for nothing)",
            "sectors_over_ideal",
            ratio,
            remedy,
            with_less(kernel, dict.fromkeys(("l1", "l2", "dram"), left)),
            top,
            certain=2 * wasted >= sectors,
        )
        return
    worst_row = max(
        (row for row in kernel.memory if row.path == "global"),
        key=lambda row: row.sectors_per_request or 0.0,
        default=None,
    )
    if worst_row is not None and (worst_row.sectors_per_request or 0.0) > 4 * COALESCED_SECTORS:
        ratio = worst_row.sectors_per_request or 0.0
        yield Found(
            "uncoalesced_global",
            f"{ratio:.1f} sectors per global {worst_row.operation} request, more than any coalesced access needs (16)",
            "sectors_per_request",
            ratio,
            remedy,
            with_less(kernel, dict.fromkeys(("l1", "l2", "dram"), COALESCED_SECTORS / ratio)),
            certain=True,
        )


def _bank_conflicts(kernel: HardwareKernel) -> Iterator[Found]:
    row = row_of(kernel, "shared")
    wavefronts = sum(line.shared_wavefronts or 0 for line in kernel.lines)
    ideal = sum(line.shared_wavefronts_ideal or 0 for line in kernel.lines)
    if wavefronts and ideal:
        extra = float(wavefronts - ideal)
    elif row is not None and row.sectors and row.bank_conflicts is not None:
        wavefronts, extra = int(row.sectors), row.bank_conflicts
        ideal = max(1, wavefronts - int(extra))
    else:
        return
    if extra < 2 * LINE_SHARE * wavefronts:
        return
    top = top_lines(kernel, lambda line: float((line.shared_wavefronts or 0) - (line.shared_wavefronts_ideal or 0)))
    ratio = (top[0].shared_wavefronts or 0) / max(1, top[0].shared_wavefronts_ideal or 1) if top else wavefronts / ideal
    yield Found(
        "shared_bank_conflict",
        f"{ratio:.1f}-way bank conflicts: {wavefronts} shared wavefronts where {ideal} would do",
        "shared_conflict_ratio",
        ratio,
        "pad the shared array's row by one element (for instance [32][33]), or permute the index",
        with_less(kernel, {"shared_memory": 1.0 - extra / wavefronts}),
        top,
    )


def _shared_traffic(kernel: HardwareKernel) -> Iterator[Found]:
    row, top = row_of(kernel, "shared"), busiest_unit(kernel)
    arithmetic = sum(kernel.instruction_mix.get(name, 0) for name in ("fp32", "fp64", "fp16", "integer"))
    if row is None or not row.sectors or not arithmetic or top is None or top[0] != "shared_memory" or top[1] < BUSY:
        return
    useful = row.sectors - (row.bank_conflicts or 0.0)
    each = useful / arithmetic
    if each < 0.5 or useful < 0.8 * row.sectors:
        return  # values are reused from registers already, or conflicts are what is wrong
    yield Found(
        "shared_memory_traffic",
        f"{useful:.0f} accesses to shared memory for {arithmetic} arithmetic instructions ({each:.1f} each), without bank conflicts: its data path is busy, "
        "not the arithmetic",
        "shared_accesses_per_instruction",
        each,
        "let each thread compute several outputs (for instance 4x4) from values that it keeps in registers; read float4",
        with_less(kernel, {"shared_memory": 0.25}),
        top_lines(kernel, lambda line: float(line.shared_wavefronts or 0)),
    )


def _local_memory(kernel: HardwareKernel) -> Iterator[Found]:
    local = requests_of(kernel, "local")
    shared = (row.sectors or 0.0) if (row := row_of(kernel, "shared")) is not None else 0.0
    others = requests_of(kernel, "global") + shared
    if not local or local < LINE_SHARE * (local + others):
        return
    left = others / (local + others)
    yield Found(
        "local_memory",
        f"{local:.0f} warp accesses to local memory ({100 * local / (local + others):.0f} % of all): registers are spilled, or an array is "
        "indexed by a variable",
        "local_accesses",
        local,
        "unroll the loop that indexes the array, make it smaller, raise the register limit (__launch_bounds__), or use shared memory",
        with_less(kernel, dict.fromkeys(("l1", "l2", "dram"), max(left, 0.05))),
        top_lines(kernel, lambda line: float(line.local_accesses or 0)),
    )


def _atomics(kernel: HardwareKernel) -> Iterator[Found]:
    rows = [row for row in kernel.memory if row.path == "global" and row.operation in {"atomic", "reduction"}]
    requests = sum(row.requests or 0.0 for row in rows)
    if not requests or kernel.duration_us is None or not kernel.sm_ghz:
        return
    cycles = kernel.duration_us * 1e3 * kernel.sm_ghz
    updates = requests * (kernel.lanes or LANES)
    waiting = kernel.stalls.get("memory_drain", 0.0) + kernel.stalls.get("global_memory_latency", 0.0)
    busiest = max(kernel.sol.values(), default=0.0)
    # One address takes about one update a cycle; spread over the L2's slices, atomics would keep it busy.
    if busiest >= BUSY or waiting < 0.3 or updates < 0.2 * cycles:
        return
    yield Found(
        "atomic_contention",
        f"{updates:.0f} atomic updates of global memory take {cycles / updates:.1f} cycles each with no unit busy: they fall on few "
        "addresses, one after the other",
        "cycles_per_update",
        cycles / updates,
        "combine within the warp or block first (shuffles, shared memory), then one atomic a block",
        without_wait(kernel, max(waiting, CYCLES_PER_UPDATE * updates / cycles)),
        top_lines(kernel, lambda line: float(line.atomics or 0)),
        certain=True,
    )


def _useful_share(kernel: HardwareKernel) -> float:
    """Part of the sectors that coalesced accesses would move too; the rest is the coalescing rule's business."""
    sectors = sum(line.global_sectors or 0 for line in kernel.lines)
    ideal = sum(line.global_sectors_ideal or line.global_sectors or 0 for line in kernel.lines)
    return min(1.0, ideal / sectors) if sectors else 1.0


def _reread(kernel: HardwareKernel) -> Iterator[Found]:
    loads, dram = row_of(kernel, "global", "load"), row_of(kernel, "dram", "load")
    if loads is None or dram is None or not loads.bytes or not dram.bytes:
        return
    top = busiest_unit(kernel)
    useful = loads.bytes * _useful_share(kernel)
    reuse = useful / dram.bytes
    if reuse < 4.0 or top is None or top[0] not in {"l1", "l2"} or top[1] < BUSY:
        return
    yield Found(
        "redundant_global_reads",
        f"each byte that DRAM delivers is read {reuse:.0f} times through the caches ({useful / 1e6:.1f} MB for {dram.bytes / 1e6:.1f} MB)",
        "traffic_over_unique",
        reuse,
        "keep what is reused in registers or shared memory (tiling); let each thread compute several outputs",
        with_less(kernel, dict.fromkeys(("l1", "l2"), max(0.25, 4.0 / reuse))),
        top_lines(kernel, lambda line: float(line.global_sectors or 0)),
    )


MEMORY_RULES: Final = (_uncoalesced, _bank_conflicts, _shared_traffic, _atomics, _reread, _local_memory)
