"""The executor obeys its parent's lines on the CPU engine's driver, and says completely what went wrong."""

import asyncio
import contextlib
import dataclasses
import hashlib
import json
import os
import struct
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from cudanalyst.errors import Unavailable
from cudanalyst.tools.engine.build import EngineInstallation
from cudanalyst.tools.process import run_process
from cudanalyst.tools.toolchain.discovery import Toolkit
from cudanalyst.tools.toolchain.executor import (
    Executor,
    ExecutorCommand,
    ExecutorFailed,
    LoadedKernel,
    plainly,
    start_executor,
)

pytestmark = pytest.mark.anyio

SOURCE = """
__device__ int counter;
__constant__ float table[16];
extern "C" __global__ void twice(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 2 * x[i];
}
extern "C" __global__ void strays(float* y) { y[1 << 28] = 1; }
extern "C" __global__ void spins(volatile int* y) { while (!*y) {} }
struct Big { double values[20]; };
extern "C" __global__ void reads(Big big, double* y) { *y = big.values[19]; }
"""
N = 100
GUARD = 64


@dataclass(frozen=True)
class Place:
    """An executor to start, an image to load and a folder to work in."""

    engine: EngineInstallation
    image: Path
    work: Path
    driver: Path | None = None
    """None: the engine's."""

    @contextlib.asynccontextmanager
    async def start(
        self, *, timeout_s: float = 30, prefix: tuple[str, ...] = (), **environment: str
    ) -> AsyncIterator[Executor]:
        """An executor on the engine's driver, its report in the work folder."""
        environment.setdefault("CUDANALYST_REPORT", str(self.work / "report.jsonl"))
        command = ExecutorCommand(
            self.engine.executor,
            plainly(self.work, environment),
            self.driver or self.engine.library_dir / "libcuda.so.1",
            prefix,
        )
        async with start_executor(command, timeout_s=timeout_s) as executor:
            yield executor

    @contextlib.asynccontextmanager
    async def ready(self, **options: str) -> AsyncIterator[Executor]:
        """One with a context and the module."""
        async with self.start(**options) as executor:
            await executor.open()
            await executor.module("m", self.image)
            yield executor

    def trace(self, name: str, *records: str, status: int = 0) -> Path:
        """A trace file."""
        path = self.work / name
        path.write_text("\n".join(["cudanalyst-trace 1", *records, f"end {status}"]) + "\n")
        return path

    def records(self, kind: str) -> list[dict[str, object]]:
        """The report's records of a type."""
        lines = (self.work / "report.jsonl").read_text().splitlines()
        return [record for record in map(json.loads, lines) if record["type"] == kind]


@pytest.fixture(scope="module")
def image(toolkit: Toolkit, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The kernels above, with PTX and machine code."""
    folder = tmp_path_factory.mktemp("image")
    (folder / "kernels.cu").write_text(SOURCE)
    argv = [
        toolkit.nvcc, "-gencode=arch=compute_90,code=[sm_90,compute_90]", "-lineinfo", "-compress-mode=none", "-fatbin",
        folder / "kernels.cu", "-o", folder / "kernels.fatbin",
    ]  # fmt: skip
    result = asyncio.run(run_process(argv, timeout_s=120))
    assert result.exit_status == 0, result.stderr.text
    return folder / "kernels.fatbin"


@pytest.fixture
def place(engine: EngineInstallation, image: Path, tmp_path: Path) -> Place:
    """Where a test works."""
    return Place(engine, image, tmp_path)


@pytest.fixture(scope="module")
def late_driver(engine: EngineInstallation, toolkit: Toolkit, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A driver whose copies from pageable memory arrive as late as CUDA allows."""
    library = tmp_path_factory.mktemp("late") / "late_driver.so"
    real = engine.library_dir / "libcuda.so.1"
    argv = [
        "g++", "-std=c++17", "-shared", "-fPIC", "-Wl,--no-as-needed", f"-I{toolkit.include}", f'-DENGINE_DRIVER="{real}"',
        Path(__file__).with_name("late_driver.cpp"), "-o", library, real, f"-Wl,-rpath,{engine.library_dir}",
    ]  # fmt: skip
    result = asyncio.run(run_process(argv, timeout_s=120))
    assert result.exit_status == 0, result.stderr.text
    return library


def word(value: int, size: int) -> str:
    """A little-endian number in hexadecimal."""
    return value.to_bytes(size, "little").hex()


def launch(kernel: str, *arguments: str, stream: int = 0, grid: int = 1) -> str:
    """A launch record of 128 threads a block."""
    return f"launch {kernel} {grid} 1 1 128 1 1 0 {stream} 0 {len(arguments)} {' '.join(arguments)}"


def twice(x: int, y: int, n: int = N, stream: int = 0) -> str:
    """A launch of `twice`."""
    return launch("twice", word(x, 8), word(y, 8), word(n, 4), stream=stream)


async def floats(executor: Executor, place: Place, name: str) -> tuple[float, ...]:
    """A buffer's contents without guards."""
    await executor.download(name, place.work / "down")
    data = (place.work / "down").read_bytes()[GUARD:-GUARD]
    return struct.unpack(f"{len(data) // 4}f", data)


async def filled(executor: Executor, place: Place, name: str = "x") -> int:
    """A buffer of 0, 1, 2, ..."""
    address = await executor.buffer(name, 4 * N, GUARD)
    file = place.work / f"{name}.bin"
    file.write_bytes(b"\1" * GUARD + struct.pack(f"{N}f", *range(N)) + b"\2" * GUARD)
    await executor.upload(name, file)
    return address


async def refused(executor: Executor, *words: str | int | Path) -> ExecutorFailed:
    """The failure that a command ends in."""
    with pytest.raises(ExecutorFailed) as caught:
        await executor.command(*words)
    return caught.value


async def test_a_device_is_described_by_all_its_attributes(place: Place) -> None:
    async with place.start() as executor:
        device = await executor.open()
    assert "H200" in device.name
    assert device.attributes[16] == 132
    assert device.attributes[10] == 32
    assert device.uuid.startswith("GPU-")
    assert device.total_bytes == 4 << 30


async def test_a_module_lists_its_kernels_with_their_parameters(place: Place) -> None:
    async with place.start() as executor:
        await executor.open()
        kernels = {kernel.symbol: kernel for kernel in await executor.module("m", place.image)}
    assert set(kernels) == {"twice", "strays", "spins", "reads"}
    twice_kernel: LoadedKernel = kernels["twice"]
    assert twice_kernel.parameters == ((0, 8), (8, 8), (16, 4))
    assert kernels["reads"].parameters == ((0, 160), (160, 8))
    assert twice_kernel.registers > 0
    assert twice_kernel.max_threads == 1024


async def test_variables_have_an_address_and_a_size(place: Place) -> None:
    async with place.ready() as executor:
        assert (await executor.symbol("m", "counter"))[1] == 4
        assert (await executor.symbol("m", "table"))[1] == 64
        error = await refused(executor, "symbol", "m", "absent")
    assert (error.kind, error.code, error.name) == ("cuda", 500, "CUDA_ERROR_NOT_FOUND")


async def test_a_buffer_goes_up_and_comes_down_with_its_guards(place: Place) -> None:
    async with place.ready() as executor:
        await filled(executor, place)
        answer = await executor.command("download", "x", place.work / "down", "digest")
        data = (place.work / "x.bin").read_bytes()
        assert (place.work / "down").read_bytes() == data
        assert answer["blake2b"] == hashlib.blake2b(data, digest_size=32).hexdigest()
        await executor.fill("x", 7)
        await executor.download("x", place.work / "down")
    assert (place.work / "down").read_bytes() == b"\7" * len(data)


async def test_a_call_finds_what_was_uploaded_just_before_however_late_the_driver_brings_it(
    place: Place, late_driver: Path
) -> None:
    """Its streams do not wait for the legacy one: a right candidate would be wrong."""
    late = dataclasses.replace(place, driver=late_driver)
    async with late.ready() as executor:
        x, y = await executor.buffer("x", 4 * N, 0), await executor.buffer("y", 4 * N, GUARD)
        await executor.trace("t", "m", place.trace("t", twice(x, y)))
        for turn in range(3):
            contents = struct.pack(f"{N}f", *(float(turn + i) for i in range(N)))
            (place.work / "x").write_bytes(contents)
            await executor.commands([("fill", "y", 0xA5), ("upload", "x", place.work / "x"), ("call", "t")])
            assert await floats(executor, place, "y") == tuple(2.0 * (turn + i) for i in range(N))


async def test_one_file_may_hold_several_buffers(place: Place) -> None:
    async with place.ready() as executor:
        await executor.buffers([("x", 5, 0), ("y", 3, 0)])
        (place.work / "both").write_bytes(b"first".ljust(4096, b"\0") + b"two")
        await executor.commands([("upload", "x", place.work / "both", 0), ("upload", "y", place.work / "both", 4096)])
        down = place.work / "down"
        await executor.commands([("download", "y", down, 0), ("download", "x", down, 4096)])
        assert down.read_bytes() == b"two".ljust(4096, b"\0") + b"first"
        assert "multiple of 4096" in (await refused(executor, "upload", "x", place.work / "both", 1)).message
        assert "has 4099 bytes" in (await refused(executor, "upload", "x", place.work / "both", 4096)).message


async def test_an_empty_buffer_has_no_address(place: Place) -> None:
    async with place.ready() as executor:
        assert await executor.buffer("none", 0, 0) == 0
        (place.work / "empty").write_bytes(b"")
        await executor.upload("none", place.work / "empty")
        await executor.download("none", place.work / "down")
    assert (place.work / "down").read_bytes() == b""


async def test_the_copies_of_a_buffer_are_shown_under_one_name(place: Place) -> None:
    async with place.ready() as executor:
        await executor.buffer("x@0", 16)
        await executor.buffer("x@1", 32)
    assert [(record["name"], record["bytes"]) for record in place.records("allocation")] == [("x", 16), ("x", 32)]


async def test_a_trace_is_replayed_as_often_as_it_is_called(place: Place) -> None:
    async with place.ready() as executor:
        x, y = await filled(executor, place), await executor.buffer("y", 4 * N, GUARD)
        assert await executor.trace("t", "m", place.trace("t", twice(x, y))) == 1
        assert await executor.call("t") > 0
        assert await floats(executor, place, "y") == tuple(2.0 * i for i in range(N))
        await executor.trace("u", "m", place.trace("u", twice(y, y)))
        await executor.call("u", "u")
        assert (await floats(executor, place, "y"))[3] == 24.0
    assert len(place.records("launch")) == 3


async def test_every_kind_of_record_does_what_it_says(place: Place) -> None:
    async with place.ready() as executor:
        x, y = await filled(executor, place), await executor.buffer("y", 4 * N, GUARD)
        await executor.fill("y", 0)
        trace = place.trace(
            "t",
            "stream 1 -1",
            "record 0 0",
            "wait 0 1",
            "attribute twice 8 1024",
            twice(x, y, 4, stream=1),
            f"fill {x:x} 1056964608 4 2 2 16 1",
            f"copy {y + 32:x} {x:x} 8 2 16 16 1",
            f"upload {y + 64:x} 4 2 8 1 0000803f00000040",
            f"fill {y + 100:x} 65 1 4 1 0 1",
            f"fill {y + 104:x} 16191 2 2 1 0 1",
            "record 1 1",
            "wait 1 0",
        )
        assert await executor.trace("t", "m", trace) == 11
        await executor.call("t")
        values = await floats(executor, place, "y")
    assert values[:4] == (0.0, 2.0, 4.0, 6.0)
    assert values[8:14] == (0.5, 0.5, 0.0, 0.0, 0.5, 0.5)
    assert values[16:19] == (1.0, 0.0, 2.0)
    assert struct.pack("2f", *values[25:27]) == b"AAAA\x3f\x3f\x3f\x3f"


async def test_an_event_that_was_not_recorded_orders_nothing(place: Place) -> None:
    async with place.ready() as executor:
        assert await executor.trace("t", "m", place.trace("t", "wait 3 0")) == 0
        await executor.call("t")


BAD_TRACES = {
    "launch absent 1 1 1 1 1 1 0 0 0 0": "no kernel `absent`",
    "launch twice 1 1 1 1 1 1 0 0 0 2 00 00": "takes 3 arguments",
    "launch twice 1 1 1 1 1 1 0 0 0 3 00 00 00": "has 1 bytes, not 8",
    "launch twice 1 1 1 1 1 1 0 1 0 0": "STREAM `1` is more than 0",
    "launch twice 1 1 1 1 1 1 0 0 1 2 00 0": "64 bytes",
    "launch twice 4294967296 1 1 1 1 1 0 0 0 0": "is more than 4294967295",
    "stream 2 0": "numbered from 1",
    "fill 10 1 3 1 1 0 0": "1, 2 or 4",
    "upload 10 2 2 2 0 0000": "not ROWS rows",
    "upload 10 1 1 1 0 0": "odd number",
    "upload 10 1 1 1 0 zz": "not hexadecimal",
    "copy 0x10 10 1 1 1 1 0": "without 0x",
    "copy 10 10 1 1 1 1": "STREAM is missing",
    "copy 10 10 1 1 1 1 0 9": "more than this takes",
    "copy 10  10 1 1 1 1 0": "one space",
    "query x = 1": "none that is replayed",
    "refused contract x: y": "none that is replayed",
    "tensor_map 00 0": "128 bytes",
    "end 0": "goes on after its `end`",
}


async def test_a_trace_that_is_not_canonical_is_refused_with_its_line(place: Place) -> None:
    async with place.ready() as executor:
        for record, text in BAD_TRACES.items():
            error = await refused(executor, "trace", "t", "m", place.trace("t", record))
            assert error.kind == "bad_command", record
            assert text in error.message, record
        for contents in ("", "cudanalyst-trace 1\n", "cudanalyst-trace 2\nend 0\n", "cudanalyst-trace 1\nend 0"):
            (place.work / "t").write_text(contents)
            assert (await refused(executor, "trace", "t", "m", place.work / "t")).kind == "bad_command"
        await executor.call(*([] if await executor.trace("t", "m", place.trace("t")) else ["t"]))


async def test_a_commands_error_says_which_argument_is_wrong(place: Place) -> None:
    async with place.ready() as executor:
        await filled(executor, place)
        for words, kind, text in (
            (("nonsense",), "bad_command", "no such command"),
            (("open", 0), "bad_command", "open already"),
            (("open", "x"), "bad_command", "INDEX `x` is not a whole number"),
            (("module", "m", place.image), "bad_command", "holds a module"),
            (("module", "n", place.work / "absent"), "io", "absent"),
            (("buffer", "x", 1, 0), "bad_command", "buffer `x` already"),
            (("buffer", "z", -1, 0), "bad_command", "BYTES"),
            (("buffer", "z", 1), "bad_command", "GUARD is missing"),
            (("buffer", "z", 1 << 40, 0), "cuda", "CUDA_ERROR_OUT_OF_MEMORY"),
            (("free", "z"), "bad_command", "no buffer `z`"),
            (("upload", "x", place.image), "bad_command", "guards included, has 528"),
            (("upload", "x", place.work / "absent"), "io", "absent"),
            (("download", "x", place.work / "no" / "where"), "io", "where"),
            (("fill", "x", 256), "bad_command", "BYTE"),
            (("trace", "t", "n", "x"), "bad_command", "no module `n`"),
            (("call", "t"), "bad_command", "no trace `t`"),
            (("call",), "bad_command", "ID is missing"),
            (("occupancy", "m", "absent", 1, 0), "bad_command", "no kernel `absent`"),
            (("profiler", "pause"), "bad_command", "start or stop"),
            (("share", "x"), "cuda", "CUDA_ERROR_NOT_SUPPORTED"),
            (("unload", "n"), "bad_command", "no module `n`"),
            (("forget", "t"), "bad_command", "no trace `t`"),
        ):
            error = await refused(executor, *words)
            assert (error.kind, error.command) == (kind, words[0]), words
            assert text in error.message, words
        assert (await executor.command("memory"))["total_bytes"] == 4 << 30
        assert (await executor.command("occupancy", "m", "twice", 128, 0))["blocks"] == 16
        await executor.command("profiler", "start")
        await executor.command("profiler", "stop")


async def test_text_that_is_no_module_is_refused(place: Place) -> None:
    (place.work / "bad.ptx").write_text("this is not PTX")
    async with place.ready() as executor:
        error = await refused(executor, "module", "n", place.work / "bad.ptx")
    assert error.name == "CUDA_ERROR_INVALID_IMAGE"
    assert "bad.ptx" in error.message


async def test_nothing_is_done_before_a_context_is_open(place: Place) -> None:
    async with place.start() as executor:
        assert "`open INDEX` comes first" in (await refused(executor, "buffer", "x", 1, 0)).message
        assert (await refused(executor, "open", 1)).name == "CUDA_ERROR_INVALID_DEVICE"


async def test_a_fault_is_answered_to_everything_that_follows(place: Place) -> None:
    async with place.ready() as executor:
        x = await filled(executor, place)
        await executor.trace("t", "m", place.trace("t", launch("strays", word(x, 8))))
        for words in (("call", "t"), ("download", "x", place.work / "down"), ("memory",)):
            error = await refused(executor, *words)
            assert (error.kind, error.code, error.name) == ("cuda", 700, "CUDA_ERROR_ILLEGAL_ADDRESS")
            assert "trace t" in error.message
        await executor.close()
    assert executor.process is not None
    assert executor.process.exit_status == 0
    (fault,) = place.records("error")
    assert str(fault["file"]).endswith("kernels.cu")
    assert fault["line"] == 8


async def test_a_launch_that_the_driver_refuses_leaves_the_context_whole(place: Place) -> None:
    async with place.ready() as executor:
        record = "launch reads 1 1 1 2048 1 1 0 0 0 2 " + "00" * 160 + " " + word(0, 8)
        await executor.trace("t", "m", place.trace("t", record))
        assert (await refused(executor, "call", "t")).name == "CUDA_ERROR_INVALID_VALUE"
        await filled(executor, place)


async def test_an_executor_that_hangs_is_killed_when_its_command_has_had_its_time(place: Place) -> None:
    async with place.ready() as executor:
        x = await executor.buffer("x", 4)
        await executor.fill("x", 0)
        await executor.trace("t", "m", place.trace("t", launch("spins", word(x, 8))))
        with pytest.raises(ExecutorFailed) as caught:
            await executor.call("t", limit_s=0.2)
        assert caught.value.kind == "timed_out"
        assert caught.value.lost
        assert (await refused(executor, "memory")).kind == "timed_out"
    assert executor.process is not None
    assert executor.process.signal in {"SIGTERM", "SIGKILL"}


async def test_the_whole_session_has_a_limit_too(place: Place) -> None:
    async with place.start(timeout_s=0.5) as executor:
        await executor.open()
        await executor.module("m", place.image)
        x = await executor.buffer("x", 4)
        await executor.fill("x", 0)
        await executor.trace("t", "m", place.trace("t", launch("spins", word(x, 8))))
        with pytest.raises(ExecutorFailed, match="no answer within"):
            await executor.call("t", limit_s=60)
    assert executor.process is not None


async def test_the_watchdog_of_the_engine_ends_a_kernel_without_end(place: Place) -> None:
    async with place.ready(CUDANALYST_MAX_WARP_INSTRUCTIONS="10000") as executor:
        x = await executor.buffer("x", 4)
        await executor.fill("x", 0)
        await executor.trace("t", "m", place.trace("t", launch("spins", word(x, 8))))
        assert (await refused(executor, "call", "t")).code == 702
    assert place.records("watchdog")


async def test_a_killed_executor_is_noticed(place: Place) -> None:
    async with place.ready(prefix=("/bin/sh", "-c", 'echo $$ > pid; exec "$@"', "sh")) as executor:
        os.kill(int((place.work / "pid").read_text()), 9)
        error = await refused(executor, "memory")
        assert error.lost
    assert executor.process is not None
    assert executor.process.signal == "SIGKILL"


async def test_a_tool_may_wrap_the_executor_and_keeps_its_output(place: Place) -> None:
    script = 'echo before; "$@"; echo after $?'
    async with place.ready(prefix=("/bin/sh", "-c", script, "sh")) as executor:
        x, y = await filled(executor, place), await executor.buffer("y", 4 * N, GUARD)
        await executor.trace("t", "m", place.trace("t", twice(x, y)))
        await executor.call("t")
    assert executor.process is not None
    assert executor.process.stdout.text == "before\nafter 0\n"
    assert (executor.process.peak_bytes or 0) > 1 << 20


async def test_cancelling_ends_the_process(place: Place) -> None:
    started = asyncio.Event()

    async def work() -> None:
        async with place.ready(prefix=("/bin/sh", "-c", 'echo $$ > pid; exec "$@"', "sh")) as executor:
            started.set()
            await executor.trace("t", "m", place.trace("t", launch("spins", word(await executor.buffer("x", 4), 8))))
            await executor.call("t")

    task = asyncio.create_task(work())
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    with pytest.raises(ProcessLookupError):
        os.kill(int((place.work / "pid").read_text()), 0)


async def test_an_error_of_the_caller_ends_the_process_too(place: Place) -> None:
    with pytest.raises(ZeroDivisionError):
        async with place.start() as executor:
            raise ZeroDivisionError
    assert executor.process is not None
    assert executor.process.exit_status == 0


async def test_what_cannot_start_says_why(place: Place) -> None:
    start = plainly(place.work, {})
    for command, text in (
        (ExecutorCommand(place.work / "absent", start), "was not found"),
        (ExecutorCommand(place.engine.executor, start, place.work / "absent.so"), "absent.so"),
        (ExecutorCommand(place.engine.executor, start, Path("/lib/x86_64-linux-gnu/libm.so.6")), "lacks cuInit"),
        (ExecutorCommand(Path("/bin/false"), start), "exit status 1"),
    ):
        with pytest.raises(Unavailable, match=text):
            async with start_executor(command, timeout_s=20):
                pass


async def test_bad_usage_is_said_on_standard_error(engine: EngineInstallation, tmp_path: Path) -> None:
    for arguments, status in ((["--control"], 2), ([], 2), (["--x", "y"], 2), (["--control", str(tmp_path / "s")], 3)):
        result = await run_process([engine.executor, *arguments], timeout_s=10)
        assert result.exit_status == status
        assert result.stderr.text.startswith("cudanalyst-executor: ")
