"""`cudanalyst demo`, and `cudanalyst experiment` (in its own module)."""

from pathlib import Path
from typing import Annotated

import anyio
import typer
from rich.console import Console

from cudanalyst.clients.experiment.cli import app as experiment
from cudanalyst.clients.failing import COULD_NOT, leaves, say_why_not
from cudanalyst.clients.options import PLAYERS, PROBLEMS, DemoOptions
from cudanalyst.errors import CudanalystError
from cudanalyst.kernels.problem import Component


def demo(
    problem: Annotated[list[str], typer.Option(help="A problem to work on; repeat for more.")] = list(PROBLEMS),  # noqa: B006
    player: Annotated[
        list[str], typer.Option(help="A kind of feedback whose effect is asked for; repeat for more.")
    ] = list(PLAYERS),  # noqa: B006
    repeats: Annotated[
        int, typer.Option(min=1, max=200, help="Blocks per checkpoint: each holds every coalition once.")
    ] = 8,
    seed: Annotated[int, typer.Option(min=0, help="Makes the run reproducible with the same tools.")] = 2026,
    out: Annotated[Path, typer.Option(help="Folder for report.html and report.json.")] = Path("demo-report"),
    truth: Annotated[bool, typer.Option(help="Compare the estimate with the exact value of every coalition.")] = True,
) -> None:
    """Run the main job: five tools over MCP, frozen checkpoints, every coalition of feedback, an attribution.

    Starts the server as a child process over stdio, takes faulty kernels through compile, analyze, debug, run and profile,
    then measures with a scripted planner which feedback helped. Needs neither a GPU nor an API key.
    """
    from cudanalyst.clients.demo import run_demo  # loads plots and MCP, which the help does not need

    console = Console()
    try:
        options = DemoOptions(
            problems=tuple(problem), players=_components(player), repeats=repeats, seed=seed, folder=out, truth=truth
        )
        anyio.run(run_demo, options, console)
    except* CudanalystError as group:
        for error in leaves(group):
            say_why_not(error)
        raise typer.Exit(COULD_NOT) from None


def _components(names: list[str]) -> tuple[Component, ...]:
    known: tuple[Component, ...] = ("analyzer", "compiler", "debugger", "profiler")
    unknown = [name for name in names if name not in known]
    if unknown:
        raise typer.BadParameter(f"{unknown[0]!r} is no player; choose from {', '.join(known)}")
    return tuple(sorted({component for component in known if component in names}))


def add_to(app: typer.Typer) -> None:
    """Registers the commands."""
    app.command("demo", rich_help_panel="Information")(demo)
    app.add_typer(experiment, name="experiment", rich_help_panel="Experiments")
