"""Where the `gpu` toolchain works: what it has found, its builds, and its leases."""

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal

from cudanalyst.errors import Unavailable
from cudanalyst.tools.engine.build import EngineInstallation, cache_directory
from cudanalyst.tools.gpu.abilities import Ability
from cudanalyst.tools.gpu.lease import MOST_SHARED, Lease, Mode, Totals
from cudanalyst.tools.gpu.state import DeviceFacts, DeviceMonitor, DeviceState, find_monitor
from cudanalyst.tools.result import MeasuredOn
from cudanalyst.tools.source import Source
from cudanalyst.tools.toolchain.absent import no_build, no_capabilities
from cudanalyst.tools.toolchain.gpu_oracles import Oracles
from cudanalyst.tools.toolchain.gpu_parts import GpuParts, Where, find_parts
from cudanalyst.tools.toolchain.gpu_probe import ToolAbilities, capabilities_of, probe_tools
from cudanalyst.tools.toolchain.gpu_rooms import Rooms
from cudanalyst.tools.toolchain.gpu_timing import Kept
from cudanalyst.tools.toolchain.gpu_tools import OnDevice
from cudanalyst.tools.toolchain.protocol import (
    Build,
    Capabilities,
)
from cudanalyst.tools.toolchain.waiting import place_in_line, tell

CONTEXT_BYTES: Final = 4 << 30
"""Allowed for a context and its buffers: a large size has more, a small one a tenth of it."""
MOST_CONTEXTS: Final = 16
MEMORY_KNOWN_S: Final = 0.5
LEASE_WAIT_S: Final = 1800.0
"""How long a call waits for its turn, apart from what it then takes."""


class GpuPlace:
    """NVIDIA GPUs of this machine, and the compilers for them. Nothing is looked for before the first call."""

    def __init__(
        self,
        *,
        cache: Path | None = None,
        environment: Mapping[str, str] | None = None,
        root: Path = Path("/"),
        progress: Callable[[str], None] | None = None,
        allow_unsandboxed: bool = False,
        lease_wait_s: float = LEASE_WAIT_S,
        driver: Path | None = None,
        runtime: Path | None = None,
        monitor: Callable[[], tuple[DeviceMonitor, str | None]] = find_monitor,
    ) -> None:
        """Sets where things are kept and looked for.

        Args:
            cache: Folder of engine, builds and work directories; None for the user's.
            environment: In place of `os.environ`, for CUDA_HOME, PATH, CXX, CUDANALYST_CACHE, CUDA_VISIBLE_DEVICES and CUDANALYST_LEASES.
            root: Where the driver's files are looked for.
            progress: Is told, in a line each, what takes long on first use.
            allow_unsandboxed: Run untrusted code where this machine offers no confinement.
            lease_wait_s: How long a call waits for its turn on a GPU.
            driver: A driver library in place of NVIDIA's: the CPU engine's.
            runtime: Folder of the CUDA runtime for native runs, in place of the toolkit's.
            monitor: Finds who says what a device is and does.
        """
        environment = os.environ if environment is None else environment
        self._where = Where(
            cache=cache_directory(environment) if cache is None else cache,
            environment=environment,
            root=root,
            driver=driver,
            runtime=runtime,
            monitor=monitor,
            allow_unsandboxed=allow_unsandboxed,
            progress=progress,
        )
        self._lease_wait_s = lease_wait_s
        self._parts: GpuParts | None = None
        self._tools: ToolAbilities | None = None
        self._oracles = Oracles()
        self._kept = Kept()
        self._endings: set[asyncio.Task[None]] = set()
        self._rooms = Rooms()
        self._shared: dict[str, tuple[float, int]] = {}
        self._preparing = asyncio.Lock()
        self._probing = asyncio.Lock()

    @property
    def name(self) -> Literal["cpu", "gpu", "replay"]:
        """`gpu`."""
        return "gpu"

    @property
    def engine(self) -> EngineInstallation | None:
        """The engine whose runtime candidates are recorded with; None before the first call."""
        return None if self._parts is None else self._parts.engine

    @property
    def devices(self) -> tuple[DeviceFacts, ...]:
        """The GPUs that are used; empty before the first call."""
        return () if self._parts is None else self._parts.devices

    async def prepare(self) -> None:
        """Finds devices and compilers and builds the engine, if that was not done.

        Raises:
            Unavailable: Something is missing; the text says how to get it.
        """
        await self._ready()

    async def parts(self) -> GpuParts:
        """What was found: devices, compilers, the engine.

        Raises:
            Unavailable: Something is missing; the text says how to get it.
        """
        return await self._ready()

    async def _ready(self) -> GpuParts:
        async with self._preparing:
            if self._parts is None:
                self._parts = await find_parts(self._where)
            return self._parts

    async def _tool_abilities(self, parts: GpuParts) -> ToolAbilities:
        async with self._probing:
            if self._tools is None:
                self._tools = await probe_tools(parts, self._where.environment, self._where.cache)
            return self._tools

    async def abilities(self) -> tuple[Ability, ...]:
        """All that can and cannot be done here, for people."""
        try:
            parts = await self._ready()
        except Unavailable as error:
            return (Ability(name="device", status="unavailable", reason=str(error)),)
        tools = await self._tool_abilities(parts)
        level = parts.confinement.level
        sandbox = Ability(
            name="sandbox",
            status="ok" if level == "full" else "limited",
            found=level,
            reason=None if level == "full" else f"the sandbox's level is `{level}`; results say so",
        )
        return (*parts.abilities, *tools.abilities, sandbox)

    async def capabilities(self) -> Capabilities:
        """What can be done here, with a reason and a remedy for everything else."""
        try:
            parts = await self._ready()
        except Unavailable as error:
            return no_capabilities("gpu", str(error))
        tools = await self._tool_abilities(parts)
        return capabilities_of(tools, parts, self._measured_on(parts))

    def _measured_on(self, parts: GpuParts) -> MeasuredOn:
        versions = self._tools.versions if self._tools is not None else {}
        plain = parts.builder.measured_on()
        first = parts.devices[0]
        name = f"{first.name} (MIG)" if first.mig else first.name  # a slice's times are not the device's
        return plain.model_copy(update={"device": name, "versions": {**plain.versions, **versions}})

    async def build(self, source: Source) -> Build:
        """Compiles for the device's own architecture; cached by content, failures too.

        Raises:
            BadRequest: A flag or the architecture is not allowed, or the source is too long.
        """
        started = time.monotonic()
        try:
            parts = await self._ready()
        except Unavailable as error:
            return no_build("gpu", source, str(error), started)
        built = await parts.builder.build(source)
        return built.model_copy(update={"measured_on": self._measured_on(parts)})

    @property
    def scratch(self) -> Path:
        """Where work directories are made."""
        return self._where.cache / "work"

    @property
    def oracles(self) -> Oracles:
        """What makes inputs and references on the devices."""
        return self._oracles

    @property
    def kept(self) -> Kept:
        """What timing has found out about the devices."""
        return self._kept

    @property
    def rooms(self) -> Rooms:
        """Who has contexts on the devices."""
        return self._rooms

    @property
    def lease_totals(self) -> dict[Mode, Totals]:
        """How this process has used leases so far."""
        return {} if self._parts is None else self._parts.leases.totals

    def room(self, uuid: str) -> contextlib.AbstractAsyncContextManager[None]:
        """For one session's context on a device."""
        total = next((one.memory_bytes for one in self.devices if one.uuid == uuid), None)
        return self._rooms.of(uuid, MOST_CONTEXTS if total is None else _shares(total, MOST_CONTEXTS))

    @contextlib.asynccontextmanager
    async def hold(self, parts: GpuParts, uuids: Sequence[str], mode: Mode) -> AsyncIterator[Lease]:
        """A lease; who waits for it is told of its place.

        Raises:
            LeaseTimedOut: None became free in time.
        """
        most = (lambda uuid: self.most_shared(parts, uuid)) if mode == "shared" else (lambda _: 1)
        try:
            async with parts.leases.hold(
                uuids, wait_s=self._lease_wait_s, ahead=lambda ahead: tell(place_in_line(ahead)), mode=mode, most=most
            ) as lease:
                tell(None)
                yield lease
        finally:
            tell(None)

    def most_shared(self, parts: GpuParts, uuid: str) -> int:
        """How many there is room for now; asked for at every try, so what NVML says is kept for a while."""
        now = time.monotonic()
        until, most = self._shared.get(uuid, (0.0, MOST_SHARED))
        if now > until:
            total = next((one.memory_bytes for one in parts.devices if one.uuid == uuid), None)
            used = parts.monitor.state(uuid).memory_used_bytes
            most = MOST_SHARED if total is None or used is None else _shares(total - used, MOST_SHARED)
            self._shared[uuid] = now + MEMORY_KNOWN_S, most
        return most

    @contextlib.asynccontextmanager
    async def lease(self, mode: Mode = "exclusive") -> AsyncIterator[tuple[Lease, DeviceState]]:
        """A GPU, by default for the caller alone, and what it was doing when its turn came.

        Raises:
            LeaseTimedOut: None became free in time.
            Unavailable: There is no GPU to be used.
        """
        parts = await self._ready()
        async with self.hold(parts, [one.uuid for one in parts.devices], mode) as lease:
            yield lease, await asyncio.to_thread(parts.monitor.state, lease.uuid)

    def end_later(self, ending: Coroutine[Any, Any, None]) -> None:
        """Carries out what an evaluation has left to do when its answer is there: giving contexts back takes turns and time."""
        task = asyncio.create_task(ending)
        self._endings.add(task)
        task.add_done_callback(self._endings.discard)

    async def at_rest(self) -> None:
        """Waits until all evaluations that have answered have also given back what they had.

        Raises:
            Exception: What an ending met with that nobody had foreseen.
        """
        while self._endings:
            await asyncio.gather(*self._endings)

    async def close(self) -> None:
        """Ends what is kept running between calls, and waits for what is ending."""
        try:
            await self.at_rest()
        finally:
            await self._oracles.close()

    def _on_device(self, parts: GpuParts, lease: Lease) -> OnDevice:
        return OnDevice(parts, lease.uuid, self.scratch)


def _shares(memory_bytes: int, most: int) -> int:
    """How many contexts, with what they hold, a device's memory has room for."""
    return max(1, min(most, memory_bytes // CONTEXT_BYTES))
