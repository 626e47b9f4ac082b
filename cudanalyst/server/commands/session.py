"""What the commands share: one workbench for one call, progress on standard error, and exit statuses."""

import asyncio
import os
import sys
from collections.abc import Callable, Coroutine
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any, Final, NoReturn, TypeVar

import anyio
import typer
from pydantic import BaseModel
from rich.console import Console

from cudanalyst.errors import CudanalystError, NotFound
from cudanalyst.resources.store import Store
from cudanalyst.server import logs
from cudanalyst.server.assembly import LOCAL_OWNER, Settings, assemble, default_store
from cudanalyst.server.call import Call, Progress
from cudanalyst.server.services import Services
from cudanalyst.server.workbench import Workbench
from cudanalyst.tools.source import MAX_SOURCE_BYTES
from cudanalyst.tools.text import printable
from cudanalyst.tools.toolchain.default import check_name

T = TypeVar("T")
CLEAN: Final = 0
FINDINGS: Final = 1
NOT_DONE: Final = 2

StoreOption = Annotated[
    Path | None,
    typer.Option("--store", help="Folder of the store. [default: $CUDANALYST_STORE, else the user's state folder]"),
]
UnsandboxedOption = Annotated[
    bool, typer.Option("--allow-unsandboxed", help="Run code even where this machine offers no sandbox.")
]
ToolchainOption = Annotated[
    str,
    typer.Option(
        "--toolchain",
        metavar="gpu|cpu|replay:FOLDER|auto",
        envvar="CUDANALYST_TOOLCHAIN",
        help="Where code is compiled for and run: a GPU, the CPU engine, or recorded results; auto: a GPU if one can be used.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print exactly the result model, as JSON.")]


def fail(message: str) -> NoReturn:
    """Says on standard error why something could not be done, and ends with status 2."""
    Console(stderr=True, highlight=False, soft_wrap=True).print(f"[bold red]error:[/] {_plain(message)}")
    raise typer.Exit(NOT_DONE)


def _plain(text: str) -> str:
    return printable(text).replace("[", r"\[")


def settings(
    store: Path | None,
    *,
    allow_unsandboxed: bool,
    toolchain: str = "auto",
    progress: Callable[[str], None] | None = None,
) -> Settings:
    """Settings of a command's services.

    Raises:
        typer.Exit: There is no such toolchain.
    """
    try:
        check_name(toolchain)
    except CudanalystError as error:
        fail(f"--toolchain: {error}")
    return Settings(
        toolchain_name=toolchain,
        store=store.expanduser() if store is not None else default_store(os.environ),
        allow_unsandboxed=allow_unsandboxed,
        progress=progress,
    )


def opened_store(store: Path | None) -> Store:
    """The store that a command only reads.

    Raises:
        NotFound: There is none.
    """
    folder = store.expanduser() if store is not None else default_store(os.environ)
    if not (folder / "store.sqlite").is_file():
        message = f"There is no store at {folder}. Name its folder with --store, or work in a session first."
        raise NotFound(message)
    return Store.open(folder)


def perform(
    work: Callable[[Workbench, Call], Coroutine[Any, Any, T]],
    *,
    store: Path | None = None,
    allow_unsandboxed: bool = False,
    toolchain: str = "auto",
    what: str,
) -> T:
    """Does one piece of work with a workbench of its own; a spinner on standard error says what it is at.

    Raises:
        typer.Exit: It could not be done (status 2); standard error says why.
    """
    logs.configure("ERROR")
    console, progress = Console(stderr=True), Progress()
    try:
        with console.status(what) as status:
            services = assemble(
                settings(store, allow_unsandboxed=allow_unsandboxed, toolchain=toolchain, progress=progress.say)
            )
            with closing(services):
                return anyio.run(_do, services, work, progress, status.update)
    except* CudanalystError as errors:
        message = str(first(errors))
    except* KeyboardInterrupt:
        raise typer.Exit(130) from None
    fail(message)


def first(group: BaseExceptionGroup[Any]) -> BaseException:
    """The first error of a group, however deep."""
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


async def _do(
    services: Services,
    work: Callable[[Workbench, Call], Coroutine[Any, Any, T]],
    progress: Progress,
    show: Callable[[str], None],
) -> T:
    session = await asyncio.to_thread(services.store.start_session, LOCAL_OWNER, "command line")
    scope = await asyncio.to_thread(services.store.scope, LOCAL_OWNER, session)

    async def watch() -> None:
        while True:
            show(progress.words)
            await asyncio.sleep(0.2)

    watcher = asyncio.create_task(watch())
    try:
        return await work(Workbench(services), Call(scope, progress))
    finally:
        watcher.cancel()
        await services.stop()


def read_source(file: str) -> str:
    """The text of a file, or of standard input for `-`.

    Raises:
        typer.Exit: It cannot be read; standard error says why.
    """
    try:
        if file == "-":
            data = sys.stdin.buffer.read(MAX_SOURCE_BYTES + 1)
        else:
            with Path(file).open("rb") as stream:
                data = stream.read(MAX_SOURCE_BYTES + 1)
    except OSError as error:
        fail(f"{file}: {error.strerror}")
    if len(data) > MAX_SOURCE_BYTES:
        fail(f"{file}: more than {MAX_SOURCE_BYTES} bytes; give one source file")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        fail(f"{file}: byte {error.start} is not UTF-8; save the file as UTF-8")


def exit_status(result: BaseModel) -> int:
    """0 clean or passed, 1 findings or failed, 2 could not be done."""
    verdicts = {
        "compiled": CLEAN, "passed": CLEAN, "clean": CLEAN, "profiled": CLEAN,
        "unavailable": NOT_DONE, "tool_failed": NOT_DONE, "not_parsed": NOT_DONE, "running": NOT_DONE,
    }  # fmt: skip
    status = str(getattr(result, "status", ""))
    if status == "exited":
        return CLEAN if getattr(result, "ok", False) else FINDINGS
    return verdicts.get(status, FINDINGS)
