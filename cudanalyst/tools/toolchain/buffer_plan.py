"""Which allocation each call of `solve` gets for each buffer: pure.

Calls share allocations in a fixed pattern. One that finds the address of the call before it finds fresh values there; one that finds
another address finds values that were elsewhere before: results kept by address or by value are both stale. A buffer without contents is
left uninitialised, so it gets an allocation that nothing was written to.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from cudanalyst.tools.toolchain.protocol import CandidateRequest

PATTERN: Final = (0, 0, 1, 0, 2, 1)
"""Allocations of a buffer by call, over and over."""
MANY_BYTES: Final = 2 << 30
"""Where one set of buffers is larger, there are two sets and not three."""
PAGE: Final = 4096
MAX_LOOKED_AT: Final = 64 << 20
"""Bytes of a workspace whose guard zones are looked at after each call: they come back with all of it."""


@dataclass(frozen=True)
class BufferPlan:
    """Allocations, and which of them each call gets."""

    buffers: tuple[tuple[str, int], ...]
    """Name for the executor, and bytes without guards."""
    calls: tuple[Mapping[str, tuple[str, int]], ...]
    """By parameter: the allocation's name, and its bytes."""
    guard: int


def plan_buffers(request: CandidateRequest) -> BufferPlan:
    """Spreads the calls over allocations."""
    buffers: dict[str, int] = {}
    uses: set[str] = set()
    calls: list[dict[str, tuple[str, int]]] = []
    for index, call in enumerate(request.calls):
        large = sum(size for size, _ in call.buffers.values()) > MANY_BYTES
        which = PATTERN[index % len(PATTERN)] % (2 if large else 3)
        chosen: dict[str, tuple[str, int]] = {}
        for parameter, (size, contents) in call.buffers.items():
            name = f"{parameter}@{which}"
            # Of another size, or to be left uninitialised: one of its own.
            if buffers.get(name, size) != size or (contents is None and name in uses):
                name = f"{parameter}@call{index}"
            buffers[name] = size
            uses.add(name)
            chosen[parameter] = (name, size)
        calls.append(chosen)
    return BufferPlan(tuple(buffers.items()), tuple(calls), request.guard_bytes)


def guard_damage(data: bytes, guard: int, poison: int) -> str | None:
    """What was written outside a workspace, whose guard zones held poison; `data` is empty where it is not looked at."""
    if not data:
        return None
    whole = bytes([poison]) * guard
    if data[:guard] != whole:
        return "wrote before the start of the workspace"
    if data[-guard:] != whole:
        offset = next(at for at, byte in enumerate(data[-guard:]) if byte != poison)
        return (
            f"wrote beyond the end of the workspace; first changed byte is {offset} bytes after it: "
            "ask for as much as is used in `workspace_bytes`"
        )
    return None


def file_places(sizes: Mapping[str, int]) -> dict[str, int]:
    """Offsets in a file of several buffers, each at the start of a page."""
    places: dict[str, int] = {}
    end = 0
    for name, size in sizes.items():
        places[name] = end
        end += size + -size % PAGE
    return places
