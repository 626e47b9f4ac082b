"""What ptxas reports about kernels, and what the PTX adds: source lines, entries, launch bounds. Pure."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from cudanalyst.tools.compile import KernelResources
from cudanalyst.tools.toolchain.arch import Arch
from cudanalyst.tools.toolchain.occupancy import DEFAULT_BLOCKS, occupancy

_COMPILING: Final = re.compile(r"ptxas info\s*: Compiling entry function '([^']+)' for '(\w+)'")
_PROPERTIES: Final = re.compile(r"ptxas info\s*: Function properties for (\S+)")
_STACK: Final = re.compile(r"\s+(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_USED: Final = re.compile(r"ptxas info\s*: Used (\d+) registers(.*)")
_ENTRY: Final = re.compile(r"\s*(?:\.visible\s+|\.weak\s+|\.extern\s+)*\.(entry|func)\b(?:\s*\([^)]*\))?\s*([\w$%]*)")
_LOC: Final = re.compile(r"\s*\.loc\s+(\d+)\s+(\d+)\s+(\d+)(?:.*?inlined_at\s+(\d+)\s+(\d+))?")
_FILE: Final = re.compile(r'\s*\.file\s+(\d+)\s+"([^"]*)"')
_MAXNTID: Final = re.compile(r"\s*\.(?:max|req)ntid\s+(\d+)(?:\s*,\s*(\d+))?(?:\s*,\s*(\d+))?")

_VARIABLE: Final = re.compile(
    r"^(?:\.(?:visible|weak|common)\s+)*\.(?:global|const)\s+(?:\.(?:attribute\([^)]*\)|\w+(?:\s+\d+)?)\s+)*([A-Za-z_]\w*)",
    re.MULTILINE,
)
MAX_VARIABLES: Final = 1024


@dataclass
class PtxMap:
    """Where each line of a PTX file comes from."""

    locations: list[tuple[int, tuple[str, int]]] = field(default_factory=list)
    """(PTX line, (file, line)), ascending."""
    entries: list[tuple[int, str]] = field(default_factory=list)
    """(PTX line where it starts, symbol), ascending; a `.func` starts one too."""
    block_threads: dict[str, int] = field(default_factory=dict)
    """Threads that `__launch_bounds__` states, by symbol."""
    variables: tuple[str, ...] = ()
    """Names of the module's variables in global and constant memory, as far as they are defined in it."""

    def source_of(self, ptx_line: int) -> tuple[str, int] | None:
        """File and line of the last `.loc` before a PTX line within the same function."""
        start = max((line for line, _ in self.entries if line <= ptx_line), default=0)
        found = [place for line, place in self.locations if start <= line <= ptx_line]
        return found[-1] if found else None

    def start_of(self, symbol: str) -> tuple[str, int] | None:
        """File and line of the first code of a function."""
        start = next((line for line, name in self.entries if name == symbol), None)
        if start is None:
            return None
        end = next((line for line, _ in self.entries if line > start), None)
        return next((place for line, place in self.locations if line > start and (end is None or line < end)), None)

    def entry_of(self, ptx_line: int) -> str | None:
        """Symbol of the function that a PTX line belongs to."""
        found = [symbol for line, symbol in self.entries if line <= ptx_line]
        return found[-1] if found else None


def read_ptx(text: str, own_file: str) -> PtxMap:
    """Reads `.loc`, `.entry` and bounds; code inlined from elsewhere is placed where `own_file` calls it, if it does directly."""
    files = {match[1]: match[2] for match in map(_FILE.match, text.splitlines()) if match}
    result = PtxMap()
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.lstrip()
        if not stripped.startswith("."):
            continue
        if match := _LOC.match(line):
            place = (files.get(match[1], ""), int(match[2]))
            if not place[0].endswith(own_file) and match[4]:
                place = (files.get(match[4], ""), int(match[5]))
            result.locations.append((number, place))
        elif match := _ENTRY.match(line):
            result.entries.append((number, match[2]))
        elif (match := _MAXNTID.match(line)) and result.entries:
            extents = [int(part) for part in match.groups() if part]
            threads = 1
            for extent in extents:
                threads *= extent
            result.block_threads[result.entries[-1][1]] = threads
    result.variables = tuple(dict.fromkeys(match[1] for match in _VARIABLE.finditer(text)))[:MAX_VARIABLES]
    return result


@dataclass
class _Raw:
    symbol: str
    registers: int = 0
    numbers: dict[str, int] = field(default_factory=dict)


def parse_resources(output: str) -> list[_Raw]:
    """Kernels of `ptxas -v` output, in its order."""
    kernels: dict[str, _Raw] = {}
    current: _Raw | None = None
    properties: str | None = None
    for line in output.splitlines():
        if match := _COMPILING.match(line):
            current = kernels.setdefault(match[1], _Raw(match[1]))
        elif match := _PROPERTIES.match(line):
            properties = match[1]
        elif (match := _STACK.match(line)) and properties in kernels:
            names = ("stack", "spill_store", "spill_load")
            kernels[properties].numbers.update(zip(names, map(int, match.groups()), strict=True))
        elif (match := _USED.match(line)) and current is not None:
            current.registers = int(match[1])
            current.numbers.update(_used(match[2]))
    return list(kernels.values())


def _used(text: str) -> dict[str, int]:
    """Reads `, used 1 barriers, 264 bytes smem, 360 bytes cmem[0]`; several constant banks are added."""
    numbers = {"barriers": 0, "shared": 0, "constant": 0}
    for amount, what in re.findall(r"(\d+)(?: bytes)? (barriers|smem|cmem\[\d+\])", text):
        numbers["constant" if what.startswith("cmem") else "shared" if what == "smem" else "barriers"] += int(amount)
    return numbers


def kernel_resources(
    raw: Iterable[_Raw], names: dict[str, str], ptx: PtxMap, double_users: set[str], arch: Arch
) -> tuple[KernelResources, ...]:
    """Result models with demangled names and theoretical occupancy (static shared memory only)."""
    result = []
    for kernel in raw:
        stated = ptx.block_threads.get(kernel.symbol)
        shared = kernel.numbers.get("shared", 0)
        rows = [
            occupancy(arch.number, block, kernel.registers, shared)
            for block in ([stated] if stated else DEFAULT_BLOCKS)
        ]
        result.append(
            KernelResources(
                name=names.get(kernel.symbol, kernel.symbol),
                symbol=kernel.symbol,
                registers=kernel.registers,
                shared_bytes=shared,
                stack_bytes=kernel.numbers.get("stack", 0),
                spill_store_bytes=kernel.numbers.get("spill_store", 0),
                spill_load_bytes=kernel.numbers.get("spill_load", 0),
                constant_bytes=kernel.numbers.get("constant", 0),
                barriers=kernel.numbers.get("barriers", 0),
                uses_double=kernel.symbol in double_users,
                occupancy=tuple(row for row in rows if row is not None),
            )
        )
    return tuple(result)
