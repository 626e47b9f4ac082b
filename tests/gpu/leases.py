"""Leases for tests that use the device without a toolchain: what runs beside a timing without one shows in its times."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from cudanalyst.tools.gpu.lease import Leases, Mode, lease_folder
from cudanalyst.tools.toolchain.gpu import GpuToolchain

WAIT_S: Final = 600.0
_found: list[str] = []


@asynccontextmanager
async def holding(mode: Mode) -> AsyncIterator[None]:
    """The first device: `exclusive` for what is timed or sets clocks, `shared` for the rest. Never within another lease."""
    if not _found:
        toolchain = GpuToolchain()
        await toolchain.prepare()
        _found.extend(one.uuid for one in toolchain.devices[:1])
    async with Leases(lease_folder()).hold(_found, wait_s=WAIT_S, mode=mode):
        yield
