"""What the server adds to a tool's own work over stdio, and how long a cached compile takes.

    python benchmarks/server.py [--json] [--calls N]

Overhead is the time from sending a call to having its result, less the time that the tool says it took (`duration_s`).
The server is a child process, as clients start it; its store is a new folder on this machine's disk.
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

import anyio
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).parents[1]
SOURCE = """\
__global__ void scale(float* __restrict__ x, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= a;
}
int main() { return 0; }
"""
WARM_UP = 10
OVERHEAD_LIMIT_MS = 5.0
CACHED_LIMIT_MS = 10.0


async def measure(calls: int) -> dict[str, object]:
    """Times calls one after the other; all times in milliseconds."""
    with tempfile.TemporaryDirectory() as folder:
        parameters = StdioServerParameters(
            command=sys.executable,
            args=["-m", "cudanalyst", "serve", "--store", str(Path(folder) / "store")],
            env={"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", folder)},
            cwd=ROOT,
        )
        begun = time.perf_counter()
        async with Client(stdio_client(parameters), mode="auto") as client:
            started = (time.perf_counter() - begun) * 1e3
            first = await client.call_tool("analyze", {"source": SOURCE})
            handle = (first.structured_content or {})["candidate"]
            overhead = []
            for _ in range(calls + WARM_UP):
                wall, result = await timed(client, "analyze", handle)
                overhead.append(wall - result["duration_s"] * 1e3)
            report: dict[str, object] = {
                "start_ms": started,
                "overhead_ms": spread(overhead[WARM_UP:]),
                "overhead_limit_ms": OVERHEAD_LIMIT_MS,
            }
            _, compiled = await timed(client, "compile", handle)
            while compiled["status"] == "running":  # the CPU engine is built on first use
                job = await client.call_tool("job_status", {"job": compiled["job"], "wait_s": 40})
                told = job.structured_content or {}
                compiled = told.get("result") or ({**compiled} if told["status"] == "running" else {"status": "failed"})
            if compiled["status"] != "compiled":
                report["cached_compile_ms"] = None
                report["reason"] = compiled.get("reason") or compiled["status"]
                return report
            cached = []
            for _ in range(calls + WARM_UP):
                wall, result = await timed(client, "compile", handle)
                if not result.get("cached"):
                    message = "a compile that was done before did not come from the cache"
                    raise RuntimeError(message)
                cached.append(wall)
            report["cached_compile_ms"] = spread(cached[WARM_UP:])
            report["cached_limit_ms"] = CACHED_LIMIT_MS
            return report


async def timed(client: Client, tool: str, handle: str) -> tuple[float, dict[str, object]]:
    """Milliseconds of one call, and its result."""
    begun = time.perf_counter()
    answer = await client.call_tool(tool, {"candidate": handle})
    wall = (time.perf_counter() - begun) * 1e3
    if answer.is_error:
        raise RuntimeError(str(answer.content))
    return wall, answer.structured_content or {}


def spread(values: list[float]) -> dict[str, float]:
    """Median and tails."""
    ordered = sorted(values)
    return {
        "median": statistics.median(ordered),
        "p10": ordered[len(ordered) // 10],
        "p90": ordered[len(ordered) * 9 // 10],
        "calls": len(ordered),
    }


def main() -> None:
    """Prints the figures; status 1 where one is over its limit."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--calls", type=int, default=200)
    options = parser.parse_args()
    report = anyio.run(measure, options.calls)
    if options.json:
        print(json.dumps(report, indent=2))
    else:
        table = Table(title="Server over stdio, milliseconds")
        for column in ("figure", "median", "p10", "p90", "limit"):
            table.add_column(column, justify="left" if column == "figure" else "right")
        for name, key, limit in (
            ("overhead beyond the tool's work", "overhead_ms", OVERHEAD_LIMIT_MS),
            ("cached compile", "cached_compile_ms", CACHED_LIMIT_MS),
        ):
            found = report[key]
            if isinstance(found, dict):
                table.add_row(name, *(f"{found[part]:.2f}" for part in ("median", "p10", "p90")), f"{limit:g}")
            else:
                table.add_row(name, str(report["reason"])[:60], "", "", f"{limit:g}")
        Console().print(table)
    limits = (("overhead_ms", OVERHEAD_LIMIT_MS), ("cached_compile_ms", CACHED_LIMIT_MS))
    over = [key for key, limit in limits if isinstance(found := report[key], dict) and found["median"] > limit]
    sys.exit(1 if over else 0)


if __name__ == "__main__":
    main()
