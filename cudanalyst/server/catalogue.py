"""The tool catalogue: one entry a tool, in the order in which they are listed."""

import inspect
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Final

from pydantic import BaseModel

from cudanalyst.resources.answers import concise_attribution
from cudanalyst.server.workbench import Workbench


@dataclass(frozen=True)
class ToolEntry:
    """One tool."""

    handler: Callable[..., Coroutine[Any, Any, BaseModel]]
    """Method of `Workbench`; its name is the tool's."""
    title: str
    description: str
    read_only: bool = False
    idempotent: bool = False
    destructive: bool = False
    runs_code: bool = False
    """Starts programs that the caller wrote."""
    outlives: bool = False
    """May be answered with a job."""
    detailed: bool = False
    """Takes `detail`: the result may be long."""
    concise: Callable[[Any], BaseModel] | None = None
    """What of a result is sent where `detail` is concise; None for all of it."""
    whole: bool = False
    """The result is what was asked for and never cut to the concise limit."""

    @property
    def name(self) -> str:
        """The tool's name."""
        return self.handler.__name__

    @property
    def result(self) -> type[BaseModel]:
        """The result model."""
        model: type[BaseModel] = inspect.signature(self.handler, eval_str=True).return_annotation
        return model


CATALOGUE: Final[tuple[ToolEntry, ...]] = (
    ToolEntry(
        Workbench.compile,
        "Compile CUDA",
        "Compile CUDA C++ with nvcc and get errors, warnings, registers, shared memory, spills and occupancy per kernel. "
        "Start here: it checks a source and gives the candidate handle that other tools take. Results are cached.",
        idempotent=True,
        outlives=True,
        detailed=True,
    ),
    ToolEntry(
        Workbench.run,
        "Run and verify",
        "Run CUDA code: verify a candidate against a float64 reference on several sizes and hidden inputs, or start a "
        "program and see its exit status and output. Without a GPU times are modelled, never measured.",
        runs_code=True,
        outlives=True,
        detailed=True,
    ),
    ToolEntry(
        Workbench.debug,
        "Find memory and race errors",
        "Find out-of-bounds accesses, data races, uninitialised reads and barrier errors (memcheck, racecheck, initcheck, "
        "synccheck) with source lines and threads. Use it when run says crashed or wrong.",
        runs_code=True,
        outlives=True,
        detailed=True,
    ),
    ToolEntry(
        Workbench.analyze,
        "Analyze source",
        "Analyze CUDA source statically: kernels, launches, loops, shared memory, access strides, and spots an expert would "
        "question. Fast; works on code that does not compile.",
        read_only=True,
        detailed=True,
    ),
    ToolEntry(
        Workbench.profile,
        "Profile kernels",
        "Profile CUDA kernels: work per kernel and line, coalescing, bank conflicts, divergence, what bounds the time, what "
        "to change first. Use it once run says passed.",
        runs_code=True,
        outlives=True,
        detailed=True,
    ),
    ToolEntry(
        Workbench.session_start,
        "Start a session",
        "Start a session of your own, or one with randomised delivery: feedback is withheld by chance, so that attribution "
        "can tell what helps.",
    ),
    ToolEntry(
        Workbench.freeze,
        "Freeze a checkpoint",
        "Freeze a candidate as an immutable checkpoint with the evidence of every feedback tool, gathered once, for later "
        "trials. Same candidate and lineage: same checkpoint.",
        runs_code=True,
        idempotent=True,
        outlives=True,
    ),
    ToolEntry(
        Workbench.restore,
        "Restore a checkpoint",
        "Restore a frozen checkpoint: its source, candidate handle and base status, without its evidence. Your conversation "
        "then counts as exposed to that line of work.",
        whole=True,
    ),
    ToolEntry(
        Workbench.plan,
        "Record a plan",
        "Record what you mean to change next, in your words, and the ids of the evidence items that made you decide. "
        "Attribution in ordinary use is built from this.",
    ),
    ToolEntry(
        Workbench.experiment_start,
        "Start an experiment",
        "Start an experiment that measures which feedback helps: every coalition of the players on every checkpoint, "
        "repeated, in random order, or what a design file says (`design`). Then call trial_next until it is finished.",
    ),
    ToolEntry(
        Workbench.trial_next,
        "Take the next trial",
        "Take the next trial of an experiment: a frozen program and the feedback assigned to it; write a better source "
        "and trial_submit it. One trial per problem per context; other feedback is closed until you submit.",
        whole=True,
    ),
    ToolEntry(
        Workbench.trial_submit,
        "Submit a trial",
        "Submit the source that you wrote for a trial, or say why there is none. Returns a receipt; the outcome stays "
        "closed until the experiment ends.",
    ),
    ToolEntry(
        Workbench.attribution,
        "Attribute success to feedback",
        "Attribute success to kinds of feedback, with intervals: of an experiment (coalition values, Banzhaf, Shapley, "
        "interactions), or of ordinary use (observed; by design where delivery was randomised).",
        read_only=True,
        detailed=True,
        concise=concise_attribution,
    ),
    ToolEntry(
        Workbench.job_status,
        "Job status",
        "Wait for a job that a long call returned, and get its result or progress.",
        read_only=True,
    ),
    ToolEntry(
        Workbench.job_cancel,
        "Cancel a job",
        "Cancel a running job and kill every process that it started.",
        destructive=True,
        idempotent=True,
    ),
    ToolEntry(
        Workbench.device_info,
        "Device and toolchain",
        "Show the device, compiler versions, sandbox, and which tools work here; for what does not, why and the remedy.",
        read_only=True,
        outlives=True,
    ),
    ToolEntry(
        Workbench.list_problems,
        "List problems",
        "List the problems (kernels to write or optimise) that a candidate can belong to.",
        read_only=True,
    ),
    ToolEntry(
        Workbench.get_problem,
        "Get a problem",
        "Get a problem: what to compute, the C signature of solve, sizes, tolerance, rules, a plain baseline and starting "
        "kernels.",
        read_only=True,
        whole=True,
    ),
    ToolEntry(
        Workbench.get_evidence,
        "Read frozen evidence",
        "Read what one feedback tool said of a checkpoint, as frozen, with the item ids that a plan can cite.",
        read_only=True,
        whole=True,
    ),
)
