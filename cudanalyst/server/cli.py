"""The server's part of the command line: serving, the five tools, and what is here."""

import typer

from cudanalyst.server.commands import doctor, feedback, problems, serve, tools


def add_to(app: typer.Typer) -> None:
    """Registers every command of the server."""
    for group in (serve, feedback, doctor, problems, tools):
        group.add_to(app)
