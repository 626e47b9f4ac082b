"""The `cudanalyst` command: puts together what server and clients offer, which do not know each other."""

from typing import Annotated

import typer

import cudanalyst
from cudanalyst.clients import cli as clients
from cudanalyst.server import cli as server

app = typer.Typer(
    name="cudanalyst",
    help="Honest feedback on CUDA kernels for agents and people, and which of it helped.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"cudanalyst {cudanalyst.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Honest feedback on CUDA kernels for agents and people, and which of it helped."""


server.add_to(app)


app.command("demo", rich_help_panel="Information")(clients.demo)


def main() -> None:
    """Entry point of the console script."""
    app()
