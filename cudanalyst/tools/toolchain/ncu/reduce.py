"""From a report as it was read to the stable model: launches of one kernel in one shape are added up. Pure.

Counts add; ratios and percentages are means weighted by duration. A unit's share of the speed of light is the largest of its counters,
as in ncu's own breakdown. Machine instructions give the instruction mix, since their counters say how often each was executed.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from cudanalyst.tools.figures import rounded
from cudanalyst.tools.hardware import (
    HardwareKernel,
    Limiter,
    MeasuredOccupancy,
    RooflinePoint,
    ToolRule,
)
from cudanalyst.tools.sass import Decoded, decode_text
from cudanalyst.tools.text import clean, one_line
from cudanalyst.tools.toolchain.ncu.launches import Launches, integer
from cudanalyst.tools.toolchain.ncu.names import STALL_PREFIX, STALLS, UNITS
from cudanalyst.tools.toolchain.ncu.operations import operations_by_type
from cudanalyst.tools.toolchain.ncu.report import Action, Instruction, Report
from cudanalyst.tools.toolchain.ncu.table import Decodings, measured_lines, memory_rows

RULES_KEPT: Final = 12
_PERCENT: Final = 100.0
_MAINLY: Final = 0.55
"""Beyond half by more than ncu's printed digits can hide: a store by every warp gives exactly half, and its pages two decimals of a percentage."""
_LIMITERS: Final[tuple[Limiter, ...]] = ("warps", "blocks", "registers", "shared_memory", "barriers")


def hardware_kernels(
    report: Report,
    *,
    show_file: Callable[[str], str | None] = lambda path: path,
    passes: int | None = None,
    code: Mapping[str, Sequence[Decoded]] | None = None,
) -> tuple[HardwareKernel, ...]:
    """Kernels of a report, the longest first.

    Args:
        report: As it was read.
        show_file: Name to show for a path of the line table; None hides it.
        passes: Replays of one launch, from ncu's log.
        code: Disassembly by symbol. It knows where inlined code was called from, and the lines that a CSV page lacks.
    """
    groups: dict[tuple[object, ...], list[Action]] = {}
    for action in report.actions:
        groups.setdefault((action.name, action.grid, action.block), []).append(action)
    kernels = [_kernel(actions, report.reader, show_file, passes, code or {}) for actions in groups.values()]
    return tuple(sorted(kernels, key=lambda kernel: -(kernel.duration_us or 0.0)))


def _decoded(action: Action, code: Mapping[str, Sequence[Decoded]]) -> Decodings:
    """The launch's instructions with what they do: as the disassembly says, if that is of the same code, else as ncu says."""
    only = next(iter(code.values())) if len(code) == 1 else ()
    places = {one.offset: one for one in (code.get(action.symbol, ()) if action.symbol else only)}
    told = [
        (one, decode_text(one.offset, one.text, one.file, one.line) if one.text is not None else places.get(one.offset))
        for one in action.instructions
    ]

    def same(one: Instruction, said: Decoded | None) -> bool:
        place = places.get(one.offset)
        return place is not None and said is not None and place.text == said.text

    return [(one, places[one.offset]) for one, _ in told] if places and all(same(*pair) for pair in told) else told


def _kernel(
    actions: Sequence[Action],
    reader: str,
    show_file: Callable[[str], str | None],
    passes: int | None,
    code: Mapping[str, Sequence[Decoded]],
) -> HardwareKernel:
    launches = Launches(actions)
    first = actions[0]
    duration = launches.total("duration_ns")
    decoded = [pair for action in actions for pair in _decoded(action, code)]
    stalls = _stalls(actions, launches)
    samples = launches.total("samples")
    active, elapsed = launches.mean("sm_cycles_active"), launches.mean("sm_cycles_elapsed")
    tensor = _executed(decoded, lambda one: one.text if one.kind == "tensor" else None)
    flops = operations_by_type(decoded, tensor)
    static, dynamic = launches.mean("static_shared_bytes"), launches.mean("dynamic_shared_bytes")
    hz = launches.mean("sm_hz")
    return HardwareKernel(
        name=one_line(first.name),
        symbol=one_line(first.symbol, 400) if first.symbol else None,
        launches=len(actions),
        grid=first.grid,
        block=first.block,
        duration_us=rounded(duration / 1e3) if duration is not None else None,
        sm_ghz=rounded(hz / 1e9) if hz is not None else None,
        sol=_units(launches),
        roofline=_roofline(launches, flops, duration),
        occupancy=_occupancy(launches),
        stalls=stalls,
        samples=integer(samples) if samples is not None else None,
        memory=memory_rows(launches),
        instruction_mix=_executed(decoded, lambda one: one.kind),
        warp_instructions=integer(launches.total("warp_instructions")),
        lanes=rounded(launches.mean("lanes_per_instruction")),
        eligible_warps=rounded(launches.mean("eligible_warps")),
        sm_busy=rounded(min(1.0, active / elapsed)) if active is not None and elapsed else None,
        registers=integer(launches.mean("registers")),
        shared_bytes=integer((static or 0.0) + (dynamic or 0.0)) if static is not None or dynamic is not None else None,
        sm_count=integer(launches.mean("sm_count")),
        tensor=tensor,
        tensor_instructions=integer(launches.total("tensor_instructions")),
        flops_by_type=flops,
        lines=measured_lines(decoded, show_file),
        rules=tuple(
            ToolRule(
                rule=one_line(rule.rule, 60),
                title=one_line(rule.title, 120),
                message=clean(rule.message, 400),
                estimated_speedup_percent=rounded(rule.speedup),
                scope="kernel" if rule.scope == "kernel" else "unit" if rule.scope == "unit" else None,
            )
            for rule in sorted(first.rules, key=lambda rule: -(rule.speedup or 0.0))[:RULES_KEPT]
        ),
        passes=passes,
        reader=reader,
    )


def _units(launches: Launches) -> dict[str, float]:
    shares = {}
    for unit, names in UNITS.items():
        values = [value for name in names if (value := launches.mean_of((name,), _PERCENT)) is not None]
        if values:
            shares[unit] = float(f"{min(1.0, max(values)):.4g}")
    busy, cycles, sms = (launches.mean(name) for name in ("lsu_wavefronts_pct", "sm_cycles_elapsed", "sm_count"))
    shared = launches.total("shared_wavefronts")
    # The data path takes one wavefront a cycle and SM.
    wavefronts = busy / _PERCENT * cycles * sms * launches.count if busy and cycles and sms else None
    if "l1" in shares and wavefronts and shared is not None and shared > _MAINLY * wavefronts:
        # One data path serves both; the larger part of its wavefronts names it, as in the CPU engine's model.
        shares["shared_memory"] = shares.pop("l1")
    return shares


def _roofline(launches: Launches, flops: dict[str, float], duration_ns: float | None) -> RooflinePoint:
    bytes_moved = launches.total("dram_bytes_read", "dram_bytes_written")
    operations = sum(flops.values()) if flops else None
    hz, dram_hz = launches.mean("sm_hz"), launches.mean("dram_hz")
    per_cycle, dram_per_cycle = launches.mean("fp32_peak_per_cycle"), launches.mean("dram_bytes_per_cycle_peak")
    return RooflinePoint(
        flops=operations,
        dram_bytes=bytes_moved,
        flops_per_byte=rounded(operations / bytes_moved) if operations is not None and bytes_moved else None,
        tflops=rounded(operations / duration_ns / 1e3) if operations is not None and duration_ns else None,
        dram_gb_per_s=rounded(bytes_moved / duration_ns) if bytes_moved is not None and duration_ns else None,
        ceiling_tflops=rounded(2.0 * per_cycle * hz / 1e12) if per_cycle and hz else None,
        ceiling_dram_gb_per_s=rounded(dram_per_cycle * dram_hz / 1e9) if dram_per_cycle and dram_hz else None,
    )


def _occupancy(launches: Launches) -> MeasuredOccupancy:
    limits = {name: value for name in _LIMITERS if (value := launches.mean(f"limit_{name}")) is not None}
    # Several limits may be equal; warps are then the plain reason, so they stand first.
    return MeasuredOccupancy(
        theoretical=rounded(launches.mean("theoretical_occupancy_pct", _PERCENT)),
        achieved=rounded(launches.mean("achieved_occupancy_pct", _PERCENT)),
        limiter=min(limits, key=lambda name: limits[name]) if limits else None,
        waves=rounded(launches.mean("waves")),
    )


def _stalls(actions: Sequence[Action], launches: Launches) -> dict[str, float]:
    counts: Counter[str] = Counter()
    for reason, word in STALLS.items():
        if (value := launches.raw_total(STALL_PREFIX + reason)) is not None:
            counts[word] += int(value)
    if not counts:
        for action in actions:
            for one in action.instructions:
                counts.update(one.stalls)
    total = sum(counts.values())
    return {word: float(f"{count / total:.4g}") for word, count in counts.most_common() if count} if total else {}


def _executed(decoded: Decodings, key: Callable[[Decoded], str | None]) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for one, instruction in decoded:
        if instruction is not None and (count := one.values.get("executed")) and (word := key(instruction)) is not None:
            counts[word] += int(count)
    return dict(sorted(counts.items()))
