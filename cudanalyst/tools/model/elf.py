"""What a cubin says beside its code: registers of each kernel, and the PTX that it was made from. Pure."""

import struct
from typing import Final

_REGISTER_COUNT: Final = (4, 0x2F)
"""Format and attribute of an entry of `.nv.info` that tells the registers of a symbol."""
_INFO_HEADER: Final = 4


def sections(image: bytes) -> dict[str, bytes]:
    """Contents by name; of sections with the same name, the first."""
    table, entry, count, names_at = (
        *struct.unpack_from("<Q", image, 40),
        *struct.unpack_from("<HHH", image, 58),
    )
    heads = [struct.unpack_from("<IIQQQQIIQQ", image, table + k * entry) for k in range(count)]
    strings = _slice(image, heads[names_at])
    found: dict[str, bytes] = {}
    for head in heads:
        if head[1] != 8:  # no contents
            found.setdefault(_text(strings, head[0]), _slice(image, head))
    return found


def _slice(image: bytes, head: tuple[int, ...]) -> bytes:
    return image[head[4] : head[4] + head[5]]


def _text(strings: bytes, at: int) -> str:
    return strings[at : strings.find(b"\0", at)].decode("utf-8", "replace")


def registers(found: dict[str, bytes]) -> dict[str, int]:
    """Registers a thread, by symbol.

    Args:
        found: What `sections` found.
    """
    symbols, strings = found.get(".symtab", b""), found.get(".strtab", b"")
    info, at = found.get(".nv.info", b""), 0
    counts: dict[str, int] = {}
    while at + _INFO_HEADER <= len(info):
        form, attribute, size = struct.unpack_from("<BBH", info, at)
        at += _INFO_HEADER
        if form != 4:  # the value lies in the header
            continue
        if (form, attribute) == _REGISTER_COUNT and at + 8 <= len(info):
            symbol, count = struct.unpack_from("<II", info, at)
            if (symbol + 1) * 24 <= len(symbols):
                counts[_text(strings, struct.unpack_from("<I", symbols, symbol * 24)[0])] = count
        at += size
    return counts


def ptx_lines(found: dict[str, bytes]) -> list[str]:
    """The lines that `nvdisasm -gp` counts from 1; empty for code without line information."""
    text = found.get(".nv_debug_ptx_txt", b"")
    return text.decode("utf-8", "replace").split("\0") if text else []
