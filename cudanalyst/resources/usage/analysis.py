"""Counts, shares and intervals of decisions in ordinary use, with plain words about what they do not show."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, get_args

import numpy as np

from cudanalyst.kernels.problem import Component
from cudanalyst.resources.evidence import Evidence
from cudanalyst.resources.randomised.controls import STATUSES
from cudanalyst.resources.usage.association import associations
from cudanalyst.resources.usage.costs import ComponentCost
from cudanalyst.resources.usage.mentions import mentions
from cudanalyst.resources.usage.models import ComponentUse, Share, ToldMoment, UsageAnalysis
from cudanalyst.resources.usage.moments import Moment, Shown

MAX_PLANS: Final = 200
"""Plans whose texts are looked at, the newest."""
LEAST_MOMENTS: Final = 16
"""Judged decisions below which no difference is given."""
LEAST_SESSIONS: Final = 8
_Z: Final = 1.959963984540054
NOTES: Final = (
    (
        "Observational: the agent chose what to look at, mostly when it was in trouble or knew what to ask for. A component that "
        "is asked for with hard problems looks harmful and one that is asked for by able agents looks helpful, whatever it does."
    ),
    (
        "The intervals are of chance alone and do not cover confounding. To learn what helps, run an experiment on frozen states, "
        "or start sessions with randomised delivery (session_start)."
    ),
)
Read = Callable[[str], str]
"""A plan's text by its blob."""
Told = Callable[[Shown], Evidence | None]
"""The evidence behind a delivery; None where it cannot be had."""


def analyse_moments(
    found: Sequence[Moment], costs: Sequence[ComponentCost], read: Read, told: Told, sessions: int | None = None
) -> UsageAnalysis:
    """What was seen, cited and mentioned before each decision, and what followed.

    Args:
        found: decisions in order.
        costs: what the components took in the same sessions.
        read: gives a plan's text.
        told: gives the evidence of a delivery, for mentions.
        sessions: how many were looked at; by default those with a decision.
    """
    spoken = _spoken(found, read, told)
    judged = [one for one in found if "improved" in one.levels]
    components = tuple(
        component for component in sorted(get_args(Component)) if any(component in one.seen for one in found)
    )
    differences = _differences(judged, components)
    tokens = {one.component: one.tokens for one in costs}
    plans = sum(len(one.plans) for one in found)
    return UsageAnalysis(
        sessions=len({one.session for one in found}) if sessions is None else sessions,
        decisions=len(found),
        judged=len(judged),
        plans=plans,
        plans_read=min(plans, MAX_PLANS),
        components=tuple(
            _use(component, found, judged, spoken, differences.get(component), tokens.get(component))
            for component in components
        ),
        costs=tuple(costs),
        notes=NOTES if found else (),
        moments=tuple(spoken),
    )


def wilson(count: int, of: int) -> Share:
    """A share with Wilson's 95 % interval (JASA 1927, 22:209)."""
    if not of:
        return Share(count=0, of=0)
    share, spread = count / of, _Z**2 / of
    middle = (share + spread / 2) / (1 + spread)
    half = _Z / (1 + spread) * math.sqrt(share * (1 - share) / of + spread / (4 * of))
    return Share(count=count, of=of, low=round(max(0.0, middle - half), 4), high=round(min(1.0, middle + half), 4))


def _spoken(found: Sequence[Moment], read: Read, told: Told) -> list[ToldMoment]:
    """Citations of every decision, and mentions of those with the newest plans."""
    left, known = MAX_PLANS, dict[str, Evidence | None]()
    rows = []
    for moment in reversed(found):
        cited = {cite.partition(".")[0] for plan in moment.plans for cite in plan.cites}
        spoken: dict[tuple[str, str], object] = {}
        if moment.plans and left > 0:
            evidence = [one for one in (_once(shown, told, known) for shown in moment.shown) if one is not None]
            for plan in moment.plans[-left:]:
                left -= 1
                spoken |= {(one.component, one.text): one for one in mentions(read(plan.blob), evidence)}
        rows.append(
            ToldMoment.model_validate(
                {
                    "moment": moment,
                    "cited": sorted(cited & set(get_args(Component))),
                    "mentions": tuple(spoken.values()),
                }
            )
        )
    return rows[::-1]


def _once(shown: Shown, told: Told, known: dict[str, Evidence | None]) -> Evidence | None:
    key = f"{shown.component} {shown.candidate} {shown.blob}"
    if key not in known:
        known[key] = told(shown)
    return known[key]


def _use(
    component: Component,
    found: Sequence[Moment],
    judged: Sequence[Moment],
    spoken: Sequence[ToldMoment],
    difference: tuple[float, float, float] | None,
    tokens: int | None,
) -> ComponentUse:
    exposed = sum(component in one.seen for one in found)
    value, low, high = difference or (None, None, None)
    each = tokens / exposed if tokens and exposed else None
    shares = {
        f"{level}_{side}": _share(judged, level, component, seen=side == "with")
        for level in ("improved", "regressed", "passed")
        for side in ("with", "without")
    }
    return ComponentUse.model_validate(
        {
            "component": component,
            "deliveries": sum(shown.component == component for one in found for shown in one.shown),
            "decisions": exposed,
            "cited": sum(component in one.cited for one in spoken),
            "mentioned": sum(any(mention.component == component for mention in one.mentions) for one in spoken),
            "difference": value,
            "low": low,
            "high": high,
            "difference_per_1000_tokens": None if value is None or each is None else round(1000 * value / each, 4),
            **shares,
        }
    )


def _share(judged: Iterable[Moment], level: str, component: Component, *, seen: bool) -> Share:
    rows = [one.levels[level] for one in judged if (component in one.seen) == seen]
    return wilson(sum(rows), len(rows))


def _differences(
    judged: Sequence[Moment], components: Sequence[Component]
) -> Mapping[Component, tuple[float, float, float]]:
    """Adjusted differences of `improved`; clusters are sessions where there are enough, else decisions."""
    varied = [one for one in components if 0 < sum(one in moment.seen for moment in judged) < len(judged)]
    if len(judged) < LEAST_MOMENTS or not varied:
        return {}
    numbers: dict[str, int] = {}
    sessions = np.array([numbers.setdefault(one.session, len(numbers)) for one in judged])
    many = len(numbers) >= LEAST_SESSIONS
    found = associations(
        np.array([[one in moment.seen for one in varied] for moment in judged], np.float64),
        np.array([[moment.levels["improved"]] for moment in judged], np.float64),
        np.array([-1 if one.status_before is None else STATUSES.index(one.status_before) for one in judged]),
        sessions if many else np.arange(len(judged)),
        len(numbers) if many else len(judged),
    )
    values, halves = found.value[0, :, 0], found.half_width()[0, :, 0]
    return {
        component: (round(float(value), 4), round(float(value - half), 4), round(float(value + half), 4))
        for component, value, half in zip(varied, values, halves, strict=True)
        if np.isfinite(half)
    }
