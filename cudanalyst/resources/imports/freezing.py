"""Imported programs as candidates and frozen states, by the ordinary path: our own tools gather the evidence."""

from collections.abc import Sequence
from functools import partial
from typing import Final, Literal

from anyio import to_thread

from cudanalyst.errors import BadRequest
from cudanalyst.kernels.problem import BaseStatus
from cudanalyst.resources.codec import decode
from cudanalyst.resources.freeze import Evaluate, Moment, freeze
from cudanalyst.resources.imports.run import ImportedProgram, ImportedRun, System
from cudanalyst.resources.store import Scope, Store
from cudanalyst.tools.source import BuildOptions, Source
from cudanalyst.values import Frozen, content_id

Choice = Literal["best", "lineage", "generations", "all"]
OPERATOR: Final = "imported"
MAX_FROZEN: Final = 200


class ImportedState(Frozen):
    """A frozen state that came from a run of another system, and what that run claims of it."""

    system: System
    backbone: str
    method: str | None
    program: str
    """What the run calls it."""
    found_in: str
    generation: int
    model: str | None
    claims: dict[str, float | str | bool | None]
    """As the run states them; nothing here was measured by us."""
    candidate: str
    checkpoint: str
    base_status: BaseStatus
    """By our own tools."""
    modelled_speedup: float | None
    """By our own tools; None where it does not pass."""
    lineage: tuple[str, ...]


class ImportResult(Frozen):
    """What an import has made."""

    system: System
    backbone: str
    method: str | None
    programs: int
    """In the run."""
    candidates: int
    """Taken over, ancestors included."""
    states: tuple[ImportedState, ...]
    notes: tuple[str, ...]


def chosen(run: ImportedRun, choice: Choice, limit: int) -> tuple[ImportedProgram, ...]:
    """The programs to freeze, in the order of their generations.

    Args:
        run: where they come from.
        choice: `best`: the one that the run takes for its best. `lineage`: that one and its ancestors. `generations`: of each
            generation the one with the largest claimed score. `all`: every one. Claims choose what is looked at, and
            enter no result.
        limit: how many at most; of a longer lineage the last ones, of more generations an even choice.

    Raises:
        BadRequest: The run names no best program, or has more programs than `limit`.
    """
    if not 1 <= limit <= MAX_FROZEN:
        raise BadRequest(
            f"--limit: must be 1 to {MAX_FROZEN}; each frozen state is compiled, run, checked and profiled."
        )
    if choice == "all":
        if len(run.programs) > limit:
            raise BadRequest(
                f"The run has {len(run.programs)} programs, more than {limit}: raise --limit (at most {MAX_FROZEN}), or "
                "choose with --select best, lineage or generations."
            )
        return run.programs
    if choice == "generations":
        return _even(_best_by_generation(run), limit)
    if run.best is None:
        raise BadRequest("The run does not say which program is its best; choose with --select generations or all.")
    keys = (run.best,) if choice == "best" else (*run.ancestors(run.best), run.best)
    return tuple(run.program(key) for key in keys[-limit:])


def claimed_score(program: ImportedProgram) -> float:
    """The number that a run ranks by: `combined_score`, `score`, else the mean of its numbers; without any, the lowest."""
    for name in ("combined_score", "score", "score_0"):
        value = program.claims.get(name)
        if isinstance(value, float):
            return value
    numbers = [value for value in program.claims.values() if isinstance(value, float)]
    return sum(numbers) / len(numbers) if numbers else float("-inf")


def _best_by_generation(run: ImportedRun) -> list[ImportedProgram]:
    best: dict[int, ImportedProgram] = {}
    for one in run.programs:
        if one.generation not in best or claimed_score(one) > claimed_score(best[one.generation]):
            best[one.generation] = one
    return [best[generation] for generation in sorted(best)]


def _even(programs: Sequence[ImportedProgram], limit: int) -> tuple[ImportedProgram, ...]:
    """At most `limit` of them, the first and the last included, evenly spread."""
    if len(programs) <= limit:
        return tuple(programs)
    if limit == 1:
        return (programs[-1],)
    steps = [round(k * (len(programs) - 1) / (limit - 1)) for k in range(limit)]
    return tuple(programs[k] for k in steps)


async def bring_in(
    store: Store,
    scope: Scope,
    run: ImportedRun,
    evaluate: Evaluate,
    *,
    problem: str,
    choice: Choice = "lineage",
    limit: int = 20,
    options: BuildOptions | None = None,
) -> ImportResult:
    """Takes programs over as candidates with their lineage, and freezes the chosen ones.

    Args:
        store: of the owner.
        scope: on whose behalf.
        run: what was read.
        evaluate: runs the five tools on a source.
        problem: which problem the programs solve.
        choice: which programs are frozen (`chosen`).
        limit: how many at most.
        options: how they are built.

    Raises:
        BadRequest: Nothing can be chosen so, or a source cannot be taken.
        Unavailable: The tools could not establish a base status here.
    """
    wanted = chosen(run, choice, limit)
    sources: dict[str, Source] = {}
    built = options or BuildOptions()
    states: list[ImportedState] = []
    for program in wanted:
        line = (*run.ancestors(program.key), program.key)
        for parent, key in zip((None, *line), line, strict=False):
            if key in sources:
                continue
            sources[key] = Source(text=run.program(key).code, problem=problem, options=built)
            parents = () if parent is None else (sources[parent].id,)
            add = partial(store.add_candidate, scope, sources[key], parents=parents, operator=OPERATOR)
            await to_thread.run_sync(add)
        states.append(await _frozen(store, scope, run, program, [sources[key] for key in line], evaluate))
    return ImportResult(
        system=run.system,
        backbone=run.backbone,
        method=run.method,
        programs=len(run.programs),
        candidates=len({source.id for source in sources.values()}),
        states=tuple(states),
        notes=run.notes,
    )


async def _frozen(
    store: Store, scope: Scope, run: ImportedRun, program: ImportedProgram, line: Sequence[Source], evaluate: Evaluate
) -> ImportedState:
    # A program that came back unchanged is one candidate, and cannot be its own ancestor.
    lineage = tuple(dict.fromkeys(one.id for one in line[:-1] if one.id != line[-1].id))
    moment = Moment(source=line[-1], lineage=lineage, generation=program.generation)
    frozen = await freeze(store, scope, moment, evaluate)
    state = ImportedState(
        system=run.system,
        backbone=run.backbone,
        method=run.method,
        program=program.key,
        found_in=program.found_in,
        generation=program.generation,
        model=program.model,
        claims=program.claims,
        candidate=frozen.source.id,
        checkpoint=frozen.id,
        base_status=frozen.base_status,
        modelled_speedup=frozen.modelled_speedup,
        lineage=frozen.lineage,
    )
    await to_thread.run_sync(_remember, store, scope.owner, state)
    return state


def _remember(store: Store, owner: str, state: ImportedState) -> None:
    blob = store.put(state)
    store.show(owner, _identity(state.checkpoint), blob)


def imported_state(store: Store, owner: str, checkpoint: str) -> ImportedState | None:
    """What a checkpoint's run of origin claims; None for a state that was not imported."""
    data = store.find(owner, _identity(checkpoint))
    return None if data is None else decode(ImportedState, data)


def _identity(checkpoint: str) -> str:
    return content_id("imp", checkpoint)
