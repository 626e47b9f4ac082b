"""Records what a GPU and NVIDIA's tools say of the correct programs: `python3 -m tests.tools.engine.suite.record_correct FOLDER [RECORD]` on a machine with both.

Writes `correct.json.gz`: per case its exit status and output; per file the counts of ncu, launch by launch, and what each tool of compute-sanitizer finds in the cases that RECORD lacks.
"""

import csv
import gzip
import io
import json
import os
import sys
import time
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any, Final, get_args

from cudanalyst.tools.findings import Check
from cudanalyst.tools.toolchain.paths import PathNames
from cudanalyst.tools.toolchain.sanitizer.argv import PORTS_PER_RUN, Options, arguments
from cudanalyst.tools.toolchain.sanitizer.context import Context
from cudanalyst.tools.toolchain.sanitizer.verdict import interpret
from tests.tools.engine.suite.record import SUITE, cases_of, run

NCU_S: Final = 45
TOOL_S: Final = 30
RUN_S: Final = 10
AT_ONCE: Final = 4
"""More of compute-sanitizer at once are slower in all: each start is work of one process in the driver."""
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


def checked_together(
    binary: Path, source: Path, cases: list[str], check: Check, folder: Path, number: int
) -> dict[str, Any]:
    """What one tool says of several cases, run in one process: a finding's line tells whose it is."""
    name = folder / f"{source.stem}.{check}"
    xml, log = name.with_suffix(f".{check}.xml"), name.with_suffix(f".{check}.txt")
    options = Options(check, xml, log, port=40000 + PORTS_PER_RUN * number, print_limit=200)
    argv = [str(part) for part in arguments(Path("compute-sanitizer"), options, ())]
    status, printed = run([*argv, str(binary), *cases], TOOL_S)
    verdict = interpret(
        check,
        xml.read_bytes() if xml.exists() else None,
        log.read_bytes() if log.exists() else b"",
        Context(PathNames(source.name, {}), replayed=False),
    )
    return {
        "cases": cases,
        "status": status,
        "findings": [[found.kind, found.line, found.count, found.message[:160]] for found in verdict.findings],
        "broken": verdict.broken,
        "stopped": verdict.stopped,
        "printed": printed[-300:] if status else "",
    }


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
    """Compiles, runs, writes: outputs first, then counts, then the tools for the cases that an earlier record lacks."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    before = set(json.loads(gzip.decompress(Path(sys.argv[2]).read_bytes()))["cases"]) if len(sys.argv) > 2 else set()
    limit = time.monotonic() + float(os.environ.get("LIMIT_S", "200"))
    sources = sorted((SUITE / "correct").glob("*.cu"))
    with ThreadPoolExecutor(len(sources)) as pool:
        binaries = dict(zip(sources, pool.map(lambda source: compiled(source, folder), sources), strict=True))
    pool = ThreadPoolExecutor(AT_ONCE)
    outputs = {
        case: pool.submit(run, [str(binary), case], RUN_S)
        for source, binary in binaries.items()
        for case in cases_of(source)
    }
    counts = {binary.stem: pool.submit(counted, binary, folder) for binary in binaries.values()}
    checks: tuple[Check, ...] = get_args(Check)
    runs = [
        (source, binary, check, cases)
        for check in checks
        for source, binary in binaries.items()
        if (cases := [case for case in cases_of(source) if case not in before])
    ]
    tools = {
        f"{source.stem}.{check}": pool.submit(checked_together, binary, source, cases, check, folder, number)
        for number, (source, binary, check, cases) in enumerate(runs)
    }
    wanted: dict[str, Mapping[str, Future[Any]]] = {"outputs": outputs, "counts": counts, "tools": tools}
    wait([job for jobs in wanted.values() for job in jobs.values()], timeout=max(0.0, limit - time.monotonic()))
    result = {name: {key: job.result() for key, job in jobs.items() if job.done()} for name, jobs in wanted.items()}
    (folder / "correct.json.gz").write_bytes(gzip.compress(json.dumps(result, indent=0).encode(), mtime=0))
    for name, asked in wanted.items():
        print(f"{len(result[name])} of {len(asked)} {name}", flush=True)  # noqa: T201
    os._exit(0)  # whatever still runs is past its limit


if __name__ == "__main__":
    main()
