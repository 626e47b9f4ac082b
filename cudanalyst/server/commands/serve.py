"""`cudanalyst serve`: MCP on standard input and output, or streamable HTTP."""

import gc
import os
from contextlib import closing
from typing import Annotated

import anyio
import typer

from cudanalyst.errors import CudanalystError
from cudanalyst.server import logs
from cudanalyst.server.address import Address, check_exposure, parse_address
from cudanalyst.server.assembly import Settings
from cudanalyst.server.commands.session import StoreOption, ToolchainOption, UnsandboxedOption, fail, settings
from cudanalyst.server.stdio import Wire, claimed_standard_streams

GC_THRESHOLD = 20_000
"""Objects made between two collections of the youngest generation."""
TOKEN_VARIABLE = "CUDANALYST_TOKEN"  # noqa: S105 - the variable's name


def serve_command(
    http: Annotated[
        str | None,
        typer.Option(
            "--http", metavar="HOST:PORT", help="Serve streamable HTTP at /mcp instead of standard input and output."
        ),
    ] = None,
    store: StoreOption = None,
    toolchain: ToolchainOption = "auto",
    allow_unsandboxed: UnsandboxedOption = False,
    log_level: Annotated[str, typer.Option("--log-level", help="DEBUG, INFO, WARNING or ERROR.")] = "WARNING",
) -> None:
    """Serve the tools over MCP.

    Without --http it speaks on standard input and output, as MCP clients expect of a command. An address that others can
    reach needs a secret in CUDANALYST_TOKEN, which clients send as a bearer token.
    """
    if log_level.upper() not in {"DEBUG", "INFO", "WARNING", "ERROR"}:
        fail(f"--log-level: {log_level!r} is none of DEBUG, INFO, WARNING, ERROR")
    logs.configure(log_level.upper())
    chosen = settings(store, allow_unsandboxed=allow_unsandboxed, toolchain=toolchain)
    try:
        if http is None:
            with claimed_standard_streams() as wire:  # before anything that might print is imported
                _serve_stdio(chosen, wire)
        else:
            address, token = parse_address(http), os.environ.get(TOKEN_VARIABLE)
            check_exposure(address, token)
            _serve_http(chosen, address, token)
    except CudanalystError as error:
        fail(str(error))


def _settle_memory() -> None:
    """What start-up made lives as long as the server: the collector need not look through it again at every call."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(GC_THRESHOLD, 20, 20)


def _serve_stdio(chosen: Settings, wire: Wire) -> None:
    from cudanalyst.server.app import create_application
    from cudanalyst.server.serving import serve_stdio

    application = create_application(chosen)
    _settle_memory()
    with closing(application.services):
        anyio.run(serve_stdio, application, wire)


def _serve_http(chosen: Settings, address: Address, token: str | None) -> None:
    from cudanalyst.server.app import create_application
    from cudanalyst.server.serving import serve_http

    application = create_application(chosen)
    _settle_memory()
    with closing(application.services):
        anyio.run(serve_http, application, address, token)


def add_to(app: typer.Typer) -> None:
    """Registers the command."""
    app.command("serve", rich_help_panel="Server")(serve_command)
