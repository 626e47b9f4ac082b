"""Machine code as it will be issued: instructions with what the compiler encoded of their timing, basic blocks, and edges. Pure.

Since Volta each instruction carries 21 bits that the compiler sets in place of hardware interlocks: cycles to stall the warp after
it, a scoreboard that it releases when its result is there (or when its operands are read), and the scoreboards that it waits for.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from cudanalyst.tools.sass import decode_text

_FUNCTION: Final = re.compile(r"^\.text\.(\S+):\s*$")
_PTX: Final = re.compile(r'^\s*//## File "\.nv_debug_ptx_txt", line (\d+)')
_LABEL: Final = re.compile(r"^(\S+):\s*$")
_ROW: Final = re.compile(r"^\s*/\*([0-9a-f]{4,8})\*/\s+(.*?)\s*;?\s*/\* 0x([0-9a-f]{16}) \*/")
_SECOND: Final = re.compile(r"^\s*/\* 0x([0-9a-f]{16}) \*/")
_TARGET: Final = re.compile(r"`\(([^)]+)\)")
_GUARD: Final = re.compile(r"@(!?U?P\w+)")
_COUNT: Final = re.compile(r"SB(\d), (0x[0-9a-f]+)")
_ENDS: Final = frozenset({"BRA", "BRX", "JMP", "JMX", "EXIT", "RET", "KILL", "BRXU", "JMXU", "BPT"})
NO_BARRIER: Final = 7


@dataclass(frozen=True)
class Instruction:
    """One machine instruction."""

    opcode: str
    modifiers: tuple[str, ...]
    operands: str
    kind: str
    """The class of the profile's instruction mix."""
    guarded: bool
    never: bool
    """Guarded by a predicate that is always false."""
    stall: int
    """Cycles after its issue in which the warp issues nothing."""
    releases: int
    """Scoreboard released when the result is there; 7: none."""
    reads: int
    """Scoreboard released when the operands are read; 7: none."""
    waits: int
    """Set of scoreboards that must be free."""
    line: int | None
    """Of the PTX."""
    target: str | None
    wait_count: tuple[int, int] | None = None
    """Of a DEPBAR: scoreboard, and how many may be open."""
    constant_move: bool = False
    """Only loads a constant, through the pipe of multiply-adds."""


@dataclass
class Block:
    """A basic block."""

    instructions: list[Instruction] = field(default_factory=list)
    successors: list[int] = field(default_factory=list)
    """The taken branch first."""
    calls: int | None = None
    """Block where the function that the last instruction calls begins."""
    entry: bool = False
    """Begins a function that is called, or whose callers are not known."""


@dataclass(frozen=True)
class Code:
    """The blocks of one kernel with the functions in its section; block 0 is where it begins."""

    symbol: str
    blocks: tuple[Block, ...]


def parse(listing: str) -> dict[str, Code]:
    """Kernels and functions of `nvdisasm -gp -hex -c`, by symbol."""
    found: dict[str, Code] = {}
    symbol, rows = None, list[str]()
    for line in listing.splitlines():
        if match := _FUNCTION.match(line):
            if symbol is not None:
                found[symbol] = Code(symbol, _blocks(rows))
            symbol, rows = match[1], []
        elif line.lstrip().startswith(".section"):
            if symbol is not None:
                found[symbol] = Code(symbol, _blocks(rows))
            symbol = None
        elif symbol is not None:
            rows.append(line)
    if symbol is not None:
        found[symbol] = Code(symbol, _blocks(rows))
    return found


def _decode(text: str, high: int, line: int | None) -> Instruction | None:
    decoded = decode_text(0, text)
    if decoded is None:
        return None
    control = high >> 41 & 0x1FFFFF
    guard = _GUARD.match(text)
    target = _TARGET.search(text)
    count = _COUNT.search(text) if decoded.opcode == "DEPBAR" else None
    words = text.split(decoded.text, 1)
    return Instruction(
        opcode=decoded.opcode,
        modifiers=decoded.modifiers,
        operands=words[1].strip() if len(words) > 1 else "",
        kind=decoded.kind,
        guarded=guard is not None and guard[1] not in {"PT", "UPT"},
        never=guard is not None and guard[1] in {"!PT", "!UPT"},
        stall=control & 0xF,
        releases=control >> 5 & 7,
        reads=control >> 8 & 7,
        waits=control >> 11 & 0x3F,
        line=line,
        target=target[1] if target else None,
        wait_count=(int(count[1]), int(count[2], 16)) if count else None,
        constant_move=decoded.constant,
    )


def _rows(rows: Sequence[str]) -> tuple[list[Instruction], dict[str, int]]:
    """Instructions, and the index of the instruction that each label stands before."""
    instructions: list[Instruction] = []
    labels: dict[str, int] = {}
    line: int | None = None
    pending: tuple[str, int | None] | None = None
    for row in rows:
        if pending is not None and (second := _SECOND.match(row)):
            decoded = _decode(pending[0], int(second[1], 16), pending[1])
            if decoded is not None and decoded.opcode != "NOP":
                instructions.append(decoded)
            pending = None
        elif match := _ROW.match(row):
            pending = (match[2], line)
        elif match := _PTX.match(row):
            line = int(match[1])
        elif (match := _LABEL.match(row)) and not row.startswith("\t"):
            labels[match[1]] = len(instructions)
    return instructions, labels


def _blocks(rows: Sequence[str]) -> tuple[Block, ...]:
    instructions, labels = _rows(rows)
    starts = {0} | {at for at in labels.values() if at < len(instructions)}
    starts |= {k + 1 for k, one in enumerate(instructions) if _ends(one) and k + 1 < len(instructions)}
    order = sorted(starts)
    number = {at: k for k, at in enumerate(order)}
    blocks = []
    for k, at in enumerate(order):
        end = order[k + 1] if k + 1 < len(order) else len(instructions)
        block = Block(instructions[at:end])
        if block.instructions:
            _link(block, k, len(order), {name: number[place] for name, place in labels.items() if place in number})
        blocks.append(block)
    reached = {successor for block in blocks for successor in block.successors}
    called = {block.calls for block in blocks if block.calls is not None}
    for k, block in enumerate(blocks):
        block.entry = k > 0 and (k in called or k not in reached)
    return tuple(blocks)


def _ends(one: Instruction) -> bool:
    return one.opcode in _ENDS or one.opcode == "CALL"


def _link(block: Block, number: int, count: int, labels: dict[str, int]) -> None:
    last = block.instructions[-1]
    following = [number + 1] if number + 1 < count else []
    target = labels.get(last.target or "")
    if last.opcode == "CALL":
        block.calls = target
        block.successors = following
    elif last.opcode in {"BRA", "JMP"}:
        taken = [target] if target is not None and not last.never else []
        falls = following if last.guarded or last.never or _conditional(last) else []
        block.successors = list(dict.fromkeys(taken + falls))
    elif last.opcode in {"BRX", "JMX", "BRXU", "JMXU"}:
        block.successors = sorted(set(labels.values()) - {number})
    elif last.opcode in _ENDS:
        block.successors = following if last.guarded or last.never else []
    else:
        block.successors = following


def _conditional(last: Instruction) -> bool:
    """`BRA.U !UP0, ...` and `BRA.DIV UR4, ...` go on behind the branch otherwise, though no guard stands before them."""
    return bool({"U", "DIV", "CONV", "ANY", "ALL"} & set(last.modifiers)) or last.operands.startswith(
        ("UP", "!UP", "P", "!P")
    )
