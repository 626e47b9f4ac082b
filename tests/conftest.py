"""What every test may ask for."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# How long an example takes says nothing on a machine that is busy with compilers.
settings.register_profile("cudanalyst", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("cudanalyst")

# The engine is built once for all test runs, and nothing is written to the user's own cache.
os.environ.setdefault("CUDANALYST_CACHE", str(Path(__file__).parents[1] / ".pytest_cache" / "cudanalyst"))

GPU_DEVICE = Path("/dev/nvidiactl")


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """asyncio is the only backend: the process runner is written for it."""
    return "asyncio"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skips GPU tests where there is no GPU, and says so."""
    if GPU_DEVICE.exists():
        return
    skip = pytest.mark.skip(reason="no NVIDIA GPU on this machine (/dev/nvidiactl is missing)")
    for item in items:
        if item.get_closest_marker("gpu"):
            item.add_marker(skip)
