"""From randomised decisions to effects with intervals, bounds, overlap and plain words."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np

from cudanalyst.errors import BadRequest
from cudanalyst.kernels.problem import Component
from cudanalyst.resources.randomised.controls import STATUSES, controls_of
from cudanalyst.resources.randomised.decisions import Decision
from cudanalyst.resources.randomised.excursion import Decisions, Term, effective_size, excursions, shape
from cudanalyst.resources.randomised.models import ExcursionEffect, Overlap, RandomisedAnalysis, Target
from cudanalyst.resources.randomised.regression import Fit, Floats, Ints
from cudanalyst.resources.standings import LEVELS

LEAST_CLUSTERS: Final = 8
"""Below this no interval is given."""
LEAST_PROBLEMS: Final = 8
"""From here sessions are crossed with problems."""
LEAST_IN_HISTORY: Final = 15
"""Decisions that each part of the history, and each arm in it, needs."""
NOTES: Final = (
    (
        "Effects of being offered a component at one decision, on the next candidate, the others being offered as drawn; later "
        "effects are not in them. What was withheld and asked for all the same counts as withheld (intention to treat)."
    ),
    (
        "Evidence stays in the conversation: effects are averages over histories under this very delivery, and neither the "
        "frozen values of an experiment nor what always offering it would do."
    ),
)


class _Data(NamedTuple):
    components: tuple[Component, ...]
    rows: tuple[Decision, ...]
    arrays: Decisions
    levels: tuple[str, ...]
    earlier: Floats
    target: Target


def analyse_decisions(found: Sequence[Decision]) -> RandomisedAnalysis:
    """Excursion effects of every component and pair at every level.

    Raises:
        BadRequest: Propensities were adapted on the way, or sessions randomise different components.
    """
    usable = tuple(one for one in found if one.state in {"followed", "stopped"})
    states = [one.state for one in found]
    counted = {
        "sessions": len({one.session for one in found}),
        "problems": len({one.problem for one in found}),
        "decisions": len(usable),
        **{state: states.count(state) for state in ("stopped", "pending", "unjudged")},
    }
    if not usable:
        target = "this session's decisions" if counted["sessions"] == 1 else "sessions like these"
        return RandomisedAnalysis.model_validate({"target": target, "clusters": 0, "notes": NOTES, **counted})
    _check(usable)
    data = _data(usable)
    return RandomisedAnalysis.model_validate(
        {
            "target": data.target,
            "clusters": data.arrays.count,
            "overlap": tuple(_overlap(data, index) for index in range(len(data.components))),
            "effects": (*_effects(data), *_by_history(data)),
            "notes": (*NOTES, *_cautions(data, states, data.arrays.count)),
            **counted,
        }
    )


def _check(rows: Sequence[Decision]) -> None:
    if any(not one.declared for one in rows):
        raise BadRequest(
            "Some draws used other probabilities than their session was started with. Adapted propensities need an "
            "adaptively weighted estimator, which is not offered: analyse sessions with fixed ones."
        )
    if len({tuple(sorted(one.propensities)) for one in rows}) > 1:
        raise BadRequest(
            "These sessions randomise different components. Analyse those that randomise the same ones together."
        )


def _data(rows: tuple[Decision, ...]) -> _Data:
    components: tuple[Component, ...] = tuple(sorted(rows[0].propensities))
    earlier = np.array([[one.earlier[c] for c in components] for one in rows], np.float64)
    outcomes = [[*(float(one.levels.get(level, False)) for level in LEVELS), one.state == "stopped"] for one in rows]
    session, problem = (_numbers([getattr(one, name) for one in rows]) for name in ("session", "problem"))
    one_session, problems = not session.any(), int(problem.max()) + 1
    clusters = np.arange(len(rows)) if one_session else session
    crossed = not one_session and problems >= LEAST_PROBLEMS
    target: Target = "sessions and problems like these" if crossed else "sessions like these"
    statuses = np.array([-1 if one.status is None else STATUSES.index(one.status) for one in rows])
    arrays = Decisions(
        offered=np.array([[c in one.offered for c in components] for one in rows], np.float64),
        propensities=np.array([[one.propensities[c] for c in components] for one in rows]),
        joint=np.array([one.joint for one in rows]),
        outcomes=np.array(outcomes, np.float64),
        controls=controls_of(statuses, np.array([one.number for one in rows]), earlier),
        clusters=clusters,
        count=int(clusters.max()) + 1,
        crossing=problem if crossed else None,
        crossing_count=problems if crossed else 0,
    )
    return _Data(
        components, rows, arrays, (*LEVELS, "stopped"), earlier, "this session's decisions" if one_session else target
    )


def _numbers(names: Sequence[str]) -> Ints:
    known = {name: number for number, name in enumerate(dict.fromkeys(names))}
    return np.array([known[name] for name in names], np.int64)


def _effects(data: _Data) -> list[ExcursionEffect]:
    fitted, wanted = shape(data.arrays)
    found = excursions(fitted, wanted)
    bounds = _bounds(data, fitted)
    effects = []
    for column, level in enumerate(data.levels):
        for index, term in enumerate(wanted):
            extremes = bounds[index, column] if len(term) == 1 and level != "stopped" and bounds is not None else None
            effects.append(_effect(data, level, term, found, index, column, extremes))
    return effects


def _bounds(data: _Data, fitted: Decisions) -> Floats | None:
    """Effects of single components were every stop a failure with it and a success without, and the reverse."""
    stopped = fitted.outcomes[:, -1] > 0
    if not stopped.any():
        return None
    count, width = len(data.components), len(data.levels) - 1
    bounds = np.full((count, width, 2), np.nan)
    for component in range(count):
        for side in (0, 1):
            filled = np.where(fitted.offered[:, component] > 0, side, 1 - side)
            outcomes = np.where(stopped[:, None], filled[:, None], fitted.outcomes[:, :width])
            bounds[component, :, side] = excursions(replace(fitted, outcomes=outcomes), [(component,)]).value[0, 0]
    return bounds


def _by_history(data: _Data) -> list[ExcursionEffect]:
    """Effects at a component's first offer and at later ones, where both are common."""
    effects = []
    for component in range(len(data.components)):
        again = data.earlier[:, component] > 0
        arms = [again & (data.arrays.offered[:, component] == arm) for arm in (0, 1)]
        arms += [~again & (data.arrays.offered[:, component] == arm) for arm in (0, 1)]
        if min(arm.sum() for arm in arms) < LEAST_IN_HISTORY:
            continue
        strata = np.column_stack((~again, again)).astype(np.float64)
        fitted, _ = shape(data.arrays)
        found = excursions(fitted, [(component,)], strata)
        for column, level in enumerate(data.levels):
            for index, name in enumerate(("first offer", "offered before")):
                effect = _effect(data, level, (component,), found, index, column, None)
                effects.append(effect.model_copy(update={"history": name}))
    return effects


def _effect(
    data: _Data, level: str, term: Term, found: Fit, index: int, column: int, extremes: Floats | None
) -> ExcursionEffect:
    value, half = float(found.value[0, index, column]), float(found.half_width()[0, index, column])
    sure = data.arrays.count >= LEAST_CLUSTERS and np.isfinite(half)
    return ExcursionEffect(
        level=level,
        components=tuple(data.components[one] for one in term),
        value=round(value, 6) if np.isfinite(value) else 0.0,
        low=round(value - half, 6) if sure else None,
        high=round(value + half, 6) if sure else None,
        worst=None if extremes is None else round(float(extremes[0]), 6),
        best=None if extremes is None else round(float(extremes[1]), 6),
    )


def _overlap(data: _Data, index: int) -> Overlap:
    component, offered = data.components[index], data.arrays.offered[:, index]
    sizes = effective_size(offered, data.arrays.joint)
    used = data.arrays.propensities[:, index]
    return Overlap(
        component=component,
        least=float(used.min()),
        most=float(used.max()),
        offered=int(offered.sum()),
        withheld=int(len(offered) - offered.sum()),
        effective_offered=round(sizes[0], 1),
        effective_withheld=round(sizes[1], 1),
        taken=sum(component in one.offered and component in one.delivered for one in data.rows),
        requested=sum(component in one.requested for one in data.rows),
    )


def _cautions(data: _Data, states: Sequence[str], clusters: int) -> list[str]:
    said = []
    what = "decisions" if data.target == "this session's decisions" else "sessions"
    if clusters < LEAST_CLUSTERS:
        said.append(f"{clusters} {what}: too few for an interval ({LEAST_CLUSTERS} are needed).")
    if stopped := states.count("stopped"):
        said.append(
            f"{stopped} decisions were followed by no candidate: they count as not meeting a level; `worst` and `best` say how "
            "far that could matter."
        )
    if data.target == "this session's decisions":
        said.append("One session: intervals speak of its own decisions, not of other sessions or agents.")
    elif data.arrays.crossing is None:
        said.append("Fewer than 8 problems: intervals speak of these problems.")
    return said
