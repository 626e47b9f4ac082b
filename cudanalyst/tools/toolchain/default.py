"""Which toolchain is used: the one that was named, or with `auto` a GPU where there is one that can be used, else the CPU engine."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, Literal

from cudanalyst.errors import BadRequest
from cudanalyst.tools.gpu.abilities import driver_ability, visible
from cudanalyst.tools.gpu.state import DeviceMonitor, find_monitor
from cudanalyst.tools.toolchain.cpu import CpuToolchain
from cudanalyst.tools.toolchain.gpu import GpuToolchain
from cudanalyst.tools.toolchain.gpu_parts import DEVICE_FILES, find_driver
from cudanalyst.tools.toolchain.protocol import Toolchain
from cudanalyst.tools.toolchain.replay import ReplayToolchain

NAMES: Final = "auto, gpu, cpu, or replay:FOLDER"
_REPLAY: Final = "replay:"


def default_toolchain(
    *, progress: Callable[[str], None] | None = None, allow_unsandboxed: bool = False
) -> CpuToolchain:
    """The CPU engine: it is on every machine."""
    return CpuToolchain(progress=progress, allow_unsandboxed=allow_unsandboxed)


def check_name(name: str) -> str:
    """The name, if it is one of a toolchain.

    Raises:
        BadRequest: It is not.
    """
    folder = name.removeprefix(_REPLAY)
    if name in {"auto", "gpu", "cpu"} or (name.startswith(_REPLAY) and folder and Path(folder).is_dir()):
        return name
    if name.startswith(_REPLAY):
        raise BadRequest(f"no folder of recorded results at {folder!r}; give replay:FOLDER")
    raise BadRequest(f"unknown toolchain {name[:80]!r}; give {NAMES}")


def choose_toolchain(
    name: str,
    *,
    progress: Callable[[str], None] | None = None,
    allow_unsandboxed: bool = False,
    environment: Mapping[str, str] | None = None,
) -> Toolchain:
    """The toolchain of that name; nothing is started yet.

    Raises:
        BadRequest: There is none of that name.
    """
    chosen = automatic(environment)[0] if check_name(name) == "auto" else name
    if chosen.startswith(_REPLAY):
        return ReplayToolchain(Path(chosen.removeprefix(_REPLAY)))
    if chosen == "gpu":
        return GpuToolchain(environment=environment, progress=progress, allow_unsandboxed=allow_unsandboxed)
    return CpuToolchain(environment=environment, progress=progress, allow_unsandboxed=allow_unsandboxed)


def automatic(
    environment: Mapping[str, str] | None = None,
    *,
    root: Path = Path("/"),
    monitor: Callable[[], tuple[DeviceMonitor, str | None]] = find_monitor,
) -> tuple[Literal["gpu", "cpu"], str]:
    """What `auto` means on this machine, and why. Quick: nothing is started, and no context made."""
    environment = os.environ if environment is None else environment
    if not any((root / name).exists() for name in DEVICE_FILES):
        return "cpu", "no NVIDIA GPU here"
    watch, reason = monitor()
    if reason is not None:
        if find_driver(environment, root) is None:
            return "cpu", f"a GPU is here, but no driver library was found, and {reason}"
        return "gpu", "a GPU and its driver library are here"
    devices = visible(watch.devices(), environment.get("CUDA_VISIBLE_DEVICES"))
    if not devices:
        return "cpu", "the driver shows no GPU (CUDA_VISIBLE_DEVICES?)"
    driver = driver_ability(devices[0], None)
    if driver.status == "unavailable":
        return "cpu", driver.text
    return "gpu", f"{devices[0].name} with driver {devices[0].driver} is here"
