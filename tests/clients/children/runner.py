"""Runs or resumes experiments over a planted server, in processes that kill themselves where they are told to.

Reads lines of the experiment's file, workers, and `none` or KIND:PLACE:COUNT, the moment of the kill:
`call:TOOL:N` as the N-th answer of a tool has come, `keep:KIND:N` as the N-th record of a kind is on the disk, `torn:KIND:N` in the
middle of writing it, `ask:ROLE:N` while the N-th answer of a planner or coder is under way.
Every answer that is asked for is written to asked.txt, as on a provider's bill. How a process ended is printed.
"""

import os
import signal
import sys
from collections import Counter
from contextlib import asynccontextmanager, closing
from contextvars import ContextVar
from pathlib import Path

import anyio
from mcp import Client

from cudanalyst.clients.connection import Connection
from cudanalyst.clients.experiment.answers import Answers
from cudanalyst.clients.experiment.folder import Place
from cudanalyst.clients.experiment.journal import Journal, _line, asked
from cudanalyst.clients.experiment.run import Run, perform
from cudanalyst.clients.experiment.watch import Quiet, RunOptions
from cudanalyst.clients.scripted import ScriptedCoder, ScriptedPlanner
from cudanalyst.server.app import create_application
from cudanalyst.server.assembly import Settings
from tests.clients.fakes import PlantedBench

AT: tuple[str, str, int] = ("none", "", 0)
BILL = Path("asked.txt")
TRIAL = ContextVar("TRIAL", default="")
seen: Counter[tuple[str, str]] = Counter()


def reached(kind: str, place: str) -> bool:
    seen[kind, place] += 1
    return (kind, place, seen[kind, place]) == AT


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def bill(role: str, key: str) -> None:
    descriptor = os.open(BILL, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(descriptor, f"{TRIAL.get()} {role} {key}\n".encode())
    os.close(descriptor)


planned, coded = Answers.plan, Answers.code
call, keep, plan, write = Connection.call, Journal.keep, ScriptedPlanner.plan, ScriptedCoder.write


async def watched_call(self, tool, answer, **arguments):
    found = await call(self, tool, answer, **arguments)
    if reached("call", tool):
        die()
    return found


async def watched_keep(self, *kept):
    for one in kept:
        if reached("torn", one.kind):
            line = _line(one)
            async with self._writing:  # another's line, written by a thread, must not end up behind this half
                os.write(self._descriptor, line[: len(line) // 2])
                os.fsync(self._descriptor)
                die()
    await keep(self, *kept)
    for one in kept:
        if reached("keep", one.kind):
            die()


async def billed_plan(self, planner, state, trial):
    TRIAL.set(trial)
    return await planned(self, planner, state, trial)


async def billed_code(self, coder, state, text, trial):
    TRIAL.set(trial)
    return await coded(self, coder, state, text, trial)


async def watched_plan(self, state):
    bill("plan", asked("plan", self.name, state, None))
    if reached("ask", "plan"):
        die()
    return await plan(self, state)


async def watched_write(self, state, text):
    bill("code", asked("code", self.name, state, text))
    if reached("ask", "code"):
        die()
    return await write(self, state, text)


@asynccontextmanager
async def in_memory(self):
    """Client and server in one process, so that a kill takes both."""
    application = create_application(Settings(store=self.place.store, bench=BENCH))
    with closing(application.services):
        async with Client(application.server) as client:
            yield Connection(client, self.watch.step)


def one_run(file: Path, workers: int, moment: str) -> None:
    where = Place(file)
    options = RunOptions(workers=workers, resume=bool(where.past()))
    ended = anyio.run(perform, where, options, Quiet())
    print(ended.how, ended.replayed, ended.submitted, flush=True)  # noqa: T201


if __name__ == "__main__":
    BENCH = PlantedBench()
    Run._server = in_memory
    Connection.call, Journal.keep = watched_call, watched_keep
    ScriptedPlanner.plan, ScriptedCoder.write = watched_plan, watched_write
    Answers.plan, Answers.code = billed_plan, billed_code
    for line in sys.stdin:
        name, count, moment = line.split()
        kind, _, rest = moment.partition(":")
        place, _, number = rest.partition(":")
        AT, BILL = (kind, place, int(number or 0)), Path(name).parent / "asked.txt"
        child = (
            os.fork()
        )  # what was imported need not be imported again; the child is a process of its own all the same
        if child == 0:
            status = 1
            try:
                one_run(Path(name), int(count), moment)
                status = 0
            finally:
                os._exit(status)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)  # noqa: T201
