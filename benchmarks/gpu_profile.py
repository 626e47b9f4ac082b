"""What profiling costs on a GPU, and whether fewer counters find the same bottleneck as Nsight Compute's full set.

    python benchmarks/gpu_profile.py [--problems matmul ...] [--sets quick standard full ncu_full] [--starts] [--budget 105] [--json PATH]
    python benchmarks/gpu_profile.py --agreement [--budget 105] [--json PATH]
    python benchmarks/gpu_profile.py --variants [NAME ...] [--problems matmul] [--budget 95] [--json PATH]
    python benchmarks/gpu_profile.py --variants standard ncu_full --budget 58     (five times each, alternating: the ratio with its interval)

For the baseline of each problem (with --starts also the slow start that agents begin from), at the size that `profile` takes: replay passes, seconds
(recording, ncu, reading), and the unit that bounds the longest kernel. `ncu_full` is `ncu --set full` with ncu's defaults around the same replay; its report
is opened once it is there and tells all texts itself, as a script with NVIDIA's package would read it; `start` is one pass of one counter, so what ncu takes however little it measures. `--agreement` compares bottlenecks only: the full set's
counters are then started as `profile` starts its own, which is quicker. `--variants` profiles one kernel in many ways, each of which changes one thing of
`standard`, again and again until the budget is spent; it tells when ncu had connected to the executor, begun to profile, ended its passes and written
its report. Sources are compiled before. A report is read while the next run is on the GPU, but with `--variants` by itself; a source's seconds are those of
its own run and reading, with the disassembly and the reader's start beside the run as in `profile`. Everything is printed as it comes, and what the budget leaves no time for is named.
"""

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from benchmarks.profiling.runs import HEAD, Place, Planned, Row, Runs, line_of
from benchmarks.profiling.variants import FULL, SETS, VARIANTS
from benchmarks.profiling.ways import LEFT_OUT, ways_summary
from cudanalyst.errors import Unavailable
from cudanalyst.kernels.catalogue import Catalogue
from cudanalyst.kernels.problem import Problem
from cudanalyst.tools.cases import Limits, plan_profile
from cudanalyst.tools.profile_size import profile_size
from cudanalyst.tools.source import BuildOptions, Source
from cudanalyst.tools.toolchain.gpu import GpuToolchain

DEFAULT = ("standard", "ncu_full")
SECRET = b"a secret of the benchmark"
ONE = "layernorm"
"""The problem of which the ways are compared."""
MOST_ROUNDS = 5
MOST_PASSES = 14
BUSY = 0.6
HALF = 0.5


def sources(problem: Problem, folder: Path, *, starts: bool) -> Iterator[tuple[str, Source]]:
    """The baseline, and the slow start."""
    texts = {"baseline": problem.baseline}
    slow = folder / "starts" / "slow.cu"
    if starts and slow.is_file():
        texts["slow"] = slow.read_text("utf-8")
    for name, text in texts.items():
        yield f"{problem.id}/{name}", Source(text=text, problem=problem.id, options=BuildOptions())


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


async def measure(toolchain: GpuToolchain, options: argparse.Namespace, until: float) -> list[Row]:
    """All rows, printed as they come."""
    parts = await toolchain._ready()
    tools = await toolchain._tool_abilities(parts)
    if tools.ncu is None:
        raise SystemExit("ncu was not found")
    chosen = options.problems or ([ONE] if options.variants is not None else [])
    planned, rows = await prepared(toolchain, chosen, starts=options.starts)
    for row in rows:
        print(line_of(row), flush=True)
    async with AsyncExitStack() as stack:
        lease, _ = await stack.enter_async_context(toolchain.lease())
        on = toolchain._on_device(parts, lease)
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=on.scratch)))
        (home := scratch / "home").mkdir()
        runs = Runs(Place(on, tools.ncu, tools.versions.get("ncu"), home), scratch, rows)
        if options.variants is not None:
            await each_way(runs, planned[0], options.variants, until)
        else:
            await each_source(runs, planned, options, until)
        await runs.end()
    return rows


async def each_source(runs: Runs, planned: Sequence[Planned], options: argparse.Namespace, until: float) -> None:
    """Every source under every set, while there is time for a whole source."""
    sets = ("standard", "full_counters") if options.agreement else tuple(options.sets)
    if "ncu_full" in sets:
        await runs.one(planned[0], "warm_home", replace(FULL, edit=SETS["start"].edit))
    longest = 0.0
    for number, one in enumerate(planned):
        begun = time.perf_counter()
        if begun + longest > until:
            runs.rows.append(Row(one.label, "-", reason=LEFT_OUT))
            print(line_of(runs.rows[-1]), flush=True)
            continue
        for name in (*sets, *(["start"] if number == 0 and "start" not in sets and not options.agreement else [])):
            await runs.one(one, name, SETS[name])
        longest = max(longest, time.perf_counter() - begun)


async def each_way(runs: Runs, planned: Planned, names: Sequence[str], until: float) -> None:
    """One source in every way, round after round, so that drift meets all alike."""
    ways = [variant for variant in VARIANTS if not names or variant.name in names]
    runs.beside = False
    await runs.one(planned, "warm_home", replace(FULL, edit=SETS["start"].edit))
    longest: dict[str, float] = {}
    for number in range(MOST_ROUNDS):
        for variant in ways if number % 2 == 0 else reversed(ways):
            begun = time.perf_counter()
            if begun + longest.get(variant.name, 8.0) > until:
                return
            await runs.one(planned, variant.name, variant)
            longest[variant.name] = time.perf_counter() - begun


def summary(rows: list[Row]) -> dict[str, Any]:
    """The figures to reach."""
    by = {(row.source, row.metrics): row for row in rows}
    full_name = "ncu_full" if any(row.metrics == "ncu_full" for row in rows) else "full_counters"
    pairs = [
        (by[source, "standard"], by[source, full_name])
        for source in dict.fromkeys(row.source for row in rows)
        if (source, "standard") in by and (source, full_name) in by and by[source, full_name].passes
    ]
    ratios = sorted((mine.seconds or 0.0) / (full.seconds or 1.0) for mine, full in pairs)
    runs = [(mine.run_s or 0.0) / full.run_s for mine, full in pairs if full.run_s]
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
        "compared_with": full_name,
        "seconds_over_full_median": round(statistics.median(ratios), 3) if ratios else None,
        "seconds_over_full_most": round(ratios[-1], 3) if ratios else None,
        "run_s_over_full_median": round(statistics.median(runs), 3) if runs else None,
        "seconds_of_a_start": start,
        "seconds_beyond_a_start_over_full_median": round(statistics.median(beyond), 3) if beyond else None,
        "more_than_half_the_time": slow,
        "same_bottleneck": f"{len(pairs) - len(differ)} of {len(pairs)}",
        "differ": differ,
        "left_out": [row.source for row in rows if row.reason == LEFT_OUT],
        "failed": [
            f"{row.source} {row.metrics}: {row.reason}" for row in rows if row.reason and row.reason != LEFT_OUT
        ],
    }


def main() -> int:
    """Runs and prints; the exit status says whether the figures were reached."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--problems", nargs="*", default=[])
    parser.add_argument("--sets", nargs="*", default=list(DEFAULT), choices=tuple(SETS))
    parser.add_argument("--starts", action="store_true", help="the slow starts too")
    parser.add_argument("--agreement", action="store_true", help="bottlenecks only")
    parser.add_argument(
        "--variants", nargs="*", choices=[one.name for one in VARIANTS], help="ways to start ncu; none: all"
    )
    parser.add_argument("--budget", type=float, help="seconds after which nothing is begun that would not end in time")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    begun = time.perf_counter()
    until = begun + (options.budget or (105.0 if options.variants is None else 95.0))
    toolchain = GpuToolchain(progress=lambda text: print(text, file=sys.stderr, flush=True))
    print("{:34} {:19} {:>6} {:>6} {:>7} {:12} {:14} {:>5} first insight or reason | log".format(*HEAD), flush=True)
    try:
        rows = asyncio.run(measure(toolchain, options, until))
    except Unavailable as error:
        print(f"not measured: {error}")
        return 2
    found = summary(rows) if options.variants is None else ways_summary(rows)
    found["wall_s"] = round(time.perf_counter() - begun, 1)
    print(json.dumps(found, indent=1))
    if options.json is not None:
        options.json.write_text(
            json.dumps({"rows": [asdict(row) for row in rows], "summary": found}, indent=1), "utf-8"
        )
    if options.variants is not None:
        whole = found.get("standard_over_ncu_full", {}).get("seconds")
        return 0 if "ways" in found and (whole is None or whole["median"] <= HALF) else 1
    reached = found["standard_within_passes"] and not found["differ"] and not found["failed"] and not found["left_out"]
    return 0 if reached and (options.agreement or (found["seconds_over_full_median"] or 1.0) <= HALF) else 1


if __name__ == "__main__":
    raise SystemExit(main())
