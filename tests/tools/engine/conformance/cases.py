"""Runs the conformance program's cases, each in a process of its own, and reads what an H200 answered."""

import concurrent.futures
import gzip
import json
import subprocess
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).parent
SOURCE: Final = HERE / "conformance.cu"
RECORDED: Final = HERE.parent / "data" / "api-h200-driver580-cuda13.0.json.gz"
FLAGS: Final = ("-Xcompiler", "-Wno-deprecated-declarations", "-lcuda")
CASE_TIMEOUT_S: Final = 60
CRASHED: Final = "ended: -11"


def names(program: Path) -> list[str]:
    """The cases that the program has."""
    return subprocess.run([program], capture_output=True, text=True, check=True).stdout.split()


def answers(program: Path, case: str) -> list[str]:
    """Lines of one case; the last says how the process ended."""
    try:
        run = subprocess.run(
            [program, case], capture_output=True, text=True, errors="replace", timeout=CASE_TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired as late:
        said = late.stdout.decode(errors="replace") if late.stdout else ""
        return [*said.splitlines(), "ended: not at all"]
    return [*run.stdout.splitlines(), f"ended: {run.returncode}"]


def all_answers(program: Path, *, at_once: int) -> dict[str, list[str]]:
    """Lines of every case."""
    cases = names(program)
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        return dict(zip(cases, pool.map(lambda case: answers(program, case), cases), strict=True))


def recorded() -> dict[str, list[str]]:
    """What an H200 answered."""
    with gzip.open(RECORDED, "rt", encoding="utf-8") as file:
        return json.load(file)
