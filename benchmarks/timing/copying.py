"""The harness's times of a copy, beside the driver's own copy and CuPy's."""

import importlib.util
import statistics
import sys
from typing import Any

from benchmarks.timing.bench import Bench
from cudanalyst.errors import Unavailable
from cudanalyst.tools.process import run_process
from cudanalyst.tools.timing.commands import load_kernels, make_pair, preheat, time_groups

COPY_BYTES = 1 << 30
CUPY_COPY = """
import statistics, sys
import cupy
source = cupy.ones(int(sys.argv[1]) // 4, dtype=cupy.float32)
to = cupy.empty_like(source)
times = []
for _ in range(30):
    start, stop = cupy.cuda.Event(), cupy.cuda.Event()
    start.record()
    cupy.copyto(to, source)
    stop.record()
    stop.synchronize()
    times.append(cupy.cuda.get_elapsed_time(start, stop))
print(statistics.median(times[5:]))
"""
"""Prints milliseconds."""


async def copy_rates(bench: Bench) -> dict[str, Any]:
    """Our copy kernel, and the driver's copy, timed by the harness; bytes read and written over the time."""
    executor = bench.executor
    await executor.open(bench.device)
    await load_kernels(executor, bench.kernels)
    await preheat(executor)
    addresses = {name: await executor.buffer(name, COPY_BYTES, 0) for name in ("from0", "to0", "from1", "to1")}
    await executor.module("copy", bench.image)
    names: dict[str, list[str]] = {"kernel": [], "driver": []}
    for index in range(2):
        source, to = addresses[f"from{index}"], addresses[f"to{index}"]
        vectors = COPY_BYTES // 16
        words = [
            source.to_bytes(8, "little").hex(),
            to.to_bytes(8, "little").hex(),
            vectors.to_bytes(8, "little").hex(),
        ]
        records = {
            "kernel": f"launch copy {vectors // 256} 1 1 256 1 1 0 0 0 3 {' '.join(words)}",
            "driver": f"copy {to:x} {source:x} {COPY_BYTES} 1 0 0 0",
        }
        for kind, record in records.items():
            path = bench.folder / "copy.trace"
            path.write_text(f"cudanalyst-trace 1\n{record}\nend 0\n")
            await executor.trace(f"{kind}{index}", "copy", path)
            names[kind].append(f"{kind}{index}")
    await make_pair(executor, "copy", "warm", 8, names["kernel"], names["driver"])
    answer = await time_groups(executor, "copy", ["ABBA"] * 6)
    await executor.close()
    times = {"A": [], "B": []}  # type: dict[str, list[float]]
    for group in answer.groups[1:]:
        for letter, us in zip(group.pattern, group.us, strict=True):
            times[letter].append(us)
    rate = {
        kind: 2 * COPY_BYTES / statistics.median(times[letter]) / 1e3
        for kind, letter in (("kernel", "A"), ("driver", "B"))
    }
    found = {f"{kind}_gb_per_s": value for kind, value in rate.items()}
    cupy = await cupy_rate()
    found["cupy_gb_per_s"] = cupy
    found["kernel_over_cupy"] = rate["kernel"] / cupy if cupy else None
    return found


async def cupy_rate() -> float | None:
    """CuPy's own copy of as many bytes, in a process of its own, whose context then ends; None without CuPy."""
    if importlib.util.find_spec("cupy") is None:
        return None
    result = await run_process([sys.executable, "-c", CUPY_COPY, str(COPY_BYTES)], timeout_s=120)
    if result.exit_status != 0:
        raise Unavailable(f"CuPy's copy: {result.stderr.text[-2000:]}")
    return 2 * COPY_BYTES / float(result.stdout.text) / 1e6
