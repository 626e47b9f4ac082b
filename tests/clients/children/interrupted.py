"""Runs an experiment against a planted server over stdio, with answers that never come, until it is interrupted."""

import sys
from pathlib import Path

import anyio

from cudanalyst.clients.experiment.folder import Place
from cudanalyst.clients.experiment.run import perform
from cudanalyst.clients.experiment.watch import Quiet, RunOptions
from cudanalyst.clients.scripted import ScriptedPlanner

SERVER = (sys.executable, str(Path(__file__).parent / "planted_server.py"))


class Telling(Quiet):
    def step(self, words: str) -> None:
        if words.startswith("finishing"):
            print(words.partition(";")[0], flush=True)  # noqa: T201


async def never(self, state):
    print("asked", flush=True)  # noqa: T201
    await anyio.sleep_forever()


if __name__ == "__main__":
    file = Path(sys.argv[1])
    if sys.argv[2] == "hang":
        ScriptedPlanner.plan = never
    ended = anyio.run(
        perform, Place(file), RunOptions(workers=1, server=SERVER, resume=Place(file).past() != ()), Telling()
    )
    print(ended.how, ended.reason, flush=True)  # noqa: T201
