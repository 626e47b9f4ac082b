"""Names device addresses by the allocations that are known, in the words of the CPU engine. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

_NEAR: Final = 1 << 40
"""Farther from every allocation, an address is no offset into one."""
_NULL_PAGE: Final = 65536


@dataclass(frozen=True)
class Allocation:
    """Device memory with a name: a buffer of `solve`, its workspace, or memory that the candidate allocated."""

    name: str
    address: int
    bytes: int


@dataclass(frozen=True)
class Place:
    """An address as a reader understands it."""

    text: str
    """`x[4096 B] + 4096`."""
    remark: str
    """Where that is, in words that continue a sentence; empty where nothing is to be said."""


class AddressBook:
    """The allocations of a run: those that the executor made, and those that the tool's text tells of."""

    def __init__(self, allocations: Sequence[Allocation], nearest: Mapping[int, tuple[int, int]] | None = None) -> None:
        """Takes the named allocations, and for an address the (address, bytes) of the one nearest to it."""
        self._allocations = tuple(allocations)
        self._nearest = nearest or {}

    def place(self, address: int) -> Place:
        """The allocation nearest to an address, and the offset from its start."""
        found = self._find(address)
        if found is None:
            remark = ", a null pointer or an offset from one" if address < _NULL_PAGE else ""
            return Place(f"{address:#x}", remark)
        below = address < found.address
        offset = found.address - address if below else address - found.address
        text = f"{found.name}[{found.bytes} B] {'-' if below else '+'} {offset}"
        return Place(text, _remark(found, address))

    def _find(self, address: int) -> Allocation | None:
        if address < _NULL_PAGE:
            return None
        told = self._nearest.get(address)
        known = min(self._allocations, key=lambda one: _distance(one, address), default=None)
        if told is not None and (known is None or told[0] != known.address):
            known = next((one for one in self._allocations if one.address == told[0]), Allocation("allocation", *told))
        return known if known is not None and _distance(known, address) < _NEAR else None


def _distance(one: Allocation, address: int) -> int:
    if address < one.address:
        return one.address - address
    return max(0, address - (one.address + one.bytes) + 1)


def _remark(found: Allocation, address: int) -> str:
    end = found.address + found.bytes
    if address == end:
        return ", just past the end of the allocation"
    if address > end:
        return f", {address - end} bytes past the end of the nearest allocation"
    if address < found.address:
        return f", {found.address - address} bytes before the nearest allocation"
    return ""
