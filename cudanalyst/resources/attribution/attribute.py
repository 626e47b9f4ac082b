"""From observations to the answer: what helped, how much, how sure."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from cudanalyst.errors import BadRequest
from cudanalyst.resources.attribution import notes
from cudanalyst.resources.attribution.effects import Terms, estimate, terms
from cudanalyst.resources.attribution.estimate import Bools, Cells, check_nested, tabulate, unit_weights
from cudanalyst.resources.attribution.table import (
    Attribution,
    CoalitionValue,
    LevelAttribution,
    Observation,
    ProblemAttribution,
    Stratum,
)

MAX_PLAYERS: Final = 6
"""Up to here every coalition is run; sampled coalitions need another estimator."""
Failures = Mapping[tuple[str, tuple[str, ...]], int]
"""Infrastructure failures by `(checkpoint, coalition)`."""


def attribute(
    observations_by_level: Mapping[str, Sequence[Observation]],
    players: Sequence[str],
    *,
    no_op: Mapping[str, float] | None = None,
    ceilings: Mapping[str, Collection[str]] | None = None,
    structural: Mapping[str, Collection[str]] | None = None,
    contaminated: int = 0,
    infrastructure_failed: int | Failures = 0,
) -> Attribution:
    """Estimates v(S) and every index at each success level. Works in the middle of an experiment.

    Args:
        observations_by_level: the same evaluated trials at every level, failures included (`observe` makes this).
        players: the feedback components, at most six; their order is that of the answer.
        no_op: success of changing nothing, by level; where absent it follows from `ceilings`.
        ceilings: by level, the checkpoints that met it before the trial.
        structural: by checkpoint, the players whose evidence was a placebo.
        contaminated: trials that were left out because withheld evidence could be reached.
        infrastructure_failed: how many trials have no outcome; by checkpoint and coalition, bounds are given too.

    Raises:
        BadRequest: no, too many or repeated players; a coalition of others; levels that are not nested.
    """
    order = tuple(players)
    if not 1 <= len(order) <= MAX_PLAYERS or len(set(order)) != len(order):
        msg = f"players must be 1 to {MAX_PLAYERS} distinct components, got {', '.join(order) or 'none'}"
        raise BadRequest(msg)
    tables = {level: tabulate(seen, order) for level, seen in observations_by_level.items()}
    check_nested(tables)
    failures = {} if isinstance(infrastructure_failed, int) else dict(infrastructure_failed)
    failed = infrastructure_failed if isinstance(infrastructure_failed, int) else sum(failures.values())
    given = _Given(no_op or {}, ceilings or {}, structural or {}, failures)
    levels = tuple(_level(level, cells, given) for level, cells in tables.items())
    trials = max((int(cells.trials.sum()) for cells in tables.values()), default=0)
    units = {unit for cells in tables.values() for unit in cells.units}
    problems = len({problem for problem, _ in units})
    placebos = {player for _, checkpoint in units for player in given.structural.get(checkpoint, ())}
    return Attribution(
        players=order,
        trials=trials,
        contaminated=contaminated,
        infrastructure_failed=failed,
        problems=problems,
        checkpoints=len(units),
        levels=levels,
        notes=notes.overall(
            trials, problems, tuple(tables), contaminated, failed, bounded=bool(failures), placebos=placebos
        ),
    )


@dataclass(frozen=True)
class _Given:
    """What is known beside the observations."""

    no_op: Mapping[str, float]
    ceilings: Mapping[str, Collection[str]]
    structural: Mapping[str, Collection[str]]
    failures: Failures


def _level(level: str, cells: Cells, given: _Given) -> LevelAttribution:
    complete = cells.usable(np.ones(cells.trials.shape[1]))
    analysed = cells.restrict(complete) if complete.any() else cells
    found = terms(len(cells.players))
    placebos = {player for _, checkpoint in analysed.units for player in given.structural.get(checkpoint, ())}
    values, effects = estimate(analysed, found, structural=placebos)
    ceiling = frozenset(given.ceilings.get(level, ()))
    met = np.array([checkpoint in ceiling for _, checkpoint in analysed.units], dtype=np.bool_)
    no_op = given.no_op.get(level)
    if no_op is None and level in given.ceilings and len(met):
        no_op = float(unit_weights(analysed.problem_of) @ met)
    return LevelAttribution(
        level=level,
        values=_bounded(values, analysed, given.failures),
        effects=effects,
        ceiling_checkpoints=int(met.sum()),
        no_op=no_op,
        strata=_strata(analysed, met, found, placebos),
        by_problem=_by_problem(analysed, found.only("banzhaf"), placebos),
        notes=notes.of_level(cells, complete, {term.players for term in effects}, int(met.sum())),
    )


def _strata(cells: Cells, met: Bools, found: Terms, placebos: set[str]) -> tuple[Stratum, ...]:
    """Both strata where the checkpoints differ in whether they met the level; none where they do not."""
    if not met.any() or met.all():
        return ()
    strata = []
    for name, keep in (("below the level before", ~met), ("at the level before", met)):
        part = cells.restrict(keep)
        values, effects = estimate(part, found, structural=placebos)
        strata.append(
            Stratum.model_validate(
                {
                    "name": name,
                    "problems": len({problem for problem, _ in part.units}),
                    "checkpoints": len(part.units),
                    "values": values,
                    "effects": effects,
                }
            )
        )
    return tuple(strata)


def _by_problem(cells: Cells, found: Terms, placebos: set[str]) -> tuple[ProblemAttribution, ...]:
    rows = []
    for problem in sorted({problem for problem, _ in cells.units}):
        part = cells.restrict(np.array([other == problem for other, _ in cells.units], dtype=np.bool_))
        values, effects = estimate(part, found, structural=placebos, population=False)
        rows.append(ProblemAttribution(problem=problem, checkpoints=len(part.units), values=values, effects=effects))
    return tuple(rows)


def _bounded(values: tuple[CoalitionValue, ...], cells: Cells, failures: Failures) -> tuple[CoalitionValue, ...]:
    """Adds worst and best cases: every infrastructure failure a failure, or a success."""
    if not failures:
        return values
    weights = unit_weights(cells.problem_of)
    rows = []
    for value in values:
        column = _column(cells, value)
        lost = np.array([failures.get((checkpoint, value.coalition), 0) for _, checkpoint in cells.units])
        if not lost.any():
            rows.append(value)
            continue
        trials = cells.trials[:, column] + lost
        share = weights * (trials > 0) / np.maximum(trials, 1)
        share = share / weights[trials > 0].sum()
        rows.append(
            value.model_copy(
                update={
                    "infrastructure_failed": int(lost.sum()),
                    "worst": float(share @ cells.successes[:, column]),
                    "best": float(share @ (cells.successes[:, column] + lost)),
                }
            )
        )
    return tuple(rows)


def _column(cells: Cells, value: CoalitionValue) -> int:
    return sum(1 << cells.players.index(player) for player in value.coalition)
