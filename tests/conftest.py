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


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """asyncio is the only backend: the process runner is written for it."""
    return "asyncio"
