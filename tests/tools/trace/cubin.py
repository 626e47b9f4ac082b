"""What a table says of a candidate's kernels, read from the machine code that nvcc embedded: no device and no driver."""

import struct
from dataclasses import dataclass
from pathlib import Path

from cudanalyst.tools.trace.table import Kernel

KPARAM_INFO, REGCOUNT, MAX_THREADS = 0x17, 0x2F, 0x05
NOBITS, SYMTAB, OBJECT = 8, 2, 1


@dataclass(frozen=True)
class Section:
    name: str
    kind: int
    data: bytes
    size: int
    link: int


@dataclass(frozen=True)
class Cubin:
    kernels: tuple[Kernel, ...]
    variables: dict[str, int]


def _sections(elf: bytes) -> list[Section]:
    (offset,) = struct.unpack_from("<Q", elf, 40)
    size, count, names = struct.unpack_from("<HHH", elf, 58)
    headers = [struct.unpack_from("<IIQQQQIIQQ", elf, offset + size * n) for n in range(count)]
    table = elf[headers[names][4] : headers[names][4] + headers[names][5]]
    return [
        Section(
            table[h[0] :].split(b"\0", 1)[0].decode(),
            h[1],
            b"" if h[1] == NOBITS else elf[h[4] : h[4] + h[5]],
            h[5],
            h[6],
        )
        for h in headers
    ]


def _notes(data: bytes):
    while len(data) >= 4:
        form, attribute, size = struct.unpack_from("<BBH", data)
        size = size if form == 4 else 0
        yield attribute, data[4 : 4 + size]
        data = data[4 + size :]


def read_cubin(library: Path) -> Cubin:
    """Kernels and variables of the first cubin in a library."""
    raw = library.read_bytes()
    fatbin = next(s.data for s in _sections(raw) if s.name == ".nv_fatbin")
    sections = _sections(fatbin[fatbin.index(b"\x7fELF") :])
    by_name = {s.name: s for s in sections}
    symbols = []
    for section in sections:
        if section.kind == SYMTAB:
            strings = sections[section.link].data
            for at in range(0, len(section.data), 24):
                name, info, _other, _index, _value, size = struct.unpack_from("<IBBHQQ", section.data, at)
                symbols.append((strings[name:].split(b"\0", 1)[0].decode(), info & 15, size))
    registers = {
        symbols[index][0]: count
        for attribute, data in _notes(by_name[".nv.info"].data)
        if attribute == REGCOUNT
        for index, count in [struct.unpack_from("<II", data)]
    }
    kernels = []
    for section in sections:
        if not section.name.startswith(".text."):
            continue
        symbol = section.name.removeprefix(".text.")
        info = by_name.get(f".nv.info.{symbol}")
        if info is None or symbol not in registers:
            continue
        parameters, most = [], 1024
        for attribute, data in _notes(info.data):
            if attribute == KPARAM_INFO:
                _, ordinal, offset, flags = struct.unpack_from("<IHHI", data)
                parameters.append((ordinal, offset, flags >> 18))
            if attribute == MAX_THREADS:
                x, y, z = struct.unpack_from("<III", data)
                most = x * y * z
        count = registers[symbol]
        most = min(most, 65536 // ((count + 7) // 8 * 8 * 32) * 32)
        shared = by_name.get(f".nv.shared.{symbol}")
        kernels.append(
            Kernel(
                symbol=symbol,
                registers=count,
                static_shared_bytes=shared.size if shared else 0,
                local_bytes=0,
                constant_bytes=0,
                max_threads=most,
                ptx_version=90,
                binary_version=90,
                parameters=tuple((offset, size) for _, offset, size in sorted(parameters)),
            )
        )
    variables = {name: size for name, kind, size in symbols if kind == OBJECT and size and not name.startswith("$")}
    return Cubin(tuple(kernels), variables)
