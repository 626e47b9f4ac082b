"""The command as a whole: its list of commands, and what it takes to show it."""

import subprocess
import sys

import pytest

from cudanalyst.cli import COMMANDS, Listed, loaded

HEAVY = {"numpy", "scipy", "matplotlib", "mcp", "pyarrow"}


@pytest.mark.parametrize("listed", COMMANDS, ids=lambda one: one.name)
def test_a_command_is_listed_with_the_words_of_its_own_help(listed: Listed) -> None:
    command = loaded(listed.name)
    assert " ".join(command.help.split("\n\n")[0].split()) == listed.words


@pytest.mark.parametrize("arguments", [("--help",), ("--version",), ("analyse",)])
def test_help_a_version_and_a_mistyped_name_load_neither_arrays_nor_statistics_nor_plots(
    arguments: tuple[str, ...],
) -> None:
    program = (
        "import atexit, sys; atexit.register(lambda: print('LOADED', *{name.split('.')[0] for name in sys.modules}));"
        "from cudanalyst.cli import app; app()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], check=False, capture_output=True, text=True, timeout=120
    )
    loaded_packages = set(done.stdout.rpartition("LOADED")[2].split())
    assert "typer" in loaded_packages
    assert not loaded_packages & HEAVY
