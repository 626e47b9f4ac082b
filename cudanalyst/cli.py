"""The `cudanalyst` command: puts together what server and clients offer, which do not know each other.

A command's module is loaded when the command is called: with it come arrays, statistics and MCP, seconds that help, a version or a
mistyped name should not take.
"""

import errno
import os
import sys
from importlib import import_module
from typing import Annotated, Any, Final, NamedTuple

import typer
from typer.core import TyperCommand
from typer.main import get_group

import cudanalyst


class Listed(NamedTuple):
    """A command as the help lists it. The words are those of its own help, and a test holds them equal."""

    name: str
    panel: str
    module: str
    """Whose `add_to(app)` registers it."""
    words: str


_SERVER: Final = "cudanalyst.server.commands"
_CLIENTS: Final = "cudanalyst.clients.cli"
COMMANDS: Final = (
    Listed("serve", "Server", f"{_SERVER}.serve", "Serve the tools over MCP."),
    Listed(
        "compile", "Feedback", f"{_SERVER}.feedback",
        "Compile with nvcc: errors, warnings, registers, spills, occupancy.",
    ),
    Listed(
        "run", "Feedback", f"{_SERVER}.feedback",
        "Run: verify a candidate against its reference, or start a program.",
    ),
    Listed(
        "debug", "Feedback", f"{_SERVER}.feedback",
        "Debug: out-of-bounds accesses, races, uninitialised reads, barrier errors.",
    ),
    Listed(
        "analyze", "Feedback", f"{_SERVER}.feedback",
        "Analyze the source: kernels, access patterns, suspicious spots. Nothing is compiled or run.",
    ),
    Listed(
        "profile", "Feedback", f"{_SERVER}.feedback",
        "Profile: work per kernel and line, what bounds the time, what to change first.",
    ),
    Listed(
        "doctor", "Information", f"{_SERVER}.doctor",
        "Say what is here (compilers, engine, sandbox, GPU, NVIDIA's tools, packages) and what to do about what is missing.",
    ),
    Listed(
        "problems", "Information", f"{_SERVER}.problems",
        "List the problems that a candidate can belong to, or show one: signature, sizes, rules, baseline.",
    ),
    Listed(
        "tools", "Information", f"{_SERVER}.tools",
        "Print the table of tools, or keep a file's copy of it up to date.",
    ),
    Listed(
        "attribution", "Information", f"{_SERVER}.attribution",
        "Say which feedback helped: observed in ordinary use, by design where delivery was randomised or in an experiment.",
    ),
    Listed(
        "demo", "Information", _CLIENTS,
        "Run the main job: five tools over MCP, frozen checkpoints, every coalition of feedback, an attribution.",
    ),
    Listed(
        "import", "Experiments", f"{_SERVER}.importing",
        "Import a run of OpenEvolve or LLM4AD: its programs become candidates, the chosen ones frozen states.",
    ),
    Listed(
        "export", "Experiments", f"{_SERVER}.exporting",
        "Export an experiment: trials and every number as tables, games for shapiq, an RO-Crate, or its report.",
    ),
    Listed(
        "experiment", "Experiments", _CLIENTS,
        "Measure which feedback helps: experiments from a file to their report.",
    ),
)  # fmt: skip


def loaded(name: str) -> Any:
    """The command of a name, with all its options."""
    listed = next(one for one in COMMANDS if one.name == name)
    registered = typer.Typer()
    import_module(listed.module).add_to(registered)
    return get_group(registered).commands[name]


class Deferred(TyperCommand):
    """Stands for a command until it is called."""

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """The context of the command itself."""
        return loaded(self.name or "").make_context(info_name, args, parent, **extra)


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


def _deferred() -> None:
    """Never called: the command itself is."""


for _one in COMMANDS:
    app.command(_one.name, cls=Deferred, help=_one.words, rich_help_panel=_one.panel)(_deferred)


def main() -> None:
    """Entry point of the console script."""
    try:
        app()
    except OSError as error:
        if error.errno not in {errno.ENOSPC, errno.EDQUOT}:
            raise
        typer.echo(f"error: nothing more can be written: {error.strerror}. Make room, and repeat.", err=True)
        os.dup2(
            os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno()
        )  # what waits to be written would fail again at exit
        sys.exit(2)
