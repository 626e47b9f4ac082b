"""Commands to a running executor (engine/EXECUTOR.md), typed; one at a time, each with a time limit."""

import asyncio
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from cudanalyst.tools.process import ProcessResult
from cudanalyst.tools.text import clean

COMMAND_LIMIT_S: Final = 60.0
_MESSAGE: Final = 4000


class ExecutorFailed(Exception):
    """A command was answered with a failure, or not at all."""

    def __init__(
        self,
        kind: Literal["cuda", "bad_command", "io", "timed_out", "ended"],
        command: str,
        message: str,
        *,
        code: int | None = None,
        name: str | None = None,
    ) -> None:
        """Takes what the answer says; `timed_out` and `ended` mean that there was none, and that the session is lost."""
        super().__init__(f"{command}: {message}")
        self.kind = kind
        self.command = command
        self.message = message
        self.code = code
        """Number of the CUDA error, which driver and runtime share."""
        self.name = name
        """E.g. `CUDA_ERROR_ILLEGAL_ADDRESS`."""

    @property
    def lost(self) -> bool:
        """Whether the session can do nothing any more."""
        return self.kind in {"timed_out", "ended"}


@dataclass(frozen=True)
class Device:
    """What `open` says of the device."""

    name: str
    driver_version: int
    uuid: str
    total_bytes: int
    attributes: Mapping[int, int]
    """By number of the CUdevice_attribute, which is that of the cudaDeviceAttr."""


@dataclass(frozen=True)
class LoadedKernel:
    """A kernel of a loaded module, as the driver describes it."""

    symbol: str
    registers: int
    static_shared_bytes: int
    local_bytes: int
    constant_bytes: int
    max_threads: int
    ptx_version: int
    binary_version: int
    parameters: tuple[tuple[int, int], ...]
    """Offset and bytes of each."""


@dataclass
class Executor:
    """A running executor. Commands are sent one at a time."""

    _reader: asyncio.StreamReader
    _writer: asyncio.StreamWriter
    _ends_at: float
    _busy: asyncio.Lock = field(default_factory=asyncio.Lock)
    _lost: ExecutorFailed | None = None
    _open: bool = False
    _device: Device | None = None
    """Where the context is."""
    _unused: Device | None = None
    """Of a context in which nothing was done yet."""
    troubled: bool = False
    """Whether a command has failed: what the device still does, and what the context is good for, is then not known."""
    process: ProcessResult | None = None
    """How the process ended; None until the block is left."""

    async def command(self, *words: str | int | Path, limit_s: float = COMMAND_LIMIT_S) -> dict[str, Any]:
        """Sends a command and gives the answer's members.

        Raises:
            ExecutorFailed: It failed, was not answered in time, or there is nobody to answer.
        """
        return (await self.commands([words], limit_s=limit_s))[0]

    async def commands(
        self, lines: Sequence[Sequence[str | int | Path]], *, limit_s: float = COMMAND_LIMIT_S
    ) -> list[dict[str, Any]]:
        """Sends commands without waiting in between, which saves most of their time; the answers in order.

        Every one is carried out, whatever becomes of those before it.

        Raises:
            ExecutorFailed: The first one that failed; or they were not all answered in time.
        """
        limit_s = max(0.0, min(limit_s, self._ends_at - time.monotonic()))
        until = time.monotonic() + limit_s
        self._unused = None
        async with self._busy:
            if self._lost is not None:
                raise self._lost
            self._writer.write("".join(" ".join(map(str, words)) + "\n" for words in lines).encode())
            answers = [await self._answer(str(words[0]), until, limit_s) for words in lines]
        for words, answer in zip(lines, answers, strict=True):
            if answer.get("ok") is not True:
                self.troubled = True
                raise _failure(str(words[0]), answer)
        return answers

    async def _answer(self, name: str, until: float, limit_s: float) -> dict[str, Any]:
        try:
            async with asyncio.timeout(max(0.0, until - time.monotonic())):
                data = await self._reader.readline()
        except TimeoutError:
            raise self._lose("timed_out", name, f"no answer within {limit_s:.3g} s") from None
        except (OSError, ValueError) as error:
            raise self._lose("ended", name, f"the connection failed: {error}") from error
        except asyncio.CancelledError:
            # The answer to this one must not be taken for the next one's.
            self._lose("ended", name, "the command was cancelled")
            raise
        if not data.endswith(b"\n"):
            raise self._lose("ended", name, "the executor ended without an answer")
        try:
            answer = json.loads(data)
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            raise self._lose("ended", name, "the answer is not a JSON object")
        return answer

    def _lose(self, kind: Literal["timed_out", "ended"], name: str, message: str) -> ExecutorFailed:
        self.troubled = True
        self._lost = ExecutorFailed(kind, name, message)
        return self._lost

    async def greeting(self, limit_s: float) -> dict[str, Any]:
        """The first line, which comes by itself."""
        return await self._answer("start", time.monotonic() + limit_s, limit_s)

    def hang_up(self) -> None:
        """Ends the connection; the executor leaves when it sees that."""
        self._writer.close()

    @property
    def lost(self) -> bool:
        """Whether nothing can be asked any more."""
        return self._lost is not None

    @property
    def device(self) -> Device | None:
        """Where its last context was opened."""
        return self._device

    @property
    def opened(self) -> bool:
        """Whether there is a context."""
        return self._open

    async def open(self, index: int = 0) -> Device:
        """A fresh context on a device: one that was opened ahead and has seen no command since, or a new one in place of what there was."""
        if (ahead := self._unused) is not None:
            self._unused = None
            return ahead
        if self._open:
            await self.close()
        answer = await self.command("open", index)
        self._open = True
        self._device = Device(
            name=answer["name"],
            driver_version=answer["driver_version"],
            uuid=answer["uuid"],
            total_bytes=answer["total_bytes"],
            attributes={int(number): value for number, value in answer["attributes"].items()},
        )
        return self._device

    async def open_emptied(self, index: int = 0) -> Device:
        """The context that there is, with nothing left in it, for more work of the same candidate; a fresh one where there is none in good order."""
        known = self._device
        if self._unused is None and self._open and not self.troubled and known is not None:
            try:
                await self.command("empty")
            except ExecutorFailed:
                if self.lost:
                    raise
            else:
                return known
        return await self.open(index)

    async def open_ahead(self, index: int = 0) -> None:
        """Makes the context that the next `open` gives; any command before that makes it no longer fresh."""
        self._unused = await self.open(index)

    async def close(self) -> None:
        """Destroys the context and all that is in it."""
        self._open = False
        await self.command("close")
        self.troubled = False

    async def module(self, slot: str, image: Path) -> tuple[LoadedKernel, ...]:
        """Loads a cubin, fatbin or PTX; the kernels in it."""
        answer = await self.command("module", slot, image)
        return tuple(
            LoadedKernel(**{**row, "parameters": tuple((offset, size) for offset, size in row["parameters"])})
            for row in answer["kernels"]
        )

    async def unload(self, slot: str) -> None:
        """Unloads a module; traces for its kernels must not be called any more."""
        await self.command("unload", slot)

    async def symbol(self, slot: str, name: str) -> tuple[int, int]:
        """Address and bytes of a variable."""
        answer = await self.command("symbol", slot, name)
        return answer["address"], answer["bytes"]

    async def buffer(self, name: str, size: int, guard: int = 0) -> int:
        """A separate allocation; the address behind its first guard. Findings call `x@2` by the name `x`."""
        address: int = (await self.command("buffer", name, size, guard))["address"]
        return address

    async def buffers(self, wanted: Sequence[tuple[str, int, int]]) -> list[int]:
        """Several: name, bytes and guard of each."""
        answers = await self.commands([("buffer", *one) for one in wanted])
        return [answer["address"] for answer in answers]

    async def free(self, name: str) -> None:
        """Frees a buffer."""
        await self.command("free", name)

    async def upload(self, name: str, path: Path, *, limit_s: float = COMMAND_LIMIT_S) -> None:
        """Fills the whole allocation, guards included, from a file."""
        await self.command("upload", name, path, limit_s=limit_s)

    async def download(self, name: str, path: Path, *, limit_s: float = COMMAND_LIMIT_S) -> None:
        """Writes the whole allocation, guards included, to a file."""
        await self.command("download", name, path, limit_s=limit_s)

    async def fill(self, name: str, byte: int) -> None:
        """Sets every byte of the whole allocation."""
        await self.command("fill", name, byte)

    async def trace(self, name: str, slot: str, path: Path) -> int:
        """Reads a canonical trace for the kernels of a module; the number of operations."""
        operations: int = (await self.command("trace", name, slot, path))["operations"]
        return operations

    async def forget(self, name: str) -> None:
        """Drops a trace."""
        await self.command("forget", name)

    async def call(self, *names: str, limit_s: float = COMMAND_LIMIT_S) -> float:
        """Replays traces in order and waits; microseconds on the host's clock, which are no measurement of a GPU."""
        microseconds: float = (await self.command("call", *names, limit_s=limit_s))["microseconds"]
        return microseconds


def _failure(command: str, answer: Mapping[str, Any]) -> ExecutorFailed:
    kind = answer.get("kind")
    return ExecutorFailed(
        kind if kind in {"cuda", "bad_command", "io"} else "io",
        command,
        clean(str(answer.get("message") or "no reason was given"), _MESSAGE),
        code=answer.get("code"),
        name=answer.get("name"),
    )
