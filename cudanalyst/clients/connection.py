"""A connection to the server over MCP: typed calls, jobs waited for, errors with their text."""

import json
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

from mcp import Client, StdioServerParameters
from pydantic import BaseModel

from cudanalyst.errors import CudanalystError
from cudanalyst.resources.answers import JobResult

Model = TypeVar("Model", bound=BaseModel)
Say = Callable[[str], None]
WAIT_S: Final = 30.0
"""Seconds that one `job_status` call waits; servers answer within 45 s."""
_KEPT_VARIABLES: Final = (
    "PATH", "HOME", "LANG", "TMPDIR", "CUDA_HOME", "CUDA_PATH", "CUDA_VISIBLE_DEVICES", "LD_LIBRARY_PATH", "CXX", "XDG_CACHE_HOME",
)  # fmt: skip


class CallError(CudanalystError):
    """The server refused a call; the text is the server's, and says what to do."""


class Connection:
    """One connected client."""

    def __init__(self, client: Client, say: Say | None = None) -> None:
        """A connection over a client that has been entered; `say` is told what long calls are at."""
        self._client = client
        self._say = say

    async def call(self, tool: str, answer: type[Model], **arguments: object) -> Model:
        """Calls a tool and waits for its result, through a job if it takes long.

        Args:
            tool: Name of the tool.
            answer: The result model.
            arguments: The tool's arguments; those that are None are left out.

        Raises:
            CallError: The server refused the call, or its job failed.
        """
        data = await self._structured(tool, {name: value for name, value in arguments.items() if value is not None})
        while data.get("status") == "running" and data.get("job"):
            job = JobResult.model_validate(await self._structured("job_status", {"job": data["job"], "wait_s": WAIT_S}))
            if job.status in {"failed", "cancelled"}:
                raise CallError(f"{tool}: {job.error or job.summary}")
            if job.status == "finished" and job.result is not None:
                data = job.result
        return answer.model_validate(await self._whole(data))

    async def _whole(self, data: dict[str, Any]) -> dict[str, Any]:
        """A result of which nothing is left out: fetched from its resource where the answer was cut."""
        cut = [one["resource"] for one in data.get("omitted") or () if one.get("resource")]
        if not cut:
            return data
        contents = (await self._client.read_resource(cut[0])).contents
        whole: dict[str, Any] = json.loads("".join(getattr(part, "text", "") for part in contents))
        return whole

    async def _structured(self, tool: str, arguments: dict[str, object]) -> dict[str, Any]:
        result = await self._client.call_tool(tool, arguments, progress_callback=self._progress)
        text = " ".join(getattr(block, "text", "") for block in result.content)
        if result.is_error:
            raise CallError(f"{tool}: {text or 'the server gave no reason'}")
        if not isinstance(result.structured_content, dict):
            raise CallError(f"{tool}: the answer has no structured content. Is this a cudanalyst server?")
        return result.structured_content

    async def _progress(self, progress: float, total: float | None, message: str | None) -> None:  # noqa: ARG002 - the SDK calls by name
        if self._say is not None and message:
            self._say(message)


@asynccontextmanager
async def stdio_server(store: Path, say: Say | None = None) -> AsyncIterator[Connection]:
    """Starts this package's own server as a child process over stdio, and connects to it.

    Args:
        store: Folder for what the server remembers.
        say: Told what long calls are at.
    """
    kept = {
        name: value for name, value in os.environ.items() if name in _KEPT_VARIABLES or name.startswith("CUDANALYST_")
    }
    parameters = StdioServerParameters(
        command=sys.executable, args=["-m", "cudanalyst", "serve", "--store", str(store)], env=kept
    )
    async with Client(parameters) as client:
        yield Connection(client, say)
