"""What the documents say is so."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cudanalyst.cli import app

ROOT = Path(__file__).parents[1]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])


def test_the_readmes_tool_table_is_the_catalogues() -> None:
    result = CliRunner().invoke(app, ["tools", "--check", str(ROOT / "README.md")])
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(document: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)", document.read_text())
    assert [link for link in links if not (document.parent / link).exists()] == []


def test_every_command_of_the_readme_exists() -> None:
    commands = set(re.findall(r"cudanalyst ((?:[a-z]+\|)*[a-z]+)", (ROOT / "README.md").read_text()))
    named = {name for command in commands for name in command.split("|")}
    known = set(re.findall(r"│ ([a-z]+) ", CliRunner().invoke(app, ["--help"]).output))
    assert known >= {"serve", "demo", "doctor"}
    assert {name for name in named if name in known or name in {"serve", "compile", "demo"}} <= known


@pytest.mark.skipif(shutil.which("git") is None or not (ROOT / ".git").exists(), reason="not a git checkout")
def test_no_lock_file_records_where_packages_were_downloaded() -> None:
    listed = subprocess.run(["git", "ls-files", "requirements"], cwd=ROOT, check=True, capture_output=True, text=True)
    for name in listed.stdout.split():
        text = (ROOT / name).read_text()
        assert "://" not in text
        assert "--hash=sha256:" in text
