"""How well timing on a GPU tells kernels apart: equal ones, and ones whose work differs by a known amount.

    python benchmarks/gpu_timing.py [--study] [--comparisons N] [--total SECONDS] [--cases warm_5us ...] [--json PATH]

Kernels stream memory, so that a few per mille more elements are a few per mille more time. How much more is measured beforehand, in the same run, by
a long comparison of the two; verdicts are then counted against that. Each comparison has a context of its own, as a candidate's has. Cases take turns, one comparison each, so that
those that the time limit ends have been made equally often.
"""

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.timing.bench import Bench, calibrated, open_bench
from benchmarks.timing.cases import CASES, HEADER, STUDY, Case, Running, line
from benchmarks.timing.copying import copy_rates
from cudanalyst.errors import Unavailable
from cudanalyst.tools.toolchain.executor import ExecutorFailed

RESERVE_S = 3.0
"""Of the time limit, for the end: context, report."""
EVERY_S = 20.0
"""Between two reports on the way."""


async def prepare(bench: Bench, cases: Sequence[Case]) -> list[Running]:
    """Finds the sizes, and measures the true differences."""
    found = []
    for case in cases:
        base = await bench.size_for(case.us)
        more, truth = (await bench.more_work(base, case.mode, case.difference)) if case.difference else (base, None)
        found.append(Running(case, base, more, truth))
    return found


async def take_turns(bench: Bench, running: Sequence[Running], ends_at: float, report: Callable[[], None]) -> None:
    """One comparison of each open case after the other, as long as the next one will end in time."""
    reported = time.monotonic()
    while any(one.open for one in running):
        for one in running:
            if not one.open:
                continue
            if time.monotonic() + 1.2 * max(one.held, default=1.0) > ends_at:
                return
            try:
                await one.step(bench)
            except (ExecutorFailed, Unavailable) as error:
                # Other cases have contexts of their own.
                one.failed = str(error)
                if bench.executor.lost:
                    raise
                await bench.executor.close()
        if time.monotonic() - reported > EVERY_S:
            reported = time.monotonic()
            print("comparisons:", " ".join(str(len(one.results)) for one in running), flush=True)
            report()


async def measure(options: argparse.Namespace, started: float | None = None) -> dict[str, Any]:
    """Everything, within `options.total` seconds from `started`."""
    started = time.monotonic() if started is None else started
    ends_at = started + options.total - RESERVE_S
    cases = [replace(case, count=options.comparisons or case.count) for case in (STUDY if options.study else CASES)]
    if options.cases:
        cases = [case for case in cases if any(case.name.startswith(name) for name in options.cases)]
    report: dict[str, Any] = {"total_s": options.total, "cut_off": False}
    running: list[Running] = []

    def write() -> None:
        report["seconds"] = time.monotonic() - started
        report["cases"] = [one.row() for one in running]
        if options.json:
            partial = options.json.with_suffix(".partial")
            partial.write_text(json.dumps(report, separators=(",", ":")) + "\n")
            partial.replace(options.json)

    try:
        async with asyncio.timeout(max(0.0, ends_at - time.monotonic())), AsyncExitStack() as stack:
            bench, facts = await open_bench(stack, options)
            report |= facts | await calibrated(bench)
            print(json.dumps(report, indent=1), flush=True)
            if options.copy:
                report["copy"] = await copy_rates(bench)
                print("copy:", json.dumps(report["copy"]), flush=True)
            running += await prepare(bench, cases)
            report["prepared_s"] = time.monotonic() - started
            print(f"prepared after {report['prepared_s']:.1f} s", flush=True)
            await take_turns(bench, running, ends_at, write)
    except TimeoutError:
        print("the time limit ended a comparison, which does not count", flush=True)
    finally:
        report["cut_off"] = not running or any(one.open for one in running)
        write()
        print(HEADER, *map(line, report["cases"]), sep="\n", flush=True)
    return report


def main() -> int:
    started = time.monotonic()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--study", action="store_true", help="the cases and counts that the figures ask for")
    parser.add_argument("--comparisons", type=int, help="per case")
    parser.add_argument("--total", type=float, default=3000.0, help="limit of everything, in seconds")
    parser.add_argument("--cases", nargs="*", default=[], help="only those whose name begins so")
    parser.add_argument("--device", type=int, default=0)
    parser.add_argument("--json", type=Path, help="where to write everything")
    parser.add_argument(
        "--no-copy", dest="copy", action="store_false", help="leave out the comparison with CuPy's copy"
    )
    parser.add_argument("--driver", type=Path, help="another driver library, for tests of this script")
    parser.add_argument("--kernels", type=Path, help="the executor's kernels as that driver loads them")
    parser.add_argument("--image", type=Path, help="this script's kernels as that driver loads them")
    options = parser.parse_args()
    try:
        asyncio.run(measure(options, started))
    except Unavailable as error:
        print(f"not measured: {error}")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
