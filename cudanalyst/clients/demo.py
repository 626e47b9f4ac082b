"""The main job, end to end: five tools over MCP, frozen checkpoints, every coalition, an attribution with its ground truth."""

import os
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Final

import anyio.to_thread
from rich.console import Console

from cudanalyst.clients.agent import FAST, ScriptedAgent, Step
from cudanalyst.clients.connection import Connection, stdio_server
from cudanalyst.clients.options import DemoOptions
from cudanalyst.clients.planted import planted_table
from cudanalyst.clients.screen import Screen
from cudanalyst.clients.scripted import ScriptedPlanner
from cudanalyst.clients.trials import run_experiment
from cudanalyst.clients.truth import LEVELS, enumerate_truth
from cudanalyst.errors import CudanalystError
from cudanalyst.kernels.catalogue import Catalogue
from cudanalyst.resources.answers import AttributionResult, DeviceResult, ExperimentResult
from cudanalyst.resources.attribution.ground_truth import GroundTruth, Tables, compare
from cudanalyst.resources.experiment import Experiments
from cudanalyst.resources.report.data import CheckpointRow, ComponentCost, ReportData
from cudanalyst.resources.report.gather import gather
from cudanalyst.resources.report.page import write_report
from cudanalyst.resources.report.terminal import render_terminal
from cudanalyst.resources.report.view import attribution_of, leads
from cudanalyst.resources.store import Store

OWNER: Final = "local"
"""Owner of what a server over stdio remembers."""


async def run_demo(options: DemoOptions, console: Console) -> ReportData:
    """Runs the demo and writes its report.

    Raises:
        CudanalystError: Something that the demo needs is missing; the text says what to do.
    """
    catalogue = Catalogue.from_environment(os.environ)
    begun = time.perf_counter()
    screen = Screen(console)
    with tempfile.TemporaryDirectory(prefix="cudanalyst-demo-") as store, screen.shown():
        async with stdio_server(Path(store), screen.say) as connection:
            demo = _Demo(options, catalogue, ScriptedPlanner(catalogue.problem), screen, connection)
            device = await demo.device()
            steps = await demo.walks()
            firsts = [step for step in steps if step.generation == 0]
            found = await demo.trials(firsts)
            truth = await demo.truth(firsts, found) if options.truth else None
        data = await anyio.to_thread.run_sync(_report_data, Path(store), steps, found, truth, device)
    page, numbers = write_report(data, options.folder)
    console.print(render_terminal(attribution_of(data.analysis, leads(data.analysis)[0])))
    if truth is not None:
        console.print(_truth_words(truth))
    console.print(f"\nReport: [bold]{page}[/]  Numbers: [bold]{numbers}[/]  ({time.perf_counter() - begun:.0f} s)")
    return data


@dataclass(frozen=True)
class _Demo:
    """The stages of the demo, over one connection."""

    options: DemoOptions
    catalogue: Catalogue
    planner: ScriptedPlanner
    screen: Screen
    connection: Connection

    async def device(self) -> DeviceResult:
        """What there is to work with; refuses to go on without a compiler and an engine."""
        device = await self.connection.call("device_info", DeviceResult)
        if not (device.build and device.execute):
            raise CudanalystError("; ".join(device.reasons.values()) or device.summary)
        return device

    async def walks(self) -> list[Step]:
        """The scripted agent on every start of every problem."""
        problems = [self.catalogue.problem(name) for name in self.options.problems]
        bar = self.screen.bar("Agent", sum(len(problem.starts) for problem in problems))
        steps: list[Step] = []
        for problem in problems:
            for start in problem.starts:
                at = f"{problem.id}/{start.name}"

                def watch(tool: str, words: str, at: str = at) -> None:
                    self.screen.set(bar, note=f"{at} {tool}: {words}")

                walked = await ScriptedAgent(self.connection, self.planner, watch).walk(
                    problem, start, self.options.seed
                )
                steps.extend(walked)
                self.screen.advance(bar)
                self.screen.console.print(f"  {at}: " + "  →  ".join(_step_words(step) for step in walked))
        return steps

    async def trials(self, firsts: Sequence[Step]) -> AttributionResult:
        """Every coalition on every first checkpoint."""
        total = len(firsts) * self.options.repeats * 2 ** len(self.options.players)
        planned, evaluated = self.screen.bar("Trials", total), self.screen.bar("Evaluated", total)

        def started(experiment: ExperimentResult) -> None:
            self.screen.set(planned, total=experiment.trials, note=f"{experiment.blocks} blocks")
            self.screen.set(evaluated, total=experiment.trials)

        def report(submitted: int, judged: int) -> None:
            self.screen.set(planned, completed=submitted)
            self.screen.set(evaluated, completed=judged)

        return await run_experiment(
            self.connection,
            self.planner,
            [step.checkpoint for step in firsts],
            self.options.players,
            repeats=self.options.repeats,
            seed=self.options.seed,
            started=started,
            report=report,
        )

    async def truth(self, firsts: Sequence[Step], found: AttributionResult) -> GroundTruth | None:
        """What the attribution ought to be: enumerated over the policy, and from the planted faults."""
        if found.attribution is None:
            return None
        bar = self.screen.bar("Truth", len(firsts))
        players = found.attribution.players
        enumerated = await enumerate_truth(
            self.connection,
            self.planner,
            firsts,
            problems=self.catalogue.problem,
            players=self.options.players,
            advance=lambda: self.screen.advance(bar),
        )
        planted: dict[str, Tables] = {
            level: {
                (step.problem, step.checkpoint): planted_table(
                    self.catalogue.problem(step.problem), step.start, players, level
                )
                for step in firsts
            }
            for level in LEVELS
        }
        return compare(found.attribution, planted=planted, enumerated=enumerated)


def _step_words(step: Step) -> str:
    speedup = f" {step.modelled_speedup:.2f}x modelled" if step.modelled_speedup is not None else ""
    found = ", ".join(
        f"{tool} {status}" for tool, status in step.statuses.items() if tool in {"compile", "debug", "run"}
    )
    chosen = f" [cyan]({step.edit})[/]" if step.edit else ""
    return f"{found}{speedup}{chosen}"


def _truth_words(truth: GroundTruth) -> str:
    return (
        f"Ground truth: planted = enumerated in {truth.equal} of {truth.equal_of} numbers; "
        f"the enumerated value lies inside the 95 % interval in {truth.inside} of {truth.inside_of}."
    )


def _timed(cost: ComponentCost, firsts: Sequence[Step]) -> ComponentCost:
    """A component's cost with the time that its evidence took to gather, over the checkpoints of the trials."""
    seconds = [spent for step in firsts for player, spent in step.seconds.items() if player == cost.component]
    return cost.model_copy(update={"tool_seconds": fmean(seconds) if seconds else None})


def _report_data(
    store: Path,
    steps: Sequence[Step],
    found: AttributionResult,
    truth: GroundTruth | None,
    device: DeviceResult,
) -> ReportData:
    if found.attribution is None or found.experiment is None:
        raise CudanalystError("The experiment ended without an evaluated trial; look at the server's log above.")
    where = device.measured_on
    firsts = [step for step in steps if step.generation == 0]
    with closing(Store.open(store)) as opened:
        data = gather(Experiments(opened), OWNER, found.experiment)
    method = data.method.model_copy(
        update={
            "coder": "edit book",
            "measured_on": (where.device if where else None) or "cpu-engine",
            "extra": (
                f"The scripted agent made {len(steps)} checkpoints on the way; the trials start from the {len(firsts)} first ones.",
                "Speed is modelled by the same cost model that the profiler reports, so nothing here is a claim about profilers.",
            ),
        }
    )
    told = {
        "title": "Which feedback helped the scripted planner",
        "method": method,
        "costs": tuple(_timed(cost, firsts) for cost in data.costs),
        "checkpoints": tuple(
            CheckpointRow(
                id=step.checkpoint,
                problem=step.problem,
                base_status=step.base_status,
                generation=step.generation,
                fast_modelled=(step.base_status == "passed" and (step.modelled_speedup or 0.0) >= FAST),
                placebos=step.placebos,
            )
            for step in steps
        ),
        "ground_truth": truth,
    }
    return data.model_copy(update=told)
