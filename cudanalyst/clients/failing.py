"""How commands say that something could not be done: on standard error, in the error's own words, with status 2."""

from typing import Final, NoReturn

import typer
from rich.console import Console
from rich.text import Text

from cudanalyst.errors import CudanalystError

COULD_NOT: Final = 2
"""Exit status where the request could not be served."""


def leaves(group: BaseExceptionGroup[CudanalystError]) -> list[CudanalystError]:
    """The errors of a group, however deep."""
    found: list[CudanalystError] = []
    for error in group.exceptions:
        found.extend(leaves(error) if isinstance(error, BaseExceptionGroup) else [error])
    return found


def say_why_not(error: CudanalystError) -> None:
    """Prints an error's text."""
    Console(stderr=True, highlight=False, soft_wrap=True).print(
        Text("error: ", style="bold red").append(str(error), style="default")
    )


def fail(error: CudanalystError) -> NoReturn:
    """Prints an error's text, and ends the command.

    Raises:
        typer.Exit: Always.
    """
    say_why_not(error)
    raise typer.Exit(COULD_NOT)
