"""`cudanalyst experiment`: write, plan, lock, run, resume, watch and report an experiment."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console

from cudanalyst.clients.failing import fail, leaves
from cudanalyst.errors import CudanalystError

app = typer.Typer(no_args_is_help=True, help="Measure which feedback helps: experiments from a file to their report.")
STOPPED: Final = 3
"""Exit status where a run was stopped (budget or interrupt) and can be resumed or reported."""

File = Annotated[Path, typer.Argument(metavar="FILE", help="Experiment file (TOML).")]
StoreOption = Annotated[Path | None, typer.Option("--store", help="Folder of the store. [default: NAME.run/store]")]
Workers = Annotated[int, typer.Option(min=1, max=256, help="Plans, and sources, asked for at once.")]
Url = Annotated[
    str | None, typer.Option("--url", metavar="URL", help="A running server (http://...); secret in CUDANALYST_TOKEN.")
]
ToolchainOption = Annotated[
    str | None, typer.Option("--toolchain", metavar="gpu|cpu|replay:FOLDER|auto", help="Where code is run.")
]


AsJson = Annotated[bool, typer.Option("--json", help="Print JSON only.")]


@contextmanager
def _errors() -> Iterator[None]:
    """Says why something could not be done, and ends with status 2."""
    try:
        yield
    except CudanalystError as error:
        fail(error)
    except BaseExceptionGroup as group:
        known, other = group.split(CudanalystError)
        if other is not None or known is None:
            raise
        fail(leaves(known)[0])


@app.command()
def examples() -> None:
    """List the ready experiment files."""
    from cudanalyst.clients.experiment.examples import examples as listed
    from cudanalyst.clients.experiment.showing import show_examples

    show_examples(Console(), listed())


@app.command()
def new(
    name: Annotated[str, typer.Argument(help="Name of an example; `examples` lists them.")] = "quickstart",
    out: Annotated[Path | None, typer.Option("--out", help="Where to write it. [default: NAME.toml]")] = None,
) -> None:
    """Copy a ready experiment file, to run or to change."""
    from cudanalyst.clients.experiment.examples import copy

    with _errors():
        path = copy(name, out or Path(f"{name}.toml"))
    Console(soft_wrap=True).print(f"Wrote [bold]{path}[/]. Next: cudanalyst experiment plan {path}", highlight=False)


@app.command()
def plan(file: File, as_json: AsJson = False) -> None:  # noqa: FBT002 - typer makes an option of it
    """Say what it will take and what it can show, before anything is spent."""
    from cudanalyst.clients.experiment.folder import Place
    from cudanalyst.clients.experiment.planning import show_plan

    with _errors():
        show_plan(Console(), Place(file).design(), file, as_json=as_json)


@app.command()
def lock(file: File) -> None:
    """Lock it: what is estimated, tested and excluded cannot be changed unnoticed from here on."""
    from cudanalyst.clients.experiment.folder import Place
    from cudanalyst.clients.experiment.locking import lock_file

    with _errors():
        lock_file(Place(file), Console(soft_wrap=True))


@app.command()
def run(
    file: File,
    workers: Workers = 4,
    store: StoreOption = None,
    url: Url = None,
    toolchain: ToolchainOption = None,
) -> None:
    """Run it: checkpoints, then every trial in a fresh context.

    Ctrl-C finishes what is in hand and stops; a second one stops at once. Whatever ends a run, `resume` goes on where it
    ended: every answer is on the disk before it is used, so none is paid for twice.
    """
    _run(file, workers, store, url, toolchain, resume=False)


@app.command()
def resume(
    file: File,
    workers: Workers = 4,
    store: StoreOption = None,
    url: Url = None,
    toolchain: ToolchainOption = None,
) -> None:
    """Go on with a run that was interrupted or killed."""
    _run(file, workers, store, url, toolchain, resume=True)


def _run(file: Path, workers: int, store: Path | None, url: str | None, toolchain: str | None, *, resume: bool) -> None:
    import anyio

    from cudanalyst.clients.experiment.folder import Place
    from cudanalyst.clients.experiment.run import perform
    from cudanalyst.clients.experiment.screen import RunConsole, RunScreen
    from cudanalyst.clients.experiment.showing import show_ended
    from cudanalyst.clients.experiment.watch import RunOptions

    console = RunConsole()
    place = Place(file, store)
    with _errors():
        screen = RunScreen(console, place.design().budget)
        options = RunOptions(workers=workers, url=url, toolchain=toolchain, resume=resume)
        try:
            with screen.shown():
                ended = anyio.run(perform, place, options, screen)
        except* KeyboardInterrupt:
            console.print(f"Stopped. Go on with: {place.resumption()}", highlight=False, soft_wrap=True)
            raise typer.Exit(130) from None
    show_ended(console, place, ended)
    if ended.how == "stopped":
        raise typer.Exit(130 if ended.reason == "interrupted" else STOPPED)


@app.command()
def status(
    file: File,
    store: StoreOption = None,
    as_json: AsJson = False,  # noqa: FBT002 - typer makes an option of it
) -> None:
    """Show how far it is, from any terminal, without a word on outcomes."""
    from cudanalyst.clients.experiment.folder import Place
    from cudanalyst.clients.experiment.standing import show_standing

    with _errors():
        show_standing(Place(file, store), Console(), as_json=as_json)


@app.command()
def report(
    file: File,
    out: Annotated[Path | None, typer.Option("--out", help="Folder for the report. [default: NAME.run/report]")] = None,
    store: StoreOption = None,
    truth: Annotated[  # noqa: FBT002 - typer makes an option of it
        bool, typer.Option("--truth", help="Of scripted agents: print every estimate beside its true value.")
    ] = False,
    level: Annotated[
        str | None, typer.Option("--level", metavar="LEVEL", help="Print the replication table of this level only.")
    ] = None,
    toolchain: ToolchainOption = None,
) -> None:
    """Write the report (one HTML file) and every number of it as tables; print claims and the replication table."""
    import anyio

    from cudanalyst.clients.experiment.folder import Place
    from cudanalyst.clients.experiment.replication import show_claims, show_replication, true_tables
    from cudanalyst.clients.experiment.reporting import write_all

    console = Console()
    with _errors():
        place = Place(file, store)
        data = write_all(place, out, Console(soft_wrap=True))
        tables = anyio.run(true_tables, place, data, toolchain) if truth else None
    show_claims(console, data)
    with _errors():
        show_replication(console, data, tables, level)
