"""The machine code of a kernel in figures: what a source turned into, without running it. Models, and pure functions on disassembly."""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from cudanalyst.values import Frozen

LINES_NAMED: Final = 8
MOST_INSTRUCTIONS: Final = 400_000
"""More instructions than this are counted no further; the view says so."""
_FUNCTION: Final = re.compile(r"^\.text\.(\S+):\s*$")
_PLACE: Final = re.compile(r'^\s*//## File "([^"]*)", line (\d+)')
_INSTRUCTION: Final = re.compile(
    r"^\s*/\*([0-9a-f]{4,8})\*/\s+(?:@!?U?P[0-9T]+\s+)?([A-Z][A-Z0-9_]*)((?:\.[A-Za-z0-9_]+)*)"
)
_CONSTANT: Final = re.compile(r"HFMA2(?:\.MMA)? R\d+, -RZ, RZ, ")
"""How the compiler loads a constant through the pipe of half precision: no arithmetic of the source."""
_CLASSES: Final[dict[str, str]] = {
    name: kind
    for kind, names in {
        "fp32": "FADD FMUL FFMA FFMA32I FADD32I FMUL32I FMNMX FSEL FSET FSETP FCHK FSWZADD FADD2 FMUL2 FFMA2 FMNMX3",
        "fp64": "DADD DMUL DFMA DSETP DMNMX",
        "fp16": "HADD2 HMUL2 HFMA2 HADD2_32I HMUL2_32I HFMA2_32I HMNMX2 HSET2 HSETP2 VHMNMX",
        "tensor": "HMMA IMMA DMMA BMMA QMMA OMMA HGMMA IGMMA BGMMA QGMMA UTCHMMA UTCQMMA UTCIMMA UTCOMMA",
        "integer": "IADD IADD3 IADD32I IMAD IMUL IABS IMNMX VIADD VIADDMNMX VIMNMX VIMNMX3 LEA LOP3 LOP LOP32I SHF SHL SHR BMSK BREV FLO "
        "POPC SGXT ISCADD XMAD DP4A DP2A IDP PRMT ISETP ISET ICMP BFE BFI IMAD32I UIADD3 UIMAD ULEA ULOP3 USHF UISETP UPRMT USEL UPOPC "
        "UFLO UBMSK UBREV USGXT UVIADD UVIMNMX UIABS UIMNMX",
        "special_function": "MUFU",
        "conversion": "F2F F2I F2FP I2F I2FP I2I I2IP F2IP FRND UF2FP UI2FP UI2F UF2F UF2I",
        "predicate": "PLOP3 PSETP P2R R2P CSETP VOTE VOTEU UPLOP3 UPSETP UP2UR R2UR UR2UP",
        "control": "BRA BRX JMP JMX CALL RET EXIT BSSY BSYNC BREAK WARPSYNC YIELD BPT KILL NANOSLEEP RPCMOV BMOV PREEXIT ELECT WARPGROUP "
        "BRXU JMXU ENDCOLLECTIVE",
        "load_global": "LDG LD LDGSTS UTMALDG UTMAPF UBLKCP UBLKPF LDGDEPBAR TLD TEX TLD4 TXQ TXD SULD CCTL",
        "store_global": "STG ST UTMASTG UBLKRED UTMAREDG SUST",
        "load_shared": "LDS LDSM",
        "store_shared": "STS STSM STAS",
        "load_local": "LDL",
        "store_local": "STL",
        "load_constant": "LDC ULDC LDCU",
        "atomic": "ATOM ATOMG ATOMS RED REDG REDAS SUATOM SURED REDUX",
        "barrier": "BAR DEPBAR MEMBAR SYNCS ERRBAR FENCE UCGABAR_ARV UCGABAR_WAIT ACQBULK CGAERRBAR UTMACMDFLUSH LDTM",
        "shuffle": "SHFL MATCH MOVM",
        "other": "MOV MOV32I UMOV SEL S2R S2UR CS2R NOP LEPC VABSDIFF4 SETCTAID SETLMEMBASE GETLMEMBASE CS2UR SHFT USETMAXREG UR2R",
    }.items()
    for name in names.split()
}
_SPACES: Final = {
    "LDG": "global_load",
    "STG": "global_store",
    "LDS": "shared_load",
    "STS": "shared_store",
    "LD": "generic_load",
    "ST": "generic_store",
    "LDGSTS": "async_copy",
}
_WIDTHS: Final = {"U8": 8, "S8": 8, "U16": 16, "S16": 16, "64": 64, "128": 128, "256": 256}
_ASYNC: Final = ("LDGSTS", "UTMALDG", "UTMASTG", "UBLKCP")


class SassLine(Frozen):
    """One source line's machine code where it touches memory or spills."""

    file: str | None
    line: int | None
    instructions: int
    local_accesses: int = 0
    narrow_accesses: int = 0
    """Loads and stores of global memory of less than 128 bits a lane."""


class SassKernel(Frozen):
    """One kernel's machine code, counted as it stands (not as it runs)."""

    name: str
    symbol: str
    instructions: int
    """NOPs that pad the end are left out."""
    instruction_mix: dict[str, int]
    """By the classes of the profile: fp32, integer, load_global, ..."""
    opcodes: dict[str, int]
    """The most frequent ones with their modifiers, e.g. `LDG.E.128`."""
    access_bits: dict[str, dict[str, int]]
    """Bits a lane and access, by kind of access: {"global_load": {"32": 8, "128": 2}}."""
    tensor: dict[str, int] = {}
    """Matrix instructions by form, e.g. `HGMMA.64x128x16.F32.BF16`."""
    async_copies: dict[str, int] = {}
    """Copies to shared memory past the registers: LDGSTS (cp.async), UTMALDG and UBLKCP (TMA)."""
    local_loads: int = 0
    local_stores: int = 0
    spilled: bool | None = None
    """Whether ptxas said that registers are spilled; None where it said nothing of this kernel."""
    lines: tuple[SassLine, ...] = ()
    """The lines with local or narrow accesses, most instructions first."""


@dataclass(frozen=True)
class Decoded:
    """One instruction of a disassembly."""

    offset: int
    opcode: str
    """Without modifiers."""
    modifiers: tuple[str, ...]
    file: str | None
    line: int | None
    constant: bool = False
    """Only loads a constant."""

    @property
    def kind(self) -> str:
        """The class of the profile's instruction mix."""
        return "other" if self.constant else _CLASSES.get(self.opcode, "other")

    @property
    def text(self) -> str:
        """Opcode and modifiers."""
        return ".".join((self.opcode, *self.modifiers))


def decode(listing: str, own: Callable[[str], bool] = lambda _: False) -> Iterator[tuple[str, list[Decoded]]]:
    """Functions of `nvdisasm -g -c` or `-gi -c` with their instructions, in their order; anything else in the text is skipped.

    Args:
        listing: What nvdisasm printed.
        own: Whether a path is the reader's own source. Of the places that inlined code has, the innermost such one counts, else the innermost.
    """
    symbol: str | None = None
    chain: list[tuple[str, int]] = []
    place: tuple[str | None, int | None] = (None, None)
    found: list[Decoded] = []
    taken = 0
    for row in listing.splitlines():
        if match := _FUNCTION.match(row):
            if symbol is not None:
                yield symbol, found
            symbol, found, place, chain = match[1], [], (None, None), []
        elif symbol is None:
            continue
        elif match := _PLACE.match(row):
            chain.append((match[1], int(match[2])))
        elif (match := _INSTRUCTION.match(row)) and taken < MOST_INSTRUCTIONS:
            taken += 1
            if chain:
                place, chain = next((one for one in chain if own(one[0])), chain[0]), []
            words = tuple(match[3].split(".")[1:])
            found.append(Decoded(int(match[1], 16), match[2], words, *place, bool(_CONSTANT.search(row))))
        elif row.lstrip().startswith(".section"):
            yield symbol, found
            symbol, found = None, []
    if symbol is not None:
        yield symbol, found


def decode_text(offset: int, text: str, file: str | None = None, line: int | None = None) -> Decoded | None:
    """One instruction as a profiler shows it, without its address; None for what is none."""
    match = _INSTRUCTION.match(f"/*{offset:04x}*/ {text}")
    return (
        Decoded(offset, match[2], tuple(match[3].split(".")[1:]), file, line, bool(_CONSTANT.search(text)))
        if match
        else None
    )


def access_bits(instruction: Decoded) -> tuple[str, int] | None:
    """The kind of a load or store and its bits a lane; None for anything else."""
    kind = _SPACES.get(instruction.opcode)
    if kind is None:
        return None
    return kind, next((_WIDTHS[word] for word in instruction.modifiers if word in _WIDTHS), 32)


def view(
    symbol: str,
    instructions: list[Decoded],
    *,
    name: str | None = None,
    spilled: bool | None = None,
    show_file: Callable[[str], str | None] = lambda path: path,
    opcodes: int = 12,
) -> SassKernel:
    """Counts one kernel's instructions.

    Args:
        symbol: The kernel's symbol.
        instructions: What `decode` found of it.
        name: Readable name; None for the symbol.
        spilled: What ptxas said of spills.
        show_file: Name to show for a path of the line table; None hides it.
        opcodes: Most frequent opcodes kept.
    """
    body = [one for one in instructions if one.opcode != "NOP"]
    widths: dict[str, Counter[str]] = {}
    by_line: dict[tuple[str | None, int | None], list[Decoded]] = {}
    for one in body:
        if (access := access_bits(one)) is not None:
            widths.setdefault(access[0], Counter())[str(access[1])] += 1
        by_line.setdefault((one.file, one.line), []).append(one)
    return SassKernel(
        name=name or symbol,
        symbol=symbol,
        instructions=len(body),
        instruction_mix=dict(sorted(Counter(one.kind for one in body).items())),
        opcodes=dict(Counter(one.text for one in body).most_common(opcodes)),
        access_bits={
            kind: dict(sorted(found.items(), key=lambda item: int(item[0]))) for kind, found in sorted(widths.items())
        },
        tensor=dict(Counter(one.text for one in body if one.kind == "tensor").most_common(opcodes)),
        async_copies=dict(Counter(one.opcode for one in body if one.opcode in _ASYNC)),
        local_loads=sum(one.opcode == "LDL" for one in body),
        local_stores=sum(one.opcode == "STL" for one in body),
        spilled=spilled,
        lines=_lines(by_line, show_file),
    )


def _lines(
    by_line: dict[tuple[str | None, int | None], list[Decoded]], show_file: Callable[[str], str | None]
) -> tuple[SassLine, ...]:
    lines = []
    for (file, line), found in by_line.items():
        local = sum(one.opcode in {"LDL", "STL"} for one in found)
        narrow = sum(
            (access := access_bits(one)) is not None and "global" in access[0] and access[1] < 128 for one in found
        )
        if local or narrow:
            shown = show_file(file) if file is not None else None
            lines.append(
                SassLine(
                    file=shown,
                    line=line if shown else None,
                    instructions=len(found),
                    local_accesses=local,
                    narrow_accesses=narrow,
                )
            )
    lines.sort(key=lambda entry: (-entry.local_accesses - entry.narrow_accesses, entry.line or 0))
    return tuple(lines[:LINES_NAMED])
