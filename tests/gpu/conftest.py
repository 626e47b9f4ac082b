"""Tests on a real GPU. Every one of them has the marker; `CUDANALYST_RECORD` names a folder for what they measure and see."""

import json
import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.gpu.leases import holding
from tests.gpu.records import keep

HERE = Path(__file__).parent
DEVICES = (Path("/dev/nvidiactl"), Path("/dev/dxg"))
Record = Callable[[str, Any], None]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks what lies here, and skips it, with the reason, where there is no GPU."""
    skip = pytest.mark.skip(reason="no NVIDIA GPU on this machine (/dev/nvidiactl is missing)")
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.gpu)
            if not any(device.exists() for device in DEVICES):
                item.add_marker(skip)


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """As for all tests, of which only these may be here to be run."""
    return "asyncio"


@pytest.fixture
async def alone(anyio_backend: str) -> AsyncIterator[None]:
    """The device for this test alone, of all processes that take leases: for what it times by itself."""
    async with holding("exclusive"):
        yield


@pytest.fixture
async def beside(anyio_backend: str) -> AsyncIterator[None]:
    """The device beside others, but while nobody is timed: for what it does there without a toolchain."""
    async with holding("shared"):
        yield


@pytest.fixture(scope="session")
def record() -> Record:
    """Prints a value by its name, and writes it to the folder of records where one is named."""
    folder = os.environ.get("CUDANALYST_RECORD")

    def write(name: str, value: Any) -> None:
        text = value if isinstance(value, str) else json.dumps(value, indent=1, default=str)
        print(f"\n== {name}\n{text[:4000]}")  # noqa: T201 - figures are read from the run's output
        if folder is not None:
            keep(Path(folder), name, value, run=os.environ.get("PYTEST_XDIST_TESTRUNUID"))

    return write
