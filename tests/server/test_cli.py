"""The command line: statuses, JSON, and messages for what goes wrong."""

import json
import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

import cudanalyst
from cudanalyst.cli import app
from cudanalyst.server.commands import session
from cudanalyst.server.commands.tools import BEGIN, END
from cudanalyst.server.examination import examine
from cudanalyst.tools.analyze import AnalyzeResult
from cudanalyst.tools.compile import CompileResult
from cudanalyst.tools.debug import DebugResult
from cudanalyst.tools.engine.build import EngineInstallation
from cudanalyst.tools.profile import ProfileResult
from cudanalyst.tools.run import RunResult
from cudanalyst.tools.toolchain.cpu import CpuToolchain
from cudanalyst.tools.toolchain.protocol import Capabilities
from tests.server.fakes import CANDIDATE, ON, PROGRAM, FakeBench

runner = CliRunner()
COMMANDS = ("compile", "run", "debug", "analyze", "profile")
MODELS = dict(zip(COMMANDS, (CompileResult, RunResult, DebugResult, AnalyzeResult, ProfileResult), strict=True))


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CUDANALYST_STORE", str(tmp_path / "store"))
    monkeypatch.setenv("CUDANALYST_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path / "store"


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> None:
    real = session.settings
    monkeypatch.setattr(
        session,
        "settings",
        lambda *given, **named: real(*given, **named).__class__(
            **{**real(*given, **named).__dict__, "bench": FakeBench()}
        ),
    )


def call(*arguments: str, stdin: str | None = None):
    return runner.invoke(app, list(arguments), input=stdin)


@pytest.mark.parametrize("command", COMMANDS)
def test_json_is_exactly_the_result_model(fake, tmp_path, command):
    (tmp_path / "k.cu").write_text(PROGRAM)
    done = call(command, str(tmp_path / "k.cu"), "--json")
    result = MODELS[command].model_validate_json(done.stdout)
    assert json.loads(done.stdout) == result.model_dump(mode="json")


@pytest.mark.parametrize(
    ("command", "source", "options", "status"),
    [
        ("compile", PROGRAM, (), 0),
        ("compile", "// BROKEN", (), 1),
        ("compile", "// MISSING", (), 2),
        ("run", PROGRAM, (), 0),
        ("run", CANDIDATE, ("-p", "vector_add"), 0),
        ("run", CANDIDATE + "// WRONG", ("-p", "vector_add"), 1),
        ("debug", PROGRAM, (), 0),
        ("debug", "// BROKEN", (), 1),
        ("analyze", "int main() { return 0; }", (), 0),
        ("profile", PROGRAM, (), 0),
        ("compile", PROGRAM, ("-p", "no_such"), 2),
        ("compile", PROGRAM, ("--flag=-ccbin=x",), 2),
        ("compile", PROGRAM, ("--arch", "x"), 2),
        ("compile", "", (), 2),
        ("debug", PROGRAM, ("--check", "no_such"), 2),
        ("compile", PROGRAM, ("--no-such-option",), 2),
    ],
)
def test_the_exit_status_says_how_it_went(fake, command, source, options, status):
    done = call(command, "-", *options, stdin=source)
    assert done.exit_code == status, done.output
    if status == 2:
        assert done.stderr.strip()
        assert "Traceback" not in done.output


def test_what_cannot_be_read_is_said(fake, tmp_path):
    assert "No such file" in call("compile", str(tmp_path / "none.cu")).stderr
    (tmp_path / "latin.cu").write_bytes(b"// \xff")
    assert "not UTF-8" in call("compile", str(tmp_path / "latin.cu")).stderr
    (tmp_path / "long.cu").write_bytes(b"/" * 1_000_001)
    assert "more than 1000000 bytes" in call("compile", str(tmp_path / "long.cu")).stderr
    (tmp_path / "nul.cu").write_bytes(b"int a;\0")
    assert "NUL byte" in call("compile", str(tmp_path / "nul.cu")).stderr


def test_a_diagnostic_is_shown_with_its_line(fake):
    done = call("compile", "-", stdin="int broken = // BROKEN\n")
    assert "error program.cu:1: expected a ';'" in done.stdout
    assert "int broken =" in done.stdout


def test_a_program_gets_its_arguments_and_input(fake, tmp_path):
    (tmp_path / "in").write_text("from the file")
    done = call("run", "-", "-a", "one", "-a", "two", "--stdin", str(tmp_path / "in"), "--json", stdin=PROGRAM)
    assert json.loads(done.stdout)["program"]["stdout"] == "one twofrom the file"


@pytest.mark.parametrize("command", ["compile", "run", "debug", "profile"])
def test_without_nvcc_or_a_host_compiler_a_tool_is_unavailable_and_says_what_to_do(monkeypatch, tmp_path, command):
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    monkeypatch.setenv("CXX", "no-such-compiler")
    done = call(command, "-", "--json", stdin=PROGRAM)
    result = json.loads(done.stdout)
    assert done.exit_code == 2
    assert result["status"] == "unavailable"
    assert "nvcc" in result["reason"] or "no-such-compiler" in result["reason"]


def test_the_version_is_told():
    assert call("--version").stdout == f"cudanalyst {cudanalyst.__version__}\n"


@pytest.mark.parametrize("command", [*COMMANDS, "serve", "doctor", "problems", "tools"])
def test_every_command_explains_itself(command):
    done = call(command, "--help")
    assert done.exit_code == 0
    assert "Usage" in done.stdout


def test_problems_are_listed_and_shown():
    assert "vector_add" in call("problems").stdout
    listed = json.loads(call("problems", "--json").stdout)
    assert listed["status"] == "listed"
    shown = json.loads(call("problems", "matmul", "--json").stdout)
    assert set(shown["sizes"]) == {"test", "eval"}
    assert "baseline" in call("problems", "matmul").stdout
    missing = call("problems", "no_such")
    assert missing.exit_code == 2
    assert "no problem `no_such`" in missing.stderr


def test_the_table_of_tools_is_checked_and_written(tmp_path):
    readme = tmp_path / "README.md"
    readme.write_text(f"# x\n{BEGIN}\n{END}\n")
    assert call("tools", "--check", str(readme)).exit_code == 1
    assert call("tools", "--write", str(readme)).exit_code == 0
    assert call("tools", "--check", str(readme)).exit_code == 0
    readme.write_text("no marks")
    assert call("tools", "--check", str(readme)).exit_code == 2
    assert "| `compile` |" in call("tools").stdout


def test_the_doctor_says_what_is_missing_and_what_to_do(monkeypatch, tmp_path):
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    monkeypatch.setenv("CXX", "no-such-compiler")
    done = call("doctor", "--json")
    found = json.loads(done.stdout)
    items = {item["name"]: item for item in found["items"]}
    assert done.exit_code == 1
    assert found["status"] == "limited"
    assert items["host compiler"]["status"] == "missing"
    assert "g++" in items["host compiler"]["remedy"]
    assert items["package mcp"]["status"] == "ok"
    assert all(item["remedy"] for item in found["items"] if item["status"] != "ok")
    assert os.environ["CXX"] == "no-such-compiler"


@pytest.mark.anyio
async def test_the_doctor_tells_of_the_engine_that_it_built(tmp_path):
    class Toolchain(CpuToolchain):
        built = None

        @property
        def engine(self):
            return self.built

        async def prepare(self):
            self.built = EngineInstallation(*[tmp_path] * 6, "f" * 32)

        async def capabilities(self):
            return Capabilities(build=True, execute=True, sanitize=(), profile=True, measured_on=ON)

    (engine,) = [item for item in (await examine(build=True, toolchain=Toolchain())).items if item.name == "CPU engine"]
    assert engine.status == "ok"
    assert engine.found == f"{'f' * 12}, built in {tmp_path}"


def test_a_store_that_cannot_be_used_is_said(tmp_path):
    (tmp_path / "file").write_text("")
    done = call("analyze", "-", "--store", str(tmp_path / "file"), stdin=PROGRAM)
    assert done.exit_code == 2
    assert "store" in done.stderr.lower()
