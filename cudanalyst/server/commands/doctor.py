"""`cudanalyst doctor`: what is here, and what to do about what is missing."""

from collections.abc import Callable
from typing import Annotated, Final

import anyio
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from cudanalyst.errors import CudanalystError
from cudanalyst.server import logs
from cudanalyst.server.commands.session import CLEAN, FINDINGS, JsonOption, fail
from cudanalyst.server.examination import Examination, examine

GROUPS: Final = {"tools": "This machine", "gpu": "GPU", "packages": "Packages"}
MARKS: Final = {
    "ok": "[green]ok[/]",
    "limited": "[yellow]limited[/]",
    "missing": "[bold red]missing[/]",
    "optional_missing": "[yellow]-[/]",
}


def doctor_command(
    build: Annotated[bool, typer.Option("--build", help="Build the CPU engine now, if it is not built.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Say what is here (compilers, engine, sandbox, GPU, NVIDIA's tools, packages) and what to do about what is missing.

    Exit status: 0 all five tools work here, 1 something that they need is missing.
    """
    logs.configure("ERROR")
    console = Console(stderr=True, highlight=False)
    try:
        with console.status("looking around") as status:
            # Rich shows a status on terminals only; elsewhere each step is a line.
            found = anyio.run(_examine, build, status.update if console.is_terminal else console.print)
    except CudanalystError as error:
        fail(str(error))
    if as_json:
        typer.echo(found.model_dump_json(indent=2))
    else:
        _show(found)
    raise typer.Exit(FINDINGS if found.status == "limited" else CLEAN)


async def _examine(build: bool, progress: Callable[[str], None]) -> Examination:
    return await examine(build=build, progress=progress)


def _show(found: Examination) -> None:
    console = Console(highlight=False)
    for group, title in GROUPS.items():
        table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
        for item in found.items:
            if item.group == group:
                words = [item.found, item.remedy] if item.status in {"ok", "limited"} else [item.remedy or item.found]
                text = "; ".join(word for word in words if word)
                table.add_row("", MARKS[item.status], f"[bold]{escape(item.name)}[/]", escape(text))
        console.print(f"[bold cyan]{title}[/]")
        console.print(table)
    colour = "green" if found.status == "ready" else "red"
    console.print(f"[bold {colour}]{found.status}[/]  {escape(found.summary)}")


def add_to(app: typer.Typer) -> None:
    """Registers the command."""
    app.command("doctor", rich_help_panel="Information")(doctor_command)
