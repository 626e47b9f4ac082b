"""The short answer of ordinary use: what helps now, how sure, in a few sentences."""

from cudanalyst.resources.randomised.models import ExcursionEffect, RandomisedAnalysis
from cudanalyst.resources.usage.models import ComponentUse, SessionAttribution, UsageAnalysis
from cudanalyst.tools.text import many

ASKED = "improved"
"""The level that the short answer is about."""


def in_words(found: SessionAttribution) -> str:
    """What helps, how sure; the randomised answer first where there is one."""
    said = [] if found.randomised is None else [_randomised(found.randomised)]
    return " ".join([*said, _observed(found.observed)])


def _randomised(found: RandomisedAnalysis) -> str:
    singles = [one for one in found.effects if one.level == ASKED and len(one.components) == 1 and one.history is None]
    basis = f"{found.decisions} randomised decisions in {many(found.sessions, 'session')}"
    if not singles:
        return f"Randomised delivery: no effect yet ({basis}; {found.pending} pending)."
    ordered = sorted(singles, key=lambda one: -one.value)
    parts = [
        f"{', '.join(_figure(one) for one in group)} {words}"
        for group, words in (
            ([one for one in ordered if one.clear and one.value > 0], "helped"),
            ([one for one in ordered if one.clear and one.value < 0], "hurt"),
            ([one for one in ordered if not one.clear], "open"),
        )
        if group
    ]
    return (
        f"Randomised: being offered it, the next candidate improved more often or less: {'; '.join(parts)} "
        f"({basis}; 95 % intervals, {found.target})."
    )


def _figure(effect: ExcursionEffect) -> str:
    ends = "" if effect.low is None or effect.high is None else f", {effect.low:+.2f} to {effect.high:+.2f}"
    return f"{effect.components[0]} ({effect.value:+.2f}{ends})"


def _observed(found: UsageAnalysis) -> str:
    if not found.decisions:
        return "Observed: no decision yet, since no candidate followed another."
    basis = f"{found.decisions} decisions, {found.judged} judged"
    shown = ", ".join(_seen(one) for one in found.components)
    what = f"improved after {shown}" if shown else "no feedback was seen before any of them"
    return f"Observed, not caused ({basis}): {what}."


def _seen(use: ComponentUse) -> str:
    seen, unseen = use.improved_with, use.improved_without
    return f"{use.component} {seen.count}/{seen.of} (without it {unseen.count}/{unseen.of})"
