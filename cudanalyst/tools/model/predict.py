"""From counts and machine code to a modelled time: never a measurement. Pure.

A sub-partition of a multiprocessor is simulated with the warps that are resident (`simulate`), on ways through the code that the counts have fixed (`flow`, `walk`); what blocks took is weighted with how
often they run in truth. Waves of blocks follow each other. Beside that stand bounds of the whole device that no simulation of a multiprocessor sees: DRAM and L2 bandwidth, updates of one address that
follow each other, the rate at which blocks are started, the launch itself.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from cudanalyst.tools.counts import SECTOR_BYTES
from cudanalyst.tools.devices import Device
from cudanalyst.tools.model.costs import PARTITIONS, Access, Cost, Costs
from cudanalyst.tools.model.counted import StatementCounts
from cudanalyst.tools.model.flow import Flow, solve
from cudanalyst.tools.model.kernel import KernelCode
from cudanalyst.tools.model.machine import Code, Instruction
from cudanalyst.tools.model.simulate import Simulated, simulate
from cudanalyst.tools.model.statements import Statement
from cudanalyst.tools.model.walk import ways

STATED_ERROR: Final = "on an H200, over variants of problems that it was not fitted on: half of the times within 16 %, nine tenths within 68 %; 9 of 10 pairs that differ by more than 1.3 x ranked rightly"
"""What `benchmarks/modelled.py` prints, in words."""
WANTED: Final = 1200
"""Instructions that a simulated warp makes, about."""
SLICE_NS: Final = 0.63
LANE_NS: Final = 1.7
"""What an update of a sector takes in a slice of the L2, and each further lane at the same address; measured on an H200."""
MOST_STEPS: Final = 24_000
"""Instructions that all simulated warps make, about."""


@dataclass(frozen=True)
class Coefficients:
    """What was fitted to measured times, for all kernels and devices alike."""

    overlap: float = 6.0
    """Norm that joins the multiprocessors' time and the device's bounds: large where they overlap wholly."""
    dram_efficiency: float = 0.92
    l2_efficiency: float = 0.86
    imbalance: float = 0.75
    """Power of the ratio of the longest block to the mean one."""
    launch_us: float = 1.05
    sm: float = 1.0
    """Factor of the simulated time."""


@dataclass(frozen=True)
class Prediction:
    """A modelled time of all launches of a kernel, in one shape."""

    us: float
    bound: str
    parts: dict[str, float]
    """Microseconds that each bound alone would take; `sm`: the multiprocessors as simulated."""
    waits: dict[str, float]
    """Share of the simulated warps' time by what they waited for."""
    launch_us: float
    resident_warps: int
    """On a multiprocessor."""
    deviation: float
    """Share of the counts that the frequencies of the machine code's blocks do not explain."""


@dataclass
class Shaped:
    """A kernel's code with what the counts say of it: everything that does not depend on coefficients."""

    counts: StatementCounts
    code: Code
    flow: Flow
    accesses: dict[int, list[tuple[Instruction, Access | None]]]
    totals: dict[str, float] = field(default_factory=dict)


def shape(counts: StatementCounts, code: Code, lines: Mapping[int, Statement], *, cold: bool, l2_bytes: int) -> Shaped:
    """Lays the counts over the code.

    Args:
        counts: Of the engine.
        code: Of the same kernel.
        lines: The statement at each PTX line.
        cold: Whether the L2 holds nothing of the kernel's when it starts.
        l2_bytes: The device's.
    """
    rows = counts.by_statement()
    flow = solve(code, lines, rows, counts.warps)
    first = sum(row.get("first", 0) for row in rows.values()) * SECTOR_BYTES / counts.launches
    missing = 1.0 if cold else min(1.0, max(0.0, (first - 0.7 * l2_bytes) / (0.5 * l2_bytes)))
    accesses = {
        b: [(one, _access(one, lines, rows, missing)) for one in block.instructions]
        for b, block in enumerate(code.blocks)
    }
    return Shaped(counts, code, flow, accesses, _totals(lines, rows, missing))


def _access(
    one: Instruction, lines: Mapping[int, Statement], rows: Mapping[tuple[str, int], Mapping[str, int]], missing: float
) -> Access | None:
    statement = lines.get(one.line or -1)
    row = rows.get((statement.function, statement.number)) if statement else None
    if row is None or not row.get("requests"):
        executed = row.get("executed", 0) if row else 0
        return (
            Access(share=0.0) if executed and one.kind not in {"load_local", "store_local", "load_constant"} else None
        )
    requests = row["requests"]
    return Access(
        wavefronts=row.get("wavefronts", 0) / requests,
        sectors=row.get("sectors", 0) / requests,
        l2_sectors=row.get("l2_sectors", row.get("sectors", 0)) / requests,
        dram_sectors=(row.get("l2_misses", 0) + missing * row.get("first", 0)) / requests,
        tags=row.get("tags", 0) / requests,
        serial=row.get("serial", 0) / requests,
        lanes=row["lanes"] / max(1, row["executed"]),
        share=min(1.0, requests / max(1, row["executed"])),
    )


def _totals(
    lines: Mapping[int, Statement], rows: Mapping[tuple[str, int], Mapping[str, int]], missing: float
) -> dict[str, float]:
    totals = dict.fromkeys(("l2_read", "l2_write", "dram", "atomic_ns", "atomic_lanes"), 0.0)
    for statement in lines.values():
        row = rows.get((statement.function, statement.number))
        if row is None:
            continue
        opcode = statement.opcode
        stored = opcode.startswith("st.")
        totals["l2_write" if stored else "l2_read"] += row.get("l2_sectors", row.get("sectors", 0)) * SECTOR_BYTES
        totals["dram"] += (row.get("l2_misses", 0) + missing * row.get("first", 0)) * SECTOR_BYTES
        if opcode.startswith(("atom.", "red.")) and ".shared" not in opcode and row.get("sectors"):
            totals["atomic_lanes"] += row["lanes"]
            totals["atomic_ns"] += serial_ns(opcode, row)
    return totals


def serial_ns(opcode: str, row: Mapping[str, int]) -> float:
    """What the busiest slice of the L2 takes for the updates of one statement, one after the other."""
    requests, lanes = row.get("hottest_requests", 0), row.get("hottest_lanes", 0)
    if row.get("addresses", 0) == row.get("requests", 0) and ".add." in opcode and ".f" not in opcode:
        lanes = requests  # one address a warp: the compiler lets one lane add for all
    return SLICE_NS * requests + LANE_NS * max(0, lanes - requests)


@dataclass(frozen=True)
class Basis:
    """What a time is made of, before coefficients: microseconds of one launch."""

    sm: float
    last_wave: float
    uneven: float
    """The longest block or warp over the mean one."""
    bounds: dict[str, float]
    waits: dict[str, float]
    resident_warps: int
    launches: int
    deviation: float


def basis(shaped: Shaped, device: Device, registers: int) -> Basis:
    """Simulates the waves of blocks.

    Args:
        shaped: Code and counts.
        device: Where it would run.
        registers: A thread.
    """
    counts = shaped.counts
    resident, per_block = resident_blocks(counts, device, registers)
    blocks = counts.grid_blocks
    in_use = min(device.sm_count, blocks)
    clock = device.clock_ghz * 1e3
    simulations: dict[int, tuple[float, Simulated]] = {}

    def wave(blocks_per_sm: int) -> float:
        if blocks_per_sm not in simulations:
            simulations[blocks_per_sm] = _wave(shaped, device, blocks_per_sm, per_block, in_use)
        return simulations[blocks_per_sm][0]

    each = blocks / in_use
    full = math.floor(each / resident + 1e-9)
    rest = math.ceil(each - full * resident - 1e-9)
    cycles = (full * wave(resident) if full else 0.0) + (wave(rest) if rest else 0.0)
    mean = sum(row[1] for function in counts.functions for row in function.rows if len(row) > 1) / max(1, counts.blocks)
    uneven = _unevenness(shaped, mean, per_block)
    main = simulations[resident if full else rest][1]
    spent = sum(main.in_block.values()) or 1.0
    ranked = sorted(main.waits.items(), key=lambda item: -item[1])
    return Basis(
        sm=float(cycles / clock),
        last_wave=float(wave(rest or resident) / clock),
        uneven=float(uneven),
        bounds=_bounds(shaped, device),
        waits={name: float(value / spent) for name, value in ranked if value > 0.01 * spent},
        resident_warps=min(resident, math.ceil(each)) * per_block,
        launches=counts.launches,
        deviation=shaped.flow.deviation,
    )


def _unevenness(shaped: Shaped, mean: float, warps_per_block: int) -> float:
    """The longest block or warp over what such take in the mean. Warps of a block that meet at barriers wait in the simulation already."""
    counts = shaped.counts
    if not mean or not counts.longest_warps:
        return 1.0
    longest_of_blocks = counts.longest_warps / max(1, counts.blocks)
    meets = any(one.kind == "barrier" for block in shaped.code.blocks for one in block.instructions)
    within = 1.0 if meets else longest_of_blocks * warps_per_block / mean
    return max(1.0, counts.longest_block / mean, within * counts.longest_warp / longest_of_blocks)


def combine(found: Basis, coefficients: Coefficients = Coefficients()) -> Prediction:
    """The modelled time of all launches."""
    last = found.last_wave * found.uneven**coefficients.imbalance
    sm = max(found.sm, min(found.sm + last - found.last_wave, 4.0 * last)) * coefficients.sm
    bounds = found.bounds
    parts = {
        "sm": sm,
        "dram": bounds["dram"] / coefficients.dram_efficiency,
        "l2": bounds["l2"] / coefficients.l2_efficiency,
        "atomic": bounds["atomic"],
        "block_start": bounds["block_start"],
    }
    norm = coefficients.overlap
    longest = max(parts.values())
    total = longest * sum((value / longest) ** norm for value in parts.values()) ** (1.0 / norm) if longest else 0.0
    launches = found.launches
    return Prediction(
        us=launches * (total + coefficients.launch_us),
        bound=_bound(parts, found.waits, coefficients.launch_us),
        parts={name: launches * value for name, value in parts.items()},
        waits=found.waits,
        launch_us=launches * coefficients.launch_us,
        resident_warps=found.resident_warps,
        deviation=found.deviation,
    )


def predict(shaped: Shaped, device: Device, registers: int) -> Prediction:
    """The modelled time with the coefficients as fitted."""
    return combine(basis(shaped, device, registers))


def resident_blocks(counts: StatementCounts, device: Device, registers: int) -> tuple[int, int]:
    """Blocks of a kernel that fit on a multiprocessor (at least 1), and warps of a block."""
    from cudanalyst.tools.toolchain.arch import parse_arch
    from cudanalyst.tools.toolchain.occupancy import occupancy

    warps = math.ceil(counts.block_threads / 32)
    fit = occupancy(parse_arch(device.arch).number, min(1024, counts.block_threads), registers, counts.shared_bytes)
    return (max(1, fit.blocks_per_sm) if fit else max(1, device.warps_per_sm // warps)), warps


def _wave(
    shaped: Shaped, device: Device, blocks_per_sm: int, warps_per_block: int, in_use: int
) -> tuple[float, Simulated]:
    """Cycles of one wave of so many blocks a multiprocessor, extrapolated to all rounds of the loops."""
    simulated_warps = max(1, math.ceil(blocks_per_sm * warps_per_block / PARTITIONS))
    here = max(1, round(warps_per_block / PARTITIONS))
    groups = [k // here for k in range(simulated_warps)]
    found = ways(shaped.code, shaped.flow, simulated_warps, max(200, min(WANTED, MOST_STEPS // simulated_warps)))
    costs = Costs(device, in_use)
    table: dict[int, list[Cost]] = {}
    instructions: dict[int, list[Instruction]] = {}
    for b in {b for way in found.of_warps for b in way}:
        table[b] = [costs.of(one, access) for one, access in shaped.accesses[b]]
        instructions[b] = [one for one, _ in shaped.accesses[b]]
    result = simulate(
        instructions, table, found.of_warps, groups,
        barrier_cycles=device.rate("barrier_cycles", 14.0) + device.rate("barrier_cycles_per_warp", 2.0) * warps_per_block,
        branch_cycles=device.rate("branch_cycles", 6.0),
    )  # fmt: skip
    return _extrapolated(shaped, result, simulated_warps), result


def _extrapolated(shaped: Shaped, result: Simulated, warps: int) -> float:
    """The simulated time, each block's part scaled from its simulated to its true executions."""
    of_all = max(1, shaped.counts.warps)
    simulated = sum(result.in_block.values())
    true = 0.0
    for b, cycles in result.in_block.items():
        each = cycles / result.visits[b]
        true += each * shaped.flow.blocks[b] / of_all
    for b, executed in enumerate(shaped.flow.blocks):
        if executed > 0 and b not in result.in_block:
            true += executed / of_all * sum(max(1, one.stall) for one in shaped.code.blocks[b].instructions)
    mean = simulated / warps
    return result.cycles * true / mean if mean > 0 else true


def _bounds(shaped: Shaped, device: Device) -> dict[str, float]:
    """Microseconds of a launch that each resource of the whole device takes."""
    totals, launches = shaped.totals, shaped.counts.launches
    atomic_rate = device.rate("atomic_lanes_per_ns", 620.0)
    store = device.rate("store_cost", 1.5)
    return {
        "dram": totals["dram"] / launches / (device.dram_gb_per_s * 1e3),
        "l2": (totals["l2_read"] + store * totals["l2_write"]) / launches / (device.l2_gb_per_s * 1e3),
        "atomic": max(totals["atomic_lanes"] / atomic_rate, totals["atomic_ns"]) / launches / 1e3,
        "block_start": shaped.counts.grid_blocks
        * device.rate("cycles_per_block_start", 1.2)
        / (device.clock_ghz * 1e3),
    }


_BOUND_OF_WAIT: Final = {
    "fma": "fp32",
    "alu": "integer",
    "fp64": "fp64",
    "special_function": "special_function",
    "tensor": "tensor",
    "issue": "issue",
    "memory_issue": "l1",
    "shared_memory": "shared_memory",
}


def _bound(parts: Mapping[str, float], waits: Mapping[str, float], launch: float) -> str:
    longest = max(parts, key=lambda name: parts[name])
    if launch > parts[longest]:
        return "launch"
    if longest == "block_start":
        return "launch"
    if longest != "sm":
        return longest
    top: Sequence[str] = sorted(waits, key=lambda name: -waits[name])
    return _BOUND_OF_WAIT.get(top[0], "latency") if top else "issue"


def modelled_launch(
    counts: StatementCounts, kernel: KernelCode, device: Device, *, cold: bool = False
) -> Prediction | None:
    """The modelled time of a kernel; None where its counts and its code do not belong together.

    Args:
        counts: Of the engine.
        kernel: The code, for the device's architecture.
        device: Where it would run.
        cold: Whether the L2 holds nothing of the kernel's when it starts; else it holds what fits, as in calls back to back.
    """
    try:
        shaped = shape(counts, kernel.code, kernel.lines, cold=cold, l2_bytes=device.l2_bytes)
        return predict(shaped, device, kernel.registers)
    except (ArithmeticError, ValueError, IndexError):
        return None
