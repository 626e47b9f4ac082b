"""Servers to test: in memory over a fake bench, in both protocol eras."""

import os
import sys
from collections.abc import Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters

from cudanalyst.server.app import Application, create_application
from cudanalyst.server.assembly import Settings
from tests.server.fakes import FakeBench

ROOT = Path(__file__).parents[2]
CHILD = Path(__file__).parent / "children" / "fake_server.py"


@pytest.fixture
def make_application(tmp_path: Path):
    """Makes applications over one store, and closes them."""
    made: list[Application] = []

    def make(**changes) -> Application:
        settings = {"store": tmp_path / "store", "bench": FakeBench(), "beat_s": 0.01, **changes}
        application = create_application(Settings(**settings))
        made.append(application)
        return application

    yield make
    for application in made:
        application.services.close()


@pytest.fixture
def application(make_application: Callable[..., Application]) -> Application:
    return make_application()


@pytest.fixture(params=["auto", "legacy"], ids=["stateless", "handshake"])
def era(request: pytest.FixtureRequest) -> str:
    """Both protocol eras."""
    return request.param


@pytest.fixture
def child_parameters(tmp_path: Path):
    """How to start the fake server as a child process."""

    def parameters(answer_within_s: float = 45.0) -> StdioServerParameters:
        return StdioServerParameters(
            command=sys.executable,
            args=[str(CHILD), str(tmp_path / "store"), str(answer_within_s)],
            env={"PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"], "HOME": str(tmp_path)},
            cwd=ROOT,
        )

    return parameters


@asynccontextmanager
async def connected(application: Application, era: str = "auto"):
    """A client of an application in memory."""
    async with Client(application.server, mode=era) as client:
        yield client
