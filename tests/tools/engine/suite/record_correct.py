"""Records what a GPU and NVIDIA's tools say of the correct programs: `python3 -m tests.tools.engine.suite.record_correct FOLDER` on a machine with both.

Writes `correct.json.gz`: per case its output, its exit status and what each tool of compute-sanitizer finds; per file the counts of ncu, launch by launch.
"""

import csv
import gzip
import io
import json
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any, Final, get_args

from cudanalyst.tools.findings import Check
from cudanalyst.tools.toolchain.sanitizer.argv import PORTS_PER_RUN
from tests.tools.engine.suite.record import AT_ONCE, RUN_S, SUITE, cases_of, checked, run

NCU_S: Final = 90
SURE: Final = (
    "smsp__inst_executed.sum",
    "smsp__thread_inst_executed.sum",
    "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
    "l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum",
    "l1tex__t_requests_pipe_lsu_mem_global_op_red.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
)
METRICS: Final = (
    *SURE,
    "smsp__inst_executed_op_shared_ld.sum",
    "smsp__inst_executed_op_shared_st.sum",
    "smsp__inst_executed_op_shared_atom.sum",
    "smsp__inst_executed_op_branch.sum",
    "smsp__sass_branch_targets_threads_divergent.sum",
    "sm__inst_executed_pipe_tensor.sum",
)
"""All that is wanted; where ncu does not know one of them, those it surely has."""


def compiled(source: Path, folder: Path) -> Path:
    """The program of a source, for the GPU."""
    binary = folder / source.stem
    argv = ["nvcc", "-std=c++17", "-arch=sm_90", "--extended-lambda", "-lineinfo", str(source), "-o", str(binary)]
    status, text = run(argv, 120)
    if status:
        raise SystemExit(text)
    return binary


def recorded(binary: Path, source: Path, case: str, folder: Path, number: int) -> dict[str, Any]:
    """A plain run, and each tool's."""
    status, printed = run([str(binary), case], RUN_S)
    result: dict[str, Any] = {"file": source.name, "status": status, "printed": printed}
    checks: tuple[Check, ...] = get_args(Check)
    for check in checks:
        result[check] = checked(binary, source, case, check, folder, 40000 + PORTS_PER_RUN * number)
    return result


def counted(binary: Path, folder: Path, metrics: tuple[str, ...] = METRICS) -> dict[str, Any]:
    """The counts of ncu for every launch of all cases of a file, those of value zero left out."""
    log = folder / f"{binary.stem}.csv"
    argv = [
        "ncu",
        "--csv",
        "--page",
        "raw",
        "--print-units",
        "base",
        "--clock-control",
        "none",
        "--metrics",
        ",".join(metrics),
    ]
    status, printed = run([*argv, "--log-file", str(log), str(binary), "--all"], NCU_S)
    text = log.read_text(errors="replace") if log.exists() else ""
    lines = text.splitlines()
    start = next((k for k, line in enumerate(lines) if line.startswith('"ID"')), len(lines))
    if start == len(lines) and metrics != SURE:
        return counted(binary, folder, SURE) | {"wanted": (lines + printed.splitlines())[-5:]}
    rows = [row for row in csv.DictReader(io.StringIO("\n".join(lines[start:]))) if row.get("ID")]
    return {
        "status": status,
        "said": [line for line in lines[:start] if "==ERROR==" in line or "==WARNING==" in line][:5],
        "printed": printed[-300:] if status else "",
        "launches": [
            {
                "kernel": row["Kernel Name"],
                "grid": row.get("Grid Size"),
                "block": row.get("Block Size"),
                **{name: _number(row[name]) for name in metrics if row.get(name) and _number(row[name]) != 0},
            }
            for row in rows
        ],
    }


def _number(text: str) -> float | str:
    try:
        value = float(text.replace(",", ""))
    except ValueError:
        return text
    return int(value) if value.is_integer() else value


def main() -> None:
    """Compiles, runs, writes."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    sources = sorted((SUITE / "correct").glob("*.cu"))
    limit = time.monotonic() + float(os.environ.get("LIMIT_S", "200"))
    pool = ThreadPoolExecutor(int(os.environ.get("AT_ONCE", AT_ONCE)))
    binaries = list(pool.map(lambda source: compiled(source, folder), sources))
    counts = {binary.stem: pool.submit(counted, binary, folder) for binary in binaries}
    every = [
        (binary, source, case) for source, binary in zip(sources, binaries, strict=True) for case in cases_of(source)
    ]
    cases = {
        case: pool.submit(recorded, binary, source, case, folder, number)
        for number, (binary, source, case) in enumerate(every)
    }
    wait([*cases.values(), *counts.values()], timeout=max(0.0, limit - time.monotonic()))
    result = {
        "cases": {case: job.result() for case, job in cases.items() if job.done()},
        "counts": {family: job.result() for family, job in counts.items() if job.done()},
    }
    (folder / "correct.json.gz").write_bytes(gzip.compress(json.dumps(result, indent=0).encode(), mtime=0))
    print(f"{len(result['cases'])} of {len(cases)} cases, counts of {len(result['counts'])} of {len(counts)} files")  # noqa: T201
    sys.stdout.flush()
    os._exit(0)  # whatever still runs is past its limit


if __name__ == "__main__":
    main()
