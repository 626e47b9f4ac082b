"""`profile` records of a report, validated: they come from a process that also ran the candidate's host code."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

Count = Annotated[int, Field(ge=0, lt=2**63)]
Extent = tuple[Count, Count, Count]

LANES = 32
SECTOR_BYTES = 32


class LineCounts(BaseModel):
    """Counts at one source line, over all warps and launches."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)

    file: str | None = None
    line: Count | None = None
    warp_instructions: Count = 0
    thread_instructions: Count = 0
    global_requests: Count = 0
    global_sectors: Count = 0
    global_bytes: Count | None = None
    """Bytes that lanes asked for, each counted; None from an engine that does not count them."""
    shared_requests: Count = 0
    shared_wavefronts: Count = 0
    shared_wavefronts_ideal: Count = 0
    atomics: Count = 0
    branches: Count = 0
    divergent_branches: Count = 0
    barriers: Count = 0


class SampledBlocks(BaseModel):
    """Blocks that stood for all, and the standard errors of totals that were scaled from them."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)

    blocks: Annotated[int, Field(ge=1, lt=2**63)]
    of: Annotated[int, Field(ge=1, lt=2**63)]
    warp_instructions_standard_error: Count = 0
    global_sectors_standard_error: Count = 0
    shared_wavefronts_standard_error: Count = 0


class KernelCounts(LineCounts):
    """Counts of one kernel in one launch shape, over all its launches."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=False)

    kernel: str = Field(max_length=4096)
    symbol: str = Field(max_length=4096)
    launches: Annotated[int, Field(ge=1, lt=2**31)]
    grid: Extent
    block: Extent
    warps: Count = 0
    mix: dict[str, Count] = Field(default_factory=dict)
    dram_bytes_unique_read: Count = 0
    dram_bytes_unique_written: Count = 0
    shared_bytes: Count = 0
    sampled: SampledBlocks | None = None
    after_sampled: bool = False
    """It read what a sampled launch wrote in part: what it did may depend on that."""
    lines: tuple[LineCounts, ...] = ()

    @property
    def blocks(self) -> int:
        """Blocks of one launch, at least 1."""
        return max(1, self.grid[0] * self.grid[1] * self.grid[2])

    @property
    def block_threads(self) -> int:
        """Threads of one block, at least 1."""
        return max(1, self.block[0] * self.block[1] * self.block[2])

    @property
    def unique_bytes(self) -> int:
        """Distinct 32-byte sectors read, plus those written, times 32: compulsory traffic."""
        return self.dram_bytes_unique_read + self.dram_bytes_unique_written

    @property
    def lane_efficiency(self) -> float | None:
        """Share of the 32 lanes that were active, averaged over warp instructions."""
        if not self.warp_instructions:
            return None
        return min(1.0, self.thread_instructions / (LANES * self.warp_instructions))


def parse_profiles(report: Iterable[Mapping[str, Any]]) -> tuple[tuple[KernelCounts, ...], int]:
    """Reads the `profile` records of a report.

    Returns:
        The records that are well formed, in order, and how many were not.
    """
    kept: list[KernelCounts] = []
    refused = 0
    for record in report:
        if record.get("type") != "profile":
            continue
        try:
            kept.append(KernelCounts.model_validate(record))
        except ValidationError:
            refused += 1
    return tuple(kept), refused
