"""A server over the fake bench, on standard input and output: what `cudanalyst serve` is, but for the toolchain."""

import sys
from pathlib import Path

import anyio

from cudanalyst.server import logs
from cudanalyst.server.app import create_application
from cudanalyst.server.assembly import Settings
from cudanalyst.server.serving import serve_stdio
from cudanalyst.server.stdio import claimed_standard_streams
from tests.server.fakes import FakeBench

if __name__ == "__main__":
    logs.configure("ERROR", terminal=False)
    with claimed_standard_streams() as wire:
        application = create_application(
            Settings(store=Path(sys.argv[1]), bench=FakeBench(), answer_within_s=float(sys.argv[2]), beat_s=0.05)
        )
        anyio.run(serve_stdio, application, wire)
        application.services.close()
