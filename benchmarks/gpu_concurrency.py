"""16 concurrent clients on one GPU against one client: evaluations per hour, and verdicts that changed. Target: at least 3 times as many, none changed.

Each client is a task of one server's bench, as HTTP clients are; all share the machine's lease. Candidates are of two kinds whose verdict is
known: the baseline itself (`same`), and one that does the work twice (`slower`).
"""

import argparse
import asyncio
import contextlib
import json
import os
import re
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cudanalyst.kernels.catalogue import Catalogue
from cudanalyst.server.bench import Bench
from cudanalyst.server.call import Progress
from cudanalyst.tools.gpu.lease import Mode, Totals
from cudanalyst.tools.run import RunRequest, RunResult
from cudanalyst.tools.source import Source
from cudanalyst.tools.spending import watched
from cudanalyst.tools.toolchain.default import choose_toolchain
from cudanalyst.tools.toolchain.executor import Executor, start_executor
from cudanalyst.tools.toolchain.gpu import GpuToolchain
from cudanalyst.tools.toolchain.gpu_tools import OnDevice
from cudanalyst.tools.toolchain.workspace import workspace

SECRET = b"a benchmark keeps no secrets"
PROBLEMS = ("transpose", "softmax", "matmul", "reduction")
REQUEST = RunRequest(groups=("test",), seeds=5, model=False, timeout_s=120)


def twice(text: str) -> str:
    """A candidate that does the baseline's work twice."""
    found = re.search(r'extern "C" int solve\(([^)]*)\)', text)
    if found is None:
        raise SystemExit("the baseline's solve was not found")
    names = ", ".join(part.split()[-1].lstrip("*&") for part in found[1].split(","))
    once = text.replace(found[0], f"static int once({found[1]})")
    return f'{once}\nextern "C" int solve({found[1]}) {{\n  if (int e = once({names})) return e;\n  return once({names});\n}}\n'


def candidates(problems: Catalogue, count: int, label: str) -> list[tuple[str, Source]]:
    """The kinds in turn over the problems, each text new to every cache."""
    found = []
    for number in range(count):
        problem = problems.problem(PROBLEMS[number // 2 % len(PROBLEMS)])
        kind = "same" if number % 2 == 0 else "slower"
        text = problem.baseline if kind == "same" else twice(problem.baseline)
        found.append((kind, Source(text=f"{text}\n// {label} {number} {time.time_ns()}\n", problem=problem.id)))
    return found


@dataclass
class Done:
    """One evaluation."""

    kind: str
    problem: str
    ended_s: float
    """Since all began."""
    seconds: float
    spent: dict[str, float]
    result: RunResult

    def complaints(self) -> list[str]:
        """What is not as it should be, in a line each; `inconclusive` is no wrong verdict."""
        result, who = self.result, f"{self.kind} {self.problem}"
        found = [
            f"{who} {one.sizes}: {one.verdict or 'not compared'} ({one.speedup}) {one.reason or '; '.join(one.notes)}"
            for one in result.timings
            if one.verdict not in {self.kind, "inconclusive"}
        ]
        if result.status != "passed":
            case = next((case for case in result.cases if case.status not in {"passed", "not_run"}), None)
            told = case.message if case is not None else None
            found.append(f"{who}: {result.status}, not passed: {result.reason or told or result.summary}")
        elif len(result.timings) != len({str(one.sizes) for one in result.timings}) or not result.timings:
            found.append(f"{who}: {len(result.timings)} sizes timed: {result.summary}")
        return [line[:400] for line in found]


async def clients(
    bench: Bench, work: list[tuple[str, Source]], at_once: int, seconds: float, totals: Callable[[], dict[Mode, Totals]]
) -> dict[str, Any]:
    """So many clients take candidates from one list for a while.

    The rate is that of the time in which all of them were at work: from when the slowest has its first answer to the last answer before
    the time is up. `whole` counts everything, with the time in which they began together and ended one by one.
    """
    waiting = list(reversed(work))
    done: list[Done] = []
    firsts: list[float] = []
    before = {mode: (used.held_s, used.waited_s, used.count) for mode, used in totals().items()}
    began = time.monotonic()

    async def client() -> None:
        first = True
        while waiting and time.monotonic() < began + seconds:
            kind, source = waiting.pop()
            started = time.monotonic()
            with watched() as spent:
                result = await bench.run(source, REQUEST, Progress())
            took = time.monotonic() - started
            spent["the rest"] = max(0.0, took - sum(spent.values()))
            done.append(Done(kind, source.problem or "", time.monotonic() - began, took, dict(spent), result))
            if first:
                firsts.append(done[-1].ended_s)
                first = False

    await asyncio.gather(*(client() for _ in range(at_once)))
    whole = time.monotonic() - began
    if isinstance(bench.toolchain, GpuToolchain):
        await bench.toolchain.at_rest()
    ramp = max(firsts)
    counted = sorted(one.ended_s for one in done if ramp < one.ended_s <= seconds)
    rate = len(counted) / (counted[-1] - ramp) if len(counted) > 1 else len(done) / whole
    verdicts: dict[str, Counter[str]] = {"same": Counter(), "slower": Counter()}
    for one in done:
        verdicts[one.kind].update(timing.verdict or "not compared" for timing in one.result.timings)
    complaints = [line for one in done for line in one.complaints()]
    names = sorted({name for one in done for name in one.spent})
    return {
        "clients": at_once,
        "evaluations": len(done),
        "counted": len(counted),
        "ramp_s": round(ramp, 2),
        "per_hour": round(3600 * rate, 1),
        "whole_s": round(whole, 2),
        "whole_per_hour": round(3600 * len(done) / whole, 1),
        "median_s": round(statistics.median(one.seconds for one in done), 2),
        "lease_by_evaluation": {
            mode: {
                "held_s": round((used.held_s - before[mode][0]) / len(done), 3),
                "waited_s": round((used.waited_s - before[mode][1]) / len(done), 3),
                "turns": round((used.count - before[mode][2]) / len(done), 1),
            }
            for mode, used in totals().items()
        },
        "stages_s": {name: round(statistics.fmean(one.spent.get(name, 0.0) for one in done), 3) for name in names},
        "resolvable": round(
            statistics.median(
                [timing.resolvable for one in done for timing in one.result.timings if timing.resolvable] or [0.0]
            ),
            5,
        ),
        "verdicts": {kind: dict(count) for kind, count in verdicts.items()},
        "not_as_they_should_be": complaints[:40],
        "complaints": len(complaints),
    }


async def contexts(toolchain: GpuToolchain, at_once: int) -> dict[str, float]:
    """Seconds until so many executors, side by side, have done cuInit, opened a context each, and destroyed it: does the driver make them one by one?"""
    parts = await toolchain.parts()
    on = OnDevice(parts, parts.devices[0].uuid, toolchain.scratch)
    async with contextlib.AsyncExitStack() as stack:
        started = time.monotonic()

        async def begin() -> Executor:
            work = stack.enter_context(workspace(toolchain.scratch))
            executor = await stack.enter_async_context(start_executor(on.executor_command(work), timeout_s=60))
            await executor.command("init")
            return executor

        running = await asyncio.gather(*(begin() for _ in range(at_once)))
        begun = time.monotonic()
        async with toolchain.lease("shared"):
            await asyncio.gather(*(one.open(0) for one in running))
            opened = time.monotonic()
            await asyncio.gather(*(one.close() for one in running))
            closed = time.monotonic()
    return {
        "init_s": round(begun - started, 3),
        "open_s": round(opened - begun, 3),
        "destroy_s": round(closed - opened, 3),
    }


async def churn(toolchain: GpuToolchain) -> None:
    """Opens and destroys contexts without a lease, until it is cancelled: what does that do to what is timed meanwhile?"""
    parts = await toolchain.parts()
    on = OnDevice(parts, parts.devices[0].uuid, toolchain.scratch)
    with workspace(toolchain.scratch) as work:
        async with start_executor(on.executor_command(work), timeout_s=600) as executor:
            while True:
                await executor.open(0)


async def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """One client first, then all of them on other candidates of the same kinds."""
    toolchain = choose_toolchain(arguments.toolchain, progress=lambda line: print(line, file=sys.stderr))
    problems = Catalogue.from_environment(os.environ)
    bench = Bench(toolchain, problems, SECRET)
    capabilities = await bench.capabilities()
    if not capabilities.execute:
        print(f"not measured: {capabilities.reasons['execute']}")
        raise SystemExit(0)

    def totals() -> dict[Mode, Totals]:
        return toolchain.lease_totals if isinstance(toolchain, GpuToolchain) else {}

    found: dict[str, Any] = {"measured_on": capabilities.measured_on.model_dump(mode="json"), "cores": os.cpu_count()}

    async def part(name: str, work: list[tuple[str, Source]], at_once: int, seconds: float) -> None:
        found[name] = await clients(bench, work, at_once, seconds, totals)
        print(row_text(found[name]), file=sys.stderr)  # already known, should what follows be cut off

    try:
        # Baselines, executor kernels, calibration and the oracle are there before either is measured.
        warm = [Source(text=problems.problem(name).baseline, problem=name) for name in PROBLEMS]
        started = time.monotonic()
        await asyncio.gather(*(bench.run(source, REQUEST, Progress()) for source in warm))
        found["warm_up_s"] = round(time.monotonic() - started, 1)
        if isinstance(toolchain, GpuToolchain):
            await toolchain.at_rest()
            found["contexts"] = {number: await contexts(toolchain, number) for number in (1, 2, 4)}
            print(f"contexts at once: {found['contexts']}", file=sys.stderr)
        await part("one", candidates(problems, 500, "one"), 1, arguments.seconds)
        await part("many", candidates(problems, 2000, "many"), arguments.clients, arguments.many_seconds)
        if arguments.disturb and isinstance(toolchain, GpuToolchain):
            disturbing = asyncio.create_task(churn(toolchain))
            await part("disturbed", candidates(problems, 500, "disturbed"), 1, arguments.disturb)
            disturbing.cancel()
            await asyncio.wait([disturbing])
    finally:
        await bench.stop()
    one, many = found["one"]["per_hour"], found["many"]["per_hour"]
    return {**found, "ratio": round(many / one, 2) if one else None}


def row_text(row: dict[str, Any]) -> str:
    """What one setting gave."""
    rate = (
        f"{row['clients']:>3} clients: {row['per_hour']} evaluations an hour ({row['counted']} while all were at work, after {row['ramp_s']} s); "
        f"{row['evaluations']} in {row['whole_s']} s in all, {row['whole_per_hour']} an hour; median {row['median_s']} s each"
    )
    lines = [
        rate,
        f"    leases of an evaluation: {row['lease_by_evaluation']}",
        f"    stages, seconds of an evaluation: {row['stages_s']}",
        f"    verdicts {row['verdicts']}, resolvable {row['resolvable']}; {row['complaints']} not as they should be",
    ]
    return "\n".join(lines + [f"      {line}" for line in row["not_as_they_should_be"]])


def main() -> None:
    """Prints a table, or JSON; `--out` also writes the JSON to a file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--toolchain", default="gpu")
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=16.0, help="for one client: no evaluation begins after that")
    parser.add_argument("--many-seconds", type=float, default=50.0, help="for all clients, likewise")
    parser.add_argument(
        "--disturb",
        type=float,
        default=0.0,
        help="seconds of one client beside whom contexts are opened without a lease",
    )
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    figures = asyncio.run(measure(arguments))
    if arguments.out:
        arguments.out.write_text(json.dumps(figures, indent=1))
    if arguments.json:
        print(json.dumps(figures))
        return
    if "contexts" in figures:
        print(f"contexts at once, seconds until all have theirs: {figures['contexts']}")
    for name in ("one", "many", "disturbed"):
        if name in figures:
            print(row_text(figures[name]))
    print(f"ratio {figures['ratio']} (target 3)")


if __name__ == "__main__":
    main()
