"""An executor on a driver with a simulated clock, and a rig of kernels with known durations."""

import asyncio
import json
import re
import shutil
import subprocess
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest

from cudanalyst.tools.engine.build import install_engine
from cudanalyst.tools.engine.objects import SOURCES
from cudanalyst.tools.timing.rig import Flaw, Side
from cudanalyst.tools.toolchain.discovery import find_toolkit

OWN_KERNELS = (
    ("empty", "-"), ("gate", "8,4,8"), ("flush_data", "8,8,4,8"), ("flush_code", "8"), ("burn", "8,4"), ("random_values", "8,8,4"), ("stamp", "8"),
)  # fmt: skip


class Refused(Exception):
    """The executor's answer was no."""


@dataclass
class Connection:
    """Sends commands over the executor's socket."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    log: list[str] = field(default_factory=list)

    async def command(self, *words: str | int | Path, limit_s: float = 60.0) -> Mapping[str, Any]:
        line = " ".join(map(str, words))
        self.log.append(line)
        self.writer.write(line.encode() + b"\n")
        await self.writer.drain()
        answer: dict[str, Any] = json.loads(await asyncio.wait_for(self.reader.readline(), limit_s))
        if not answer["ok"]:
            raise Refused(f"{answer['kind']}: {answer['message']}")
        return answer


@dataclass(frozen=True)
class Machine:
    """Programs of the tests: the real executor, and a driver that it loads."""

    executor: Path
    driver: Path
    folder: Path

    def own_kernels(self) -> Path:
        """An image with the executor's device kernels."""
        return self.image("own", [f"kernel {name} 0 0 {parameters}" for name, parameters in OWN_KERNELS])

    def image(self, name: str, kernels: Sequence[str]) -> Path:
        """An image of the fake driver."""
        path = self.folder / f"{name}.fake"
        path.write_text("\n".join(kernels) + "\n")
        return path

    def trace(self, name: str, records: Sequence[str]) -> Path:
        """A trace of some records."""
        path = self.folder / f"{name}.trace"
        path.write_text("\n".join(["cudanalyst-trace 1", *records, "end 0"]) + "\n")
        return path

    @asynccontextmanager
    async def start(self, **settings: float) -> AsyncIterator[Connection]:
        """A running executor with an open context."""
        accepted: asyncio.Queue[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = asyncio.Queue()
        socket = self.folder / "s"
        socket.unlink(missing_ok=True)
        server = await asyncio.start_unix_server(lambda *pair: accepted.put_nowait(pair), socket)
        environment = {f"FAKE_{name.upper()}": str(value) for name, value in settings.items()}
        process = await asyncio.create_subprocess_exec(
            self.executor, "--control", socket, "--driver", self.driver, env=environment
        )
        try:
            reader, writer = await asyncio.wait_for(accepted.get(), 20)
            assert json.loads(await asyncio.wait_for(reader.readline(), 20))["ok"]
            connection = Connection(reader, writer)
            await connection.command("open", "0")
            yield connection
            writer.write(b"quit\n")
            await asyncio.wait_for(process.wait(), 20)
            writer.close()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
            server.close()


@dataclass
class FakeRig:
    """Two sides that launch one kernel each, once unless `launches` says how often."""

    machine: Machine
    executor: Connection
    kernels: Mapping[Side, str]
    """`US NOISE` and words of the fake driver."""
    sets: int = 4
    repeatable: bool = True
    light: bool = False
    most_placements: int = 24
    flaw: Callable[[Sequence[int]], Flaw | None] = lambda _: None
    extra_records: tuple[str, ...] = ()
    launches: Mapping[Side, int] = field(default_factory=dict)
    placed: list[tuple[int, Side]] = field(default_factory=list)
    filled: list[tuple[int, ...]] = field(default_factory=list)
    foreseen: list[tuple[int, ...]] = field(default_factory=list)
    poisons: int = 0
    _ready: bool = False

    def _image(self, side: Side) -> Path:
        us, noise, *words = self.kernels[side].split()
        return self.machine.image(side, [f"kernel work {us} {noise} 8 {' '.join(words)}"])

    async def _buffers(self) -> None:
        if not self._ready:
            self._addresses = [
                (await self.executor.command("buffer", f"x{i}", "4096", "0"))["address"] for i in range(self.sets)
            ]
            self._ready = True

    async def place(self, placement: int, first: Side) -> None:
        await self._buffers()
        self.placed.append((placement, first))
        for side in (first, "B" if first == "A" else "A"):
            slot = f"{side}{placement}"
            await self.executor.command("module", slot, str(self._image(side)))
            for i, name in enumerate(self.traces(side, placement)):
                argument = self._addresses[i].to_bytes(8, "little").hex()
                launch = f"launch work 1 1 1 32 1 1 0 0 0 1 {argument}"
                records = [*[launch] * self.launches.get(side, 1), *self.extra_records]
                await self.executor.command("trace", name, slot, str(self.machine.trace(name, records)))

    def traces(self, side: Side, placement: int) -> tuple[str, ...]:
        return tuple(f"{side}{placement}.{i}" for i in range(self.sets))

    async def foresee(self, contents: Sequence[int]) -> None:
        self.foreseen.append(tuple(contents))

    async def fill(self, contents: Sequence[int], pattern: Literal[0, 1]) -> None:
        self.filled.append(tuple(contents))
        data = self.machine.folder / "data"
        data.write_bytes(bytes(4096))
        for i in range(self.sets):
            await self.executor.command("upload", f"x{i}", str(data))

    async def poison(self, pattern: Literal[0, 1]) -> None:
        self.poisons += 1

    async def touch(self) -> None:
        for address in self._addresses:
            await self.executor.command("touch", f"{address:x}", 4096)

    async def collect(self, contents: Sequence[int], *, spot: bool = False) -> asyncio.Future[Flaw | None]:
        known: asyncio.Future[Flaw | None] = asyncio.get_running_loop().create_future()
        known.set_result(await self.check(contents, spot=spot))
        return known

    async def check(self, contents: Sequence[int], *, spot: bool = False) -> Flaw | None:
        return self.flaw(contents)


@pytest.fixture(scope="session")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    """The executor of the installed engine, and the fake driver, compiled once."""
    folder = tmp_path_factory.mktemp("timing", numbered=True)
    include = asyncio.run(find_toolkit()).include
    compiler = shutil.which("g++")
    assert compiler
    base = [compiler, "-std=c++20", "-O1", "-pthread", "-isystem", str(include)]
    executor = asyncio.run(install_engine(cuda_include=include)).executor
    driver = folder / "libfake.so"
    subprocess.run(
        [*base, "-shared", "-fPIC", "-Wall", "-Wextra", str(Path(__file__).parent / "fake_driver.cpp"), str(_stubs(folder, base)), "-o", str(driver)],
        check=True,
    )  # fmt: skip
    return Machine(executor, driver, folder)


def _stubs(folder: Path, base: Sequence[str]) -> Path:
    """Every other function of the executor's table, which does nothing: weak, under the names that cuda.h maps them to."""
    table = (SOURCES / "executor" / "driver.hpp").read_text()
    names = re.findall(r"X\((cu\w+)\)", table)
    probe = folder / "names.cpp"
    probe.write_text("#include <cuda.h>\n#include <cudaProfiler.h>\n" + "\n".join(f"NAME {name} ." for name in names))
    text = subprocess.run([*base, "-E", "-P", str(probe)], check=True, capture_output=True, text=True).stdout
    versioned = re.findall(r"NAME\s+(\w+)\s+\.", text)
    assert len(versioned) == len(names)
    stubs = folder / "stubs.cpp"
    stubs.write_text("".join(f'extern "C" __attribute__((weak)) int {name}() {{ return 0; }}\n' for name in versioned))
    return stubs
