"""What profiling costs on a GPU, and whether fewer counters find the same bottleneck as Nsight Compute's full set.

    python benchmarks/gpu_profile.py [--problems matmul ...] [--sets quick standard full ncu_full] [--starts] [--budget 75] [--json PATH]

For the baseline of each problem (with --starts also the slow start that agents begin from), at the size that `profile` takes: replay passes, seconds
(recording, ncu, reading), and the unit that bounds the longest kernel. `ncu_full` is `ncu --set full` around the same replay, read the same way; `start` is
one pass of one counter, so what ncu takes however little it measures. Sources are compiled before, and a report is read while the next run is on
the GPU; a source's seconds are those of its own run and reading. What the budget leaves no time for is named.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, cast

from cudanalyst.errors import Unavailable
from cudanalyst.kernels.catalogue import Catalogue
from cudanalyst.kernels.problem import Problem
from cudanalyst.tools.cases import Limits, plan_profile
from cudanalyst.tools.counter_gain import busiest_unit, measured_bound
from cudanalyst.tools.hardware import HardwareKernel, from_records
from cudanalyst.tools.insight_counters import counter_insights
from cudanalyst.tools.profile_size import profile_size
from cudanalyst.tools.selection import MetricSet, Selection
from cudanalyst.tools.source import BuildOptions, Source
from cudanalyst.tools.toolchain import gpu_tools
from cudanalyst.tools.toolchain.gpu import GpuToolchain
from cudanalyst.tools.toolchain.gpu_tools import OnDevice
from cudanalyst.tools.toolchain.ncu.argv import collect_prefix
from cudanalyst.tools.toolchain.ncu.collect import FINISH_S, OVERHEAD_S, Collection, with_counters
from cudanalyst.tools.toolchain.protocol import Build, CandidateRequest, Execution
from cudanalyst.tools.toolchain.replaying import replay

SETS = ("quick", "standard", "full", "ncu_full", "start")
DEFAULT = ("standard", "ncu_full")
SECRET = b"a secret of the benchmark"
MOST_PASSES = 14
BUSY = 0.6
HALF = 0.5
LEAST = "gpc__cycles_elapsed.max,gpu__time_duration.sum"


@dataclass
class Row:
    """One source under one set."""

    source: str
    metrics: str
    passes: int | None = None
    seconds: float | None = None
    kernels: int = 0
    kernel: str | None = None
    bound: str | None = None
    unit: str | None = None
    share: float | None = None
    first: str | None = None
    reason: str | None = None


@dataclass(frozen=True)
class Planned:
    """A compiled source with one call."""

    label: str
    build: Build
    request: CandidateRequest


@dataclass(frozen=True)
class Place:
    """A held device, and ncu."""

    on: OnDevice
    ncu: Path

    async def run(self, planned: Planned, metrics: str, folder: Path) -> tuple[Execution, Collection]:
        """The replay under ncu: what needs the GPU."""
        own = metrics in {"quick", "standard", "full"}
        collection = Collection(self.ncu, folder, Selection(cast("MetricSet", metrics) if own else "standard"))
        prefix = list(collect_prefix(self.ncu, folder, collection.selection, only_between=True))
        at = prefix.index("--metrics")
        if not own:
            prefix[at : at + 2] = ["--set", "full"] if metrics == "ncu_full" else ["--metrics", LEAST]
        place = replace(self.on.replaying(), prefix=tuple(prefix), finish_s=FINISH_S, profile=True)
        longer = replace(planned.request, timeout_s=planned.request.timeout_s + OVERHEAD_S)
        outcome = await replay(place, planned.build, longer)
        if not isinstance(outcome, Execution):
            raise SystemExit(f"{planned.label} cannot be recorded: {outcome.reason}")
        return outcome, collection

    async def read(self, planned: Planned, execution: Execution, collection: Collection, metrics: str) -> Execution:
        """The report, with the disassembly that `profile` reads too."""
        code = None if metrics in {"ncu_full", "start"} else await gpu_tools._code(self.on, planned.build)
        return await with_counters(execution, None, collection, self.on.names("candidate.cu"), code)


def sources(problem: Problem, folder: Path, *, starts: bool) -> Iterator[tuple[str, Source]]:
    """The baseline, and the slow start."""
    texts = {"baseline": problem.baseline}
    slow = folder / "starts" / "slow.cu"
    if starts and slow.is_file():
        texts["slow"] = slow.read_text("utf-8")
    for name, text in texts.items():
        yield f"{problem.id}/{name}", Source(text=text, problem=problem.id, options=BuildOptions())


def row_of(name: str, metrics: str, seconds: float, execution: Execution) -> Row:
    """What came of one profile."""
    kernels: tuple[HardwareKernel, ...] = from_records(execution.report)
    if not kernels:
        return Row(name, metrics, seconds=seconds, reason=execution.reason or f"ended: {execution.how}")
    longest = kernels[0]
    unit, found = busiest_unit(longest), counter_insights(kernels)
    return Row(
        name,
        metrics,
        passes=longest.passes,
        seconds=round(seconds, 2),
        kernels=len(kernels),
        kernel=longest.name[:40],
        bound=measured_bound(longest),
        unit=unit[0] if unit else None,
        share=unit[1] if unit else None,
        first=found[0].kind if found else None,
    )


async def prepared(toolchain: GpuToolchain, chosen: list[str], *, starts: bool) -> tuple[list[Planned], list[Row]]:
    """Sources compiled side by side, with their inputs; and what did not compile."""
    catalogue = Catalogue()
    todo = [
        (problem, label, source)
        for problem in map(catalogue.problem, chosen or catalogue.ids)
        for label, source in sources(problem, catalogue.entry(problem.id).folder, starts=starts)
    ]

    async def one(problem: Problem, label: str, source: Source) -> Planned | Row:
        build = await toolchain.build(source)
        if build.status != "compiled":
            return Row(label, "-", reason=f"not compiled: {build.reason or build.diagnostics[:1]}")
        group, sizes = profile_size(problem, None, 0.0, on_gpu=True)
        plan = await asyncio.to_thread(plan_profile, problem, group, sizes, SECRET, Limits(30.0, None))
        return Planned(f"{label} {','.join(map(str, sizes.values()))}", build, plan.request)

    found = await asyncio.gather(*(one(*each) for each in todo))
    return [one for one in found if isinstance(one, Planned)], [one for one in found if isinstance(one, Row)]


async def measure(
    toolchain: GpuToolchain, chosen: list[str], sets: list[str], *, starts: bool, until: float
) -> list[Row]:
    """All rows, printed as they come."""
    parts = await toolchain._ready()
    tools = await toolchain._tool_abilities(parts)
    if tools.ncu is None:
        raise SystemExit("ncu was not found")
    planned, rows = await prepared(toolchain, chosen, starts=starts)
    readings: list[asyncio.Task[None]] = []
    longest = 0.0
    async with AsyncExitStack() as stack:
        lease, _ = await stack.enter_async_context(toolchain.lease())
        place = Place(toolchain._on_device(parts, lease), tools.ncu)
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=place.on.scratch)))

        async def finish(one: Planned, metrics: str, took: float, execution: Execution, at: Collection) -> None:
            started = time.perf_counter()
            read = await place.read(one, execution, at, metrics)
            rows.append(row_of(one.label, metrics, took + time.perf_counter() - started, read))
            print(line_of(rows[-1]), flush=True)

        for number, one in enumerate(planned):
            begun = time.perf_counter()
            if begun + longest > until:
                rows.append(Row(one.label, "-", reason="left out: the budget is spent"))
                continue
            for metrics in (*sets, *(["start"] if number == 0 and "start" not in sets else [])):
                folder = scratch / f"{number}-{metrics}"
                folder.mkdir()
                started = time.perf_counter()
                execution, collection = await place.run(one, metrics, folder)
                took = time.perf_counter() - started
                readings.append(asyncio.create_task(finish(one, metrics, took, execution, collection)))
            longest = max(longest, time.perf_counter() - begun)
        await asyncio.gather(*readings)
    return rows


def line_of(row: Row) -> str:
    """A row of the table."""
    share = "-" if row.share is None else f"{row.share:.0%}"
    cells = (row.source, row.metrics, row.passes, row.seconds, row.bound, row.unit, share, row.first or row.reason)
    return "{:40} {:9} {!s:>6} {!s:>7} {!s:14} {!s:14} {:>5} {!s:.60}".format(*cells)


def summary(rows: list[Row]) -> dict[str, Any]:
    """The figures to reach."""
    by = {(row.source, row.metrics): row for row in rows}
    pairs = [
        (by[source, "standard"], by[source, "ncu_full"])
        for source in dict.fromkeys(row.source for row in rows)
        if (source, "standard") in by and (source, "ncu_full") in by and by[source, "ncu_full"].passes
    ]
    ratios = sorted((mine.seconds or 0.0) / (full.seconds or 1.0) for mine, full in pairs)
    start = next((row.seconds for row in rows if row.metrics == "start" and row.seconds), None)
    beyond = sorted(
        ((mine.seconds or 0.0) - start) / (full.seconds - start)
        for mine, full in pairs
        if start is not None and full.seconds is not None and full.seconds > start
    )
    slow = [
        f"{mine.source}: {mine.seconds} s of {full.seconds} s"
        for mine, full in pairs
        if (mine.seconds or 0.0) > HALF * (full.seconds or 0.0)
    ]
    differ = [
        f"{mine.source}: {mine.bound} ({mine.unit}) where the full set says {full.bound} ({full.unit})"
        for mine, full in pairs
        if mine.bound != full.bound or ((full.share or 0.0) >= BUSY and mine.unit != full.unit)
    ]
    passes = {metrics: max((row.passes or 0 for row in rows if row.metrics == metrics), default=0) for metrics in SETS}
    return {
        "most_passes": passes,
        "standard_within_passes": 0 < passes["standard"] <= MOST_PASSES,
        "seconds_over_full_median": ratios[len(ratios) // 2] if ratios else None,
        "seconds_over_full_most": ratios[-1] if ratios else None,
        "seconds_of_a_start": start,
        "seconds_beyond_a_start_over_full_median": beyond[len(beyond) // 2] if beyond else None,
        "more_than_half_the_time": slow,
        "same_bottleneck": f"{len(pairs) - len(differ)} of {len(pairs)}",
        "differ": differ,
        "left_out": [row.source for row in rows if row.reason and row.reason.startswith("left out")],
        "failed": [
            f"{row.source} {row.metrics}: {row.reason}"
            for row in rows
            if row.reason and not row.reason.startswith("left out")
        ],
    }


def main() -> int:
    """Runs and prints; the exit status says whether the figures were reached."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--problems", nargs="*", default=[])
    parser.add_argument("--sets", nargs="*", default=list(DEFAULT), choices=SETS)
    parser.add_argument("--starts", action="store_true", help="the slow starts too")
    parser.add_argument("--budget", type=float, default=75.0, help="seconds after which no further source is begun")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    begun = time.perf_counter()
    toolchain = GpuToolchain(progress=lambda text: print(text, file=sys.stderr))
    print(line_of(Row("source", "set", first="first insight or reason")).replace("None", "    "))
    try:
        rows = asyncio.run(
            measure(toolchain, options.problems, options.sets, starts=options.starts, until=begun + options.budget)
        )
    except Unavailable as error:
        print(f"not measured: {error}")
        return 2
    found = {**summary(rows), "wall_s": round(time.perf_counter() - begun, 1)}
    print(json.dumps(found, indent=1))
    if options.json is not None:
        options.json.write_text(
            json.dumps({"rows": [asdict(row) for row in rows], "summary": found}, indent=1), "utf-8"
        )
    reached = found["standard_within_passes"] and not found["differ"] and not found["failed"]
    return 0 if reached and (found["seconds_over_full_median"] or 1.0) <= HALF else 1


if __name__ == "__main__":
    raise SystemExit(main())
