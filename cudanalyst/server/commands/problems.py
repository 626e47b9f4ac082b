"""`cudanalyst problems`: what there is to solve."""

import os
from typing import Annotated

import typer
from rich.console import Console
from rich.syntax import Syntax
from rich.table import Table

from cudanalyst.errors import CudanalystError
from cudanalyst.kernels.catalogue import Catalogue
from cudanalyst.resources.answers import ProblemListResult, ProblemSummary
from cudanalyst.server.commands.session import JsonOption, fail
from cudanalyst.server.information import problem_result


def problems_command(
    problem: Annotated[str | None, typer.Argument(metavar="[ID]", help="Show this problem in full.")] = None,
    as_json: JsonOption = False,
) -> None:
    """List the problems that a candidate can belong to, or show one: signature, sizes, rules, baseline."""
    console = Console(highlight=False)
    try:
        catalogue = Catalogue.from_environment(os.environ)
        if problem is not None:
            found = problem_result(catalogue.problem(problem))
            if as_json:
                typer.echo(found.model_dump_json(indent=2))
                return
            console.print(f"[bold]{found.title}[/]\n")
            console.print(found.description or "", markup=False)
            console.print(f"\n[bold]signature[/] {found.signature}\n[bold]tolerance[/] {found.tolerance}\n")
            console.print(found.contract or "", markup=False)
            console.print("\n[bold]baseline[/]")
            console.print(Syntax(found.baseline or "", "cuda", line_numbers=True, background_color="default"))
            console.print(f"[bold]starting kernels[/] {', '.join(found.starts) or 'none'}")
            return
        listed = tuple(
            ProblemSummary(id=one.id, title=one.title, starts=tuple(start.name for start in one.starts))
            for one in map(catalogue.problem, catalogue.ids)
        )
    except CudanalystError as error:
        fail(str(error))
    if as_json:
        summary = f"{len(listed)} problems"
        typer.echo(ProblemListResult(status="listed", summary=summary, problems=listed).model_dump_json(indent=2))
        return
    table = Table(box=None, header_style="bold")
    for column in ("id", "title", "starting kernels"):
        table.add_column(column)
    for one in listed:
        table.add_row(f"[cyan]{one.id}[/]", one.title, ", ".join(one.starts))
    console.print(table)


def add_to(app: typer.Typer) -> None:
    """Registers the command."""
    app.command("problems", rich_help_panel="Information")(problems_command)
