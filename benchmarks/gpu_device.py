"""What a GPU does at most: bandwidths, latencies, issue rates, atomics, barriers, launches; the figures of a device's file.

    python benchmarks/gpu_device.py [--nvcc PATH] [--folder PATH] [--json PATH]

Compiles `benchmarks/device/*.cu` for the GPU of this machine with NVIDIA's runtime, and runs it: about half a minute.
"""

import argparse
import json
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent / "device"
GROUPS = ("launches", "arithmetic", "latency", "memory")
ROOM_BYTES = 2 << 30


def build(nvcc: Path, folder: Path, flags: Sequence[str]) -> Path:
    """Compiles the probes side by side.

    Raises:
        subprocess.CalledProcessError: One does not compile.
    """
    folder.mkdir(parents=True, exist_ok=True)

    def compiled(source: Path) -> Path:
        output = folder / f"{source.stem}.o"
        subprocess.run([nvcc, "-O3", "-std=c++17", *flags, "-c", source, "-o", output], check=True, timeout=300)
        return output

    with ThreadPoolExecutor() as pool:
        objects = list(pool.map(compiled, sorted(HERE.glob("*.cu"))))
    subprocess.run([nvcc, *flags, *objects, "-o", folder / "probes"], check=True, timeout=300)
    return folder / "probes"


def measure(program: Path, groups: Sequence[str], room_bytes: int) -> list[dict[str, Any]]:
    """Runs the probes; each group is a process, so that a failing one leaves the others."""
    found: list[dict[str, Any]] = []
    for group in groups:
        done = subprocess.run(
            [program, str(room_bytes), group], capture_output=True, text=True, timeout=120, check=False
        )
        found += [json.loads(line) for line in done.stdout.splitlines()]
        if done.returncode:
            print(f"{group}: exit status {done.returncode}: {done.stderr.strip()[-300:]}", file=sys.stderr)
    return found


def main() -> int:
    """Prints a table, and writes the same as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nvcc", type=Path, default=Path(shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"))
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--arch", default="native")
    parser.add_argument("--groups", nargs="+", default=GROUPS, choices=GROUPS)
    parser.add_argument("--room-bytes", type=int, default=ROOM_BYTES)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        program = build(options.nvcc, options.folder or Path(temporary), [f"-arch={options.arch}"])
        found = measure(program, options.groups, options.room_bytes)
    for one in found:
        print(f"{one['probe']:42} {one['value']:>12} {one['unit']}")
    if options.json:
        report = {"machine": platform.machine(), "probes": {one["probe"]: [one["value"], one["unit"]] for one in found}}
        options.json.write_text(json.dumps(report, indent=1) + "\n")
    return 0 if found else 1


if __name__ == "__main__":
    raise SystemExit(main())
