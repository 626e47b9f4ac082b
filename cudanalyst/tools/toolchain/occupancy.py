"""Theoretical occupancy: how many blocks of a kernel fit on a multiprocessor.

Limits are those of "Technical Specifications per Compute Capability" in the CUDA C++ Programming Guide; the rules are those of
the occupancy calculator: registers are allocated per warp in units of 256 within one of four sub-partitions, shared memory in
units of 128 bytes (256 before 8.0), of which the system keeps 1 KB a block from 8.0 on.
"""

from dataclasses import dataclass
from typing import Final, Literal

from cudanalyst.tools.compile import Occupancy

DEFAULT_BLOCKS: Final = (128, 256, 512, 1024)
"""Threads per block for which occupancy is told when `__launch_bounds__` states none."""
_LANES: Final = 32
_PARTITIONS: Final = 4
_REGISTER_UNIT: Final = 256
_REGISTERS: Final = 65536
_MAX_THREADS: Final = 1024
_MAX_REGISTERS: Final = 255

Limiter = Literal["warps", "blocks", "registers", "shared_memory"]


@dataclass(frozen=True)
class SmLimits:
    """What one multiprocessor holds at most."""

    warps: int
    blocks: int
    shared_bytes: int
    shared_bytes_per_block: int
    """With the opt-in attribute."""
    shared_unit: int = 128
    shared_reserved: int = 1024


_KB: Final = 1024
SM_LIMITS: Final[dict[int, SmLimits]] = {
    75: SmLimits(32, 16, 64 * _KB, 64 * _KB, shared_unit=256, shared_reserved=0),
    80: SmLimits(64, 32, 164 * _KB, 163 * _KB),
    86: SmLimits(48, 16, 100 * _KB, 99 * _KB),
    87: SmLimits(48, 16, 164 * _KB, 163 * _KB),
    89: SmLimits(48, 24, 100 * _KB, 99 * _KB),
    90: SmLimits(64, 32, 228 * _KB, 227 * _KB),
    100: SmLimits(64, 32, 228 * _KB, 227 * _KB),
    120: SmLimits(48, 24, 100 * _KB, 99 * _KB),
}
"""By compute capability without its point. Others are unknown here: their occupancy is not told."""


def _up(value: int, unit: int) -> int:
    return -(-value // unit) * unit


def occupancy(capability: int, block_threads: int, registers: int, shared_bytes: int) -> Occupancy | None:
    """Occupancy of a kernel, or None for an architecture whose limits are not listed or a block that no launch takes.

    Args:
        capability: For instance 90.
        block_threads: Threads per block, 1 to 1024.
        registers: Per thread, as ptxas reports.
        shared_bytes: Static and dynamic shared memory of a block.
    """
    limits = SM_LIMITS.get(capability)
    if limits is None or not 1 <= block_threads <= _MAX_THREADS:
        return None
    warps = -(-block_threads // _LANES)
    fits: dict[Limiter, int] = {
        "warps": limits.warps // warps,
        "blocks": limits.blocks,
        "registers": _fit_registers(warps, registers, limits.blocks),
        "shared_memory": _fit_shared(shared_bytes, limits),
    }
    limiter = min(fits, key=lambda name: fits[name])
    blocks = fits[limiter]
    return Occupancy(
        block_threads=block_threads,
        blocks_per_sm=blocks,
        warps_per_sm=blocks * warps,
        fraction=blocks * warps / limits.warps,
        limiter=limiter,
    )


def _fit_registers(warps: int, registers: int, unlimited: int) -> int:
    if registers == 0:
        return unlimited
    per_warp = _up(registers * _LANES, _REGISTER_UNIT)
    if registers > _MAX_REGISTERS or per_warp * _up(warps, _PARTITIONS) > _REGISTERS:
        return 0
    return _REGISTERS // _PARTITIONS // per_warp * _PARTITIONS // warps


def _fit_shared(shared_bytes: int, limits: SmLimits) -> int:
    if shared_bytes > limits.shared_bytes_per_block:
        return 0
    per_block = _up(shared_bytes + limits.shared_reserved, limits.shared_unit)
    return limits.shared_bytes // per_block if per_block else limits.blocks
