"""Runs families of forms on a driver and writes their results.

`python -m tests.tools.engine.arithmetic.run LIBRARY FOLDER [--nvcc NVCC] [FAMILY]...`: LIBRARY is the driver's, NVIDIA's `libcuda.so.1`
or the engine's. For each family FOLDER gets `FAMILY.npz`, the first results of every form, and `FAMILY.json`, checksums of all of them in pieces.
Families of functions need nvcc; their PTX is kept in FOLDER.
"""

import argparse
import concurrent.futures
import ctypes
import json
import subprocess
import sys
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tests.tools.engine.arithmetic.driver import Driver, DriverError
from tests.tools.engine.arithmetic.form import WIDTHS, kernels, module
from tests.tools.engine.arithmetic.forms.families import FAMILIES, forms_of
from tests.tools.engine.arithmetic.functions import FUNCTION_FAMILIES, functions_of, source
from tests.tools.engine.arithmetic.inputs import TOTAL, inputs

Results = dict[str, npt.NDArray[np.generic]]
APPROXIMATE = frozenset({"approximate", "math", "fast", "half_math"})
KEPT_EXACT = 1024
KEPT_APPROXIMATE = 4096
PIECE = 64
WORD = {2: np.uint16, 4: np.uint32, 8: np.uint64}


@dataclass(frozen=True)
class Launch:
    """A kernel to run: what its outputs are called, what it reads."""

    kernel: str
    names: tuple[str, ...]
    inputs: tuple[str, ...]
    width: int


def launches_of(family: str) -> list[Launch]:
    """The kernels of a family."""
    if family in FAMILIES:
        return [
            Launch(k.name, tuple(one.name for one in k.forms), k.inputs, k.width) for k in kernels(forms_of(family))
        ]
    return [Launch(f.symbol, (f.name,), f.inputs, WIDTHS[f.output]) for f in functions_of(family)]


def ptx_of(family: str, nvcc: Path | str, folder: Path) -> bytes:
    """The module of a family, as text that ends in a zero."""
    if family in FAMILIES:
        return module(kernels(forms_of(family))).encode() + b"\0"
    text = folder / f"{family}.cu"
    text.write_text(source(functions_of(family)))
    output = text.with_suffix(".ptx")
    subprocess.run([nvcc, "-std=c++17", "-arch=sm_90", "-ptx", text, "-o", output], check=True)
    return output.read_bytes() + b"\0"


def checksums(row: npt.NDArray[np.generic]) -> list[int]:
    """One for each piece of the results."""
    return [zlib.crc32(row[at : at + PIECE].tobytes()) for at in range(0, row.size, PIECE)]


def run_launch(driver: Driver, launch: Launch) -> Results:
    """The results of one kernel."""
    uploaded = [driver.upload(column) for column in inputs(launch.inputs)]
    bytes_each = TOTAL * launch.width
    output = driver.allocate(bytes_each * len(launch.names))
    driver.launch(launch.kernel, TOTAL, [output, ctypes.c_uint32(TOTAL), *uploaded])
    raw = driver.download(output, bytes_each * len(launch.names))
    driver.clear()
    table = np.frombuffer(raw, dtype=WORD[launch.width]).reshape(len(launch.names), TOTAL)
    return {name: table[k] for k, name in enumerate(launch.names)}


def run_family(driver: Driver, family: str, ptx: bytes) -> Iterator[tuple[Launch, Results | DriverError]]:
    """The results of a family, kernel by kernel; a refused one gives its error."""
    driver.load(ptx)
    for launch in launches_of(family):
        try:
            yield launch, run_launch(driver, launch)
        except DriverError as error:
            driver.clear()
            yield launch, error


def modules(families: Sequence[str], nvcc: Path | str, folder: Path) -> Iterable[tuple[str, bytes]]:
    """Families with their modules, compiled side by side."""
    with concurrent.futures.ThreadPoolExecutor() as pool:
        yield from zip(families, pool.map(lambda family: ptx_of(family, nvcc, folder), families), strict=True)


def main() -> None:
    """Runs what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library")
    parser.add_argument("folder", type=Path)
    parser.add_argument("families", nargs="*", default=[*FAMILIES, *FUNCTION_FAMILIES])
    parser.add_argument("--nvcc", default="nvcc")
    parser.add_argument("--all", action="store_true", help="keep all results")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    with Driver(given.library) as driver:
        for family, ptx in modules(given.families, given.nvcc, given.folder):
            results: Results = {}
            refused = 0
            for launch, outcome in run_family(driver, family, ptx):
                if isinstance(outcome, DriverError):
                    refused += 1
                    sys.stdout.write(f"  {launch.kernel} ({', '.join(launch.names)}): {outcome}\n")
                else:
                    results.update(outcome)
            kept = TOTAL if given.all else KEPT_APPROXIMATE if family in APPROXIMATE else KEPT_EXACT
            rows: dict[str, npt.ArrayLike] = {name: row[:kept] for name, row in results.items()}
            save = np.savez if given.all else np.savez_compressed
            save(given.folder / f"{family}.npz", **rows)
            (given.folder / f"{family}.json").write_text(
                json.dumps({name: checksums(row) for name, row in results.items()})
            )
            sys.stdout.write(f"{family}: {len(results)} forms of {TOTAL} inputs, {refused} kernels refused\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
