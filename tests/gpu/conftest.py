"""Tests on a real GPU. Every one of them has the marker; `CUDANALYST_RECORD` names a folder for what they measure and see."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

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


@pytest.fixture(scope="session")
def record() -> Record:
    """Prints a value by its name, and writes it to the folder of records where one is named."""
    folder = os.environ.get("CUDANALYST_RECORD")

    def write(name: str, value: Any) -> None:
        text = value if isinstance(value, str) else json.dumps(value, indent=1, default=str)
        print(f"\n== {name}\n{text[:4000]}")  # noqa: T201 - figures are read from the run's output
        if folder is not None:
            path = Path(folder) / f"{name}{'' if '.' in name else '.json'}"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    return write
