"""Runs every form of mma.sync on a driver, NVIDIA's libcuda.so.1 or the engine's.

`python -m tests.tools.engine.matrices.mma_run LIBRARY FILE`: a FILE.npz gets all words of all results, a FILE.json checksums of them.
"""

import argparse
import json
import sys
import zlib
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tests.tools.engine.arithmetic.driver import Driver, DriverError
from tests.tools.engine.matrices.mma_form import ROUNDS, Form, forms, module, operand


def run_form(driver: Driver, number: int, one: Form) -> npt.NDArray[np.uint32]:
    """The words of all results, by round, lane and register."""
    inputs = [driver.upload(operand(one, which, number)) for which in "abc"]
    words = one.registers("d") * 32 * ROUNDS * (2 if one.d == "f64" else 1)
    output = driver.allocate(4 * words)
    driver.launch(f"k{number}", 32 * ROUNDS, [output, *inputs], block=32)
    result = np.frombuffer(driver.download(output, 4 * words), dtype=np.uint32)
    driver.clear()
    return result


def run_all(driver: Driver) -> dict[str, npt.NDArray[np.uint32] | DriverError]:
    """The results of all forms; a refused one gives its error."""
    every = list(forms())
    results: dict[str, npt.NDArray[np.uint32] | DriverError] = {}
    driver.load(module(every).encode() + b"\0")
    for number, one in enumerate(every):
        try:
            results[one.text] = run_form(driver, number, one)
        except DriverError as error:
            driver.clear()
            results[one.text] = error
    return results


def checksums(result: npt.NDArray[np.uint32]) -> list[int]:
    """One for each kind of input, and the first words of the first."""
    thirds = result.reshape(3, -1)
    return [*(zlib.crc32(third.tobytes()) for third in thirds), *(int(word) for word in result[:8])]


def main() -> None:
    """Runs and writes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library")
    parser.add_argument("file", type=Path)
    given = parser.parse_args()
    with Driver(given.library) as driver:
        results = run_all(driver)
    for name, result in results.items():
        if isinstance(result, DriverError):
            sys.stdout.write(f"{name}: {result}\n")
    kept = {name: result for name, result in results.items() if not isinstance(result, DriverError)}
    if given.file.suffix == ".json":
        given.file.write_text(json.dumps({name: checksums(result) for name, result in kept.items()}, indent=0))
    else:
        np.savez_compressed(given.file, **kept)  # type: ignore[arg-type]
    sys.stdout.write(f"{len(kept)} of {len(results)} forms\n")


if __name__ == "__main__":
    main()
