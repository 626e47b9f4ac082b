"""The oracle's process as its parent sees it: started, asked, ended."""

import asyncio
import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

from pydantic import TypeAdapter, ValidationError

import cudanalyst
from cudanalyst.errors import BadProblem, Unavailable
from cudanalyst.tools.gpu.oracle_messages import Failed
from cudanalyst.tools.process import ProcessResult, run_process, scrubbed_environment
from cudanalyst.values import Frozen

Answer = TypeVar("Answer", bound=Frozen)

START_S: Final = 60.0
"""Importing CuPy and making a context; on a cold disk it takes several seconds."""
LIFE_S: Final = 24 * 3600.0
_OBJECT: Final = TypeAdapter(dict[str, Any])
_LINE_LIMIT: Final = 1 << 20
_PASSED_ON: Final = (
    "HOME",
    "LD_LIBRARY_PATH",
    "CUDA_HOME",
    "CUDA_PATH",
    "CUDA_VISIBLE_DEVICES",
    "CUDA_DEVICE_ORDER",
    "CUPY_CACHE_DIR",
)


class OracleFailed(Unavailable):
    """The oracle could not do what was asked; `failed` is the kind (oracle_messages.Failed) that it gave."""

    def __init__(self, failed: str, message: str) -> None:
        """Takes the kind and the text."""
        super().__init__(f"the oracle on the device failed ({failed}): {message}")
        self.failed = failed


class Worker:
    """One process and the connection to it."""

    def __init__(self) -> None:
        """Starts nothing yet."""
        self._folder = tempfile.TemporaryDirectory(prefix="cudanalyst-oracle-")
        self._task: asyncio.Task[ProcessResult] | None = None
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    @property
    def alive(self) -> bool:
        """Whether it can be asked."""
        return self._streams is not None and self._task is not None and not self._task.done()

    async def start(self, extra: Mapping[str, str], idle_s: float, arrays: str = "numpy") -> None:
        """Starts it and waits until it has loaded the array module, which needs no device, and has connected.

        Raises:
            OracleFailed: It did not; the text holds what it wrote.
        """
        socket = Path(self._folder.name) / "control"
        connected: asyncio.Future[tuple[asyncio.StreamReader, asyncio.StreamWriter]]
        connected = asyncio.get_running_loop().create_future()

        async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            if connected.done():
                writer.close()
            else:
                connected.set_result((reader, writer))

        server = await asyncio.start_unix_server(accept, socket, limit=_LINE_LIMIT)
        argv: list[str | Path] = [
            sys.executable,
            "-m",
            "cudanalyst.tools.gpu.oracle",
            "--control",
            socket,
            "--idle",
            str(idle_s),
            "--arrays",
            arrays,
        ]
        process = run_process(argv, env=_environment(extra), timeout_s=LIFE_S)
        self._task = asyncio.create_task(process)
        try:
            either: set[asyncio.Future[Any]] = {self._task, connected}
            await asyncio.wait(either, timeout=START_S, return_when=asyncio.FIRST_COMPLETED)
            if connected.done():
                self._streams = connected.result()
        except BaseException:
            self.abandon()
            raise
        finally:
            server.close()
        if self._streams is None:
            raise OracleFailed("device", f"its process did not connect within {START_S:g} s{await self._last_words()}")

    async def ask(self, request: Frozen, kind: type[Answer], timeout_s: float) -> Answer:
        """One request and its answer; whatever goes wrong on the way ends the process.

        Raises:
            OracleFailed: It could not be done.
            BadProblem: The problem is at fault.
        """
        if self._streams is None:
            raise OracleFailed("internal", "its process is not connected")
        reader, writer = self._streams
        try:
            async with asyncio.timeout(timeout_s):
                writer.write(request.model_dump_json().encode() + b"\n")
                await writer.drain()
                line = await reader.readline()
        except TimeoutError as error:
            await self.close()
            raise OracleFailed("device", f"no answer within {timeout_s:g} s; it was ended") from error
        except OSError as error:
            raise OracleFailed("device", f"its process is gone{await self._last_words()}") from error
        except BaseException:  # cancelled: a later request must not read this one's answer
            self.abandon()
            raise
        if not line.endswith(b"\n"):
            raise OracleFailed("device", f"its process ended without an answer{await self._last_words()}")
        return _parse(line, kind)

    def abandon(self) -> None:
        """Does not await: a cancelled caller would be cancelled again here. The task kills the process as it ends."""
        streams, self._streams = self._streams, None
        if streams is not None:
            streams[1].close()
        if self._task is not None:
            self._task.cancel()
        self._folder.cleanup()

    async def close(self) -> None:
        """Ends it, and waits for its end."""
        self.abandon()
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)

    async def _last_words(self) -> str:
        """How the process ended and what it wrote; ends it if it has not."""
        task = self._task
        if task is not None:
            await asyncio.wait({task}, timeout=1.0)
        words = ""
        if task is not None and task.done() and not task.cancelled():
            if (error := task.exception()) is not None:
                words = f": {error}"
            else:
                result = task.result()
                text = (result.stderr.head + result.stderr.tail)[-2000:].decode(errors="replace").strip()
                words = f" ({result.signal or f'exit status {result.exit_status}'}): {text}"
        await self.close()
        return words


def _parse(line: bytes, kind: type[Answer]) -> Answer:
    try:
        fields: dict[str, Any] = _OBJECT.validate_json(line)
        name = fields.pop("answer", None)
        if name == Failed.__name__:
            failed = Failed.model_validate(fields)
            if failed.failed == "problem":
                raise BadProblem(failed.message)
            raise OracleFailed(failed.failed, failed.message)
        return kind.model_validate(fields)
    except ValidationError as error:
        raise OracleFailed("internal", f"an answer that is none: {error}") from error


def _environment(extra: Mapping[str, str]) -> dict[str, str]:
    kept = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    own = str(Path(cudanalyst.__file__).parents[1])
    path = os.pathsep.join([own, *filter(None, [os.environ.get("PYTHONPATH")])])
    return scrubbed_environment({**kept, "PYTHONPATH": path, **extra})
