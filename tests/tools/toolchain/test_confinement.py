import os
import sys
from pathlib import Path

import pytest

from cudanalyst.errors import Unavailable
from cudanalyst.tools.toolchain.confine import Unconfined
from cudanalyst.tools.toolchain.confinement import Launcher, find_confinement, gpu_devices, launcher_argv

pytestmark = pytest.mark.anyio


def fake_launcher(folder: Path, body: str) -> Path:
    """Stands in for the native launcher: looks at its arguments and does what `body` says."""
    path = folder / "cudanalyst-sandbox"
    path.write_text(
        f"#!{sys.executable} -S\nimport sys, os\nargs = sys.argv[1:]\ncommand = args[args.index('--') + 1:]\n{body}\n"
    )
    path.chmod(0o755)
    return path


def test_the_command_line_lists_what_may_be_read_and_written(tmp_path):
    argv = launcher_argv(
        Path("/l"),
        ["prog", "--x"],
        work=tmp_path,
        readable=(tmp_path, Path("/not/there")),
        memory_bytes=5,
        purpose="run",
    )
    assert argv[-3:] == ["--", "prog", "--x"]
    pairs = list(zip(argv[1:-3:2], argv[2:-3:2], strict=True))
    assert ("--rw", str(tmp_path)) in pairs
    assert ("--ro", str(tmp_path)) in pairs
    assert ("--memory", "5") in pairs
    assert ("--minimum", "partial") in pairs
    assert "/not/there" not in argv
    assert not any(value in {"/", "/etc", "/home", "/root", "/tmp"} for _, value in pairs)


def test_a_run_on_a_gpu_may_reach_nvidias_devices_and_others_may_not(tmp_path, monkeypatch):
    device = tmp_path / "nvidia0"
    device.touch()
    monkeypatch.setattr("cudanalyst.tools.toolchain.confinement.gpu_devices", lambda: [device])
    lines = {
        purpose: launcher_argv(Path("/l"), ["prog"], work=tmp_path, readable=(), memory_bytes=0, purpose=purpose)
        for purpose in ("gpu", "tools", "run", "compile")
    }
    assert ["--dev", str(device)] == lines["gpu"][lines["gpu"].index(str(device)) - 1 :][:2]
    assert lines["gpu"][lines["gpu"].index("--gpu") :][:2] == ["--gpu", "yes"]
    assert "/proc/self" in lines["gpu"]
    assert "/proc" not in lines["gpu"]
    assert "--tools" not in lines["gpu"]
    assert lines["tools"][lines["tools"].index("--tools") :][:2] == ["--tools", "yes"]
    for purpose in ("gpu", "tools"):
        assert (
            0
            < int(lines[purpose][lines[purpose].index("--data") + 1])
            < os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        )
    for purpose in ("run", "compile"):
        assert str(device) not in lines[purpose]
        assert "--gpu" not in lines[purpose]
        assert not any(word.startswith(("/proc", "/sys")) for word in lines[purpose])


def test_nvidias_device_files_are_found_and_no_others(tmp_path):
    for name in ("nvidia0", "nvidia17", "nvidiactl", "nvidia-uvm", "nvidia-modeset", "sda", "nvram"):
        (tmp_path / name).touch()
    (tmp_path / "nvidia-caps").mkdir()
    (tmp_path / "nvidia-caps" / "nvidia-cap1").touch()
    names = [path.name for path in gpu_devices(tmp_path)]
    assert names == ["nvidia-cap1", "nvidia-uvm", "nvidia0", "nvidia17", "nvidiactl"]


@pytest.mark.parametrize("level", ["full", "partial"])
async def test_the_level_is_what_the_launcher_reaches(tmp_path, level):
    found = await find_confinement(fake_launcher(tmp_path, f"print('{level}: because')"), allow_unsandboxed=False)
    assert isinstance(found, Launcher)
    assert found.level == level


@pytest.mark.parametrize(
    "body", ["print('none: old kernel')", "sys.exit('cudanalyst-sandbox: old kernel')", "os.abort()"]
)
async def test_without_a_sandbox_nothing_runs_unless_it_was_asked_for(tmp_path, body):
    launcher = fake_launcher(tmp_path, body)
    with pytest.raises(Unavailable, match="--allow-unsandboxed"):
        await find_confinement(launcher, allow_unsandboxed=False)
    found = await find_confinement(launcher, allow_unsandboxed=True)
    assert isinstance(found, Unconfined)
    assert found.level == "none"


async def test_a_launcher_that_fails_is_not_the_programs_failure(tmp_path):
    launcher = Launcher(
        fake_launcher(tmp_path, "sys.stderr.write('cudanalyst-sandbox: no namespace\\n'); sys.exit(125)"), "full"
    )
    with pytest.raises(Unavailable, match="no namespace"):
        await launcher.run(
            ["/bin/true"], work=tmp_path, readable=(), env={}, timeout_s=20, memory_bytes=1 << 30, purpose="run"
        )


async def test_a_program_that_exits_with_the_launchers_status_is_just_that(tmp_path):
    launcher = Launcher(fake_launcher(tmp_path, "os.execvp(command[0], command)"), "full")
    result = await launcher.run(
        ["/bin/sh", "-c", "exit 125"],
        work=tmp_path,
        readable=(),
        env={},
        timeout_s=20,
        memory_bytes=1 << 30,
        purpose="run",
    )
    assert result.exit_status == 125
