"""Speed of the store: durable ingest as the server writes, and attribution of one session in a store of a million events.

    python benchmarks/store.py [--events 1000000] [--folder DIR] [--json FILE]

`calls` is what the server does for each tool call: the start without waiting for the disk, then its end and what it delivered in
one durable transaction. `batches` are durable transactions of 100 events. Every figure waits for the disk as the product does.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from cudanalyst.kernels.problem import Component
from cudanalyst.resources.events import (
    CandidateSubmitted,
    Event,
    EvidenceDelivered,
    ToolFinished,
    ToolStarted,
)
from cudanalyst.resources.experiment import Experiments
from cudanalyst.resources.store import Scope, Store
from cudanalyst.server.observing import attribution_of_all, attribution_of_session

OWNER = "local"
PROBLEM = "vector_add"
TOOLS = (("compile", "compiled"), ("analyze", "clean"), ("run", "passed"), ("profile", "profiled"))
COMPONENTS: dict[str, Component] = {"compile": "compiler", "analyze": "analyzer", "profile": "profiler"}
A_CANDIDATE = 1 + 3 * len(TOOLS) - 1
"""Events of one candidate that every tool looked at."""


def work(number: int, candidates: int) -> Iterator[Event]:
    """Events of a session that looks at candidates with every tool."""
    blob = "0" * 64
    for index in range(candidates):
        candidate = f"cand_{number:08x}{index:024x}"
        yield CandidateSubmitted(candidate=candidate, problem=PROBLEM, blob=blob)
        for tool, status in TOOLS:
            call = f"call_{number:08x}{index:07x}{tool[0]}"
            yield ToolStarted(call=call, tool=tool, candidate=candidate)
            speedup = 1.0 + (index * 7919 % 100) / 100 if tool == "run" else None
            yield ToolFinished(
                call=call,
                tool=tool,
                status=status,
                candidate=candidate,
                tokens=900,
                seconds=0.25,
                modelled_speedup=speedup,
            )
            if tool in COMPONENTS:
                yield EvidenceDelivered(candidate=candidate, component=COMPONENTS[tool], evidence=blob, via=tool)


def fill(store: Store, events: int, candidates: int) -> tuple[list[str], int]:
    """Sessions of `candidates` candidates each, until the store holds that many events; returns the sessions' handles."""
    sessions: list[str] = []
    held = 0
    while held < events:
        session = store.start_session(OWNER)
        batch = list(work(len(sessions), candidates))
        store.append_many(Scope(OWNER, session, session), batch)
        sessions.append(session)
        held += len(batch) + 1
    return sessions, held


def calls(store: Store, seconds: float, threads: int) -> dict[str, int]:
    """Events per second and calls per second, as the server writes them from its worker threads."""
    until = time.perf_counter() + seconds

    def one(number: int) -> int:
        session = store.start_session(OWNER)
        scope, done = Scope(OWNER, session, session), 0
        while time.perf_counter() < until:
            call = f"call_{number}_{done}"
            store.append(scope, ToolStarted(call=call, tool="compile"), durable=False)
            finished = ToolFinished(
                call=call, tool="compile", status="compiled", candidate="cand_x", tokens=900, seconds=0.2
            )
            delivered = EvidenceDelivered(candidate="cand_x", component="compiler", evidence="0" * 64, via="compile")
            store.append_many(scope, [finished, delivered])
            done += 1
        return done

    begun = time.perf_counter()
    with ThreadPoolExecutor(threads) as pool:
        done = sum(pool.map(one, range(threads)))
    took = time.perf_counter() - begun
    return {"events_per_s": round(3 * done / took), "calls_per_s": round(done / took)}


def batches(store: Store, seconds: float, size: int = 100) -> int:
    """Events per second in durable transactions of `size` events."""
    session = store.start_session(OWNER)
    scope, done = Scope(OWNER, session, session), 0
    events = [ToolStarted(call=f"call_{number}", tool="compile", candidate="cand_x") for number in range(size)]
    begun = time.perf_counter()
    while time.perf_counter() - begun < seconds:
        store.append_many(scope, events)
        done += size
    return round(done / (time.perf_counter() - begun))


def best(function: Callable[[], object], rounds: int = 5) -> dict[str, float]:
    """Median and slowest of some rounds, in seconds, and the processor time of the median."""
    times: list[tuple[float, float]] = []
    for _ in range(rounds):
        begun, worked = time.perf_counter(), time.process_time()
        function()
        times.append((time.perf_counter() - begun, time.process_time() - worked))
    times.sort()
    median, cpu = times[len(times) // 2]
    return {"median_s": round(median, 3), "slowest_s": round(times[-1][0], 3), "cpu_s": round(cpu, 3)}


def measure(folder: Path, events: int) -> dict[str, Any]:
    """All figures."""
    found: dict[str, Any] = {}
    with Store.open(folder / "small") as store:
        for threads in (1, 4, 16):
            found[f"ingest_calls_{threads}_threads"] = calls(store, 3.0, threads)
        found["ingest_batches_of_100_events_per_s"] = batches(store, 3.0)
    with Store.open(folder / "large") as store:
        begun = time.perf_counter()
        sessions, held = fill(store, events, 90)
        big = store.start_session(OWNER)
        store.append_many(Scope(OWNER, big, big), list(work(10**6, 9000)))
        found["events"] = held + 9000 * A_CANDIDATE
        found["fill_s"] = round(time.perf_counter() - begun, 1)
        experiments = Experiments(store)
        scope = Scope(OWNER, sessions[-1], sessions[-1])
        attribution_of_session(experiments, scope, sessions[0])  # imports and first reads
        found["session_of_1000_events"] = best(lambda: attribution_of_session(experiments, scope, sessions[0]))
        found["session_of_108000_events"] = best(lambda: attribution_of_session(experiments, scope, big))
        found["all_sessions_newest"] = best(lambda: attribution_of_all(experiments, scope), 1)
        found["ingest_calls_16_threads_in_large_store"] = calls(store, 3.0, 16)
    return found


def main() -> int:
    """Prints every figure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path, help="disk to measure; a temporary folder otherwise")
    parser.add_argument("--json", type=Path, help="write every figure here")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        found = measure(Path(folder), options.events)
    for name, value in found.items():
        print(f"{name:44} {json.dumps(value) if isinstance(value, dict) else value}")
    if options.json:
        options.json.write_text(json.dumps(found, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
