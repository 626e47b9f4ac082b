"""Speed of an experiment's bookkeeping: trials per second, processor time and waits for the disk of one trial.

    python benchmarks/trials.py [--trials 1000 10000 50000] [--stdio 400] [--folder DIR] [--json [FILE]]

`functions` hands trials out, takes answers and records outcomes as the server does, in one thread, with a made-up evaluator:
what is left is bookkeeping. `stdio` is a real server in a process of its own whose evaluator is real too, with several
contexts at work; the answers are few sources, as a scripted planner gives them, so all but the first are known.
Every figure waits for the disk as the product does.
"""

import argparse
import json
import os
import secrets
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import anyio

from cudanalyst.clients.connection import Connection, stdio_server
from cudanalyst.kernels.catalogue import Catalogue
from cudanalyst.resources.answers import (
    AttributionResult,
    ExperimentResult,
    FreezeResult,
    TrialNextResult,
    TrialSubmitResult,
)
from cudanalyst.resources.checkpoints import Checkpoint
from cudanalyst.resources.delivery import TrialPayload
from cudanalyst.resources.events import ToolFinished, ToolStarted
from cudanalyst.resources.experiment import Experiments
from cudanalyst.resources.freeze import Moment, ToolResults, checkpoint_of, commit
from cudanalyst.resources.judging import pending, record_outcome
from cudanalyst.resources.outcomes import outcome_of
from cudanalyst.resources.plans import Plan
from cudanalyst.resources.store import Scope, Store
from cudanalyst.resources.trial_flow import next_trial, submit_trial
from cudanalyst.tools.analyze import AnalyzeResult
from cudanalyst.tools.compile import CompileResult
from cudanalyst.tools.debug import DebugResult
from cudanalyst.tools.profile import ProfileResult
from cudanalyst.tools.result import MeasuredOn
from cudanalyst.tools.source import Source

PLAYERS = ("analyzer", "debugger", "profiler")
BLOCK = 2 ** len(PLAYERS)
CHECKPOINTS = 10
ANSWERS = 24
"""Different sources among the answers."""
SAMPLE = 300
"""Trials at the start, and at the end, whose times are given."""
CONTEXTS = 4
STDIO_ANSWERS = 4
PROBLEM = "vector_add"


@contextmanager
def syncs_counted() -> Iterator[dict[str, int]]:
    """Counts this process's waits for the disk."""
    counted = {"fsync": 0, "fdatasync": 0}
    real = {name: getattr(os, name) for name in counted}

    def counting(name: str) -> Any:
        def sync(descriptor: int) -> None:
            counted[name] += 1
            real[name](descriptor)

        return sync

    for name in counted:
        setattr(os, name, counting(name))
    try:
        yield counted
    finally:
        for name, function in real.items():
            setattr(os, name, function)


def frozen(store: Store, scope: Scope, number: int) -> Checkpoint:
    """A checkpoint of a candidate that does not compile: evidence that needs no tool."""
    common = {"measured_on": MeasuredOn(toolchain="cpu", device="cpu-engine", versions={}), "duration_s": 0.1}
    failed = {"status": "compile_failed", "summary": "does not compile", **common}
    results = ToolResults(
        compiled=CompileResult(status="failed", summary="one error", arch="sm_90", **common),
        run=None,
        analyzed=AnalyzeResult(status="clean", summary="nothing found", parse_confidence=1.0, **common),
        debugged=DebugResult(**failed),
        profiled=ProfileResult(**failed),
    )
    moment = Moment(source=Source(text=f"// program {number}\n", problem=f"{PROBLEM}_{number}"))
    return commit(store, scope, moment, checkpoint_of(moment, results))


def one_trial(experiments: Experiments, owner: str, session: str, experiment: str, number: int) -> None:
    """What the server does from handing a trial out to recording its outcome, its records of the two calls included."""
    store = experiments.store
    scope = store.scope(owner, session, f"context {number}")
    with recorded(store, scope, "trial_next"):
        pending(experiments, owner, experiment)
        given = next_trial(experiments, scope, experiment, durable=False)
        experiments.progress(owner, experiment)
    if not isinstance(given, TrialPayload):
        raise TypeError(given.message)
    plan, answer = Plan(text=f"plan {number % ANSWERS}"), f"// answer {number % ANSWERS}\n"
    with recorded(store, scope, "trial_submit"):
        submit_trial(experiments, scope, given.trial, plan=plan, source=answer, durable=False)
        waiting = pending(experiments, owner, experiment)
    for one in waiting:
        outcome = outcome_of(one.checkpoint.base_status, "compiled", "passed", 1.5)
        record_outcome(experiments, owner, one.trial, outcome, evaluate_s=0.0, durable=False)


@contextmanager
def recorded(store: Store, scope: Scope, tool: str) -> Iterator[None]:
    """The server's record of a call; its end is durable before the call is answered."""
    call = f"call_{secrets.token_hex(8)}"
    store.append(scope, ToolStarted(call=call, tool=tool), durable=False)
    yield
    store.append_many(scope, [ToolFinished(call=call, tool=tool, status="ok", tokens=100, seconds=0.01)])


def functions(folder: Path, trials: int, at_most_s: float) -> dict[str, Any]:
    """Figures of the server's functions at one size of experiment."""
    with Store.open(folder / f"functions_{trials}") as store:
        owner = "local"
        session = store.start_session(owner)
        scope = store.scope(owner, session)
        states = [frozen(store, scope, number) for number in range(CHECKPOINTS)]
        experiments = Experiments(store)
        begun = time.perf_counter()
        experiment = experiments.start(
            scope,
            players=PLAYERS,
            checkpoints=[one.id for one in states],
            statements={one.problem: "Add two vectors." for one in states},
            repeats=-(-trials // (BLOCK * CHECKPOINTS)),
            seed=1,
        ).id
        count = experiments.progress(owner, experiment).trials
        laid = time.perf_counter() - begun
        walls: list[float] = []
        works: list[float] = []
        begun = time.perf_counter()
        with syncs_counted() as syncs:
            for number in range(count):
                wall, work = time.perf_counter(), time.process_time()
                one_trial(experiments, owner, session, experiment, number)
                walls.append(time.perf_counter() - wall)
                works.append(time.process_time() - work)
                if time.perf_counter() - begun > at_most_s:
                    break
        took = time.perf_counter() - begun
    return {
        "trials": count,
        "done": len(walls),
        "laid_down_s": round(laid, 3),
        "trials_per_s": round(len(walls) / took, 1),
        "cpu_ms_start": _milliseconds(works[:SAMPLE]),
        "cpu_ms_end": _milliseconds(works[-SAMPLE:]),
        "trials_per_cpu_s": round(len(works) / sum(works), 1),
        "wall_ms_median": round(statistics.median(walls) * 1e3, 2),
        "syncs_a_trial": round(sum(syncs.values()) / len(walls), 2),
    }


def _milliseconds(times: list[float]) -> float:
    return round(sum(times) / len(times) * 1e3, 2)


async def through_stdio(folder: Path, trials: int) -> dict[str, Any]:
    """Figures of a real server over stdio, once it has evaluated each of the few answers."""
    baseline = (Catalogue().entry(PROBLEM).folder / "baseline.cu").read_text()
    answers = [f"{baseline}\n// answer {number}\n" for number in range(STDIO_ANSWERS)]
    before = children()
    async with stdio_server(folder / "stdio", log=folder / "server.log") as connection:
        (pid,) = children() - before
        state = await connection.call("freeze", FreezeResult, source=baseline + "\nbroken\n", problem=PROBLEM)
        repeats = -(-trials // BLOCK) + 1
        experiment = await connection.call(
            "experiment_start", ExperimentResult, checkpoints=[state.checkpoint], players=list(PLAYERS), repeats=repeats
        )
        handle = str(experiment.experiment)
        numbers = iter(range(BLOCK * repeats))
        for number in islice(numbers, BLOCK):
            await exchange(connection, handle, number, answers)
        await all_evaluated(connection, handle, BLOCK)
        worked, begun = processor_s(pid), time.perf_counter()

        async def conversation() -> None:
            for number in numbers:
                await exchange(connection, handle, number, answers)

        async with anyio.create_task_group() as group:
            for _ in range(CONTEXTS):
                group.start_soon(conversation)
        submitted = time.perf_counter() - begun
        await all_evaluated(connection, handle, BLOCK * repeats)
        took, worked = time.perf_counter() - begun, processor_s(pid) - worked
    count = BLOCK * (repeats - 1)
    return {
        "trials": count,
        "contexts": CONTEXTS,
        "trials_per_s": round(count / took, 1),
        "all_submitted_s": round(submitted, 2),
        "all_evaluated_s": round(took, 2),
        "server_cpu_ms_a_trial": round(worked / count * 1e3, 2),
    }


async def exchange(connection: Connection, experiment: str, number: int, answers: list[str]) -> None:
    """One trial as a planner takes and answers it."""
    context = f"planner-{number}"
    trial = await connection.call("trial_next", TrialNextResult, experiment=experiment, context=context)
    if trial.trial is None:
        raise RuntimeError(trial.summary)
    told = {"trial": trial.trial, "source": answers[number % len(answers)], "plan": "as before", "context": context}
    await connection.call("trial_submit", TrialSubmitResult, **told)


async def all_evaluated(connection: Connection, experiment: str, trials: int) -> None:
    """Waits until so many trials have an outcome."""
    while True:
        found = await connection.call("attribution", AttributionResult, experiment=experiment, wait_s=5.0)
        if (found.evaluated or 0) >= trials or found.status == "final":
            return


def children() -> set[int]:
    """This process's children."""
    tasks = Path("/proc/self/task").glob("*/children")
    return {int(pid) for task in tasks for pid in task.read_text().split()}


def processor_s(pid: int) -> float:
    """Processor time that a process has used, and those that it started and waited for."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(int(one) for one in fields[11:15]) / os.sysconf("SC_CLK_TCK")


def main() -> int:
    """Prints every figure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--trials", type=int, nargs="*", default=[1_000, 10_000, 50_000])
    parser.add_argument("--stdio", type=int, default=400, help="trials over stdio; 0 leaves that out")
    parser.add_argument(
        "--at-most-s", type=float, default=600.0, help="of one experiment; what was not reached is said"
    )
    parser.add_argument("--folder", type=Path, help="disk to measure; a temporary folder otherwise")
    parser.add_argument(
        "--json", nargs="?", const="-", help="write every figure here; without a file print them as JSON"
    )
    options = parser.parse_args()
    found: dict[str, Any] = {"load": os.getloadavg()[0], "cores": len(os.sched_getaffinity(0))}
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        for trials in options.trials:
            found[f"functions_{trials}"] = functions(Path(folder), trials, options.at_most_s)
        if options.stdio:
            found["stdio"] = anyio.run(through_stdio, Path(folder), options.stdio)
    if options.json == "-":
        print(json.dumps(found, indent=1))
    else:
        for name, value in found.items():
            print(f"{name:18} {json.dumps(value)}")
    if options.json not in {None, "-"}:
        Path(options.json).write_text(json.dumps(found, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
