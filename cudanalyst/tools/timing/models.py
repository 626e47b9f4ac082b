"""What a comparison of two builds says: never a bare mean."""

from typing import Final, Literal, Self

from pydantic import Field, model_validator

from cudanalyst.tools.gpu.state import DeviceState
from cudanalyst.values import Frozen

MARGIN: Final = 0.01
"""Differences within this share of the time are no difference."""
FAST_THRESHOLD: Final = 1.12
"""Speedup over the baseline from which a passing candidate counts as fast."""
TimingMode = Literal["warm", "cold", "cold_data"]
"""`warm`: many calls in a row on rotating buffers. `cold`: neither data nor code of the call is in a cache. `cold_data`: only its code is."""
TimingVerdict = Literal["faster", "slower", "same", "inconclusive", "suspicious"]
"""Of the candidate, against the baseline; `suspicious`: not physically possible, or not the same work each time."""
Fault = Literal["wrong", "contract_violation", "crashed", "timed_out"]


class Conditions(Frozen):
    """What the device did while it was timed."""

    before: DeviceState
    between: DeviceState
    after: DeviceState
    steady: bool | None = None
    """Whether the clock had settled before the first block."""
    preheat_ms: float | None = None


class Overheads(Frozen):
    """What an empty kernel costs here, in microseconds: differences below are the harness's."""

    in_graph_us: float | None = None
    """Each of 256 empty kernels in a graph: contained in every warm time."""
    alone_us: float | None = None
    """One empty kernel between two events: contained in every cold time."""
    events_us: float | None = None
    """Two events with nothing between."""
    step_us: float | None = None
    """The step in which events tell time."""


class Floor(Frozen):
    """The least time that the work can take on this device."""

    us: float = Field(ge=0)
    bound: Literal["dram", "l2", "flops"]


class SecondClock(Frozen):
    """The same blocks in a run of their own, read by a clock that kernels see (`%globaltimer`) and not by events."""

    candidate_us: float = Field(gt=0)
    baseline_us: float = Field(gt=0)
    speedup: float = Field(gt=0)
    margin: float = Field(gt=0)
    """Share by which a time, or the ratio, may differ from what events told: 2 %, and three times what one comparison resolves."""
    agrees: bool


class Comparison(Frozen):
    """A candidate (A) against a baseline (B) at one size, timed alternately in one context."""

    mode: TimingMode
    verdict: TimingVerdict
    speedup: float | None = Field(default=None, gt=0)
    """Baseline's time over the candidate's; above 1 the candidate is faster."""
    speedup_low: float | None = Field(default=None, gt=0)
    speedup_high: float | None = Field(default=None, gt=0)
    """Ends of an interval that covers the true ratio with `confidence`, whichever look was the last."""
    confidence: float = Field(default=0.99, gt=0, lt=1)
    candidate_us: float | None = Field(default=None, ge=0)
    """Of one call; median over blocks."""
    baseline_us: float | None = Field(default=None, ge=0)
    groups: int = 0
    """Groups of alternating blocks that were used."""
    looks: int = 0
    """How often the data were looked at before the decision."""
    calls_per_block: int = 1
    placements: int = 1
    """Copies of either module, loaded in both orders, that took turns."""
    resolvable: float | None = Field(default=None, ge=0)
    """Least difference that these data could have told from none, as a share of the time: half the interval's width."""
    gated: bool | None = None
    """Whether the host had queued all work before the first block began; False: launch latency may be contained."""
    second: SecondClock | None = None
    """None where the times were cold, or where nothing was measured: a single short call is no task for that clock."""
    overheads: Overheads | None = None
    floor: Floor | None = None
    conditions: Conditions | None = None
    fault: Fault | None = None
    """What the candidate did wrong in timed calls; the verdict is then `suspicious`."""
    notes: tuple[str, ...] = ()
    device_s: float | None = None
    """Wall time for which the device was held."""

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        decided = self.verdict in {"faster", "slower", "same"}
        ends = (self.speedup, self.speedup_low, self.speedup_high)
        if decided and None in ends:
            raise ValueError(f"a verdict {self.verdict} has a ratio with its interval")
        if None not in ends and not self.speedup_low <= self.speedup <= self.speedup_high:  # type: ignore[operator]
            raise ValueError("the ratio lies within its interval")
        if self.fault and self.verdict != "suspicious":
            raise ValueError("a comparison with a fault is suspicious")
        if self.verdict == "suspicious" and not self.notes:
            raise ValueError("a suspicious comparison says why")
        return self


class SizeTiming(Frozen):
    """A comparison at one size, as a result of `run` keeps it."""

    sizes: dict[str, int]
    mode: TimingMode
    verdict: TimingVerdict | None = None
    """Of the candidate against the baseline; None where it was not compared, and `reason` says why."""
    speedup: float | None = None
    """Baseline's time over the candidate's."""
    speedup_low: float | None = None
    speedup_high: float | None = None
    """99 % interval of the speedup."""
    us: float | None = None
    """Of one call of the candidate, measured."""
    baseline_us: float | None = None
    resolvable: float | None = None
    """Least difference that could have been told from none, as a share of the time."""
    groups: int = 0
    trust: Literal["replayed", "native"] | None = None
    gated: bool | None = None
    second_us: float | None = None
    """The candidate's call by a second clock, `%globaltimer`, in a run of its own."""
    second_baseline_us: float | None = None
    clocks_agree: bool | None = None
    """None where there was no second reading: cold times have none."""
    sm_clock_mhz: int | None = None
    """While it was timed."""
    device_s: float | None = None
    """For how long the device was held."""
    notes: tuple[str, ...] = ()
    reason: str | None = None


class Uncompared(Frozen):
    """Why there is no comparison: the place, not the candidate, does not allow it."""

    reason: str
