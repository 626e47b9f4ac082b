"""Rules of `profile` on memory: coalescing, bank conflicts, atomics, traffic, local memory."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from cudanalyst.tools.counts import SECTOR_BYTES, KernelCounts, LineCounts
from cudanalyst.tools.devices import Device
from cudanalyst.tools.modelled import ModelledKernel
from cudanalyst.tools.roofline import atomic_lanes

LINES_NAMED: Final = 3
COALESCED_SECTORS: Final = 4
"""Sectors of a full warp's consecutive 4-byte accesses."""
WIDEST_SECTORS: Final = 16
"""Sectors of a full warp's consecutive 16-byte accesses: no coalesced request has more."""
LINE_SHARE: Final = 0.1


@dataclass(frozen=True)
class Found:
    """One rule's word: what is wrong, where, and the counts if it were mended."""

    kind: str
    message: str
    metric: str
    value: float
    remedy: str
    lines: tuple[LineCounts, ...]
    mended: KernelCounts
    warps_per_sm: int | None = None
    certain: bool = False
    """Worth saying whatever the model gains by it: the counts alone show the waste."""


def top_lines(lines: Sequence[LineCounts], weight: Callable[[LineCounts], float]) -> tuple[LineCounts, ...]:
    """The lines that carry most of a weight, heaviest first."""
    total = sum(weight(line) for line in lines)
    heavy = [line for line in lines if weight(line) > 0 and weight(line) >= LINE_SHARE * total]
    return tuple(sorted(heavy, key=lambda line: -weight(line)))[:LINES_NAMED]


def _least_sectors(line: LineCounts, kernel: KernelCounts) -> float:
    """Sectors that a line's requests would need if neighbouring lanes read neighbouring elements."""
    if line.global_bytes:
        return min(line.global_sectors, max(line.global_requests, line.global_bytes / SECTOR_BYTES))
    requested = kernel.global_sectors * SECTOR_BYTES
    refetched = requested > 1.5 * kernel.unique_bytes
    per_request = COALESCED_SECTORS if refetched else WIDEST_SECTORS
    if line.global_sectors > WIDEST_SECTORS * line.global_requests:
        per_request = COALESCED_SECTORS
    return min(line.global_sectors, per_request * line.global_requests)


def _uncoalesced(kernel: ModelledKernel, _: Device) -> Iterator[Found]:
    counts = kernel.counts
    lines = counts.lines or (counts,)
    excess = {id(line): line.global_sectors - _least_sectors(line, counts) for line in lines}
    wasted = sum(excess.values())
    if wasted < LINE_SHARE * counts.global_sectors or not counts.global_requests:
        return
    top = top_lines(lines, lambda line: excess[id(line)])
    worst = top[0]
    ratio = worst.global_sectors / max(1, worst.global_requests)
    least = _least_sectors(worst, counts) / max(1, worst.global_requests)
    yield Found(
        "uncoalesced_global",
        f"{ratio:.1f} sectors per global request where {least:.1f} would do: neighbouring threads do not access "
        f"neighbouring elements ({wasted * 100 / counts.global_sectors:.0f} % of the kernel's sectors are for nothing)",
        "sectors_per_request",
        ratio,
        "let threadIdx.x run along the fastest index, or stage the tile through shared memory",
        top,
        counts.model_copy(update={"global_sectors": int(counts.global_sectors - wasted)}),
        certain=2 * wasted >= counts.global_sectors,
    )


def _bank_conflicts(kernel: ModelledKernel, _: Device) -> Iterator[Found]:
    counts = kernel.counts
    extra = counts.shared_wavefronts - counts.shared_wavefronts_ideal
    if not counts.shared_wavefronts_ideal or extra < LINE_SHARE * counts.shared_wavefronts_ideal:
        return
    top = top_lines(counts.lines, lambda line: line.shared_wavefronts - line.shared_wavefronts_ideal)
    worst = top[0] if top else counts
    ratio = worst.shared_wavefronts / max(1, worst.shared_wavefronts_ideal)
    yield Found(
        "shared_bank_conflict",
        f"{ratio:.1f}-way bank conflicts: {worst.shared_wavefronts} shared wavefronts where "
        f"{worst.shared_wavefronts_ideal} would do",
        "shared_conflict_ratio",
        ratio,
        "pad the shared array's row by one element (for instance [32][33]), or permute the index",
        top,
        counts.model_copy(update={"shared_wavefronts": counts.shared_wavefronts_ideal}),
    )


def _atomics(kernel: ModelledKernel, _: Device) -> Iterator[Found]:
    counts = kernel.counts
    in_global, in_shared = atomic_lanes(counts)
    if not counts.atomics or in_global < in_shared:
        return
    targets = max(1.0, counts.dram_bytes_unique_written / SECTOR_BYTES)
    per_sector = in_global / targets
    yield Found(
        "atomic_contention",
        f"{in_global:.0f} atomic updates of global memory fall on {targets:.0f} sectors "
        f"({per_sector:.0f} each), one after the other",
        "updates_per_sector",
        per_sector,
        "combine within the warp or block first (shuffles, shared memory), then one atomic a block",
        top_lines(counts.lines, lambda line: float(line.atomics)),
        counts.model_copy(update={"atomics": min(counts.atomics, counts.blocks * counts.launches), "lines": ()}),
    )


def _redundant(kernel: ModelledKernel, _: Device) -> Iterator[Found]:
    counts = kernel.counts
    unique = counts.unique_bytes
    requested = sum(_least_sectors(line, counts) for line in (counts.lines or (counts,))) * SECTOR_BYTES
    loads = counts.mix.get("load_global", 0)
    if not unique or not loads or requested < 3 * unique:
        return
    reuse = requested / unique
    fewer = max(1.0, reuse / 4)
    mix = dict(counts.mix)
    moved = int(loads * (1 - 1 / fewer))
    mix["load_global"] = loads - moved
    mix["load_shared"] = mix.get("load_shared", 0) + moved
    yield Found(
        "redundant_global_reads",
        f"each byte of global memory is read {reuse:.0f} times on average ({requested / 1e6:.1f} MB for "
        f"{unique / 1e6:.1f} MB of data)",
        "traffic_over_unique",
        reuse,
        "keep what is reused in registers or shared memory (tiling); let each thread compute several outputs",
        top_lines(counts.lines, lambda line: float(line.global_sectors)),
        counts.model_copy(
            update={
                "mix": mix,
                "global_sectors": int(counts.global_sectors / fewer),
                "global_requests": int(counts.global_requests / fewer),
                "lines": (),
            }
        ),
    )


def _local_memory(kernel: ModelledKernel, _: Device) -> Iterator[Found]:
    counts = kernel.counts
    accesses = counts.mix.get("load_local", 0) + counts.mix.get("store_local", 0)
    spilled = kernel.resources.spill_store_bytes + kernel.resources.spill_load_bytes if kernel.resources else 0
    if not accesses:
        return
    mix = {name: number for name, number in counts.mix.items() if name not in {"load_local", "store_local"}}
    yield Found(
        "local_memory",
        f"{accesses} warp accesses to local memory"
        + (f", and ptxas spills {spilled} bytes" if spilled else ": an array is indexed by a variable"),
        "local_accesses",
        float(accesses),
        "unroll the loop that indexes the array, make it smaller, or move it to shared memory",
        (),
        counts.model_copy(update={"mix": mix}),
    )


MEMORY_RULES: Final = (_uncoalesced, _bank_conflicts, _atomics, _redundant, _local_memory)
