"""Serving over a transport until the client, the parent or a signal ends it; nothing that was started outlives it."""

import os
import signal
from typing import Any, Final, cast

import anyio
import structlog
from mcp.server.stdio import stdio_server

from cudanalyst.server.address import Address
from cudanalyst.server.app import Application
from cudanalyst.server.http import http_app, serve
from cudanalyst.server.stdio import LineReader, LineWriter, Wire

PARENT_CHECK_S: Final = 1.0
_log = structlog.stdlib.get_logger(__name__)


async def serve_stdio(application: Application, wire: Wire, *, parent_check_s: float = PARENT_CHECK_S) -> None:
    """Speaks MCP on a wire until its client closes it, the parent dies, or TERM or INT comes."""
    server = application.server._lowlevel_server  # noqa: SLF001 - the SDK's own way takes no streams
    reader, writer = cast("Any", LineReader(wire.read_fd)), cast("Any", LineWriter(wire.write_fd))
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_until_signalled, tasks.cancel_scope)
            tasks.start_soon(_until_orphaned, tasks.cancel_scope, parent_check_s)
            async with stdio_server(stdin=reader, stdout=writer) as (incoming, outgoing):
                await server.run(incoming, outgoing, server.create_initialization_options())
            tasks.cancel_scope.cancel()
    except* ConnectionError:  # it went without waiting for its answers
        _log.info("stopping: the client has gone")
    await application.services.stop()


async def serve_http(application: Application, address: Address, token: str | None) -> None:
    """Speaks streamable HTTP until a signal comes."""
    try:
        await serve(http_app(application.server, address, token), address)
    finally:
        with anyio.CancelScope(shield=True):
            await application.services.stop()


async def _until_signalled(scope: anyio.CancelScope) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as received:
        async for number in received:
            _log.info("stopping", signal=number.name)
            scope.cancel()
            return


async def _until_orphaned(scope: anyio.CancelScope, every_s: float) -> None:
    """A client that dies may leave the pipe open in another child of its; a new parent says that it is gone."""
    parent = os.getppid()
    while os.getppid() == parent:  # noqa: ASYNC110 - no event tells of a new parent
        await anyio.sleep(every_s)
    _log.info("stopping: the parent process has ended")
    scope.cancel()
