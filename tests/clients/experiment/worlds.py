"""Runs in this process, over a server in memory."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

from mcp import Client

from cudanalyst.clients.connection import Connection
from cudanalyst.clients.experiment.folder import Place
from cudanalyst.clients.experiment.journal import Journal
from cudanalyst.clients.experiment.preparing import check_ready
from cudanalyst.clients.experiment.run import Run
from cudanalyst.clients.experiment.watch import Ended, Quiet, RunOptions
from cudanalyst.server.app import create_application
from cudanalyst.server.assembly import Settings
from tests.clients.fakes import PlantedBench


@asynccontextmanager
async def server(store: Path) -> AsyncIterator[Client]:
    application = create_application(Settings(store=store, bench=PlantedBench()))
    with closing(application.services):
        async with Client(application.server) as client:
            yield client


class MemoryRun(Run):
    """A run whose server is in this process."""

    @asynccontextmanager
    async def _server(self) -> AsyncIterator[Connection]:
        async with server(self.place.store) as client:
            yield Connection(client, self.watch.step)


async def perform(file: Path, *, store: Path | None = None, watch: Quiet | None = None, **options) -> Ended:
    place, chosen = Place(file, store), RunOptions(**options)
    design = place.design()
    check_ready(place, design, chosen, place.past())
    with closing(Journal.opened(place.journal)) as journal:
        return await MemoryRun(place, design, chosen, journal, watch or Quiet()).perform()
