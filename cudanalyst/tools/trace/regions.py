"""Where a trace may copy to and from: the regions that it was given."""

import bisect
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from cudanalyst.tools.trace.table import Region, Table

Where = Literal["buffer", "input", "workspace", "symbol", "arena"]


@dataclass(frozen=True)
class Place:
    """A region with its name."""

    name: str
    where: Where
    region: Region

    def holds(self, address: int, size: int) -> bool:
        """All of [address, address + size) lies in it. Python's integers do not overflow."""
        return self.region.address <= address and address + size <= self.region.address + self.region.bytes


class Places:
    """Finds the region that holds a range."""

    def __init__(self, places: Iterable[Place]) -> None:
        """Regions do not overlap, being separate allocations."""
        self._places = sorted((p for p in places if p.region.bytes), key=lambda place: place.region.address)
        self._starts = [place.region.address for place in self._places]

    def find(self, address: int, size: int) -> Place | None:
        """The one region that holds the range, if there is one."""
        at = bisect.bisect_right(self._starts, address) - 1
        return self._places[at] if at >= 0 and self._places[at].holds(address, size) else None


def places_of(table: Table, index: int | None) -> Places:
    """What the call of that index is given; None: `init`, before any buffer exists."""
    places = [Place(name, "symbol", region) for name, region in table.symbols.items()]
    if table.arena is not None:
        places.append(Place("memory of init", "arena", table.arena))
    if index is not None:
        read_only = table.read_only
        for name, region in table.sets[index].buffers.items():
            places.append(Place(name, "input" if name in read_only else "buffer", region))
        if table.workspace is not None:
            places.append(Place("workspace", "workspace", table.workspace))
    return Places(places)
