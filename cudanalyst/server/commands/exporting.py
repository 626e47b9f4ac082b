"""`cudanalyst export`: an experiment in formats that other tools read."""

import re
from pathlib import Path
from typing import Annotated, Final, cast

import typer
from rich.console import Console

from cudanalyst.errors import BadRequest, CudanalystError
from cudanalyst.resources.design.lock import read_lock
from cudanalyst.resources.experiment import Experiments
from cudanalyst.resources.export.crate import Person
from cudanalyst.resources.export.writing import write_files
from cudanalyst.server.assembly import LOCAL_OWNER
from cudanalyst.server.commands.session import StoreOption, fail, opened_store

FORMATS: Final = ("parquet", "csv", "json", "shapiq", "ro-crate", "report")
PLOTS: Final = ("svg", "png")
_AUTHOR: Final = re.compile(r"\s*([^<>]+?)\s*(?:<(https?://[^<>\s]+)>)?\s*")


def export_command(
    experiment: Annotated[str, typer.Argument(help="Handle of an experiment that has ended.")],
    form: Annotated[str, typer.Option("--format", metavar="|".join(FORMATS), help="What to write.")],
    out: Annotated[Path, typer.Option("--out", help="Folder to write to; it is made where it is missing.")],
    plots: Annotated[
        list[str] | None,
        typer.Option("--plots", metavar="svg|png", help="Plots as files, too; repeatable (report, ro-crate)."),
    ] = None,
    zipped: Annotated[bool, typer.Option("--zip", help="One archive (ro-crate).")] = False,
    licence: Annotated[
        str | None,
        typer.Option("--licence", "--license", help="Licence of what is exported, e.g. CC-BY-4.0 (ro-crate)."),
    ] = None,
    author: Annotated[
        list[str] | None,
        typer.Option("--author", help="'NAME' or 'NAME <https://orcid.org/...>'; repeatable (ro-crate)."),
    ] = None,
    lock: Annotated[
        Path | None, typer.Option("--lock", help="The design's lock, to tell deviations from it (report, ro-crate).")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace files that are there.")] = False,
    owner: Annotated[
        str, typer.Option("--owner", help="Whose experiment it is, as the server knows them.")
    ] = LOCAL_OWNER,
    store: StoreOption = None,
) -> None:
    """Export an experiment: trials and every number as tables, games for shapiq, an RO-Crate, or its report.

    Exit status: 0 written, 2 could not be done.
    """
    if form not in FORMATS:
        fail(f"--format: {form[:40]!r} is none of {', '.join(FORMATS)}")
    if wrong := [one for one in plots or () if one not in PLOTS]:
        fail(f"--plots: {wrong[0][:40]!r} is none of {', '.join(PLOTS)}")
    from cudanalyst.resources.report.bundle import Format, Wishes, export_files  # loads plots, which help does not need

    try:
        locked = None if lock is None else read_lock(lock)
        wishes = Wishes(tuple(plots or ()), zipped, licence, tuple(map(_person, author or ())), locked)
        with opened_store(store) as opened:
            files = export_files(Experiments(opened), owner, experiment, cast("Format", form), wishes)
        written = write_files(out, files, force=force)
    except CudanalystError as error:
        fail(str(error))
    size = sum(map(len, files.values()))
    console = Console(highlight=False, soft_wrap=True)
    for path in written[:10]:
        console.print(str(path), markup=False)
    more = f", {len(written) - 10} of them not listed" if len(written) > 10 else ""
    console.print(f"{len(written)} files, {size:,} bytes{more}", markup=False)


def _person(text: str) -> Person:
    found = _AUTHOR.fullmatch(text)
    if found is None:
        raise BadRequest(f"--author: {text[:60]!r} is neither 'NAME' nor 'NAME <https://orcid.org/...>'.")
    return Person(name=found.group(1), id=found.group(2))


def add_to(app: typer.Typer) -> None:
    """Registers the command."""
    app.command("export", rich_help_panel="Experiments")(export_command)
