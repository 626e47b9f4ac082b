"""Candidates built as the product builds them, and recorded by the real runner in its sandbox."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from cudanalyst.tools.engine.objects import SOURCES
from cudanalyst.tools.process import ProcessResult
from cudanalyst.tools.source import BuildOptions, Source
from cudanalyst.tools.toolchain.cpu import CpuToolchain
from cudanalyst.tools.toolchain.protocol import BufferSpec, ScalarSpec
from cudanalyst.tools.toolchain.workspace import workspace
from cudanalyst.tools.trace.parse import MAX_BYTES
from cudanalyst.tools.trace.read import Reading, read_trace
from cudanalyst.tools.trace.table import BufferSet, Region, Table, render_table
from tests.tools.trace.cubin import read_cubin

N = 1000
MEMORY = 20 << 30
X, Y, WORKSPACE, ARENA, SYMBOLS = 0x200000001000, 0x210000001000, 0x220000000000, 0x230000000000, 0x240000000000
STRIDE = 0x10000
H200 = {
    int(number): int(value)
    for number, value in re.findall(r"\{(\d+), (-?\d+)\}", (SOURCES / "api" / "device_h200.inc").read_text())
}
PARAMETERS = (
    BufferSpec("x", "f32", "in"),
    BufferSpec("y", "f32", "out"),
    ScalarSpec("n", "int"),
    ScalarSpec("which", "int"),
)
CANDIDATES = Path(__file__).parent / "candidates"
TAIL = """
extern "C" int init(int64_t which) {{ switch (which) {{ {inits} }} return 0; }}
extern "C" int solve(const float* x, float* y, int n, int which, void* ws, size_t bytes, cudaStream_t stream) {{
  switch (which) {{ {solves} }}
  return 99;
}}
"""
WORKSPACE_BYTES = 4000


@dataclass(frozen=True)
class Recording:
    """What the runner left."""

    table: Table
    process: ProcessResult
    files: Mapping[str, bytes]

    def reading(self, index: int | None = 0) -> Reading:
        """The trace of a call; None: of init."""
        return read_trace(self.files.get("init.trace" if index is None else f"{index}.trace"), self.table, index)

    def text(self, index: int | None = 0) -> str:
        """The same as the runner wrote it."""
        return self.files["init.trace" if index is None else f"{index}.trace"].decode()


class Recorder:
    """Builds and records, with the device table of an H200 and addresses of our choice."""

    def __init__(self, toolchain: CpuToolchain) -> None:
        self._toolchain = toolchain
        self._cases: dict[str, dict[str, int]] = {}

    async def library(self, file: str) -> Path:
        """A file of cases, compiled once, with the choice among them."""
        text = (CANDIDATES / file).read_text()
        names = re.findall(r"^SOLVE\((\w+)\)", text, re.MULTILINE)
        inits = set(re.findall(r"^INIT\((\w+)\)", text, re.MULTILINE))
        self._cases[file] = {name: number for number, name in enumerate(names)}
        text += TAIL.format(
            inits=" ".join(f"case {n}: return init_{name}(which);" for n, name in enumerate(names) if name in inits),
            solves=" ".join(f"case {n}: return {name}(x, y, n, ws, bytes, stream);" for n, name in enumerate(names)),
        )
        if "OWN_WORKSPACE" not in text:
            text += f'extern "C" size_t workspace_bytes(int64_t) {{ return {WORKSPACE_BYTES}; }}\n'
        arch = "sm_90a" if "wgmma" in text else "sm_90"
        built = await self._toolchain.build(Source(text=text, problem="cases", options=BuildOptions(arch=arch)))
        assert built.status == "compiled", built.diagnostics or built.reason
        assert built.binary is not None
        return built.binary

    async def table(
        self, case: str, file: str = "cases.cu", sets: int = 1, workspace_bytes: int = WORKSPACE_BYTES
    ) -> Table:
        """What the recorder is told for a case."""
        library = await self.library(file)
        which = self._cases[file][case]
        cubin = read_cubin(library)
        symbols = {name: Region(SYMBOLS + STRIDE * n, size) for n, (name, size) in enumerate(cubin.variables.items())}
        return Table(
            library=library,
            device="NVIDIA H200",
            attributes=H200,
            kernels=cubin.kernels,
            sizes={"which": which},
            parameters=PARAMETERS,
            symbols=symbols,
            arena=Region(ARENA, 1 << 20),
            workspace=Region(WORKSPACE, workspace_bytes),
            sets=tuple(
                BufferSet(
                    {"x": Region(X + STRIDE * s, 4 * N), "y": Region(Y + STRIDE * s, 4 * N)}, {"n": N, "which": which}
                )
                for s in range(sets)
            ),
            memory_bytes=150 << 30,
        )

    async def start(
        self,
        mode: str,
        table: Table,
        timeout_s: float = 20,
        files: Mapping[str, bytes] | None = None,
        settings: Mapping[str, str] | None = None,
    ) -> Recording:
        """Runs the runner in a mode, in its sandbox."""
        parts = await self._toolchain._ready()
        with workspace(Path(os.environ["CUDANALYST_CACHE"]) / "work") as work:
            work.write({"table": render_table(table).encode(), **(files or {})})
            process = await parts.confinement.run(
                [parts.engine.runner, mode, "table", "out"],
                work=work.path,
                readable=(parts.engine.root, table.library.parent),
                env={"TMPDIR": str(work.path), **(settings or {})},
                timeout_s=timeout_s,
                memory_bytes=MEMORY,
                purpose="run",
            )
            left = {}
            for path in (work.path / "out").iterdir():
                if (data := work.read(f"out/{path.name}", MAX_BYTES + 1)) is not None:
                    left[path.name] = data
        return Recording(table, process, left)

    async def record(
        self,
        case: str,
        file: str = "cases.cu",
        *,
        sets: int = 1,
        workspace_bytes: int = WORKSPACE_BYTES,
        timeout_s: float = 20,
        files: Mapping[str, bytes] | None = None,
    ) -> Recording:
        """Records `init` and one call for each set."""
        return await self.start("--record", await self.table(case, file, sets, workspace_bytes), timeout_s, files)


@pytest.fixture(scope="session")
async def recorder(anyio_backend) -> Recorder:
    """Nothing is built before the first recording."""
    return Recorder(CpuToolchain(allow_unsandboxed=True))
