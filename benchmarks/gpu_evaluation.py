"""One candidate's whole evaluation on a GPU (compile, verify on 5 input sets, timed A/B at the eval sizes), for every problem.

Against PyTorch's `load_inline` doing the same for a small kernel, with its default headers and with `no_implicit_headers=True`. Every
candidate is new to the cache; baselines are not, as they are not for an agent. Targets: under 3 s (median over the problems), and at least 20 times
faster than `load_inline` with default headers.
"""

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from cudanalyst.kernels.catalogue import Catalogue
from cudanalyst.tools.run import RunRequest, RunResult, run
from cudanalyst.tools.source import Source
from cudanalyst.tools.spending import watched
from cudanalyst.tools.toolchain.default import choose_toolchain
from cudanalyst.tools.toolchain.gpu import GpuToolchain
from cudanalyst.tools.toolchain.protocol import Toolchain

SECRET = b"a benchmark keeps no secrets"
SEEDS = 5
REQUEST = RunRequest(groups=("test",), seeds=SEEDS, model=False, timeout_s=60)
MEETING = REQUEST.model_copy(update={"seeds": 1})
MET_AT_ONCE = 8
"""Problems that are met side by side: most of that is compiling, of baselines and of what the oracle needs."""
WARM_UP_SHARE = 0.5
"""Of the time, at most."""
LEAST_SHOWN_S = 0.02
INLINE = r"""
import json, os, sys, time
started = time.perf_counter()
import torch
imported = time.perf_counter()
from torch.utils.cpp_extension import load_inline
implicit = sys.argv[1] == "implicit"
text = '''
__global__ void add(const float* a, const float* b, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = a[i] + b[i];
}
void launch(int64_t a, int64_t b, int64_t out, int64_t n) {
  add<<<(n + 255) / 256, 256>>>((const float*)a, (const float*)b, (float*)out, (int)n);
}
'''
declaration = "void launch(int64_t a, int64_t b, int64_t out, int64_t n);"
headers = "" if implicit else "#include <cstdint>\n#include <cuda_runtime.h>\n"
plain = "" if implicit else "#include <torch/extension.h>\n"
options = {} if implicit else {"no_implicit_headers": True}
begun = time.perf_counter()
binding = "" if implicit else 'PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("launch", launch); }'
module = load_inline(
    name="added", cpp_sources=[plain + headers + declaration + binding], cuda_sources=[headers + text],
    functions=["launch"] if implicit else None, **options)
built = time.perf_counter()
def call(a, b, out):
    module.launch(a.data_ptr(), b.data_ptr(), out.data_ptr(), out.numel())
for seed in range(5):
    torch.manual_seed(seed)
    a, b = (torch.randn(1 << 20, device="cuda") for _ in range(2))
    out = torch.empty_like(a)
    call(a, b, out)
    assert torch.allclose(out.double(), a.double() + b.double(), rtol=1e-5, atol=1e-6)
verified = time.perf_counter()
def us(work):
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    for _ in range(25):
        work()
    start.record()
    for _ in range(100):
        work()
    end.record()
    torch.cuda.synchronize()
    return start.elapsed_time(end) * 10
for size in (1 << 20, 1 << 22, 1 << 24):
    a, b = (torch.randn(size, device="cuda") for _ in range(2))
    out = torch.empty_like(a)
    times = [(us(lambda: call(a, b, out)), us(lambda: torch.add(a, b, out=out))) for _ in range(5)]
torch.cuda.synchronize()
done = time.perf_counter()
print("RESULT" + json.dumps({
    "import_s": imported - started, "build_s": built - begun, "verify_s": verified - built, "time_s": done - verified,
    "all_s": done - begun, "torch": torch.__version__}))
"""


STAGES = {
    "build": "compile",
    "inputs and references": "inputs and references",
    "recording": "record",
    "device calls": "verify",
    "judging": "verify",
    "context": "contexts",
    "context's end": "contexts",
    "executor's start": "executors",
    "executor's end": "executors",
    "waiting for the device": "wait for turns",
    "waiting for the oracle": "wait for the oracle",
    "place": "timing: load and record",
    "fill": "timing: contents",
    "measure": "timing: measure",
    "state": "timing: state of the device",
    "audit": "timing: audit",
    "heat": "timing: heat",
    "pairs": "timing: graphs",
    "contents": "timing: audit's contents",
    "judge": "timing: compare outputs",
    "": "the rest",
}
"""Where the time of an evaluation goes, by the names of what is spent."""


def stage_of(name: str) -> str:
    """The stage of a name; of `timing 2 audit` what follows the number."""
    part = " ".join(name.split()[2:]) if name.startswith("timing") else name
    return STAGES.get(part, STAGES[""])


def say(text: str) -> None:
    """What is known already, should what follows be cut off."""
    print(text, file=sys.stderr, flush=True)


class Evaluations:
    """Whole evaluations by problem, within so many seconds in all."""

    def __init__(self, toolchain: Toolchain, problems: Catalogue, seconds: float) -> None:
        self.toolchain, self.problems = toolchain, problems
        self.began = time.monotonic()
        self.until = self.began + seconds
        self.found: dict[str, Any] = {}

    async def run(self, name: str, text: str, request: RunRequest) -> RunResult:
        problem, entry = self.problems.problem(name), self.problems.entry(name)
        source = Source(text=text, problem=problem.id)
        return await run(
            source, problem, self.toolchain, request, expected=self.problems.expected, secret=SECRET, folder=entry.folder
        )  # fmt: skip

    async def meet(self, names: list[str]) -> list[str]:
        """What is done once for a problem, and once for a device, is done: an agent's second candidate finds it so. Gives those that were met."""
        room, met = asyncio.Semaphore(MET_AT_ONCE), set()

        async def one(name: str) -> None:
            async with room:
                begun = time.monotonic()
                await self.run(name, self.problems.problem(name).baseline, MEETING)
                met.add(name)
                say(
                    f"met {name} in {time.monotonic() - begun:.1f} s, {time.monotonic() - self.began:.1f} s after the start"
                )

        meeting = [asyncio.create_task(one(name)) for name in names]
        _, late = await asyncio.wait(meeting, timeout=WARM_UP_SHARE * (self.until - time.monotonic()))
        for task in late:
            task.cancel()
        for failed in await asyncio.gather(*meeting, return_exceptions=True):
            if isinstance(failed, Exception):
                raise failed
        return [name for name in names if name in met]

    async def measure(self, name: str, round_number: int) -> bool:
        """One candidate that is new to the cache; `spent_s` says what its caller waited for. False: the time is up."""
        text = f"{self.problems.problem(name).baseline}\n// {time.time_ns()} {round_number}\n"
        started = time.perf_counter()
        try:
            async with asyncio.timeout_at(asyncio.get_running_loop().time() + self.until - time.monotonic()):
                with watched() as spent:
                    result = await self.run(name, text, REQUEST)
        except TimeoutError:
            say(f"{name} was not done when the time was up")
            return False
        took = time.perf_counter() - started
        row = self.found.setdefault(name, {"seconds": [], "spent_s": [], "device_s": []})
        row["seconds"].append(round(took, 3))
        spent["the rest"] = took - sum(spent.values())
        row["spent_s"].append({stage: round(value, 3) for stage, value in sorted(spent.items())})
        row["device_s"].append([one.device_s for one in result.timings])
        if isinstance(self.toolchain, GpuToolchain):
            resting = time.perf_counter()
            # What is left to end would be felt by the next one; it is no part of what a caller waits for.
            await self.toolchain.at_rest()
            row.setdefault("after_s", []).append(round(time.perf_counter() - resting, 3))
        row["status"] = result.status
        row["reason"] = result.reason
        row["cases"] = len(result.cases)
        row["verdicts"] = [one.verdict or one.reason for one in result.timings]
        longest = sorted(row["spent_s"][-1].items(), key=lambda item: -item[1])
        stages = ", ".join(f"{stage} {value}" for stage, value in longest if value >= LEAST_SHOWN_S)
        say(f"{name}: {took:.2f} s, {result.status}, {row['verdicts']}; {stages}")
        return True


async def evaluations(toolchain_name: str, rounds: int, seconds: float, only: list[str] | None) -> dict[str, Any]:
    """Meets the problems, then measures round by round."""
    toolchain = choose_toolchain(toolchain_name, progress=say)
    problems = Catalogue.from_environment(os.environ)
    every = Evaluations(toolchain, problems, seconds)
    capabilities = await toolchain.capabilities()
    if not capabilities.execute:
        print(f"not measured: {capabilities.reasons['execute']}")
        raise SystemExit(0)
    wanted = list(problems.ids if only is None else only)
    names = await every.meet(wanted)
    if isinstance(toolchain, GpuToolchain):
        await toolchain.at_rest()
    warm_up = time.monotonic() - every.began
    say(f"warmed up in {warm_up:.1f} s; not met in time, and left out: {sorted(set(wanted) - set(names)) or 'none'}")
    for round_number, name in ((number, name) for number in range(rounds) for name in names):
        if not await every.measure(name, round_number):
            break
    if isinstance(toolchain, GpuToolchain):
        await toolchain.close()
    found = every.found
    stages: dict[str, list[float]] = {}
    for one in (one for row in found.values() for one in row["spent_s"]):
        by_stage = dict.fromkeys(STAGES.values(), 0.0)
        for name, value in one.items():
            by_stage[stage_of(name)] += value
        for stage, value in by_stage.items():
            stages.setdefault(stage, []).append(value)
    warm = [statistics.median(row["seconds"]) for row in found.values()]
    return {
        "measured_on": capabilities.measured_on.model_dump(mode="json"),
        "warm_up_s": round(warm_up, 1),
        "problems": found,
        "median_s": round(statistics.median(warm), 3) if warm else None,
        "worst_s": round(max(warm), 3) if warm else None,
        "stages_s": {stage: round(statistics.median(values), 3) for stage, values in stages.items()},
    }


def load_inline(which: str, limit_s: float) -> dict[str, Any]:
    """PyTorch's route in a process, and an extension folder, of its own."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "TORCH_EXTENSIONS_DIR": folder, "MAX_JOBS": str(os.cpu_count() or 1)}
        try:
            done = subprocess.run(
                [sys.executable, "-c", INLINE, which],
                env=environment, capture_output=True, text=True, timeout=max(limit_s, 1), check=False, start_new_session=True,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return {"failed": f"not done within {limit_s:.0f} s"}
    line = next((line for line in done.stdout.splitlines() if line.startswith("RESULT")), None)
    return json.loads(line.removeprefix("RESULT")) if line else {"failed": done.stderr[-1500:]}


def timing(problems: dict[str, Any], names: list[str]) -> None:
    """Where the time of each comparison went; a size's name alone is what belongs to none of its parts."""
    print("seconds of each comparison (place: loading and recording; audit: of it, contents and comparisons too)")
    numbers = sorted({name.split()[1] for name in names})
    for number in numbers:
        parts = [name for name in names if name.split()[1] == number]
        print(f"size {number:<7} " + " ".join(f"{' '.join(part.split()[2:]) or 'rest':>8}" for part in parts))
        for problem, row in problems.items():
            print(f"{problem:<12} " + " ".join(f"{row['spent_s'][-1].get(part, 0.0):>8.3f}" for part in parts))


def main() -> None:
    """Prints a table, or JSON; `--out` also writes the JSON to a file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--toolchain", default="gpu")
    parser.add_argument("--rounds", type=int, default=2, help="over the problems, after each was met once")
    parser.add_argument("--problems", nargs="+", help="which; all by default")
    parser.add_argument(
        "--seconds",
        type=float,
        default=60.0,
        help="for evaluations, and what is done once before them; what does not fit is left out",
    )
    parser.add_argument("--torch-seconds", type=float, default=80.0)
    parser.add_argument("--no-torch", action="store_true", help="leave PyTorch out")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    figures = asyncio.run(evaluations(arguments.toolchain, arguments.rounds, arguments.seconds, arguments.problems))
    if not arguments.no_torch:
        ends = time.monotonic() + arguments.torch_seconds
        for name, which in (("load_inline", "implicit"), ("load_inline_no_implicit_headers", "none")):
            row = load_inline(which, ends - time.monotonic())
            figures[name] = row
            if "all_s" in row and figures["median_s"]:
                row["ratio"] = round(row["all_s"] / figures["median_s"], 1)
    if arguments.out:
        arguments.out.write_text(json.dumps(figures, indent=1))
    if arguments.json:
        print(json.dumps(figures))
        return
    every = {name for row in figures["problems"].values() for spent in row["spent_s"] for name in spent}
    names = sorted(name for name in every if not name.startswith("timing"))
    print("seconds of: " + ", ".join(f"{number} {name}" for number, name in enumerate(names)))
    heads = " ".join(f"{number:>6}" for number in range(len(names)))
    print(f"{'problem':<12} {'whole':>6} {heads}  timed at each size; verdicts")
    for name, row in figures["problems"].items():
        verdicts = "; ".join(str(one)[:60] for one in row["verdicts"]) or row["reason"] or row["status"]
        seconds, sizes = row["spent_s"][-1], [round(one, 2) if one else one for one in row["device_s"][-1]]
        cells = " ".join(f"{seconds.get(part, 0.0):>6.2f}" for part in names)
        print(f"{name:<12} {row['seconds'][-1]:>6.2f} {cells}  {sizes}; {verdicts}")
    timing(figures["problems"], sorted(every.difference(names)))
    print("stages, seconds (medians): " + ", ".join(f"{stage} {value}" for stage, value in figures["stages_s"].items()))
    print(f"median {figures['median_s']} s (target 3), worst {figures['worst_s']} s")
    for name in ("load_inline", "load_inline_no_implicit_headers"):
        if (inline := figures.get(name)) is not None:
            print(f"{name}: {inline.get('all_s', inline.get('failed'))} s, {inline.get('ratio', '-')} times as long")


if __name__ == "__main__":
    main()
