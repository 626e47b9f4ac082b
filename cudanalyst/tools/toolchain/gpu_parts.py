"""Finds what the `gpu` toolchain works with: devices, driver, a toolkit that fits both, engine, sandbox."""

import asyncio
import contextlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cudanalyst.errors import Unavailable
from cudanalyst.tools.engine.build import EngineInstallation, find_host_compiler, install_engine
from cudanalyst.tools.gpu.abilities import (
    NO_GPU,
    Ability,
    device_target,
    driver_ability,
    parse_gpu_codes,
    state_ability,
    timing_ability,
    toolkit_refusal,
    visible,
)
from cudanalyst.tools.gpu.lease import Leases, lease_folder
from cudanalyst.tools.gpu.state import DeviceFacts, DeviceMonitor, find_monitor
from cudanalyst.tools.process import run_process
from cudanalyst.tools.toolchain.arch import Arch
from cudanalyst.tools.toolchain.builder import Builder, Compiler
from cudanalyst.tools.toolchain.cache import BuildCache
from cudanalyst.tools.toolchain.confine import Confinement
from cudanalyst.tools.toolchain.confinement import find_confinement
from cudanalyst.tools.toolchain.discovery import Toolkit, find_tool, find_toolkit
from cudanalyst.tools.toolchain.executor import ExecutorCommand, ExecutorFailed, plainly, start_executor
from cudanalyst.tools.toolchain.executor_session import Device
from cudanalyst.tools.toolchain.nvcc import RUNTIME, NvccPaths
from cudanalyst.tools.toolchain.workspace import remove_stale, workspace

DRIVER: Final = "libcuda.so.1"
DRIVER_FOLDERS: Final = (
    "/usr/local/nvidia/lib64", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib/wsl/lib",
    "/run/opengl-driver/lib",
)  # fmt: skip
DEVICE_FILES: Final = ("dev/nvidiactl", "dev/dxg")
"""The driver's own, and that of a Windows host."""
_MAJOR: Final = 75
_MINOR: Final = 76
_PROBE_S: Final = 60.0
_WAIT_S: Final = 600.0


@dataclass(frozen=True)
class Where:
    """Where to look, and in place of what."""

    cache: Path
    environment: Mapping[str, str]
    root: Path = Path("/")
    driver: Path | None = None
    """A driver library in place of NVIDIA's: the CPU engine's, which has a device of its own."""
    runtime: Path | None = None
    """Folder of the runtime for native runs, in place of the toolkit's."""
    monitor: Callable[[], tuple[DeviceMonitor, str | None]] = find_monitor
    allow_unsandboxed: bool = False
    progress: Callable[[str], None] | None = None


@dataclass(frozen=True)
class GpuParts:
    """What was found. The devices are of one architecture, so that whichever is free first runs the same code."""

    devices: tuple[DeviceFacts, ...]
    monitor: DeviceMonitor
    target: Arch
    toolkit: Toolkit
    engine: EngineInstallation
    confinement: Confinement
    builder: Builder
    leases: Leases
    driver: Path | None
    runtime: Path | None
    abilities: tuple[Ability, ...]
    host_compiler: Path
    on_gpu: bool
    """False where the CPU engine stands in for the driver."""

    @property
    def libraries(self) -> str:
        """LD_LIBRARY_PATH of what runs on the device: the runtime's folder, and the driver's with what that loads."""
        folders = [self.runtime, self.driver.parent if self.driver is not None else None]
        return os.pathsep.join(str(folder) for folder in folders if folder is not None)

    def readable(self, build_folder: Path) -> list[Path]:
        """What host code that runs on the device itself may read beside the system: the build, the engine, runtime and driver."""
        folders = [self.runtime, self.driver.parent if self.driver is not None else None]
        return [self.engine.root, build_folder, *(folder for folder in folders if folder is not None)]

    def environment(self, uuid: str) -> dict[str, str]:
        """What a process on one device is told."""
        own = {"CUDA_VISIBLE_DEVICES": uuid, "CUDA_CACHE_DISABLE": "1", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
        return {**own, "LD_LIBRARY_PATH": self.libraries} if self.libraries else own


async def find_parts(where: Where) -> GpuParts:
    """Finds everything that building and running on a GPU needs.

    Raises:
        Unavailable: Something is missing; the text says what, and how to get it.
    """
    if where.driver is None and not any((where.root / name).exists() for name in DEVICE_FILES):
        raise Unavailable(NO_GPU)
    monitor, nvml_reason = await asyncio.to_thread(where.monitor)
    devices = visible(await asyncio.to_thread(monitor.devices), where.environment.get("CUDA_VISIBLE_DEVICES"))
    facts = devices[0] if devices else None
    checked = driver_ability(facts, nvml_reason)
    if checked.status == "unavailable":
        raise Unavailable(checked.text)
    known = facts.driver_cuda if facts is not None else None
    toolkit = await find_toolkit(
        where.environment, refusal=lambda version: toolkit_refusal(version, known), wanted="CUDA 13 for the GPU"
    )
    host = await find_host_compiler(where.environment)
    engine = await install_engine(
        cuda_include=toolkit.include, cache=where.cache, progress=where.progress, compiler=host
    )
    driver = where.driver or find_driver(where.environment, where.root)
    # Also where NVML answered: that the driver can be opened at all is known before the first candidate.
    device = await _open(engine, where, driver, facts)
    if facts is None or facts.capability is None:
        facts = facts_of(device)
        devices = (facts,)
    target, codes = await _target(toolkit, facts)
    confinement = await find_confinement(engine.sandbox, allow_unsandboxed=where.allow_unsandboxed)
    runtime = where.runtime or next((folder for folder in toolkit.library_dirs if (folder / RUNTIME).exists()), None)
    versions = {
        "nvcc": toolkit.version,
        "gcc": host.version,
        "engine": engine.version,
        "driver": facts.driver or f"CUDA {device.driver_version // 1000}.{device.driver_version % 1000 // 10}",
        "arch": target.name,
    }
    compiler = Compiler(
        paths=NvccPaths(
            toolkit.nvcc,
            host.path,
            toolkit.library_dirs,
            engine.library_dir,
            target=target,
            static_runtime=where.driver is None,
            image="cubin" if where.driver is None else "fatbin",
        ),
        toolkit_root=toolkit.root,
        demangler=find_tool("c++filt", where.environment),
        versions=versions,
        toolchain="gpu",
    )
    await asyncio.to_thread(remove_stale, where.cache / "work")
    state = await asyncio.to_thread(monitor.state, facts.uuid)
    abilities = (
        checked,
        Ability(name="device", status="ok", found=_described(facts)),
        Ability(name="toolkit", status="ok", found=f"nvcc {toolkit.version}, {toolkit.root}"),
        Ability(name="architecture", status="ok", found=f"{target.name}, of {len(codes)} that nvcc builds for"),
        state_ability(state, nvml_reason),
        timing_ability(facts, state),
    )
    return GpuParts(
        devices=tuple(one for one in devices if one.capability == facts.capability),
        monitor=monitor,
        target=target,
        toolkit=toolkit,
        engine=engine,
        confinement=confinement,
        builder=Builder(compiler, confinement, BuildCache(where.cache / "builds"), where.cache / "work"),
        leases=Leases(lease_folder(where.environment)),
        driver=driver,
        runtime=runtime,
        abilities=abilities,
        host_compiler=host.path,
        on_gpu=where.driver is None,
    )


def find_driver(environment: Mapping[str, str], root: Path = Path("/")) -> Path | None:
    """NVIDIA's driver library: on LD_LIBRARY_PATH, else where packages and containers put it; None: the loader may know it."""
    folders = [Path(entry) for entry in environment.get("LD_LIBRARY_PATH", "").split(os.pathsep) if entry]
    folders += [root / name.lstrip("/") for name in DRIVER_FOLDERS]
    return next((folder / DRIVER for folder in folders if (folder / DRIVER).exists()), None)


def executor_environment(uuid: str | None, driver: Path | None) -> dict[str, str]:
    """Of the trusted executor: one device, no code cache, and the driver's folder for what it loads later."""
    environment = {"CUDA_CACHE_DISABLE": "1", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
    if uuid is not None:
        environment["CUDA_VISIBLE_DEVICES"] = uuid
    if driver is not None:
        environment["LD_LIBRARY_PATH"] = str(driver.parent)
    return environment


def facts_of(device: Device) -> DeviceFacts:
    """What the driver itself says of a device, where NVML is not there to ask."""
    return DeviceFacts(
        index=0,
        uuid=device.uuid,
        name=device.name,
        capability=(device.attributes[_MAJOR], device.attributes[_MINOR]),
        memory_bytes=device.total_bytes,
        driver_cuda=(device.driver_version // 1000, device.driver_version % 1000 // 10),
    )


async def _open(engine: EngineInstallation, where: Where, driver: Path | None, facts: DeviceFacts | None) -> Device:
    """Opens a context on the device and closes it again."""
    environment = executor_environment(facts.uuid if facts is not None else None, driver)
    if facts is None and (named := where.environment.get("CUDA_VISIBLE_DEVICES")) is not None:
        environment["CUDA_VISIBLE_DEVICES"] = named
    with workspace(where.cache / "work") as work:
        command = ExecutorCommand(engine.executor, plainly(work.path, environment), driver=driver)
        try:
            async with contextlib.AsyncExitStack() as stack:
                if facts is not None:
                    leases = Leases(lease_folder(where.environment))
                    await stack.enter_async_context(leases.hold([facts.uuid], wait_s=_WAIT_S))
                executor = await stack.enter_async_context(start_executor(command, timeout_s=_PROBE_S))
                return await executor.open(0)
        except ExecutorFailed as error:
            raise Unavailable(
                f"the GPU cannot be used: {error.name or error.kind} at `{error.command}`: {error.message}; "
                "look at what nvidia-smi and the kernel's log (dmesg) say"
            ) from error


async def _target(toolkit: Toolkit, facts: DeviceFacts) -> tuple[Arch, tuple[str, ...]]:
    answer = await run_process([toolkit.nvcc, "--list-gpu-code"], timeout_s=_PROBE_S)
    codes = parse_gpu_codes(answer.stdout.text)
    target = device_target(facts.capability, codes) if facts.capability is not None else None
    if target is None:
        raise Unavailable(
            f"nvcc {toolkit.version} does not build for {facts.name} ({facts.arch}); it knows {', '.join(codes) or 'nothing'}: "
            "install the toolkit that supports this GPU"
        )
    return target, codes


def _described(facts: DeviceFacts) -> str:
    parts = [facts.name]
    if facts.architecture and facts.capability:
        parts.append(f"{facts.architecture}, {facts.capability[0]}.{facts.capability[1]}")
    if facts.memory_bytes:
        parts.append(f"{facts.memory_bytes / 1e9:.0f} GB")
    if facts.max_sm_clock_mhz:
        parts.append(f"up to {facts.max_sm_clock_mhz} MHz")
    words = {"ECC": facts.ecc, "MIG": facts.mig, "persistence mode": facts.persistence}
    parts += [name for name, on in words.items() if on]
    return ", ".join(parts)
