"""Freezing a moment of an agent's work, and taking it up again."""

from collections.abc import Awaitable, Callable
from functools import partial

from anyio import to_thread

from cudanalyst.errors import BadRequest, Unavailable
from cudanalyst.kernels.problem import Component
from cudanalyst.resources.checkpoints import Checkpoint
from cudanalyst.resources.codec import decode
from cudanalyst.resources.events import CheckpointFrozen, CheckpointRestored
from cudanalyst.resources.evidence import Evidence
from cudanalyst.resources.outcomes import base_status_of, is_fast
from cudanalyst.resources.render import render_analyzer, render_compiler, render_debugger, render_profiler
from cudanalyst.resources.store import Scope, Store
from cudanalyst.tools.analyze import AnalyzeResult
from cudanalyst.tools.compile import CompileResult
from cudanalyst.tools.debug import DebugResult
from cudanalyst.tools.profile import ProfileResult
from cudanalyst.tools.run import RunResult
from cudanalyst.tools.source import Source
from cudanalyst.values import Frozen, content_id


class Moment(Frozen):
    """What to freeze."""

    source: Source
    lineage: tuple[str, ...] = ()
    """Candidates that led here, oldest first."""
    references: tuple[str, ...] = ()
    generation: int = 0
    refreeze: int = 0
    """Raise it to gather the evidence anew: evidence noise is a level of repeats of its own."""

    @property
    def id(self) -> str:
        """Identity of the moment before any evidence is gathered."""
        return content_id("mom", self)


class ToolResults(Frozen):
    """What the tools said of a candidate; `run` gives the base status and is no player's evidence."""

    compiled: CompileResult
    run: RunResult | None
    """None where it did not compile."""
    analyzed: AnalyzeResult
    debugged: DebugResult
    profiled: ProfileResult


Evaluate = Callable[[Source], Awaitable[ToolResults]]
"""Runs the five tools on a source; injected, so that this module starts nothing."""


async def freeze(store: Store, scope: Scope, moment: Moment, evaluate: Evaluate) -> Checkpoint:
    """Freezes a moment; the tools run only where this owner has not frozen it before.

    Raises:
        BadRequest: The source is a program, or an ancestor or reference is not a candidate of this owner.
        Unavailable: The tools could not establish a base status here.
    """
    await to_thread.run_sync(partial(_check, store, scope, moment))
    frozen = await to_thread.run_sync(partial(find_frozen, store, scope.owner, moment))
    if frozen is None:
        frozen = checkpoint_of(moment, await evaluate(moment.source))
    return await to_thread.run_sync(partial(commit, store, scope, moment, frozen))


def find_frozen(store: Store, owner: str, moment: Moment) -> Checkpoint | None:
    """The checkpoint that this moment was frozen as before, if it was."""
    data = store.find(owner, moment.id)
    return None if data is None else decode(Checkpoint, data)


def checkpoint_of(moment: Moment, results: ToolResults) -> Checkpoint:
    """Renders the evidence and puts the checkpoint together; nothing of a clock enters."""
    source = moment.source
    if source.problem is None:
        raise BadRequest("Only candidates of a problem can be frozen; this is a program. Pass `problem`.")
    run = results.run
    if "running" in {results.analyzed.status, results.debugged.status, results.profiled.status}:
        raise Unavailable("A tool is still at work on this candidate. Wait for its job, then freeze.")
    status = base_status_of(results.compiled.status, None if run is None else run.status)
    speedup = run.modelled_speedup if run is not None and status == "passed" else None
    evidence: dict[Component, Evidence] = {
        "analyzer": render_analyzer(source.id, results.analyzed),
        "compiler": render_compiler(source.id, results.compiled),
        "debugger": render_debugger(source.id, results.debugged),
        "profiler": render_profiler(source.id, results.profiled),
    }
    versions: dict[str, str] = {}
    for result in (results.compiled, run, results.analyzed, results.debugged, results.profiled):
        if result is not None:
            versions.update(result.measured_on.versions)
    device = run.measured_on.device if run is not None else None
    return Checkpoint(
        source=source,
        problem=source.problem,
        base_status=status,
        fast=is_fast(status, speedup),
        modelled_speedup=speedup,
        generation=moment.generation,
        lineage=moment.lineage,
        references=moment.references,
        evidence=evidence,
        toolchain=dict(sorted(versions.items())),
        device=device or "cpu-engine",
    )


def commit(store: Store, scope: Scope, moment: Moment, checkpoint: Checkpoint) -> Checkpoint:
    """Stores a checkpoint; of two calls that froze the same moment at once, both get the one that was first."""
    store.add_candidate(scope, moment.source, parents=moment.lineage[-1:])
    blob = store.put(checkpoint)
    with store.transaction():
        if not store.show(scope.owner, moment.id, blob):
            first = find_frozen(store, scope.owner, moment)
            checkpoint = first if first is not None else checkpoint
        blob = store.put(checkpoint)
        store.show(scope.owner, checkpoint.id, blob)
        event = CheckpointFrozen(
            checkpoint=checkpoint.id,
            candidate=checkpoint.source.id,
            problem=checkpoint.problem,
            blob=blob,
            lineage=checkpoint.lineage,
        )
        store.append(scope, event)
    return checkpoint


def restore(store: Store, scope: Scope, checkpoint: str) -> Checkpoint:
    """Takes a frozen moment up again in a context, which from then on counts as exposed to its lineage.

    Raises:
        NotFound: This owner has no such checkpoint.
    """
    frozen = store.checkpoint(scope.owner, checkpoint)
    store.append(
        scope,
        CheckpointRestored(
            checkpoint=checkpoint, candidate=frozen.source.id, problem=frozen.problem, lineage=frozen.lineage
        ),
    )
    return frozen


def _check(store: Store, scope: Scope, moment: Moment) -> None:
    if moment.source.problem is None:
        raise BadRequest("Only candidates of a problem can be frozen; this is a program. Pass `problem`.")
    for name, identities in (("lineage", moment.lineage), ("references", moment.references)):
        for identity in identities:
            if store.find(scope.owner, identity) is None:
                raise BadRequest(
                    f"`{name}` holds {identity!r}, which you have not submitted. Submit it first or leave it out."
                )
