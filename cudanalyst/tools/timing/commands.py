"""The timing commands of the executor (engine/EXECUTOR.md), and their answers as values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, Protocol

from cudanalyst.errors import Unavailable
from cudanalyst.tools.timing.models import Overheads

GATE_MS: Final = 100
"""Far more than queueing a group takes; a driver that waits for the device meanwhile is then let go."""
PREHEAT_MS: Final = 250
LEAST_HEAT_MS: Final = 30
"""An idle H200 reaches its clock within this."""
COMMAND_S: Final = 60.0
PairMode = Literal["warm", "cold", "cold_data", "single"]


class Executor(Protocol):
    """Sends a command to an executor and gives the members of its answer."""

    async def command(self, *words: str | int | Path, limit_s: float = COMMAND_S) -> Mapping[str, Any]:
        """One command.

        Raises:
            Exception: The executor refused, met a CUDA error, hung or ended; the implementation says which.
        """


@dataclass(frozen=True)
class Group:
    """One group of alternating blocks."""

    pattern: str
    us: tuple[float, ...]
    """Of one call, by block."""
    gated: bool
    drained: bool
    """Whether own streams were empty when the timed one was."""


@dataclass(frozen=True)
class Groups:
    """What `time` answered."""

    groups: tuple[Group, ...]
    gate_failures: int
    gate_given_up: bool


@dataclass(frozen=True)
class Preheat:
    """What `preheat` answered."""

    milliseconds: float
    steady: bool


@dataclass(frozen=True)
class Calibration:
    """What is measured once on a device and kept."""

    overheads: Overheads
    l2_bytes: int
    dram_gb_per_s: float | None
    l2_gb_per_s: float | None
    flush_code_us: float | None = None
    flush_data_us: float | None = None


_GATE_FAILURES: Final = 3
"""After as many the executor uses no gate (engine/src/executor/timing.cpp)."""


async def load_kernels(executor: Executor, path: Path) -> int:
    """Loads the executor's device kernels; gives the size of the L2 in bytes."""
    answer = await executor.command("kernels", path)
    return int(answer["l2_bytes"])


async def preheat(executor: Executor, most_ms: int = PREHEAT_MS, least_ms: int = LEAST_HEAT_MS) -> Preheat:
    """Works the device until its clock has settled; where it was worked a moment ago, `least_ms` may be 0."""
    answer = await executor.command("preheat", most_ms, least_ms)
    return Preheat(float(answer["milliseconds"]), bool(answer["steady"]))


async def calibrate(executor: Executor, l2_bytes: int) -> Calibration:
    """Overheads and bandwidths; the device should be warm."""
    overhead = await executor.command("overhead")
    rates = await executor.command("bandwidth")
    names = ("in_graph_us", "alone_us", "events_us", "step_us")
    return Calibration(
        overheads=Overheads(**{name: _positive(overhead.get(name)) for name in names}),
        l2_bytes=l2_bytes,
        dram_gb_per_s=_positive(rates.get("dram_gb_per_s")),
        l2_gb_per_s=_positive(rates.get("l2_gb_per_s")),
        flush_code_us=_positive(overhead.get("flush_code_us")),
        flush_data_us=_positive(overhead.get("flush_data_us")),
    )


async def make_pair(
    executor: Executor, name: str, mode: PairMode, calls: int, candidate: Sequence[str], baseline: Sequence[str]
) -> None:
    """Prepares blocks of `calls` calls that rotate over the traces of A (candidate) and B (baseline)."""
    await executor.command("pair", name, mode, calls, ",".join(candidate), ",".join(baseline))


async def time_groups(
    executor: Executor, name: str, patterns: Sequence[str], *, gate_ms: int = GATE_MS, stamps: bool = False
) -> Groups:
    """Times one group for each pattern; by `stamps`, a clock that kernels read, or else by events.

    Raises:
        Unavailable: The answer does not fit the question: the executor is not of this version.
    """
    answer = await executor.command("stamp" if stamps else "time", name, gate_ms, *patterns)
    found = answer["groups"]
    if len(found) != len(patterns):
        raise Unavailable(f"the executor timed {len(found)} groups of {len(patterns)}; reinstall cudanalyst")
    groups = tuple(
        Group(pattern, tuple(float(us) for us in one["us"]), bool(one["gated"]), bool(one["drained"]))
        for pattern, one in zip(patterns, found, strict=True)
    )
    failures = int(answer["gate_failures"])
    return Groups(groups, failures, failures >= _GATE_FAILURES)


def _positive(value: Any) -> float | None:
    """A reading of 0 is one that was not made."""
    return float(value) if value else None
