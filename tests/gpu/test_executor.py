"""The executor on NVIDIA's driver: every record of a trace does what it says there too, and faults and hangs cost one process."""

import asyncio
import contextlib
import os
import struct
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from cudanalyst.tools.engine.build import EngineInstallation, install_engine
from cudanalyst.tools.process import run_process
from cudanalyst.tools.toolchain.discovery import find_toolkit
from cudanalyst.tools.toolchain.executor import (
    Executor,
    ExecutorCommand,
    ExecutorFailed,
    LoadedKernel,
    plainly,
    start_executor,
)

pytestmark = [pytest.mark.anyio, pytest.mark.gpu, pytest.mark.usefixtures("beside")]
N, GUARD = 100, 256
RIGHT_AGAIN_S = 2.0
SOURCE = r"""
#include <cuda.h>
__device__ int counter;
__constant__ float table[16];
static __device__ float hidden[8];
extern "C" __global__ void twice(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 2 * x[i] + table[0] + hidden[0] + counter;
}
extern "C" __global__ void strays(float* y) { y[1ll << 40] = 1; }
extern "C" __global__ void spins(volatile int* y) { while (!*y) {} }
extern "C" __global__ void clusters(float* y) {
  unsigned rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  y[blockIdx.x] = rank;
}
extern "C" __global__ void shared(float* y) { extern __shared__ float s[]; s[40000] = 3; __syncthreads(); *y = s[40000]; }
extern "C" __global__ void tile(const __grid_constant__ CUtensorMap map, float* y) {
  __shared__ alignas(128) float box[16];
  __shared__ alignas(8) unsigned long long barrier;
  unsigned at = (unsigned)__cvta_generic_to_shared(&barrier), to = (unsigned)__cvta_generic_to_shared(box);
  asm volatile("mbarrier.init.shared.b64 [%0], 1;" :: "r"(at));
  asm volatile("fence.proxy.async;");
  asm volatile("{ .reg .b64 s; mbarrier.arrive.expect_tx.shared.b64 s, [%0], 64; }" :: "r"(at));
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {4, 2}], [%2];"
               :: "r"(to), "l"(&map), "r"(at) : "memory");
  asm volatile("{ .reg .pred p; again: mbarrier.try_wait.parity.shared.b64 p, [%0], 0; @!p bra again; }" :: "r"(at) : "memory");
  for (int i = 0; i < 16; i++) y[i] = box[i];
}
"""


@dataclass(frozen=True)
class Place:
    """Where an executor is started and what it loads."""

    engine: EngineInstallation
    folder: Path
    images: dict[str, Path]

    @contextlib.asynccontextmanager
    async def ready(self) -> AsyncIterator[Executor]:
        """An executor with a context and the cubin."""
        driver = os.environ.get("CUDANALYST_TEST_DRIVER")
        command = ExecutorCommand(self.engine.executor, plainly(self.folder, {}), Path(driver) if driver else None)
        async with start_executor(command, timeout_s=60) as executor:
            await executor.open()
            await executor.module("m", self.images["cubin"])
            yield executor

    def trace(self, *records: str) -> Path:
        """A trace file."""
        path = self.folder / "trace"
        path.write_text("\n".join(["cudanalyst-trace 1", *records, "end 0"]) + "\n")
        return path


@pytest.fixture(scope="module")
async def place(tmp_path_factory: pytest.TempPathFactory, anyio_backend: str) -> Place:
    folder = tmp_path_factory.mktemp("executor")
    toolkit = await find_toolkit()
    engine = await install_engine(cuda_include=toolkit.include)
    images = {name: folder / f"k.{name}" for name in ("cubin", "fatbin", "ptx")}
    (folder / "k.cu").write_text(SOURCE)
    gencode = os.environ.get("CUDANALYST_TEST_GENCODE", "arch=compute_90a,code=sm_90a")
    virtual = gencode.partition(",")[0]
    for name, path in images.items():
        code = f"{virtual},code={virtual.removeprefix('arch=')}" if name == "ptx" else gencode
        argv = [toolkit.nvcc, f"-gencode={code}", "-lineinfo", f"-{name}", folder / "k.cu", "-o", path]
        result = await run_process(argv, timeout_s=120)
        assert result.exit_status == 0, result.stderr.text
    return Place(engine, folder, images)


def word(value: int, size: int) -> str:
    return value.to_bytes(size, "little").hex()


def launch(
    kernel: str, *arguments: str, stream: int = 0, grid: int = 1, dynamic: int = 0, attributes: str = "0"
) -> str:
    return f"launch {kernel} {grid} 1 1 1 1 1 {dynamic} {stream} {attributes} {len(arguments)} {' '.join(arguments)}"


async def floats(executor: Executor, place: Place, name: str) -> tuple[float, ...]:
    await executor.download(name, place.folder / "down")
    data = (place.folder / "down").read_bytes()
    body = data[GUARD:-GUARD]
    return struct.unpack(f"{len(body) // 4}f", body)


async def filled(executor: Executor, place: Place, name: str = "x") -> int:
    address = await executor.buffer(name, 4 * N, GUARD)
    (place.folder / "up").write_bytes(b"\1" * GUARD + struct.pack(f"{N}f", *range(N)) + b"\2" * GUARD)
    await executor.upload(name, place.folder / "up")
    return address


async def test_every_image_has_the_same_kernels_and_parameters(place: Place, record) -> None:
    seen: dict[str, dict[str, LoadedKernel]] = {}
    async with place.ready() as executor:
        for name, path in place.images.items():
            seen[name] = {kernel.symbol: kernel for kernel in await executor.module(name, path)}
            for variable, size in (("counter", 4), ("table", 64)):
                assert (await executor.symbol(name, variable))[1] == size, (name, variable)
        try:
            hidden = str(await executor.symbol("m", "hidden"))
        except ExecutorFailed as error:
            hidden = str(error)
        record("executor_static_variable", {"hidden": hidden, "memory": await executor.command("memory")})
    record("executor_kernels", {name: {key: vars(one) for key, one in rows.items()} for name, rows in seen.items()})
    for rows in seen.values():
        assert rows["twice"].parameters == ((0, 8), (8, 8), (16, 4))
        assert rows["tile"].parameters[0][1] == 128
        assert rows["twice"].registers > 0


async def test_every_kind_of_record_does_what_it_says(place: Place) -> None:
    async with place.ready() as executor:
        x, y = await filled(executor, place), await executor.buffer("y", 4 * N, GUARD)
        await executor.fill("y", 0)
        cluster = "1 4 " + word(2, 4) + word(1, 4) * 2 + "00" * 52
        records = (
            "stream 1 -1",
            "record 0 0",
            "wait 0 1",
            f"launch twice 1 1 1 4 1 1 0 1 0 3 {word(x, 8)} {word(y, 8)} {word(4, 4)}",
            f"fill {x:x} 1056964608 4 2 2 16 1",
            f"copy {y + 32:x} {x:x} 8 2 16 16 1",
            f"upload {y + 64:x} 4 2 8 1 0000803f00000040",
            f"fill {y + 100:x} 65 1 4 1 0 1",
            f"fill {y + 104:x} 16191 2 2 1 0 1",
            launch("clusters", word(y + 120, 8), grid=4, stream=1, attributes=cluster),
            "attribute shared 8 200000",
            launch("shared", word(y + 160, 8), dynamic=200000, stream=1),
            "record 1 1",
            "wait 1 0",
        )
        assert await executor.trace("t", "m", place.trace(*records)) == len(records) - 1
        await executor.call("t")
        values = await floats(executor, place, "y")
    assert values[:4] == (0.0, 2.0, 4.0, 6.0)
    assert values[8:14] == (0.5, 0.5, 0.0, 0.0, 0.5, 0.5)
    assert values[16:19] == (1.0, 0.0, 2.0)
    assert struct.pack("2f", *values[25:27]) == b"AAAA\x3f\x3f\x3f\x3f"
    assert values[30:34] == (0.0, 1.0, 0.0, 1.0)
    assert values[40] == 3.0


async def test_a_tensor_map_stands_where_its_token_stood(place: Place) -> None:
    token = bytes(range(128)).hex()
    async with place.ready() as executor:
        x = await executor.buffer("m", 4 * 64)
        (place.folder / "up").write_bytes(struct.pack("64f", *range(64)))
        await executor.upload("m", place.folder / "up")
        y = await executor.buffer("y", 64, GUARD)
        # 8 x 8 floats, boxes of 4 x 4 without swizzle
        encode = f"tensor_map {token} 7 2 {x:x} 8 8 32 4 4 1 1 0 0 0 0"
        await executor.trace("t", "m", place.trace(encode, launch("tile", token, word(y, 8))))
        await executor.call("t")
        values = await floats(executor, place, "y")
        with pytest.raises(ExecutorFailed, match="cuTensorMapEncodeTiled"):
            await executor.trace("u", "m", place.trace(f"tensor_map {token} 7 2 {x:x} 8 8 33 4 4 1 1 0 0 0 0"))
    assert values == tuple(float(8 * (2 + row) + 4 + column) for row in range(4) for column in range(4))


async def test_a_fault_stays_until_the_context_is_closed_and_the_next_executor_is_right_soon(
    place: Place, record
) -> None:
    async with place.ready() as executor:
        x = await filled(executor, place)
        await executor.trace("t", "m", place.trace(launch("strays", word(x, 8))))
        for words in (("call", "t"), ("memory",)):
            with pytest.raises(ExecutorFailed) as caught:
                await executor.command(*words)
            assert (caught.value.code, caught.value.name) == (700, "CUDA_ERROR_ILLEGAL_ADDRESS")
        record("executor_fault", str(caught.value))
        await executor.close()
    started = time.monotonic()
    await right(place)
    record("executor_right_again", {"seconds": time.monotonic() - started})


async def test_a_hang_is_killed_and_the_next_executor_is_right_soon(place: Place, record) -> None:
    async with place.ready() as executor:
        await executor.buffer("x", 4)
        await executor.fill("x", 0)
        address = await executor.buffer("z", 4)
        await executor.fill("z", 0)
        await executor.trace("t", "m", place.trace(launch("spins", word(address, 8))))
        with pytest.raises(ExecutorFailed) as caught:
            await executor.call("t", limit_s=1.0)
        assert caught.value.lost
        killed = time.monotonic()
    ended = time.monotonic() - killed
    started = time.monotonic()
    await right(place)
    again = time.monotonic() - started
    record("executor_hang", {"killed_within_s": ended, "right_again_s": again})
    assert again < RIGHT_AGAIN_S + 5


async def test_starting_and_replaying_take_as_long_as_they_take(place: Place, record) -> None:
    times: dict[str, float] = {}
    started = time.monotonic()
    async with place.ready() as executor:
        times["open_and_load_s"] = time.monotonic() - started
        x, y = await filled(executor, place), await executor.buffer("y", 4 * N, GUARD)
        twice = f"launch twice 1 1 1 128 1 1 0 0 0 3 {word(x, 8)} {word(y, 8)} {word(N, 4)}"
        await executor.trace("t", "m", place.trace(twice))
        times["first_call_us"] = await executor.call("t")
        times["call_us"] = min([await executor.call("t") for _ in range(20)])
        started = time.monotonic()
        await asyncio.gather(*(executor.command("memory") for _ in range(100)))
        times["command_us"] = (time.monotonic() - started) * 1e4
    record("executor_times", times)
    assert executor.process is not None
    assert executor.process.exit_status == 0


async def test_a_call_finds_what_was_uploaded_just_before_also_where_the_device_is_busy(
    place: Place, tmp_path: Path
) -> None:
    """Copies from pageable memory go on after their call has returned, and the streams of calls do not wait for them."""

    async def rounds(number: int) -> int:
        own = Place(place.engine, tmp_path / str(number), place.images)
        own.folder.mkdir()
        wrong = 0
        async with own.ready() as executor:
            for n in (1000, 6000, 15000, 1 << 20):
                x, y = await executor.buffer(f"x{n}", 4 * n, 0), await executor.buffer(f"y{n}", 4 * n, 0)
                twice = f"launch twice {-(-n // 128)} 1 1 128 1 1 0 0 0 3 {word(x, 8)} {word(y, 8)} {word(n, 4)}"
                await executor.trace(f"t{n}", "m", own.trace(twice))
                for turn in range(8 if n > 100000 else 100):
                    (own.folder / "up").write_bytes(struct.pack("<f", turn) * n)
                    up, down = own.folder / "up", own.folder / "down"
                    await executor.commands([("upload", f"x{n}", up), ("call", f"t{n}"), ("download", f"y{n}", down)])
                    wrong += down.read_bytes() != struct.pack("<f", 2 * turn) * n
        return wrong

    assert await asyncio.gather(*map(rounds, range(6))) == [0] * 6


async def test_memory_is_shared_by_its_handle(place: Place, record) -> None:
    async with place.ready() as executor:
        small, large = await executor.buffer("small", 64, GUARD), await executor.buffer("large", 8 << 20, 4096)
        for name, address in (("small", small), ("large", large)):
            answer = await executor.command("share", name)
            record(f"executor_share_{name}", {"address": hex(address), **answer})
            assert len(bytes.fromhex(answer["handle"])) == 64
            assert answer["offset"] >= GUARD


async def right(place: Place) -> None:
    """A fresh executor computes what it should."""
    async with place.ready() as executor:
        x, y = await filled(executor, place), await executor.buffer("y", 4 * N, GUARD)
        twice = f"launch twice 1 1 1 128 1 1 0 0 0 3 {word(x, 8)} {word(y, 8)} {word(N, 4)}"
        await executor.trace("t", "m", place.trace(twice))
        await executor.call("t")
        assert await floats(executor, place, "y") == tuple(2.0 * i for i in range(N))
