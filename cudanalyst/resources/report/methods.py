"""The methods paragraph: exactly what was done, from the data that the numbers came from."""

from collections.abc import Iterable
from typing import Final

from cudanalyst.resources.attribution.plan import AnalysisPlan
from cudanalyst.resources.attribution.result import Analysis
from cudanalyst.resources.attribution.table import TARGETS, Target, interval_for
from cudanalyst.resources.report.data import ReportData
from cudanalyst.resources.report.text import level_title
from cudanalyst.resources.report.view import conditions
from cudanalyst.tools.text import many

REGIMES: Final = {
    "NP+NF": "no plan step and no evidence",
    "P+NF": "a plan made without evidence",
    "NP+F": "evidence given without a plan step",
    "P+F": "a plan made on the evidence",
    "NP+S": "evidence as deterministic digests, without a plan step",
    "P+S": "a plan made on deterministic digests of the evidence",
    "DP": "a dummy plan given to the coder",
    "RF": "a plan made on evidence of another state with the same base status",
    "PT": "the plan of another planner for the same state and coalition",
}


def methods(data: ReportData) -> tuple[str, ...]:
    """Sentences in reading order."""
    found, how, plan = data.analysis, data.method, data.analysis.plan
    return (
        *_frozen(data),
        *_assigned(data),
        f"{_who(data)} Evaluated on: {how.measured_on}.",
        *_counted(found, plan),
        *_estimated(found),
        *_tested(found, plan),
        *_stopped(plan),
        *_recorded(data),
        *how.extra,
    )


def _frozen(data: ReportData) -> Iterable[str]:
    found = data.analysis
    generations = ""
    if found.generations:
        generations = f", of {many(len(found.generations), 'generation')} ({', '.join(map(str, found.generations))})"
    yield (
        f"{many(found.checkpoints, 'program state')} of {many(found.problems, 'problem')}{generations} "
        f"{'was' if found.checkpoints == 1 else 'were'} frozen together with everything that the components "
        f"{', '.join(found.players)} said about them; no evidence was gathered again."
    )
    backbones = sorted({f"{row.backbone or 'unnamed run'} ({row.operator})" for row in data.rows if row.backbone})
    if backbones:
        yield f"The states come from {many(len(backbones), 'run')}: {', '.join(backbones)}."


def _assigned(data: ReportData) -> Iterable[str]:
    found, how = data.analysis, data.method
    seed = "" if how.seed is None else f" (seed {how.seed})"
    delivered = "assigned" if how.open else "delivered"
    repeats = many(how.repeats, "time")
    if found.plan.coalitions == "sampled":
        yield f"Coalitions of components were drawn at random{seed} and {delivered}, one a trial."
    else:
        yield (
            f"Each of the {2 ** len(found.players)} coalitions of components was {delivered} {repeats} per state, in blocks "
            f"of every coalition in random order{seed}: the planner saw the state, its base status and the evidence of the "
            "coalition, and nothing of the rest."
        )
    regimes: list[str] = list(dict.fromkeys(one.regime for one in conditions(found)))
    yield f"Regimes: {'; '.join(f'{one}, {REGIMES.get(one, one)}' for one in regimes or [how.regime])}."
    if horizons := sorted({one.horizon for one in conditions(found)} - {1}):
        yield f"Outcomes were also judged after {', '.join(map(str, horizons))} steps."
    if how.open:
        yield "The experiment was open: the planner could gather evidence by itself, so effects are of assigning a component."


def _who(data: ReportData) -> str:
    how = data.method
    models = sorted({row.model for row in data.rows if row.model is not None})
    served = f" Served models, as the clients told: {', '.join(models)}." if models else ""
    return f"Planner: {how.planner}. Coder: {how.coder}.{served}"


def _counted(found: Analysis, plan: AnalysisPlan) -> Iterable[str]:
    levels = list(dict.fromkeys(part.level for part in found.slices))
    yield (
        f"{found.trials} evaluated trials were counted at {', '.join(map(level_title, levels)) or 'no level'}; the levels "
        "compiled, passed and fast are nested: success at a higher one is success at every lower one, and a planner that gave "
        "no candidate counts as a failure."
    )
    left = found.exclusions
    yield (
        f"Not among them: {left.contaminated} contaminated trials, {left.infrastructure_failed} without an outcome, "
        f"{left.pending} not evaluated, {left.sentinels} sentinels, {left.reused} reused from other experiments"
        f"{' (left out as planned)' if plan.exclude_reused else ''}."
    )
    yield "v(S) is the mean over problems of the mean over a problem's states of the share of successes with the evidence of S."


def _estimated(found: Analysis) -> Iterable[str]:
    yield (
        "Banzhaf value of i: the mean of v(S+i) − v(S) over all S without i. "  # noqa: RUF001 - minus sign
        "Interaction of i and j: the mean of v(S+ij) − v(S+i) − v(S+j) + v(S) over all S without both; "  # noqa: RUF001
        "sigma is its term at S = none alone."
    )
    for target in TARGETS:
        if used := _used(found, target):
            article = "" if target == TARGETS[0] else "the "
            yield f"95 % intervals for {article}{target}: {'; or '.join(used)}."


def _used(found: Analysis, target: Target) -> list[str]:
    """Every interval method behind a number of the report, in order of first use."""
    used: dict[str, None] = {}
    shown = [row.intervals for part in found.slices for row in part.effects]
    shown += [row.intervals for part in found.slices for row in part.values]
    shown += [contrast.intervals for contrast in found.contrasts]
    for intervals in shown:
        if (interval := interval_for(intervals, target)) is not None:
            used.setdefault(interval.method)
    return list(used)


def _tested(found: Analysis, plan: AnalysisPlan) -> Iterable[str]:
    named = (
        ", ".join(f"{one.index} of {' and '.join(one.players)}" for one in plan.primary)
        or "the Banzhaf value of every component"
    )
    for method in dict.fromkeys(family.method for family in found.families if family.refused is None):
        yield (
            f"Primary family: {named} at {level_title(plan.primary_level)} under {plan.primary_regime}, tested together at "
            f"{plan.alpha:g} for {plan.target}: {method}."
        )
    for refused in dict.fromkeys(family.refused for family in found.families if family.refused is not None):
        yield f"The primary family was not tested: {refused.rstrip('.')}."
    if found.claims:
        yield (
            f"Claims were decided at {plan.alpha:g}; equivalence means within ±{plan.margin:g} on probabilities and "
            f"±{plan.score_margin:g} on log speedup."
        )


def _stopped(plan: AnalysisPlan) -> Iterable[str]:
    if plan.stopping.rule == "confidence_sequence":
        yield (
            f"Looks after every round from the {plan.stopping.min_rounds}th on used confidence sequences, which cover at all of "
            "them together."
        )


def _recorded(data: ReportData) -> Iterable[str]:
    yield f"Analysis version {data.analysis.plan.version}, seed {data.analysis.plan.seed} for what it draws at random."
    if (lock := data.lock) is not None:
        when = f" at {lock.locked_at}" if lock.locked_at else ""
        told = (
            f"{many(len(lock.deviations), 'deviation')} from it, listed above"
            if lock.deviations
            else "no deviation from it"
        )
        checked = told if lock.checked else f"by its trials {told}; the lock itself was not compared"
        yield f"Estimands, primary family, margins, stopping and exclusions were locked{when} (SHA-256 {lock.digest}); {checked}."
