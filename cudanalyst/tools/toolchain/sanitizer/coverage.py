"""What each tool of compute-sanitizer can see: no finding means nothing beyond it."""

from typing import Final

from cudanalyst.tools.findings import Check

_SEES: Final[dict[Check, str]] = {
    "memcheck": (
        "accesses of every thread to global and shared memory and the device heap: bounds, alignment, freed memory; failing CUDA calls; "
        "local memory only coarsely; an index that is off by more than 1 MiB and lands in another allocation is not noticed"
    ),
    "racecheck": "shared memory of a block or cluster; races in global memory are not seen (the CPU engine sees them)",
    "initcheck": "global memory only; shared and local memory are not seen (the CPU engine sees them)",
    "synccheck": (
        "barriers that diverge within a warp, wrong masks of __syncwarp, misused mbarriers; not seen are threads that skip a barrier, "
        "masks of shuffles, missing waits for asynchronous copies and most deadlocks (the CPU engine sees them)"
    ),
}
"""As tried on faulty programs with 2025.3 on an H200."""


def coverage(check: Check, version: str) -> str:
    """What a check of this version of the tool covers."""
    return f"{_SEES[check]} (compute-sanitizer {version})"
