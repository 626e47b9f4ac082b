"""Records what a GPU and compute-sanitizer say of the faulty programs: `python3 -m tests.tools.engine.suite.record FOLDER` on a machine with both.

Writes `faults.json.gz`: per case the exit status of a plain run (null: it hung), and per tool the kinds, lines and counts of its findings.
"""

import gzip
import json
import os
import re
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, get_args

from cudanalyst.tools.findings import Check
from cudanalyst.tools.toolchain.paths import PathNames
from cudanalyst.tools.toolchain.sanitizer.argv import PORTS_PER_RUN, Options, arguments
from cudanalyst.tools.toolchain.sanitizer.context import Context
from cudanalyst.tools.toolchain.sanitizer.verdict import interpret

SUITE: Final = Path(__file__).parent
TOOLKIT: Final = {"/usr/local/cuda": "<toolkit>"}
RUN_S, TOOL_S = 5, 10
AT_ONCE: Final = 16


def cases_of(source: Path) -> list[str]:
    """Names of the cases of a source, in order."""
    names: list[str] = []
    for kind, name in re.findall(r"^(CASE|PAIR)\((\w+)\)", source.read_text(), re.MULTILINE):
        names += [name] if kind == "CASE" else [name, f"{name}_right"]
    return names


def run(argv: list[str], timeout_s: float) -> tuple[int | None, str]:
    """Exit status, None when it had to be killed, and what was printed."""
    with subprocess.Popen(
        argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True
    ) as process:
        try:
            text, _ = process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            text, _ = process.communicate()
            return None, text[:2000]
        return process.returncode, text[:2000]


def compiled(source: Path, folder: Path) -> Path:
    """The program of a source, for the GPU."""
    binary = folder / source.stem
    argv = ["nvcc", "-std=c++17", "-arch=sm_90", "-lineinfo", "-I", str(SUITE), str(source), "-o", str(binary)]
    status, text = run(argv, 120)
    if status:
        raise SystemExit(text)
    return binary


def checked(binary: Path, source: Path, case: str, check: Check, folder: Path, port: int) -> dict[str, Any]:
    """What one tool says of one case."""
    name = folder / f"{case}.{check}"
    xml, log = name.with_suffix(f".{check}.xml"), name.with_suffix(f".{check}.txt")
    leaks = case.startswith("leak_")
    options = Options(check, xml, log, port=port, host_stack=check != "initcheck", leaks=leaks, print_limit=50)
    argv = [str(part) for part in arguments(Path("compute-sanitizer"), options, ())]
    if check == "memcheck" and source.stem == "race_streams":
        argv += ["--track-stream-ordered-races", "all"]
    status, printed = run([*argv, str(binary), case], TOOL_S)
    said = log.read_bytes() if log.exists() else b""
    verdict = interpret(
        check,
        xml.read_bytes() if xml.exists() else None,
        said,
        Context(PathNames(source.name, TOOLKIT), replayed=False),
    )
    return {
        "status": status,
        "findings": [[found.kind, found.line, found.count] for found in verdict.findings],
        "messages": [found.message[:200] for found in verdict.findings][:4],
        "broken": verdict.broken,
        "stopped": verdict.stopped,
        "printed": printed[:300],
    }


def recorded(binary: Path, source: Path, case: str, folder: Path, number: int) -> dict[str, Any]:
    """A plain run, and each tool's."""
    status, printed = run([str(binary), case], RUN_S)
    result: dict[str, Any] = {"file": source.name, "status": status, "printed": printed}
    checks: tuple[Check, ...] = get_args(Check)
    if case.endswith("_right"):
        checks = ()
    for check in checks if status is not None else ("synccheck",):
        result[check] = checked(binary, source, case, check, folder, 20000 + PORTS_PER_RUN * number)
    return result


def main() -> None:
    """Compiles, runs, writes; families are named after the folder, or all are meant. A fault's correct twin is only run."""
    folder, families = Path(sys.argv[1]), sys.argv[2:]
    folder.mkdir(parents=True, exist_ok=True)
    sources = [source for source in sorted((SUITE / "faults").glob("*.cu")) if not families or source.stem in families]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        binaries = list(pool.map(lambda source: compiled(source, folder), sources))
        every = [
            (binary, source, case)
            for source, binary in zip(sources, binaries, strict=True)
            for case in cases_of(source)
        ]
        jobs = {
            case: pool.submit(recorded, binary, source, case, folder, number)
            for number, (binary, source, case) in enumerate(every)
        }
        results: dict[str, Any] = {}
        for case, job in jobs.items():
            results[case] = job.result()
            if len(results) % 20 == 0 or len(results) == len(jobs):
                (folder / "faults.json.gz").write_bytes(gzip.compress(json.dumps(results, indent=0).encode(), mtime=0))


if __name__ == "__main__":
    main()
