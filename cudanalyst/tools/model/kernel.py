"""What the model needs of a built kernel: its machine code, where its PTX stands, its registers. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from cudanalyst.tools.model.elf import ptx_lines, registers, sections
from cudanalyst.tools.model.machine import Code, parse
from cudanalyst.tools.model.statements import Statement, statements

_TARGET: Final = re.compile(r"^\s*\.target\s+[^\n]*$", re.MULTILINE)


@dataclass(frozen=True)
class KernelCode:
    """One kernel as a device would run it."""

    code: Code
    lines: Mapping[int, Statement]
    registers: int


def kernels_of(image: bytes, listing: str) -> dict[str, KernelCode]:
    """The kernels of a cubin, by symbol.

    Args:
        image: The cubin.
        listing: What `nvdisasm -gp -hex -c` printed of it.
    """
    found = sections(image)
    lines, counts = statements(ptx_lines(found)), registers(found)
    return {
        symbol: KernelCode(code, lines, counts[symbol]) for symbol, code in parse(listing).items() if symbol in counts
    }


def retargeted_ptx(image: bytes, arch: str) -> str | None:
    """The PTX that a cubin was made from, for another architecture; None where the cubin does not hold it."""
    lines = ptx_lines(sections(image))
    return _TARGET.sub(f".target {arch}", "\n".join(lines), count=1) if lines else None
