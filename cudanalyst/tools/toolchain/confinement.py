"""Confines with the native launcher, and finds out how far this machine lets it."""

import asyncio
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, cast, get_args

from cudanalyst.errors import Unavailable
from cudanalyst.tools.process import DEFAULT_OUTPUT_LIMIT, ProcessResult, run_process, scrubbed_environment
from cudanalyst.tools.result import Sandbox
from cudanalyst.tools.text import one_line
from cudanalyst.tools.toolchain.confine import Confinement, Purpose, Unconfined

SYSTEM: Final = ("/usr", "/bin", "/lib", "/lib64", "/etc/ld.so.cache", "/etc/alternatives")
"""What compilers and dynamic linking read, as far as it is here: programs and libraries, no configuration, no home."""
DEVICES: Final = ("/dev/null", "/dev/zero", "/dev/urandom")
FAILED: Final = 125
RUN_PATH: Final = "/usr/local/bin:/usr/bin:/bin"
"""PATH of what runs: the starter's own would name its user and tools."""
DEVICE_MEMORY: Final = 4 << 30
"""Bytes that the engine offers as device memory."""
_SAYS: Final = "cudanalyst-sandbox: "
_PROBE_S: Final = 20.0


@dataclass(frozen=True)
class _Limits:
    file_bytes: int
    open_files: int
    processes: int


LIMITS: Final[dict[Purpose, _Limits]] = {
    "compile": _Limits(file_bytes=2 << 30, open_files=1024, processes=256),
    "run": _Limits(file_bytes=1 << 30, open_files=256, processes=128),
    "gpu": _Limits(file_bytes=1 << 30, open_files=4096, processes=256),
    "tools": _Limits(file_bytes=4 << 30, open_files=4096, processes=512),
}
GPU_READABLE: Final = (
    "/proc/self", "/proc/driver/nvidia", "/proc/devices", "/proc/modules", "/proc/cpuinfo", "/proc/meminfo", "/proc/version",
    "/proc/sys/vm", "/proc/sys/kernel", "/proc/uptime", "/sys", "/run/opengl-driver", "/nix/store",
)  # fmt: skip
"""What libcuda reads when it starts, and where distributions keep it outside /usr."""
GPU_DEVICES: Final = ("nvidia[0-9]*", "nvidiactl", "nvidia-uvm", "nvidia-uvm-tools", "nvidia-caps/*", "dxg")


def gpu_devices(folder: Path = Path("/dev")) -> list[Path]:
    """The device files of NVIDIA's driver that are here."""
    return sorted(path for pattern in GPU_DEVICES for path in folder.glob(pattern) if not path.is_dir())


def half_of_memory() -> int:
    """Bytes that one process may have of the machine's memory where its addresses cannot be bounded."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2


def launcher_argv(
    launcher: Path,
    command: Sequence[str | Path],
    *,
    work: Path,
    readable: Sequence[Path],
    memory_bytes: int,
    purpose: Purpose,
    keep: int | None = None,
) -> list[str]:
    """Command line of the launcher for a command. Reads the file system only to leave out what is not there."""
    limits = LIMITS[purpose]
    argv = [str(launcher)]
    gpu = purpose in ("gpu", "tools")
    system = (*SYSTEM, *GPU_READABLE) if gpu else SYSTEM
    folders = dict.fromkeys([*(Path(name) for name in system), *readable])
    for folder in folders:
        if folder.exists():
            argv += ["--ro", str(folder)]
    for device in (*map(Path, DEVICES), *(gpu_devices() if gpu else ())):
        if device.exists():
            argv += ["--dev", str(device)]
    if gpu:
        argv += ["--gpu", "yes"]
        if not memory_bytes:
            argv += ["--data", str(half_of_memory())]
    if purpose == "tools":
        argv += ["--tools", "yes"]
    if purpose == "compile":
        argv += ["--metadata", "yes"]  # linkers make what they write executable
    if keep is not None:
        argv += ["--keep-fd", str(keep)]
    argv += ["--rw", str(work), "--memory", str(memory_bytes), "--file-size", str(limits.file_bytes)]
    argv += ["--files", str(limits.open_files), "--processes", str(limits.processes), "--minimum", "partial"]
    return [*argv, "--", *map(str, command)]


class Launcher:
    """Starts processes under the native launcher."""

    def __init__(self, path: Path, level: Sandbox) -> None:
        """Takes the launcher and the level that it was found to reach here."""
        self._path = path
        self._level = level

    @property
    def level(self) -> Sandbox:
        """How far processes are confined."""
        return self._level

    async def run(
        self,
        argv: Sequence[str | Path],
        *,
        work: Path,
        readable: Sequence[Path],
        env: Mapping[str, str],
        timeout_s: float,
        memory_bytes: int,
        purpose: Purpose,
        stdin: bytes = b"",
        capture_bytes: int = 64 << 10,
        output_limit: int = DEFAULT_OUTPUT_LIMIT,
        control: int | None = None,
        stop: asyncio.Event | None = None,
    ) -> ProcessResult:
        """As the protocol says.

        Raises:
            Unavailable: The launcher could not confine the process, which then was not started.
        """
        command = launcher_argv(
            self._path, argv, work=work, readable=readable, memory_bytes=memory_bytes, purpose=purpose, keep=control
        )
        result = await run_process(
            command,
            cwd=work,
            env=scrubbed_environment(env if purpose == "compile" else {"PATH": RUN_PATH, **env}),
            stdin=stdin,
            timeout_s=timeout_s,
            capture_bytes=capture_bytes,
            output_limit=output_limit,
            pass_fds=() if control is None else (control,),
            stop=stop,
        )
        if result.exit_status == FAILED and result.stderr.text.startswith(_SAYS):
            raise Unavailable(
                f"the sandbox could not start the process: {one_line(result.stderr.text.removeprefix(_SAYS))}"
            )
        return result


async def find_confinement(launcher: Path, *, allow_unsandboxed: bool) -> Confinement:
    """The strongest confinement here.

    Raises:
        Unavailable: There is none, and running without one was not asked for.
    """
    level, why = await _probe(launcher)
    if level != "none":
        return Launcher(launcher, level)
    if allow_unsandboxed:
        return Unconfined()
    raise Unavailable(
        f"this machine offers no sandbox for untrusted code ({why}); use a Linux kernel with Landlock (5.13 or newer), or start with "
        "--allow-unsandboxed if every source is trusted"
    )


async def _probe(launcher: Path) -> tuple[Sandbox, str]:
    """What the launcher says of itself when it runs a harmless program."""
    with tempfile.TemporaryDirectory(prefix="cudanalyst-") as folder:
        argv = launcher_argv(
            launcher, ["/bin/true"], work=Path(folder), readable=(), memory_bytes=1 << 30, purpose="run"
        )
        at = argv.index("--minimum")
        argv[at : at + 2] = ["--minimum", "none", "--level-fd", "1"]
        result = await run_process(argv, cwd=Path(folder), timeout_s=_PROBE_S)
    word, _, why = result.stdout.text.strip().partition(":")
    if result.exit_status == 0 and word in get_args(Sandbox):
        return cast("Sandbox", word), one_line(why)
    return "none", one_line(result.stderr.text or f"{launcher.name} ended with {result.signal or result.exit_status}")
