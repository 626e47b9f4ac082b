"""A connection to the server over MCP: typed calls, jobs waited for, errors with their text."""

import json
import os
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit, urlunsplit

import anyio
import httpx2
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from pydantic import BaseModel

from cudanalyst.errors import BadRequest, CudanalystError
from cudanalyst.resources.answers import JobResult

Model = TypeVar("Model", bound=BaseModel)
Say = Callable[[str], None]
WAIT_S: Final = 30.0
"""Seconds that one `job_status` call waits; servers answer within 45 s."""
TOKEN_VARIABLE: Final = "CUDANALYST_TOKEN"  # noqa: S105 - the variable's name
REFUSED: Final = frozenset({401, 403})
"""Statuses of a server that lets nobody in without its secret."""
_KEPT_VARIABLES: Final = (
    "PATH", "HOME", "LANG", "TMPDIR", "CUDA_HOME", "CUDA_PATH", "CUDA_VISIBLE_DEVICES", "LD_LIBRARY_PATH", "CXX", "XDG_CACHE_HOME",
    "PYTHONPATH",
)  # fmt: skip


class CallError(CudanalystError):
    """The server refused a call; the text is the server's, and says what to do."""


class Connection:
    """One connected client."""

    def __init__(self, client: Client, say: Say | None = None, session: str | None = None) -> None:
        """A connection over a client that has been entered.

        Args:
            client: The client.
            say: Told what long calls are at.
            session: Handle that every call names; the connection's own session where there is none.
        """
        self._client = client
        self._say = say
        self._session = session

    def within(self, session: str) -> "Connection":
        """The same connection, taking up a session that another connection began."""
        return Connection(self._client, self._say, session)

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
        try:
            contents = (await self._client.read_resource(cut[0])).contents
        except (MCPError, anyio.ClosedResourceError, anyio.BrokenResourceError) as error:
            raise CallError(f"{cut[0]}: the server gave no answer ({error}). Its log says more.") from error
        whole: dict[str, Any] = json.loads("".join(getattr(part, "text", "") for part in contents))
        return whole

    async def _structured(self, tool: str, arguments: dict[str, object]) -> dict[str, Any]:
        if self._session is not None:
            arguments = {"session": self._session, **arguments}
        try:
            result = await self._client.call_tool(tool, arguments, progress_callback=self._progress)
        except (MCPError, anyio.ClosedResourceError, anyio.BrokenResourceError) as error:
            reason = str(error) or type(error).__name__
            raise CallError(f"{tool}: the server gave no answer ({reason}). Its log says more.") from error
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
async def stdio_server(
    store: Path,
    say: Say | None = None,
    *,
    toolchain: str | None = None,
    log: Path | None = None,
    command: Sequence[str] = (),
) -> AsyncIterator[Connection]:
    """Starts a server as a child process over stdio, and connects to it.

    Args:
        store: Folder for what the server remembers.
        say: Told what long calls are at.
        toolchain: Where code runs, as `cudanalyst serve --toolchain` takes it; its default where there is none.
        log: File that the server's log is added to; this process's standard error where there is none.
        command: What to start, with `--store` and `--toolchain` added; this package's own server where there is none.

    Raises:
        CallError: The server could not be started, or ended.
    """
    kept = {
        name: value for name, value in os.environ.items() if name in _KEPT_VARIABLES or name.startswith("CUDANALYST_")
    }
    chosen = [] if toolchain is None else ["--toolchain", toolchain]
    program, *arguments = command or (sys.executable, "-m", "cudanalyst", "serve")
    parameters = StdioServerParameters(command=program, args=[*arguments, "--store", str(store), *chosen], env=kept)
    with ExitStack() as files:
        errors = sys.stderr if log is None else files.enter_context(log.open("a", encoding="utf-8"))
        try:
            async with Client(stdio_client(parameters, errlog=errors)) as client:
                yield Connection(client, say)
        except* MCPError as group:
            where = "above" if log is None else f"in {log}"
            raise CallError(f"The server could not be started or has ended; its log is {where}.") from first_of(group)


def address_of(url: str) -> str:
    """The address of a server's MCP endpoint: that of the URL, or /mcp where it names none.

    Raises:
        BadRequest: It is no http or https URL.
    """
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise BadRequest(f"--url: {url[:200]!r} is no http(s) address; give one such as http://127.0.0.1:8000/mcp")
    return url if parts.path.strip("/") else urlunsplit(parts._replace(path="/mcp"))


@asynccontextmanager
async def http_server(url: str, say: Say | None = None) -> AsyncIterator[Connection]:
    """Connects to a server over streamable HTTP, with the secret of `CUDANALYST_TOKEN` as its bearer token.

    Raises:
        BadRequest: It is no address.
        CallError: There is no server at the address, or it lets nobody in without another secret.
    """
    url = address_of(url)
    token = os.environ.get(TOKEN_VARIABLE)
    if token and not token.isascii():
        raise BadRequest(f"{TOKEN_VARIABLE} holds characters that no header can carry; set it to the server's secret.")
    headers = {} if not token else {"Authorization": f"Bearer {token}"}
    refused: list[int] = []

    async def look(response: httpx2.Response) -> None:
        if response.status_code in REFUSED:
            refused.append(response.status_code)

    try:
        async with create_mcp_http_client(headers=headers) as http:
            http.event_hooks["response"].append(look)
            async with Client(streamable_http_client(url, http_client=http)) as client:
                yield Connection(client, say)
    except* (httpx2.HTTPError, httpx2.InvalidURL, MCPError) as group:
        error = first_of(group)
        if refused:
            given = f"the secret in {TOKEN_VARIABLE} is not its own" if token else f"{TOKEN_VARIABLE} is not set"
            raise CallError(
                f"The server at {url} lets nobody in without its secret, and {given}. Set it, and repeat."
            ) from error
        raise CallError(
            f"No cudanalyst server answers at {url} ({str(error) or type(error).__name__}). Start it with `cudanalyst serve --http`, and "
            "repeat; what was begun goes on with `cudanalyst experiment resume`."
        ) from error


def first_of(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The first error of a group, however deep."""
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
