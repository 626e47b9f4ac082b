"""The table that a recorder is told everything by (engine/TRACE.md): pure rendering."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from cudanalyst.errors import BadRequest
from cudanalyst.tools.toolchain.protocol import BufferSpec, ScalarSpec

PAGE_BYTES: Final = 65536
"""The largest page of a processor that this runs on."""


@dataclass(frozen=True)
class Kernel:
    """A kernel of the loaded module, with the driver's word on its resources."""

    symbol: str
    registers: int
    static_shared_bytes: int
    local_bytes: int
    constant_bytes: int
    max_threads: int
    ptx_version: int
    binary_version: int
    parameters: tuple[tuple[int, int], ...]
    """(offset, bytes) of each."""


@dataclass(frozen=True)
class Region:
    """A range of device memory."""

    address: int
    bytes: int


@dataclass(frozen=True)
class BufferSet:
    """What one call of `solve` is given: a region for each buffer parameter, a value for each scalar."""

    buffers: Mapping[str, Region]
    values: Mapping[str, int | float]


@dataclass(frozen=True)
class Table:
    """Everything that a recording depends on, besides the candidate."""

    library: Path
    device: str
    attributes: Mapping[int, int]
    """CUdevice_attribute number to value, as the driver gave them."""
    kernels: tuple[Kernel, ...]
    sizes: Mapping[str, int] = field(default_factory=dict)
    parameters: tuple[BufferSpec | ScalarSpec, ...] = ()
    sets: tuple[BufferSet, ...] = ()
    symbols: Mapping[str, Region] = field(default_factory=dict)
    """`__device__` and `__constant__` variables of the loaded module."""
    arena: Region | None = None
    """Device memory for what `init` allocates."""
    workspace: Region | None = None
    memory_bytes: int = 0
    """Of the device; 0: not told."""

    @property
    def read_only(self) -> frozenset[str]:
        """Buffers that a candidate must not write."""
        return frozenset(p.name for p in self.parameters if isinstance(p, BufferSpec) and p.role == "in")

    def placed(self, regions: Mapping[str, Region], sets: tuple[BufferSet, ...] = ()) -> "Table":
        """The same with memory for `init` (`arena`) and for the candidate's own use (`workspace`), where there is any, and buffers."""
        return replace(self, arena=regions.get("arena"), workspace=regions.get("workspace"), sets=sets)

    @property
    def address_bytes(self) -> int:
        """Address space that a recorder reserves for it, at most: a limit on a recorder's memory must leave room for this."""
        regions = [*self.symbols.values(), *(one for one in (self.arena, self.workspace) if one is not None)]
        regions += [region for one in self.sets for region in one.buffers.values()]
        return sum(region.bytes + 2 * PAGE_BYTES for region in regions)


def render_table(table: Table) -> str:
    """The text for `cudanalyst-runner --record` or `--workspace`.

    Raises:
        BadRequest: A set lacks a parameter, or a name cannot be written in a line of words.
    """
    lines = [
        "cudanalyst-table 1",
        f"library {_line(str(table.library))}",
        f"device {_line(table.device or 'NVIDIA GPU')}",
    ]
    if table.memory_bytes:
        lines.append(f"memory {table.memory_bytes}")
    lines += [f"attribute {number} {value}" for number, value in sorted(table.attributes.items())]
    lines += [_kernel(kernel) for kernel in table.kernels]
    lines += [f"symbol {_word(name)} {_region(region)}" for name, region in table.symbols.items()]
    if table.arena is not None:
        lines.append(f"arena {_region(table.arena)}")
    lines.append(" ".join(["sizes", *(f"{_word(name)}={value}" for name, value in table.sizes.items())]))
    for parameter in table.parameters:
        if isinstance(parameter, BufferSpec):
            lines.append(f"param buffer {_word(parameter.name)} {parameter.dtype} {parameter.role}")
        else:
            lines.append(f"param {parameter.ctype} {_word(parameter.name)}")
    if table.workspace is not None:
        lines.append(f"workspace {_region(table.workspace)}")
    for index, one in enumerate(table.sets):
        lines += ["set", *_set(index, one, table.parameters)]
    return "\n".join(lines) + "\n"


def _kernel(kernel: Kernel) -> str:
    numbers = [
        kernel.registers, kernel.static_shared_bytes, kernel.local_bytes, kernel.constant_bytes, kernel.max_threads,
        kernel.ptx_version, kernel.binary_version, len(kernel.parameters),
    ]  # fmt: skip
    numbers += [number for parameter in kernel.parameters for number in parameter]
    return " ".join(["kernel", _word(kernel.symbol), *map(str, numbers)])


def _set(index: int, one: BufferSet, parameters: Iterable[BufferSpec | ScalarSpec]) -> list[str]:
    lines = []
    for parameter in parameters:
        given: Mapping[str, object] = one.buffers if isinstance(parameter, BufferSpec) else one.values
        if parameter.name not in given:
            raise BadRequest(f"set {index} gives nothing for the parameter {parameter.name!r}")
        if isinstance(parameter, BufferSpec):
            lines.append(f"buffer {parameter.name} {_region(one.buffers[parameter.name])}")
        else:
            value = one.values[parameter.name]
            text = float(value).hex() if parameter.ctype in {"float", "double"} else str(int(value))
            lines.append(f"value {parameter.name} {text}")
    return lines


def _region(region: Region) -> str:
    return f"{region.address:#x} {region.bytes}"


def _word(text: str) -> str:
    if not text or not text.isascii() or not text.isprintable() or " " in text or "=" in text:
        raise BadRequest(f"{text[:80]!r} cannot be a name in a table: printable ASCII without blanks and `=` is needed")
    return text


def _line(text: str) -> str:
    if "\n" in text or "\r" in text:
        raise BadRequest(f"{text[:80]!r} cannot be written in one line")
    return text
