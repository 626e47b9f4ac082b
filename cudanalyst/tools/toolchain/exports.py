"""Which functions a shared library exports: read from its dynamic symbol table, without loading it."""

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from cudanalyst.errors import Unavailable

_SECTION_TABLE: Final = struct.Struct("<40xQ10xHH")
"""Of the file's header: where the sections are told of, the size of each entry, and how many there are."""
_SECTION: Final = struct.Struct("<4xI16xQQI12xQ")
"""Type, offset, size, the section that it refers to, the size of its entries."""
_SYMBOL: Final = struct.Struct("<IBBH16x")
_DYNAMIC_SYMBOLS: Final = 11


def exports(library: Path, name: str) -> bool:
    """Whether a library exports a symbol.

    The library's strings would not do: a linker keeps one string for two names where one ends like the other.

    Raises:
        Unavailable: The file is no library of this machine.
    """
    try:
        return name.encode() in _exported(library.read_bytes())
    except (struct.error, ValueError) as error:
        raise Unavailable(f"the symbols of {library.name} cannot be read: {error}") from None


def _exported(data: bytes) -> Iterator[bytes]:
    if data[:6] != b"\x7fELF\x02\x01":
        raise ValueError("not an ELF file of 64 bits, little-endian")
    at, entry, count = _SECTION_TABLE.unpack_from(data)
    sections = [_SECTION.unpack_from(data, at + entry * index) for index in range(count)]
    for kind, offset, size, link, symbol in sections:
        if kind != _DYNAMIC_SYMBOLS:
            continue
        if symbol < _SYMBOL.size or link >= count:
            raise ValueError("its symbol table is damaged")
        strings = sections[link][1]
        for place in range(offset, offset + size, symbol):
            name, _, _, section = _SYMBOL.unpack_from(data, place)
            if section:
                yield data[strings + name : data.index(b"\0", strings + name)]
