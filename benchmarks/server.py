"""What the server adds to a tool's own work over stdio, and how long a cached compile takes.

    python benchmarks/server.py [--json] [--calls N]

Overhead is the time from sending a call to having its result, less the time that the tool says it took in that same call
(`duration_s`). The server is a child process, as clients start it. Rounds alternate between a store in files on disk
and one in memory (/dev/shm): their difference is what waiting for the disk costs. A server of the
SDK that does nothing says what the protocol itself costs on this machine at this moment, client and pipes included.

Times on a busy machine are mostly waiting for a processor. So the script says how busy it was, and gives the processor time
that the server used for a call, which depends on it less; only figures of a machine that was idle are held against the limits.
"""

import argparse
import contextlib
import json
import os
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

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
EMPTY = """
from mcp.server import MCPServer
server = MCPServer("empty")
@server.tool()
async def analyze(candidate: str) -> dict[str, str]:
    return {"candidate": candidate}
server.run("stdio")
"""
MEMORY = Path("/dev/shm")
WARM_UP = 10
ROUNDS = 10
LIMITS = {"overhead": 5.0, "cached compile": 10.0}
BUSY = 20.0
"""Percent of the time in which something waited for a processor, above which the machine was not idle."""


class Server:
    """A server as a child process, with its client."""

    def __init__(self, client: Client, pid: int) -> None:
        self.client = client
        self.handle = ""
        self._stat = Path(f"/proc/{pid}/stat")

    def processor_ms(self) -> float:
        """Processor time that it has used."""
        fields = self._stat.read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) * 1e3 / os.sysconf("SC_CLK_TCK")

    async def call(self, tool: str) -> tuple[float, dict[str, object]]:
        """Milliseconds of one call, and its result."""
        begun = time.perf_counter()
        answer = await self.client.call_tool(tool, {"candidate": self.handle})
        wall = (time.perf_counter() - begun) * 1e3
        if answer.is_error:
            raise RuntimeError(str(answer.content))
        return wall, answer.structured_content or {}

    async def compiled(self) -> str | None:
        """Compiles once, building the engine on first use; why it could not, else None."""
        _, told = await self.call("compile")
        while told["status"] == "running":
            job = await self.client.call_tool("job_status", {"job": told["job"], "wait_s": 40})
            found = job.structured_content or {}
            told = found.get("result") or ({**told} if found["status"] == "running" else {"status": "failed"})
        return None if told["status"] == "compiled" else str(told.get("reason") or told["status"])


@contextlib.asynccontextmanager
async def serving(arguments: list[str], home: str) -> AsyncIterator[Server]:
    """Starts a server."""
    parameters = StdioServerParameters(
        command=sys.executable,
        args=arguments,
        env={"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", home)},
        cwd=ROOT,
    )
    before = children()
    async with Client(stdio_client(parameters), mode="auto") as client:
        (pid,) = children() - before
        yield Server(client, pid)


def children() -> set[int]:
    """This process's children."""
    tasks = Path("/proc/self/task").glob("*/children")
    return {int(pid) for task in tasks for pid in task.read_text().split()}


def waiting_us() -> int | None:
    """Microseconds since the start of the machine in which something waited for a processor."""
    with contextlib.suppress(OSError):
        return int(Path("/proc/pressure/cpu").read_text().partition("total=")[2].split()[0])
    return None


async def measure(calls: int) -> dict[str, Any]:
    """Times calls one after the other; all times in milliseconds."""
    stores = {"files": None, **({"memory": str(MEMORY)} if MEMORY.is_dir() else {})}
    async with contextlib.AsyncExitStack() as stack:
        servers = {}
        for name, parent in stores.items():
            folder = stack.enter_context(tempfile.TemporaryDirectory(dir=parent))
            arguments = ["-m", "cudanalyst", "serve", "--store", str(Path(folder) / "store")]
            servers[name] = await stack.enter_async_context(serving(arguments, folder))
            first = await servers[name].client.call_tool("analyze", {"source": SOURCE})
            servers[name].handle = (first.structured_content or {})["candidate"]
        empty = await stack.enter_async_context(serving(["-c", EMPTY], str(ROOT)))
        reasons = {name: await server.compiled() for name, server in servers.items()}
        begun, waited = time.perf_counter(), waiting_us()
        rows = await rounds({"empty server of the SDK": empty}, "analyze", calls, own=False)
        rows |= await rounds(
            {f"overhead, store in {name}": one for name, one in servers.items()}, "analyze", calls, own=True
        )
        if not any(reasons.values()):
            named = {f"cached compile, store in {name}": one for name, one in servers.items()}
            rows |= await rounds(named, "compile", calls, own=False)
        busy = None if waited is None else ((waiting_us() or 0) - waited) / (time.perf_counter() - begun) / 1e4
    return {
        "rows": rows,
        "reason": next((reason for reason in reasons.values() if reason), None),
        "load": os.getloadavg()[0],
        "cores": len(os.sched_getaffinity(0)),
        "waited_for_a_processor_percent": busy,
        "idle": busy is not None and busy < BUSY,
        "limits_ms": LIMITS,
    }


async def rounds(servers: dict[str, Server], tool: str, calls: int, *, own: bool) -> dict[str, dict[str, float]]:
    """Calls the servers in turns; `own`: the tool's own time is taken off."""
    times: dict[str, list[float]] = defaultdict(list)
    processor: dict[str, float] = defaultdict(float)
    for server in servers.values():
        for _ in range(WARM_UP):
            await server.call(tool)
    for _ in range(ROUNDS):
        for name, server in servers.items():
            before = server.processor_ms()
            for _ in range(max(1, calls // ROUNDS)):
                wall, result = await server.call(tool)
                if tool == "compile" and not result.get("cached"):
                    message = "a compile that was done before did not come from the cache"
                    raise RuntimeError(message)
                times[name].append(wall - float(str(result["duration_s"])) * 1e3 if own else wall)
            processor[name] += server.processor_ms() - before
    return {name: {**spread(found), "processor": processor[name] / len(found)} for name, found in times.items()}


def spread(values: list[float]) -> dict[str, float]:
    """Median and tails."""
    ordered = sorted(values)
    return {
        "median": statistics.median(ordered),
        "p10": ordered[len(ordered) // 10],
        "p90": ordered[len(ordered) * 9 // 10],
        "calls": len(ordered),
    }


def limit_of(row: str) -> float | None:
    """The limit that holds for a row."""
    return next((limit for name, limit in LIMITS.items() if row.startswith(name)), None)


def show(report: dict[str, Any]) -> None:
    """Prints a table."""
    table = Table(title="Server over stdio, milliseconds a call")
    for column in ("figure", "median", "p10", "p90", "limit", "server's processor time"):
        table.add_column(column, justify="left" if column == "figure" else "right", no_wrap=column == "figure")
    for name, found in report["rows"].items():
        limit = limit_of(name)
        numbers = (f"{found[part]:.2f}" for part in ("median", "p10", "p90"))
        table.add_row(name, *numbers, "" if limit is None else f"{limit:g}", f"{found['processor']:.2f}")
    console = Console(highlight=False)
    console.print(table)
    if report["reason"]:
        console.print(f"No cached compile: {report['reason']}")
    busy = report["waited_for_a_processor_percent"]
    told = "unknown" if busy is None else f"{busy:.0f} % of the time"
    console.print(f"Load {report['load']:.1f} on {report['cores']} cores; something waited for a processor: {told}.")
    if not report["idle"]:
        console.print("The machine was not idle: the times are upper bounds and are not held against the limits.")


def main() -> None:
    """Prints the figures; status 1 where an idle machine is over a limit, 3 where the machine was not idle and one is over."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--calls", type=int, default=200)
    options = parser.parse_args()
    report = anyio.run(measure, options.calls)
    if options.json:
        print(json.dumps(report, indent=2))
    else:
        show(report)
    over = any((limit := limit_of(name)) and found["median"] > limit for name, found in report["rows"].items())
    sys.exit((1 if report["idle"] else 3) if over else 0)


if __name__ == "__main__":
    main()
