"""A server over the planted bench, on standard input and output."""

import sys
from pathlib import Path

import anyio

from cudanalyst.server import logs
from cudanalyst.server.app import create_application
from cudanalyst.server.assembly import Settings
from cudanalyst.server.serving import serve_stdio
from cudanalyst.server.stdio import claimed_standard_streams
from tests.clients.fakes import PlantedBench

if __name__ == "__main__":
    logs.configure("ERROR", terminal=False)
    with claimed_standard_streams() as wire:
        application = create_application(
            Settings(store=Path(sys.argv[sys.argv.index("--store") + 1]), bench=PlantedBench())
        )
        anyio.run(serve_stdio, application, wire)
        application.services.close()
