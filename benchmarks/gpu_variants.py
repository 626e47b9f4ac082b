"""Times of kernel variants on a GPU, and what its counters say of them: the truth for modelled times and for counts of profiles.

    python benchmarks/gpu_variants.py [--problems NAME ...] [--no-counters] [--json PATH.json.gz]

Compiles `benchmarks/variants`, checks each variant at its smallest size, times it at each size (warm and cold, `driver.cpp`), and takes Nsight Compute's
counters at the middle size: about two minutes, most of it ncu. The times need the device for themselves.
"""

import argparse
import csv
import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from variants import builds

SIZES, COUNTED = (0, 1, 2), 1
PATIENCE_S = 60.0
_MEMORY = [
    f"l1tex__t_{what}_pipe_lsu_mem_{op}.sum"
    for op in ("global_op_ld", "global_op_st", "global_op_red", "global_op_atom")
    for what in ("requests", "sectors")
]
_SHARED = [
    f"l1tex__data_{what}_pipe_lsu_mem_shared{op}.sum" for what in ("bank_conflicts",) for op in ("", "_op_ld", "_op_st")
] + [f"l1tex__data_pipe_lsu_wavefronts_mem_shared{op}.sum" for op in ("", "_op_ld", "_op_st")]
METRICS = (
    *_MEMORY,
    *_SHARED,
    "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum",
    "l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum",
    "l1tex__t_sector_hit_rate.pct",
    "lts__t_sectors.sum",
    "lts__t_sector_hit_rate.pct",
    "dram__bytes_read.sum",
    "dram__bytes_write.sum",
    "smsp__inst_executed.sum",
    "smsp__thread_inst_executed.sum",
    "smsp__inst_executed_op_shared_ld.sum",
    "smsp__inst_executed_op_shared_st.sum",
    "smsp__inst_executed_op_shared_atom.sum",
    "smsp__issue_active.avg.pct_of_peak_sustained_active",
    "sm__warps_active.avg.pct_of_peak_sustained_active",
    "sm__inst_executed_pipe_fma.sum",
    "sm__inst_executed_pipe_alu.sum",
    "sm__inst_executed_pipe_xu.sum",
    "sm__inst_executed_pipe_lsu.sum",
    "sm__inst_executed_pipe_fp64.sum",
    "launch__registers_per_thread",
    "gpu__time_duration.sum",
)
"""What the counts of a profile on the CPU engine are compared with, and what a model of time is looked at with."""


def compilers(cuda: Path) -> builds.Compilers:
    """Those of a toolkit.

    Raises:
        SystemExit: The toolkit has no runtime.
    """
    for runtime in (cuda / "lib64", cuda / "targets/x86_64-linux/lib"):
        if (runtime / "libcudart.so.13").exists():
            return builds.Compilers(nvcc=cuda / "bin/nvcc", include=cuda / "include", runtime=runtime)
    raise SystemExit(f"{cuda} has no libcudart.so.13; name the folder of a CUDA 13 toolkit with --cuda.")


def driven(argv: Sequence[str], environment: dict[str, str]) -> list[dict[str, Any]]:
    """What the driver printed; what it did not get to is missing, and said on stderr."""
    try:
        done = subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    except subprocess.TimeoutExpired as error:
        text = (error.stdout or b"").decode()
        print(f"{argv[1]} {Path(argv[3]).parent.name}: not done after {PATIENCE_S:.0f} s", file=sys.stderr)
        return [json.loads(line) for line in text.splitlines() if line.endswith("}")]
    if done.returncode:
        print(f"{argv[1]} {Path(argv[3]).parent.name}: {done.stderr.strip()[-300:]}", file=sys.stderr)
    return [json.loads(line) for line in done.stdout.splitlines() if line.endswith("}")]


def counters(text: str) -> Iterator[dict[str, Any]]:
    """The launches of a page of ncu's raw values (`--csv --page raw`), in order: kernel, grid, block, and each metric; None where there is no value."""
    lines = [line for line in text.splitlines() if line.startswith('"')]
    if len(lines) < 3:  # names, units, values
        return
    for row in csv.DictReader([lines[0], *lines[2:]]):
        values: dict[str, float | None] = {}
        for name in METRICS:
            try:
                values[name] = float(row[name].replace(",", ""))
            except (KeyError, ValueError):
                values[name] = None
        yield {
            "kernel": row["Kernel Name"].partition("(")[0],
            "grid": row.get("Grid Size"),
            "block": row.get("Block Size"),
            **values,
        }


def counted(ncu: str, argv: Sequence[str], environment: dict[str, str], folder: Path) -> list[dict[str, Any]]:
    """Counters of every launch of the command."""
    log = folder / "ncu.csv"
    log.unlink(missing_ok=True)
    prefix = [ncu, "--clock-control", "none", "--csv", "--page", "raw", "--print-units", "base", "--log-file", str(log)]
    try:
        subprocess.run(
            [*prefix, "--metrics", ",".join(METRICS), *argv],
            env=environment,
            stdout=subprocess.DEVNULL,
            timeout=PATIENCE_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        print(f"ncu {Path(argv[3]).parent.name}: not done after {PATIENCE_S:.0f} s", file=sys.stderr)
    return list(counters(log.read_text())) if log.exists() else []


def measure(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Checks, times and counts."""
    tools = compilers(options.cuda)
    driver, built = builds.build(tools, folder, options.problems)
    environment = builds.driver_environment(tools)
    report: dict[str, Any] = {"variants": [], "counters": {}, "failed": {}, "wrong": []}
    for one in built:
        report["failed"] |= {f"{one.problem}/{name}": error for name, error in one.failed.items()}
        checked = driven(builds.driver_argv(driver, "check", [0], [one]), environment)
        report["wrong"] += [f"{row['problem']}/{row['variant']}" for row in checked if not row["right"]]
        report["variants"] += driven(builds.driver_argv(driver, "time", SIZES, [one]), environment)
        print(f"timed {one.problem}", file=sys.stderr)
    if options.counters:
        ncu = shutil.which("ncu") or str(options.cuda / "bin/ncu")
        for one in built:
            argv = builds.driver_argv(driver, "run", [COUNTED], [one])
            report["counters"][one.problem] = counted(ncu, argv, environment, folder)
            print(f"counted {one.problem}", file=sys.stderr)
    return report


def main() -> int:
    """Prints the times as a table; writes everything to `--json`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", nargs="*", default=(), choices=builds.problems())
    parser.add_argument("--cuda", type=Path, default=Path(os.environ.get("CUDA_HOME", "/usr/local/cuda")))
    parser.add_argument("--no-counters", dest="counters", action="store_false")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        report = measure(options, Path(temporary))
    print(f"{'problem':14} {'variant':22} {'size':>4} {'warm us':>10} {'cold us':>10}")
    for row in report["variants"]:
        print(
            f"{row['problem']:14} {row['variant']:22} {row['size']:>4} {row['warm_us']:>10.2f} {row['cold_us']:>10.2f}"
        )
    for name in (*report["wrong"], *report["failed"]):
        print(f"wrong or not compiled: {name}")
    if options.json:
        text = json.dumps(report, separators=(",", ":"))
        options.json.write_bytes(gzip.compress(text.encode(), mtime=0))
    return 1 if report["wrong"] or report["failed"] or not report["variants"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
