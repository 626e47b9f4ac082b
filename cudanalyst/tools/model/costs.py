"""What one machine instruction costs: the unit that it occupies, how long, and when its result is there. Pure.

Cycles are those of the multiprocessor. A unit of a sub-partition is occupied for `32 / lanes per cycle`; units that all four share (data path of L1 and shared
memory, the way to the L2, DRAM) give a sub-partition a quarter, so that its part takes four times as long.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from cudanalyst.tools.counts import LANES, SECTOR_BYTES
from cudanalyst.tools.devices import Device
from cudanalyst.tools.model.machine import Instruction

PARTITIONS: Final = 4
UNITS: Final = (
    "fma",
    "alu",
    "fp64",
    "special_function",
    "tensor",
    "uniform",
    "memory_issue",
    "data_path",
    "l2",
    "dram",
    "branch",
)
"""Indices of the units in a simulation."""
_UNIT: Final = {name: k for k, name in enumerate(UNITS)}
_FMA: Final = frozenset({"FFMA", "FMUL", "FADD", "HFMA2", "HMUL2", "HADD2", "FFMA32I", "FADD32I", "FMUL32I"})
_IMAD: Final = frozenset({"IMAD", "IDP", "IMUL", "XMAD"})
_SPECIAL: Final = frozenset({"MUFU", "POPC", "FLO", "BREV", "F2I", "I2F", "F2F", "FRND", "UF2F", "UF2I", "UI2F"})
_CHEAP_CONVERSIONS: Final = frozenset({"F2FP", "I2FP", "F2IP", "I2I", "I2IP"})
_MATRIX_WORK: Final = {"HMMA": 2048.0, "IMMA": 4096.0, "BMMA": 32768.0, "QMMA": 4096.0, "DMMA": 256.0}
"""Multiply-adds of the shape that the device's rate is for."""


@dataclass(frozen=True)
class Access:
    """A memory access of a statement, averaged over its requests."""

    wavefronts: float = 1.0
    sectors: float = 0.0
    l2_sectors: float = 0.0
    """Of `sectors`, those that the L1 has not."""
    dram_sectors: float = 0.0
    """Of those, the ones that the L2 has not."""
    tags: float = 1.0
    """Lines of 128 bytes."""
    serial: float = 1.0
    """Of an atomic: lanes that follow each other at one address."""
    lanes: float = float(LANES)
    share: float = 1.0
    """Of the executions, those in which some lane accesses memory."""


@dataclass(frozen=True)
class Cost:
    """What an instruction occupies and how long its result takes."""

    unit: int
    occupies: float
    latency: float
    """From issue to result; 0 where the stall count covers it."""
    data_path: float = 0.0
    l2: float = 0.0
    dram: float = 0.0
    group: str = "arithmetic"
    """Whom a wait for this result is put down to."""


@dataclass(frozen=True)
class Shares:
    """What a sub-partition gets of what is shared, in bytes and cycles."""

    l2_bytes: float
    dram_bytes: float


def shares(device: Device, in_use: int) -> Shares:
    """Bytes a cycle and sub-partition with so many multiprocessors at work."""
    clock = device.clock_ghz
    l2 = min(device.l2_gb_per_s / clock / in_use, device.rate("l2_bytes_per_cycle_and_sm", 48.0))
    dram = min(device.dram_gb_per_s * device.rate("dram_efficiency", 0.92) / clock / in_use, l2)
    return Shares(l2 / PARTITIONS, dram / PARTITIONS)


class Costs:
    """Costs on one device, with so many multiprocessors at work."""

    def __init__(self, device: Device, in_use: int) -> None:
        """Takes the device's rates."""
        self.device = device
        self.shares = shares(device, in_use)

    def of(self, one: Instruction, access: Access | None) -> Cost:
        """The cost of one instruction, with what is known of its access to memory."""
        kind = one.kind
        if kind in {
            "load_global",
            "store_global",
            "load_shared",
            "store_shared",
            "load_local",
            "store_local",
            "atomic",
        }:
            return self._memory(one, access or Access())
        if kind == "shuffle":
            return self._issue(
                PARTITIONS / self.device.pipes["shuffle"],
                "shuffle",
                data_path=PARTITIONS / self.device.pipes["shuffle"],
            )
        if kind == "load_constant":
            return Cost(_UNIT["uniform"], 2.0, self.device.latency("constant"), group="constant")
        return self._arithmetic(one)

    def _issue(self, occupies: float, latency: str, *, data_path: float = 0.0) -> Cost:
        return Cost(
            _UNIT["memory_issue"], min(occupies, 4.0), self.device.latency(latency), data_path=data_path, group=latency
        )

    def _arithmetic(self, one: Instruction) -> Cost:
        pipes, latency = self.device.pipes, self.device.latency
        opcode = one.opcode
        if one.kind == "tensor":
            return self._matrix(one)
        if one.kind == "fp64":
            return Cost(_UNIT["fp64"], PARTITIONS / pipes["fp64"], latency("fp64"), group="fp64")
        if opcode in _CHEAP_CONVERSIONS:
            return Cost(_UNIT["alu"], PARTITIONS / pipes["integer"], 0.0)
        if opcode in _SPECIAL:
            wide = 4.0 if "F64" in one.modifiers else 1.0
            return Cost(
                _UNIT["special_function"],
                wide * PARTITIONS / pipes["special_function"],
                latency("special_function"),
                group="special_function",
            )
        if opcode in _FMA or one.constant_move:
            return Cost(_UNIT["fma"], PARTITIONS / pipes["fp16" if one.kind == "fp16" else "fp32"], 0.0)
        if opcode in _IMAD:
            return Cost(_UNIT["fma"], PARTITIONS / pipes["integer"], 0.0)
        if opcode.startswith("U") or opcode in {"R2UR", "S2UR", "VOTEU"}:
            return Cost(_UNIT["uniform"], 2.0, latency("uniform"), group="arithmetic")
        if opcode in {"S2R", "CS2R"}:
            return Cost(_UNIT["uniform"], 2.0, latency("special_register"), group="arithmetic")
        if one.kind == "control":
            return Cost(_UNIT["branch"], 2.0, 0.0, group="control")
        if one.kind == "barrier":
            return Cost(
                _UNIT["uniform"], 1.0, latency("fence") if opcode in {"MEMBAR", "ERRBAR"} else 20.0, group="barrier"
            )
        return Cost(_UNIT["alu"], PARTITIONS / pipes["integer"], 0.0)

    def _matrix(self, one: Instruction) -> Cost:
        opcode, shape = one.opcode, next((word for word in one.modifiers if word.isdigit()), "16816")
        if opcode.endswith("GMMA"):
            return self._warpgroup(one)
        rate = self.device.rate("dmma_per_cycle" if opcode == "DMMA" else "mma_per_cycle", 0.5)
        work = {"16816": 1.0, "1688": 0.5, "8816": 0.5, "16832": 1.0, "884": 1.0, "16864": 1.0, "1684": 0.25}.get(
            shape, 1.0
        )
        if opcode == "DMMA":
            work = {"884": 1.0, "8x8x4": 1.0, "1684": 2.0, "1688": 4.0, "16816": 8.0}.get(shape, 1.0)
        elif "TF32" in one.modifiers:
            work *= 2.0
        return Cost(_UNIT["tensor"], PARTITIONS * work / rate, self.device.latency("tensor"), group="tensor")

    def _warpgroup(self, one: Instruction) -> Cost:
        sizes = next((word.split("x") for word in one.modifiers if word.count("x") == 2), ["64", "64", "16"])
        work = 1.0
        for size in sizes:
            work *= float(size)
        # A warp of the four issues a quarter of it; 4096 multiply-adds of halves a cycle and multiprocessor... of which one sub-partition does a quarter.
        return Cost(
            _UNIT["tensor"],
            work / self.device.rate("wgmma_per_cycle", 2048.0),
            self.device.latency("tensor"),
            group="tensor",
        )

    def _memory(self, one: Instruction, access: Access) -> Cost:
        device, kind = self.device, one.kind
        wide = 4.0 if "128" in one.modifiers else 2.0 if "64" in one.modifiers else 1.0
        if one.opcode == "LDSM":
            wide = {"4": 4.0, "2": 2.0}.get(next((word for word in one.modifiers if word in {"4", "2"}), ""), 1.0)
        if kind in {"load_shared", "store_shared"}:
            wavefronts = max(access.wavefronts, wide if access.share else 0.0)
            return Cost(
                _UNIT["memory_issue"], 2.0, device.latency("shared") + max(0.0, wavefronts - 1.0),
                data_path=PARTITIONS * wavefronts * access.share, group="shared_memory",
            )  # fmt: skip
        if kind in {"load_local", "store_local"}:
            return Cost(
                _UNIT["memory_issue"], 2.0, device.latency("l1") + wide, data_path=PARTITIONS * wide, group="local"
            )
        if kind == "atomic":
            return self._atomic(one, access)
        path = max(1.0, access.sectors / 4.0, access.tags, wide * access.lanes / LANES)
        to_l2 = access.l2_sectors * SECTOR_BYTES if kind == "load_global" else access.sectors * SECTOR_BYTES
        to_dram = access.dram_sectors * SECTOR_BYTES
        if kind == "store_global":
            return Cost(
                _UNIT["memory_issue"], 2.0, 20.0, data_path=PARTITIONS * path * access.share,
                l2=to_l2 / self.shares.l2_bytes * device.rate("store_cost", 1.5) * access.share, dram=to_dram / self.shares.dram_bytes * access.share, group="store",
            )  # fmt: skip
        return Cost(
            _UNIT["memory_issue"], 2.0, self.load_latency(access) + path, data_path=PARTITIONS * path * access.share,
            l2=to_l2 / self.shares.l2_bytes * access.share, dram=to_dram / self.shares.dram_bytes * access.share, group="global_load",
        )  # fmt: skip

    def load_latency(self, access: Access) -> float:
        """Cycles until the last sector of a request is there: that of the farthest level that the request reaches, in the mean."""
        if access.sectors <= 0:
            return self.device.latency("l1")
        clustered = access.sectors if access.sectors <= 4.0 else 1.0
        beyond_l1 = min(1.0, access.l2_sectors / clustered)
        beyond_l2 = min(beyond_l1, access.dram_sectors / clustered)
        latency = self.device.latency
        return (
            latency("l1") + beyond_l1 * (latency("l2") - latency("l1")) + beyond_l2 * (latency("dram") - latency("l2"))
        )

    def _atomic(self, one: Instruction, access: Access) -> Cost:
        device = self.device
        if one.opcode in {"ATOMS", "REDAS"}:
            return Cost(
                _UNIT["memory_issue"], 2.0, device.latency("atomic_shared"),
                data_path=PARTITIONS * max(1.0, access.wavefronts, access.serial * device.rate("shared_atomic_lane_cycles", 4.0)) * device.rate("shared_atomic_cost", 1.0) * access.share, group="atomic",
            )  # fmt: skip
        latency = device.latency("atomic") if one.opcode in {"ATOM", "ATOMG"} else 20.0
        return Cost(
            _UNIT["memory_issue"], 2.0, latency, data_path=PARTITIONS * max(1.0, access.sectors / 4.0) * access.share,
            l2=max(1.0, access.sectors) * SECTOR_BYTES / self.shares.l2_bytes * device.rate("atomic_cost", 2.0) * access.share, group="atomic",
        )  # fmt: skip


def tables(costs: Costs, blocks: Mapping[int, list[tuple[Instruction, Access | None]]]) -> dict[int, list[Cost]]:
    """The costs of the instructions of some blocks."""
    return {b: [costs.of(one, access) for one, access in found] for b, found in blocks.items()}
