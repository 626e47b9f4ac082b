"""An executor on one device, and what is measured with it: comparisons, sizes that take so long, differences that are known."""

import argparse
import math
import random
import tempfile
import time
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.timing.rig import SETS, Rig, Work
from cudanalyst.errors import Unavailable
from cudanalyst.tools.engine.build import cache_directory, find_host_compiler, install_engine
from cudanalyst.tools.gpu.state import DeviceState, find_monitor
from cudanalyst.tools.process import run_process
from cudanalyst.tools.timing.commands import Calibration, calibrate, load_kernels, make_pair, preheat, time_groups
from cudanalyst.tools.timing.compare import compare
from cudanalyst.tools.timing.conclude import Settings
from cudanalyst.tools.timing.measure import Measurement
from cudanalyst.tools.timing.schedule import Plan, plan_for
from cudanalyst.tools.timing.statistics import Estimate
from cudanalyst.tools.toolchain.arch import parse_arch
from cudanalyst.tools.toolchain.discovery import find_toolkit
from cudanalyst.tools.toolchain.executor import Executor, ExecutorCommand, plainly, start_executor
from cudanalyst.tools.toolchain.gpu_kernels import executor_kernels

MOST_SHARE = 0.4
"""More elements than that are not tried to make a difference."""
LONGEST_STREAM_US = 500.0
LONG_STREAM_US = 250.0
"""Longer kernels go over the same elements several times, so that buffers stay small."""
SOURCE = Path(__file__).with_name("kernels.cu")


@dataclass
class Bench:
    """A running executor on one device."""

    executor: Executor
    kernels: Path
    image: Path
    folder: Path
    device: int
    state: Any
    calibration: Calibration | None = None
    sizes: dict[float, Work] = field(default_factory=dict)

    def rig(self, a: Work, b: Work, *, looked: bool = True) -> Rig:
        return Rig(self.executor, self.image, self.folder, {"A": a, "B": b}, looked=looked)

    def settings(self, mode: Any, seed: int) -> Settings:
        return Settings(mode=mode, kernels=self.kernels, state=self.state, seed=seed, calibration=self.calibration)

    async def compare(self, a: Work, b: Work, mode: str, seed: int, *, looked: bool) -> tuple[Any, float]:
        """A comparison and the seconds for which it held the device, context included."""
        started = time.monotonic()
        await self.executor.open(self.device)
        result, calibration = await compare(self.rig(a, b, looked=looked), self.settings(mode, seed))
        self.calibration = self.calibration or calibration
        await self.executor.close()
        return result, time.monotonic() - started

    async def long(self, a: Work, b: Work, mode: Any, groups: int) -> tuple[Estimate, float]:
        """Ratio of B to A by one long measurement, and A's time."""
        await self.executor.open(self.device)
        rig = self.rig(a, b)
        await load_kernels(self.executor, self.kernels)
        await rig.place(0, "A")
        await rig.fill(range(SETS), 0)
        await preheat(self.executor)
        await make_pair(self.executor, "probe", "single", 1, rig.traces("A", 0), rig.traces("B", 0))
        probe = await time_groups(self.executor, "probe", ["AB", "ABBA"])
        us = min(probe.groups[1].us)
        planned = plan_for(mode, us, us, SETS, 1e9)
        plan = Plan(
            mode,
            planned.calls,
            planned.patterns,
            (groups,),
            (0.01,),
            min(planned.placements, groups),
            planned.clustered,
        )
        for placement in range(plan.placements):
            if placement:
                await rig.place(placement, "AB"[placement % 2])  # type: ignore[arg-type]
            await make_pair(
                self.executor, str(placement), mode, plan.calls, rig.traces("A", placement), rig.traces("B", placement)
            )
            await time_groups(self.executor, str(placement), plan.patterns)
        await preheat(self.executor)
        found = await Measurement(
            self.executor, plan, [str(i) for i in range(plan.placements)], random.Random(3)
        ).look()
        assert found is not None
        await self.executor.close()
        return found.estimate, found.candidate_us

    async def size_for(self, us: float) -> Work:
        """A size whose call takes about so long in a warm graph; found once."""
        if us in self.sizes:
            return self.sizes[us]
        stream_us = us if us <= LONGEST_STREAM_US else LONG_STREAM_US
        passes = round(us / stream_us)
        vectors = max(2048, int(stream_us * 4e6 / 48))
        for _ in range(5):
            _, took = await self.long(Work(vectors, passes), Work(vectors, passes), "warm", 4)
            if abs(took / us - 1) < 0.1:
                break
            vectors = max(2048, int(vectors * min(4.0, max(0.25, us / took))))
        self.sizes[us] = Work(vectors, passes)
        return self.sizes[us]

    async def more_work(self, base: Work, mode: str, difference: float) -> tuple[Work, Estimate]:
        """The size that takes so much longer, and the ratio that a long measurement finds for it."""
        groups = 96 if mode != "warm" or base.passes == 1 else 24
        share, found, more = difference, None, base
        for _ in range(5):
            more = Work(int(base.vectors * (1 + share)), base.passes)
            found, _ = await self.long(base, more, mode, groups)
            got = math.expm1(found.log_ratio)
            if abs(got - difference) < 0.1 * difference:
                break
            share = min(MOST_SHARE, max(0.1 * difference, share * difference / max(got, 0.2 * difference)))
        assert found is not None
        return more, found


async def open_bench(stack: AsyncExitStack, options: argparse.Namespace) -> tuple[Bench, dict[str, Any]]:
    """Engine, executor, and kernels for the device's architecture."""
    toolkit, host = await find_toolkit(), await find_host_compiler()
    engine = await install_engine(cuda_include=toolkit.include, compiler=host, progress=print)
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gpu-timing-")))
    command = ExecutorCommand(engine.executor, plainly(folder, {"CUDA_CACHE_DISABLE": "1"}), driver=options.driver)
    started = time.monotonic()
    executor = await stack.enter_async_context(start_executor(command, timeout_s=options.total))
    device = await executor.open(options.device)
    start_s = time.monotonic() - started
    await executor.close()
    image = options.image
    kernels = options.kernels
    if image is None:
        arch = parse_arch(f"sm_{device.attributes[75]}{device.attributes[76]}")
        kernels = await executor_kernels(toolkit, host.path, arch, cache_directory())
        image = folder / "work.cubin"
        argv = [
            toolkit.nvcc,
            "-ccbin",
            host.path,
            "-cubin",
            f"-arch={arch.name}",
            "-std=c++17",
            "-O3",
            SOURCE,
            "-o",
            image,
        ]
        result = await run_process(argv, timeout_s=120)
        if result.exit_status != 0:
            raise Unavailable(f"nvcc: {result.stderr.text[:2000]}")
    monitor, reason = find_monitor()
    uuid = device.uuid

    def state() -> DeviceState:
        return monitor.state(uuid)

    facts = {
        "device": device.name,
        "driver": device.driver_version,
        "nvml": reason or "yes",
        "executor_start_s": start_s,
    }
    return Bench(executor, kernels, image, folder, options.device, state), facts


async def calibrated(bench: Bench) -> dict[str, Any]:
    """Measures what is kept for all comparisons."""
    await bench.executor.open(bench.device)
    l2_bytes = await load_kernels(bench.executor, bench.kernels)
    heat = await preheat(bench.executor)
    bench.calibration = calibration = await calibrate(bench.executor, l2_bytes)
    await bench.executor.close()
    return {
        "l2_bytes": l2_bytes,
        "preheat_ms": heat.milliseconds,
        "steady": heat.steady,
        "overheads": calibration.overheads.model_dump(),
        "dram_gb_per_s": calibration.dram_gb_per_s,
        "l2_gb_per_s": calibration.l2_gb_per_s,
        "flush_code_us": calibration.flush_code_us,
        "flush_data_us": calibration.flush_data_us,
    }
