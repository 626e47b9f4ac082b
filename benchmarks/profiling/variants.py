"""Ways to start Nsight Compute, each changing one thing of what `profile` does: pure, but for the log that is watched."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from cudanalyst.tools.selection import MetricSet, Selection
from cudanalyst.tools.toolchain.ncu.argv import LOG, collect_prefix
from cudanalyst.tools.toolchain.ncu.collect import STOCK_FILES
from cudanalyst.tools.toolchain.ncu.metric_sets import INSTRUCTION_COUNTERS, SAMPLING

Prefix = list[str]
LEAST = "gpc__cycles_elapsed.max,gpu__time_duration.sum"
WORDS = {
    "connected": "Connected to process",
    "profiling": "Profiling ",
    "measured": "100%",
    "left": "Disconnected from process",
    "written": "Report:",
}
BOOST = ("--pipeline-boost-state", "dynamic")
_POLL_S = 0.004


@dataclass(frozen=True)
class Variant:
    """One way."""

    name: str
    about: str
    edit: Callable[[Prefix], Prefix] = lambda prefix: prefix
    environment: Mapping[str, str | None] = field(default_factory=dict)
    """Variables that differ; None: not set."""
    metrics: MetricSet = "standard"
    users: bool = False
    """As someone uses ncu by hand: rules, suffixes and a home that lasts; the report is opened when it is there, and tells all texts itself."""

    def prefix(self, ncu: Path, work: Path, version: str | None) -> tuple[str, ...]:
        """What stands before the executor's command."""
        found = collect_prefix(ncu, work, Selection(self.metrics), only_between=True, version=version)
        return tuple(self.edit([str(part) for part in found]))


def without(*words: str) -> Callable[[Prefix], Prefix]:
    """Leaves out words that stand side by side."""

    def edit(prefix: Prefix) -> Prefix:
        at = next((i for i in range(len(prefix)) if tuple(prefix[i : i + len(words)]) == words), None)
        return prefix if at is None else prefix[:at] + prefix[at + len(words) :]

    return edit


def adding(*words: str) -> Callable[[Prefix], Prefix]:
    """Puts options behind the others."""
    return lambda prefix: [*prefix, *words]


def asking(metrics: Callable[[list[str]], list[str]]) -> Callable[[Prefix], Prefix]:
    """Changes the counters."""

    def edit(prefix: Prefix) -> Prefix:
        at = prefix.index("--metrics") + 1
        return [*prefix[:at], ",".join(metrics(prefix[at].split(","))), *prefix[at + 1 :]]

    return edit


def dropping(*names: str) -> Callable[[Prefix], Prefix]:
    """Without some counters."""
    return asking(lambda metrics: [name for name in metrics if name not in names])


def by_hand(prefix: Prefix) -> Prefix:
    """`ncu --set full`, with its defaults."""
    return plain_options(full_set(prefix))


def full_set(prefix: Prefix) -> Prefix:
    """The counters of `--set full`, started as `profile` does."""
    at = prefix.index("--metrics")
    return [*prefix[:at], "--set", "full", *prefix[at + 2 :]]


def plain_options(prefix: Prefix) -> Prefix:
    """ncu's defaults where `profile` has its own."""
    for words in (("--apply-rules", "no"), ("--disable-extra-suffixes",), BOOST):
        prefix = without(*words)(prefix)
    return prefix


def program_itself(prefix: Prefix) -> Prefix:
    """The program that the installed script starts, if it is found where NVIDIA's packages put it."""
    home = Path(prefix[0]).resolve().parent
    found = sorted(home.glob("target/linux-desktop-*-x64/ncu"))
    return [str(found[0]), *prefix[1:]] if found else prefix


FULL = Variant("ncu_full", "ncu --set full with ncu's defaults", by_hand, users=True)
COUNTERS_OF_FULL = Variant("full_counters", "the counters of --set full, started as profile does", full_set)
SETS = {
    "quick": Variant("quick", "profile quick", metrics="quick"),
    "standard": Variant("standard", "profile standard"),
    "full": Variant("full", "profile full", metrics="full"),
    "ncu_full": FULL,
    "full_counters": COUNTERS_OF_FULL,
    "start": Variant("start", "one pass of one counter", asking(lambda _: LEAST.split(","))),
}
_OVERRIDE = "NV_COMPUTE_PROFILER_LOCAL_CONNECTION_OVERRIDE"
VARIANTS = (
    SETS["standard"],
    Variant("defaults", "with ncu's rules, suffixes and copied section files", plain_options, {STOCK_FILES: None}),
    Variant("rules", "with ncu's rules", without("--apply-rules", "no")),
    Variant("suffixes", "with minimum, maximum, mean and sum of each counter", without("--disable-extra-suffixes")),
    Variant("deployed", "section files copied into the home", environment={STOCK_FILES: None}),
    Variant("no_pre_pass", "all functions instrumented", environment={"NV_COMPUTE_PROFILER_DISABLE_SW_PRE_PASS": "1"}),
    Variant("code_cache", "with the driver's code cache", environment={"CUDA_CACHE_DISABLE": "0"}),
    Variant("one_sampling_pass", "at most one pass of samples", adding("--warp-sampling-max-passes", "1")),
    Variant("small_sample_buffer", "1 MiB for samples", adding("--warp-sampling-buffer-size", str(1 << 20))),
    Variant("no_samples", "without warp samples", dropping(*SAMPLING)),
    Variant("no_instructions", "without counters of instructions", dropping(*INSTRUCTION_COUNTERS)),
    Variant("executions_only", "of the counters of instructions only executions", dropping(*INSTRUCTION_COUNTERS[2:])),
    Variant("hardware_only", "without both", dropping(*SAMPLING, *INSTRUCTION_COUNTERS)),
    Variant("binary", "the program, not the script that starts it", program_itself),
    Variant("uds", "over Unix sockets", environment={_OVERRIDE: "uds"}),
    Variant("tcp", "over TCP", environment={_OVERRIDE: "tcp"}),
    Variant("stable_boost", "tensor cores' boost state held stable", without(*BOOST)),
    Variant("no_sass", "machine code not kept in the report", adding("--import-sass", "no")),
    Variant("warm_caches", "caches not flushed (another measurement)", adding("--cache-control", "none")),
    SETS["quick"],
    SETS["start"],
    FULL,
    COUNTERS_OF_FULL,
)


@dataclass
class Watch:
    """When which words first stood in ncu's log, in seconds from the start."""

    seen: dict[str, float] = field(default_factory=dict)


@contextlib.asynccontextmanager
async def watched(folder: Path) -> AsyncIterator[Watch]:
    """Looks at the log while ncu works."""
    watch, started = Watch(), time.perf_counter()

    async def look() -> None:
        while True:
            with contextlib.suppress(OSError):
                text = (folder / LOG).read_text("utf-8", "replace")
                now = round(time.perf_counter() - started, 3)
                for name, words in WORDS.items():
                    if words in text:
                        watch.seen.setdefault(name, now)
            await asyncio.sleep(_POLL_S)

    task = asyncio.create_task(look())
    try:
        yield watch
    finally:
        task.cancel()
        await asyncio.wait([task])
