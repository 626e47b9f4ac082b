"""`cudanalyst import`: checkpoints of other systems as frozen states."""

from functools import partial
from pathlib import Path
from typing import Annotated, Final, cast, get_args

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from cudanalyst.errors import CudanalystError
from cudanalyst.resources.imports.freezing import OPERATOR, Choice, ImportResult, bring_in
from cudanalyst.resources.imports.llm4ad import read_llm4ad
from cudanalyst.resources.imports.openevolve import read_openevolve
from cudanalyst.server.call import Call
from cudanalyst.server.commands.session import (
    JsonOption,
    StoreOption,
    ToolchainOption,
    UnsandboxedOption,
    fail,
    perform,
)
from cudanalyst.server.workbench import Workbench
from cudanalyst.tools.source import Source
from cudanalyst.tools.text import printable

READERS: Final = {"openevolve": read_openevolve, "llm4ad": read_llm4ad}
CLAIMS_SHOWN: Final = 3


def import_command(
    system: Annotated[str, typer.Argument(metavar="openevolve|llm4ad", help="What made the checkpoint.")],
    path: Annotated[
        Path,
        typer.Argument(help="OpenEvolve: a folder checkpoint_N, or its output folder. LLM4AD: a run's log folder."),
    ],
    problem: Annotated[str, typer.Option("--problem", "-p", help="Problem that the programs solve.")],
    select: Annotated[
        str,
        typer.Option(
            metavar="lineage|best|generations|all",
            help="Which programs to freeze: the best and its ancestors, the best alone, the best of each generation, or all.",
        ),
    ] = "lineage",
    limit: Annotated[int, typer.Option(min=1, max=200, help="How many at most.")] = 20,
    as_json: JsonOption = False,
    store: StoreOption = None,
    toolchain: ToolchainOption = "auto",
    allow_unsandboxed: UnsandboxedOption = False,
) -> None:
    """Import a run of OpenEvolve or LLM4AD: its programs become candidates, the chosen ones frozen states.

    Evidence is gathered by the tools here; the run's own scores are kept as claims, beside ours. Prints the checkpoints as
    they stand in an experiment file. Exit status: 0 imported, 2 could not be done.
    """
    if (reader := READERS.get(system)) is None:
        fail(f"{system[:40]!r} is none of {', '.join(READERS)}")
    if select not in get_args(Choice):
        fail(f"--select: {select[:40]!r} is none of {', '.join(get_args(Choice))}")
    try:
        run = reader(path)
    except CudanalystError as error:
        fail(str(error))

    async def work(bench: Workbench, call: Call) -> ImportResult:
        services = bench.services
        services.bench.problem_of(Source(text="", problem=problem))  # says now where there is no such problem
        return await bring_in(
            services.store,
            call.scope,
            run,
            partial(services.bench.evaluate, progress=call.progress),
            problem=problem,
            choice=cast("Choice", select),
            limit=limit,
        )

    result = perform(work, store=store, toolchain=toolchain, allow_unsandboxed=allow_unsandboxed, what="importing")
    if as_json:
        typer.echo(result.model_dump_json(indent=2))
    else:
        _show(result, Console(highlight=False))


def _show(result: ImportResult, console: Console) -> None:
    table = Table(box=None, header_style="bold")
    for column in ("program", "generation", "checkpoint", "base status (measured)", "claims of the run"):
        table.add_column(column, overflow="fold")
    for one in result.states:
        claims = ", ".join(f"{name} {value}" for name, value in list(one.claims.items())[:CLAIMS_SHOWN])
        cells = (one.program, str(one.generation), one.checkpoint, one.base_status.replace("_", " "), claims)
        table.add_row(*(Text(printable(cell)) for cell in cells))
    console.print(table)
    told = f"{len(result.states)} of {result.programs} programs frozen, {result.candidates} candidates taken over."
    console.print(Text(f"\n{told}", style="bold"))
    for note in result.notes:
        console.print(Text(f"- {printable(note)}", style="dim"))
    console.print(Text("\nFor an experiment file:\n", style="bold"))
    console.print(Text(as_toml(result)), soft_wrap=True)


def as_toml(result: ImportResult) -> str:
    """The checkpoints as an experiment file names them."""
    entries = dict.fromkeys(one.checkpoint for one in result.states)
    return "\n".join(
        f'[[checkpoints]]\nid = "{one}"\nbackbone = "{result.backbone}"\noperator = "{OPERATOR}"\n' for one in entries
    )


def add_to(app: typer.Typer) -> None:
    """Registers the command."""
    app.command("import", rich_help_panel="Experiments")(import_command)
