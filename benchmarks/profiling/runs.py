"""One profile after the other on a held device, each a row of the table."""

import asyncio
import tempfile
import time
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

from benchmarks.profiling.variants import Variant, watched
from cudanalyst.tools.counter_gain import busiest_unit, measured_bound
from cudanalyst.tools.hardware import HardwareKernel, from_records
from cudanalyst.tools.insight_counters import counter_insights
from cudanalyst.tools.sass import Decoded
from cudanalyst.tools.selection import Selection
from cudanalyst.tools.toolchain import gpu_tools
from cudanalyst.tools.toolchain.executor import plainly
from cudanalyst.tools.toolchain.gpu_parts import executor_environment
from cudanalyst.tools.toolchain.gpu_tools import OnDevice
from cudanalyst.tools.toolchain.ncu.collect import FINISH_S, OVERHEAD_S, Collection, tool_environment, with_counters
from cudanalyst.tools.toolchain.ncu.reading import Reader, reading
from cudanalyst.tools.toolchain.protocol import Build, CandidateRequest, Execution
from cudanalyst.tools.toolchain.replaying import replay

HEAD = ("source", "set or way", "passes", "run s", "seconds", "bound", "unit", "share")


@dataclass
class Row:
    """One source under one set."""

    source: str
    metrics: str
    passes: int | None = None
    seconds: float | None = None
    run_s: float | None = None
    """Recording, ncu and the executor; the rest of the seconds is reading."""
    kernels: int = 0
    kernel: str | None = None
    bound: str | None = None
    unit: str | None = None
    share: float | None = None
    first: str | None = None
    reason: str | None = None
    seen: dict[str, float] = field(default_factory=dict)
    """When ncu's log said what, in seconds from the start."""
    figures: dict[str, float] = field(default_factory=dict)
    """Some counts that may not depend on the way, to compare."""


@dataclass(frozen=True)
class Planned:
    """A compiled source with one call."""

    label: str
    build: Build
    request: CandidateRequest


@dataclass
class Ran:
    """A run that is over, and not yet read."""

    execution: Execution
    collection: Collection
    code: "asyncio.Task[dict[str, list[Decoded]] | None] | None"
    seconds: float
    seen: dict[str, float]
    reader: Reader | None
    """One that waits for the report, as in `profile`."""
    closing: AsyncExitStack
    """Ends it."""


@dataclass(frozen=True)
class Place:
    """A held device, and ncu."""

    on: OnDevice
    ncu: Path
    version: str | None
    home: Path
    """A home that lasts, for ncu as its users start it."""

    def environment(self, work: Path, variant: Variant) -> Mapping[str, str]:
        """Of ncu and the executor."""
        found: dict[str, str] = {**executor_environment(self.on.uuid, self.on.parts.driver), **tool_environment(work)}
        if variant.users:
            found = {
                **executor_environment(self.on.uuid, self.on.parts.driver),
                "TMPDIR": str(work),
                "HOME": str(self.home),
            }
        for name, value in variant.environment.items():
            found.pop(name, None)
            if value is not None:
                found[name] = value
        return found

    async def run(self, planned: Planned, variant: Variant, folder: Path) -> Ran:
        """The replay under ncu: what needs the GPU. As in `profile` the disassembly is made beside it, and the reader is started."""
        started = time.perf_counter()
        async with AsyncExitStack() as closing:
            reader = None if variant.users else await closing.enter_async_context(reading())
            code = None if variant.users else asyncio.create_task(gpu_tools._code(self.on, planned.build))
            place = replace(
                self.on.replaying(),
                starter=lambda work, _: plainly(work.path, self.environment(work.path, variant)),
                prefix=variant.prefix(self.ncu, folder, self.version),
                finish_s=FINISH_S,
                profile=True,
            )
            longer = replace(planned.request, timeout_s=planned.request.timeout_s + OVERHEAD_S)
            async with watched(folder) as watch:
                outcome = await replay(place, planned.build, longer)
            took = time.perf_counter() - started
            if not isinstance(outcome, Execution):
                raise SystemExit(f"{planned.label} cannot be recorded: {outcome.reason}")
            collection = Collection(self.ncu, folder, Selection(variant.metrics))
            return Ran(outcome, collection, code, took, watch.seen, reader, closing.pop_all())

    async def read(self, ran: Ran) -> Execution:
        """The report, with the disassembly that `profile` reads too."""
        async with ran.closing:
            names = self.on.names("candidate.cu")
            code = await ran.code if ran.code is not None else None
            return await with_counters(ran.execution, None, ran.collection, names, code, ran.reader)


def row_of(name: str, metrics: str, ran: Ran, reading_s: float, execution: Execution) -> Row:
    """What came of one profile."""
    kernels: tuple[HardwareKernel, ...] = from_records(execution.report)
    run_s, seconds = round(ran.seconds, 2), round(ran.seconds + reading_s, 2)
    if not kernels:
        reason = execution.reason or f"ended: {execution.how}"
        return Row(name, metrics, run_s=run_s, seconds=seconds, reason=reason, seen=ran.seen)
    longest = kernels[0]
    unit, found = busiest_unit(longest), counter_insights(kernels)
    counts = {
        "warp_instructions": longest.warp_instructions,
        "operations": sum(longest.flops_by_type.values()) if longest.flops_by_type else None,
        "sectors": sum(row.sectors or 0.0 for row in longest.memory if row.path == "global"),
        "samples": longest.samples,
        "us": longest.duration_us,
    }
    return Row(
        name,
        metrics,
        run_s=run_s,
        seconds=seconds,
        passes=longest.passes,
        kernels=len(kernels),
        kernel=longest.name[:40],
        bound=measured_bound(longest),
        unit=unit[0] if unit else None,
        share=unit[1] if unit else None,
        first=found[0].kind if found else None,
        seen=ran.seen,
        figures={key: float(value) for key, value in counts.items() if value is not None},
    )


@dataclass
class Runs:
    """Runs one after the other on a held device."""

    place: Place
    scratch: Path
    rows: list[Row]
    beside: bool = True
    """Whether each is read while the next is on, which takes less time in all, or by itself, as in `profile`."""
    readings: list["asyncio.Task[None]"] = field(default_factory=list)

    async def one(self, planned: Planned, name: str, variant: Variant) -> None:
        """One run; its row is printed when its report has been read."""
        folder = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=self.scratch))
        ran = await self.place.run(planned, variant, folder)
        self.readings.append(asyncio.create_task(self._read(planned, name, ran)))
        if not self.beside:
            await self.end()

    async def _read(self, planned: Planned, name: str, ran: Ran) -> None:
        started = time.perf_counter()
        read = await self.place.read(ran)
        self.rows.append(row_of(planned.label, name, ran, time.perf_counter() - started, read))
        print(line_of(self.rows[-1]), flush=True)

    async def end(self) -> None:
        """Waits for the reports."""
        await asyncio.gather(*self.readings)
        self.readings.clear()


def line_of(row: Row) -> str:
    """A row of the table."""
    share = "-" if row.share is None else f"{row.share:.0%}"
    seen = " ".join(f"{name} {at:.2f}" for name, at in row.seen.items())
    cells = (row.source, row.metrics, row.passes, row.run_s, row.seconds, row.bound, row.unit, share)
    return (
        "{:34} {:19} {!s:>6} {!s:>6} {!s:>7} {!s:12} {!s:14} {:>5} ".format(*cells)
        + f"{row.first or row.reason} | {seen}"
    )
