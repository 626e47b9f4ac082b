"""Compiles one text for the engine and for the host and compares what every thread computed."""

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from cudanalyst.tools.process import scrubbed_environment
from tests.tools.engine.arithmetic.driver import Driver
from tests.tools.engine.arithmetic.inputs import draw
from tests.tools.engine.fuzz.generate import kernel_text

HERE = Path(__file__).parent
BLOCK, BLOCKS = 96, 2
THREADS = BLOCK * BLOCKS

Words = npt.NDArray[np.uint32]


@dataclass(frozen=True)
class Bench:
    """The two compilers, the engine's driver, and a folder for files."""

    nvcc: Path
    host: Path
    driver: Path
    folder: Path

    def compare(self, seeds: Sequence[int], size: int, *flags: str) -> list[int]:
        """The seeds whose kernels gave different results."""
        names = [f"k{n}" for n in range(len(seeds))]
        text = "".join(kernel_text(seed, size, name) for seed, name in zip(seeds, names, strict=True))
        (self.folder / "kernels.hpp").write_text(text.replace("__global__ void", 'extern "C" __global__ void'))
        expected, got = self._on_host(names), self._on_engine(names, flags)
        return [seed for seed, e, g in zip(seeds, expected, got, strict=True) if not np.array_equal(e, g)]

    def _on_host(self, names: Sequence[str]) -> Words:
        calls = "\n".join(f"  run([] {{ n_{name}::{name}(input, output); }});" for name in names)
        source = self.folder / "host.cpp"
        source.write_text(f"""#include "{HERE}/host_threads.hpp"
#include "{HERE}/prelude.hpp"
#include "kernels.hpp"
static u32 input[257], output[{THREADS}];
static void run(void (*kernel)()) {{
  std::memset(output, 0, sizeof output);
  for (unsigned b = 0; b < {BLOCKS}; ++b) fibers::run_block(b, kernel);
  std::fwrite(output, 1, sizeof output, stdout);
}}
int main() {{
  if (std::fread(input, 1, sizeof input, stdin) != sizeof input) return 1;
{calls}
}}
""")
        program = self.folder / "host"
        flags = ["-std=c++17", "-O1", "-w", "-ffp-contract=off", "-fwrapv", "-fno-strict-aliasing"]
        subprocess.run([self.host, *flags, source, "-o", program], check=True)
        ran = subprocess.run([program], input=inputs().tobytes(), stdout=subprocess.PIPE, check=True)
        return np.frombuffer(ran.stdout, dtype=np.uint32).reshape(len(names), THREADS)

    def _on_engine(self, names: Sequence[str], flags: Sequence[str]) -> Words:
        source, ptx = self.folder / "device.cu", self.folder / "device.ptx"
        source.write_text(f'#include "{HERE}/prelude.hpp"\n#include "kernels.hpp"\n')
        subprocess.run(
            [self.nvcc, "-std=c++17", "-arch=sm_90", "-w", "-fmad=false", "-ptx", *flags, source, "-o", ptx], check=True
        )
        output = self.folder / "device.out"
        argv = [sys.executable, "-m", __spec__.name, str(self.driver), str(ptx), str(output), json.dumps(list(names))]
        subprocess.run(argv, check=True, env=scrubbed_environment({"PYTHONPATH": str(HERE.parents[3])}))
        return np.fromfile(output, dtype=np.uint32).reshape(len(names), THREADS)


def inputs() -> Words:
    """What the kernels read."""
    words = draw(2026, 256).astype(np.uint32) >> (draw(7, 256).astype(np.uint32) % np.uint32(24))
    return np.append(words, np.uint32(0))


def main() -> None:
    """Runs kernels on a driver: LIBRARY PTX OUTPUT NAMES."""
    library, ptx, output, names = sys.argv[1:]
    with Driver(library) as driver, Path(output).open("wb") as file:
        driver.load(Path(ptx).read_bytes() + b"\0")
        for name in json.loads(names):
            given, result = driver.upload(inputs()), driver.allocate(4 * THREADS)
            driver.launch(name, THREADS, [given, result], block=BLOCK)
            file.write(driver.download(result, 4 * THREADS))
            driver.clear()


if __name__ == "__main__":
    main()
