"""Devices to model for, described by data files beside this module; a new device edits no code."""

from functools import cache
from pathlib import Path
from typing import Final, Literal

from pydantic import Field, ValidationError

from cudanalyst.errors import BadRequest
from cudanalyst.values import Frozen

FOLDER: Final = Path(__file__).parent
DEFAULT_DEVICE: Final = "h200"
LANES: Final = 32

Pipe = Literal["fp32", "fp64", "fp16", "integer", "special_function", "conversion", "shuffle"]


class Device(Frozen):
    """Limits and peak rates of a device. Each figure's source is in its file: the vendor's, published, or measured with benchmarks/gpu_device.py."""

    id: str = Field(pattern=r"^[a-z0-9_]+$")
    name: str
    arch: str
    """Target that compiles for it, e.g. `sm_90`."""
    capability: tuple[int, int]
    sm_count: int = Field(gt=0)
    clock_ghz: float = Field(gt=0)
    """Boost clock of the multiprocessors."""
    memory_bytes: int
    dram_gb_per_s: float = Field(gt=0)
    """Peak of the data sheet, 1e9 bytes per second."""
    l2_bytes: int
    l2_gb_per_s: float = Field(gt=0)
    warps_per_sm: int
    blocks_per_sm: int
    registers_per_sm: int
    shared_bytes_per_sm: int
    shared_bytes_per_block: int
    """With the opt-in attribute."""
    pipes: dict[Pipe, float]
    """Warp instructions per cycle and multiprocessor; fp16 counts instructions on pairs (half2)."""
    latency_cycles: dict[str, float] = {}
    """From issue to result, by what is waited for; see `latency`."""
    rates: dict[str, float] = {}
    """Further figures of a model of time; see `rate`."""
    sources: dict[str, str]
    """Where each figure is from."""

    def tflops(self, pipe: Literal["fp32", "fp64", "fp16"]) -> float:
        """Peak in 1e12 operations per second; a multiply-add counts two, a pair of halves twice that."""
        per_lane = 4 if pipe == "fp16" else 2
        return self.sm_count * self.pipes[pipe] * LANES * per_lane * self.clock_ghz / 1e3

    def latency(self, name: str) -> float:
        """Cycles from issue to result; of an H200 where the device's file states none."""
        return self.latency_cycles.get(name, _LATENCY[name])

    def rate(self, name: str, default: float) -> float:
        """A figure of the model, or the default where the device's file states none."""
        return self.rates.get(name, default)


_LATENCY: Final = {
    "constant": 30.0,
    "uniform": 12.0,
    "special_register": 20.0,
    "special_function": 18.0,
    "fp64": 8.0,
    "tensor": 24.5,
    "shuffle": 24.0,
    "shared": 23.0,
    "l1": 39.0,
    "l2": 282.0,
    "dram": 750.0,
    "atomic": 320.0,
    "atomic_shared": 60.0,
    "fence": 500.0,
}


def device_ids() -> tuple[str, ...]:
    """Ids of all devices, sorted."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.json")))


@cache
def load_device(device_id: str = DEFAULT_DEVICE) -> Device:
    """Reads one device.

    Raises:
        BadRequest: There is none of this id; the text lists those that are there.
    """
    if device_id not in device_ids():
        raise BadRequest(f"unknown device {device_id[:40]!r}; known are {', '.join(device_ids())}")
    path = FOLDER / f"{device_id}.json"
    try:
        return Device.model_validate_json(path.read_bytes())
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise BadRequest(f"the device file {path.name} is invalid at {place}: {first['msg']}") from error
