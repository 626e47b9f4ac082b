"""16 concurrent clients on one GPU against one client: evaluations per hour, and verdicts that changed. Target: at least 3 times as many, none changed.

Each client is a task of one server's bench, as HTTP clients are; all share the machine's lease. Candidates are of two kinds whose verdict is
known: the baseline itself (`same`), and one that does the work twice (`slower`).
"""

import argparse
import asyncio
import json
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cudanalyst.kernels.catalogue import Catalogue
from cudanalyst.server.bench import Bench
from cudanalyst.server.call import Progress
from cudanalyst.tools.gpu.lease import Mode, Totals
from cudanalyst.tools.run import RunRequest, RunResult
from cudanalyst.tools.source import Source
from cudanalyst.tools.toolchain.default import choose_toolchain
from cudanalyst.tools.toolchain.gpu import GpuToolchain

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


async def clients(
    bench: Bench, work: list[tuple[str, Source]], at_once: int, seconds: float, totals: Callable[[], dict[Mode, Totals]]
) -> dict[str, Any]:
    """So many clients take candidates from one list; the rate counts what was done by the time that the last is."""
    until = time.monotonic() + seconds
    waiting = list(reversed(work))
    done: list[tuple[str, RunResult]] = []

    async def client() -> None:
        while waiting and time.monotonic() < until:
            kind, source = waiting.pop()
            done.append((kind, await bench.run(source, REQUEST, Progress())))

    before = {mode: used.held_s for mode, used in totals().items()}
    started = time.perf_counter()
    await asyncio.gather(*(client() for _ in range(at_once)))
    seconds = time.perf_counter() - started
    held = {mode: round(used.held_s - before[mode], 2) for mode, used in totals().items()}
    verdicts: dict[str, Counter[str]] = {"same": Counter(), "slower": Counter()}
    wrong = []
    for kind, result in done:
        for one in result.timings:
            verdicts[kind][one.verdict or "uncompared"] += 1
            if one.verdict not in {kind, "inconclusive"}:
                wrong.append([result.summary[:120], kind, one.verdict, one.speedup, one.reason])
        if result.status != "passed":
            wrong.append([result.summary[:200], kind, result.status, None, result.reason])
    return {
        "clients": at_once,
        "evaluations": len(done),
        "seconds": round(seconds, 2),
        "per_hour": round(3600 * len(done) / seconds, 1) if done else 0.0,
        "lease_held_s": held,
        "verdicts": {kind: dict(count) for kind, count in verdicts.items()},
        "changed": wrong[:20],
        "changed_count": len(wrong),
    }


async def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """One client first, then all of them on other candidates of the same kinds."""
    toolchain = choose_toolchain(arguments.toolchain, progress=lambda line: print(line, file=sys.stderr))
    problems = Catalogue.from_environment(os.environ)
    bench = Bench(toolchain, problems, SECRET)
    capabilities = await bench.capabilities()
    if not capabilities.execute:
        print(f"not measured: {capabilities.reasons['execute']}")
        raise SystemExit(0)
    # Baselines, executor kernels, calibration and the oracle are there before either is measured.
    warm = [Source(text=problems.problem(name).baseline, problem=name) for name in PROBLEMS]
    await asyncio.gather(*(bench.run(source, REQUEST, Progress()) for source in warm))

    def totals() -> dict[Mode, Totals]:
        return toolchain.lease_totals if isinstance(toolchain, GpuToolchain) else {}

    one = await clients(bench, candidates(problems, 500, "one"), 1, arguments.seconds, totals)
    print(row_text(one), file=sys.stderr)  # already known, should what follows be cut off
    many = await clients(bench, candidates(problems, 2000, "many"), arguments.clients, arguments.seconds, totals)
    await bench.stop()
    ratio = many["per_hour"] / one["per_hour"] if one["per_hour"] else None
    return {
        "measured_on": capabilities.measured_on.model_dump(mode="json"),
        "cores": os.cpu_count(),
        "one": one,
        "many": many,
        "ratio": round(ratio, 2) if ratio is not None else None,
    }


def row_text(row: dict[str, Any]) -> str:
    """What one setting gave, in a line."""
    return (
        f"{row['clients']:>3} clients: {row['evaluations']} evaluations in {row['seconds']} s, {row['per_hour']} an hour; "
        f"leases held {row['lease_held_s']} s; "
        f"verdicts {row['verdicts']}, {row['changed_count']} not as they should be"
    )


def main() -> None:
    """Prints a table, or JSON; `--out` also writes the JSON to a file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--toolchain", default="gpu")
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument(
        "--seconds", type=float, default=18.0, help="for one client, and again for all: no evaluation begins after that"
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
    for name in ("one", "many"):
        print(row_text(figures[name]))
    print(f"ratio {figures['ratio']} (target 3)")


if __name__ == "__main__":
    main()
