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
from cudanalyst.tools.run import RunRequest, run
from cudanalyst.tools.source import Source
from cudanalyst.tools.spending import watched
from cudanalyst.tools.toolchain.default import choose_toolchain
from cudanalyst.tools.toolchain.gpu import GpuToolchain

SECRET = b"a benchmark keeps no secrets"
SEEDS = 5
REQUEST = RunRequest(groups=("test",), seeds=SEEDS, model=False, timeout_s=60)
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


async def evaluations(toolchain_name: str, rounds: int, until: float, only: list[str] | None) -> dict[str, Any]:
    """Whole evaluations by problem; `spent_s` says what the caller waited for in each."""
    toolchain = choose_toolchain(toolchain_name, progress=lambda line: print(line, file=sys.stderr))
    capabilities = await toolchain.capabilities()
    if not capabilities.execute:
        print(f"not measured: {capabilities.reasons['execute']}")
        raise SystemExit(0)
    problems = Catalogue.from_environment(os.environ)
    found: dict[str, Any] = {}
    for round_number in range(rounds):
        for name in problems.ids if only is None else only:
            if time.monotonic() > until:
                break
            problem, entry = problems.problem(name), problems.entry(name)
            text = f"{problem.baseline}\n// {time.time_ns()} {round_number}\n"
            source = Source(text=text, problem=problem.id)
            started = time.perf_counter()
            with watched() as spent:
                result = await run(
                    source, problem, toolchain, REQUEST, expected=problems.expected, secret=SECRET, folder=entry.folder
                )
            seconds = time.perf_counter() - started
            row = found.setdefault(problem.id, {"seconds": [], "spent_s": [], "device_s": []})
            row["seconds"].append(round(seconds, 3))
            spent["the rest"] = seconds - sum(spent.values())
            row["spent_s"].append({name: round(value, 3) for name, value in sorted(spent.items())})
            row["device_s"].append([one.device_s for one in result.timings])
            row["status"] = result.status
            row["reason"] = result.reason
            row["cases"] = len(result.cases)
            row["verdicts"] = [one.verdict or one.reason for one in result.timings]
    await toolchain.close() if isinstance(toolchain, GpuToolchain) else None
    warm = [statistics.median(row["seconds"][1:] or row["seconds"]) for row in found.values()]
    return {
        "measured_on": capabilities.measured_on.model_dump(mode="json"),
        "problems": found,
        "median_s": round(statistics.median(warm), 3) if warm else None,
        "worst_s": round(max(warm), 3) if warm else None,
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
    parser.add_argument("--rounds", type=int, default=2, help="the first warms up, where there are more")
    parser.add_argument("--problems", nargs="+", help="which; all by default")
    parser.add_argument("--seconds", type=float, default=60.0, help="for evaluations; what does not fit is left out")
    parser.add_argument("--torch-seconds", type=float, default=180.0)
    parser.add_argument("--no-torch", action="store_true", help="leave PyTorch out")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    ends = time.monotonic() + arguments.seconds
    figures = asyncio.run(evaluations(arguments.toolchain, arguments.rounds, ends, arguments.problems))
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
    print(f"median {figures['median_s']} s (target 3), worst {figures['worst_s']} s")
    for name in ("load_inline", "load_inline_no_implicit_headers"):
        if (inline := figures.get(name)) is not None:
            print(f"{name}: {inline.get('all_s', inline.get('failed'))} s, {inline.get('ratio', '-')} times as long")


if __name__ == "__main__":
    main()
