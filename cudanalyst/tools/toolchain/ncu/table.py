"""The memory table, and what happens at each source line. Pure."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

from cudanalyst.tools.figures import ratio
from cudanalyst.tools.hardware import MeasuredLine, MemoryRow, Operation
from cudanalyst.tools.sass import Decoded
from cudanalyst.tools.toolchain.ncu.launches import Launches
from cudanalyst.tools.toolchain.ncu.report import Instruction

SECTOR_BYTES: Final = 32.0
LINES_KEPT: Final = 200
STALLS_NAMED: Final = 3
_PERCENT: Final = 100.0
_READ_AND_WRITE: Final[tuple[Operation, ...]] = ("load", "store")
_OPERATIONS: Final[tuple[Operation, ...]] = (*_READ_AND_WRITE, "atomic", "reduction")
_DONE: Final[dict[Operation, str]] = {"load": "read", "store": "written"}

Decodings = Sequence[tuple[Instruction, Decoded | None]]
"""Instructions of all launches of a kernel, each with what its text says."""


def memory_rows(launches: Launches) -> tuple[MemoryRow, ...]:
    """Rows of what was measured and used, from the threads' requests down to DRAM."""
    rows = [row for operation in _OPERATIONS if (row := _global(launches, operation)) is not None]
    rows += [
        MemoryRow(path="local", operation=operation, requests=requests)
        for operation in _READ_AND_WRITE
        if (requests := launches.total(f"local_{operation}_requests"))
    ]
    if wavefronts := launches.total("shared_wavefronts"):
        conflicts = launches.total("shared_conflicts")
        rows.append(MemoryRow(path="shared", operation="all", sectors=wavefronts, bank_conflicts=conflicts))
    if (hit := _rate(launches.mean("l1_hit_pct", _PERCENT))) is not None:
        rows.append(MemoryRow(path="l1", operation="all", hit_rate=hit))
    rows += _l2(launches)
    for operation in _READ_AND_WRITE:
        if (moved := launches.total(f"dram_bytes_{_DONE[operation]}")) is not None:
            rows.append(MemoryRow(path="dram", operation=operation, sectors=moved / SECTOR_BYTES, bytes=moved))
    return tuple(rows)


def _global(launches: Launches, operation: Operation) -> MemoryRow | None:
    requests, sectors = (launches.total(f"global_{operation}_{what}") for what in ("requests", "sectors"))
    if not requests and not sectors:
        return None
    hits = launches.total(f"global_{operation}_hits") if operation in _READ_AND_WRITE else None
    return MemoryRow(
        path="global",
        operation=operation,
        requests=requests,
        sectors=sectors,
        sectors_per_request=ratio(sectors, requests),
        hit_rate=_rate(ratio(hits, sectors)),
        bytes=_bytes(sectors),
    )


def _l2(launches: Launches) -> list[MemoryRow]:
    rows = []
    sectors, requests = launches.total("l2_sectors"), launches.total("l2_requests")
    hit = _rate(launches.mean("l2_hit_pct", _PERCENT))
    if sectors is not None or hit is not None:
        rows.append(
            MemoryRow(
                path="l2",
                operation="all",
                requests=requests,
                sectors=sectors,
                sectors_per_request=ratio(sectors, requests),
                hit_rate=hit,
                bytes=_bytes(sectors),
            )
        )
    for operation, rate in zip(_READ_AND_WRITE, ("l2_read_hit_pct", "l2_write_hit_pct"), strict=True):
        if (sectors := launches.total(f"l2_sectors_{_DONE[operation]}")) is not None:
            hit = _rate(launches.mean(rate, _PERCENT))
            rows.append(MemoryRow(path="l2", operation=operation, sectors=sectors, hit_rate=hit, bytes=_bytes(sectors)))
    return rows


def _rate(share: float | None) -> float | None:
    """A hit rate to a hundredth of a percent, which is what ncu prints. Hits and sectors may come from two passes, so it may read more than 1."""
    return None if share is None else min(1.0, round(share, 4))


def _bytes(sectors: float | None) -> float | None:
    return None if sectors is None else sectors * SECTOR_BYTES


def measured_lines(decoded: Decodings, show_file: Callable[[str], str | None]) -> tuple[MeasuredLine, ...]:
    """Source lines with their instructions' counters, most samples first."""
    groups: dict[tuple[str | None, int | None], list[tuple[Instruction, Decoded | None]]] = {}
    shown_as: dict[str, str | None] = {}
    for one, instruction in decoded:
        file, line = (instruction.file, instruction.line) if instruction is not None else (one.file, one.line)
        if not file or not line:
            continue
        if file not in shown_as:
            shown_as[file] = show_file(file)
        if (shown := shown_as[file]) is not None:
            groups.setdefault((shown, line), []).append((one, instruction))
    everything = sum(one.values.get("samples", 0.0) for one, _ in decoded)
    lines = [_line(place, found, everything) for place, found in groups.items()]
    lines.sort(key=lambda line: (-(line.samples or 0), -(line.warp_instructions or 0)))
    return tuple(lines[:LINES_KEPT])


def _line(
    place: tuple[str | None, int | None], found: Sequence[tuple[Instruction, Decoded | None]], everything: float
) -> MeasuredLine:
    def total(key: str) -> int | None:
        values = [one.values[key] for one, _ in found if key in one.values]
        return int(sum(values)) if values else None

    def executed(opcodes: frozenset[str] | set[str]) -> int:
        return int(
            sum(
                one.values.get("executed", 0.0)
                for one, instruction in found
                if instruction and instruction.opcode in opcodes
            )
        )

    stalls: Counter[str] = Counter()
    for one, _ in found:
        stalls.update(one.stalls)
    samples, instructions, threads = total("samples"), total("executed"), total("threads_executed")
    all_stalls = sum(stalls.values())
    local = executed({"LDL", "STL"})
    atomics = int(
        sum(
            one.values.get("executed", 0.0)
            for one, instruction in found
            if instruction and instruction.kind == "atomic"
        )
    )
    return MeasuredLine(
        file=place[0],
        line=place[1],
        samples=samples,
        share=ratio(samples, everything),
        stalls={word: float(f"{count / all_stalls:.3g}") for word, count in stalls.most_common(STALLS_NAMED) if count},
        warp_instructions=instructions,
        lanes=ratio(threads, instructions),
        global_requests=total("global_requests") or None,
        global_sectors=total("global_sectors") or None,
        global_sectors_ideal=total("global_sectors_ideal") or None,
        shared_wavefronts=total("shared_wavefronts") or None,
        shared_wavefronts_ideal=total("shared_wavefronts_ideal") or None,
        local_accesses=local or None,
        atomics=atomics or None,
    )
