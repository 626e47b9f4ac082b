"""Which parts of an analysis a report shows where."""

from collections.abc import Sequence

from cudanalyst.resources.attribution.result import Analysis, Condition, Slice
from cudanalyst.resources.attribution.table import Attribution, LevelAttribution
from cudanalyst.resources.report.data import ReportData

LADDER = ("compiled", "passed", "fast_modelled", "fast")
"""Success levels that get plots of their own; the others stand in tables and in the numbers."""
SPEED = ("score_modelled", "score")


def conditions(analysis: Analysis) -> tuple[Condition, ...]:
    """Every condition, in the order of the analysis."""
    return tuple(dict.fromkeys(part.condition for part in analysis.slices))


def leads(analysis: Analysis) -> tuple[Condition, ...]:
    """One condition per planner: its shortest horizon under the primary regime, else under its first one."""
    wanted: dict[str, Condition] = {}
    for one in conditions(analysis):
        had = wanted.get(one.planner)
        if had is None or _rank(one, analysis) < _rank(had, analysis):
            wanted[one.planner] = one
    return tuple(wanted.values())


def _rank(one: Condition, analysis: Analysis) -> tuple[bool, int]:
    return (one.regime != analysis.plan.primary_regime, one.horizon)


def pooled(analysis: Analysis, condition: Condition) -> dict[str, Slice]:
    """Slices over all generations, by level."""
    parts = (part for part in analysis.slices if part.condition == condition and part.generation is None)
    return {str(part.level): part for part in parts}


def ladder(slices: dict[str, Slice], levels: Sequence[str] = LADDER) -> tuple[Slice, ...]:
    """Those of some levels, in order, that there are."""
    return tuple(slices[level] for level in levels if level in slices)


def generations(analysis: Analysis, condition: Condition, level: str) -> tuple[Slice, ...]:
    """Slices of single generations, in order."""
    found = [
        part
        for part in analysis.slices
        if part.condition == condition and part.level == level and part.generation is not None
    ]
    return tuple(sorted(found, key=lambda part: part.generation or 0))


def primary_level(data: ReportData, condition: Condition) -> str | None:
    """The plan's primary level where it was estimated, else the highest one that was."""
    found = pooled(data.analysis, condition)
    if data.analysis.plan.primary_level in found:
        return data.analysis.plan.primary_level
    levels = [str(part.level) for part in ladder(found)] or list(found)
    return levels[-1] if levels else None


def attribution_of(analysis: Analysis, condition: Condition) -> Attribution:
    """A condition's success levels in the form that short answers and terminal tables take."""
    slices = ladder(pooled(analysis, condition))
    return Attribution(
        players=analysis.players,
        trials=max((part.trials for part in slices), default=0),
        contaminated=analysis.exclusions.contaminated,
        infrastructure_failed=analysis.exclusions.infrastructure_failed,
        problems=max((part.problems for part in slices), default=0),
        checkpoints=max((part.checkpoints for part in slices), default=0),
        levels=tuple(
            LevelAttribution(
                level=part.level,
                values=part.values,
                effects=part.effects,
                ceiling_checkpoints=part.ceiling_checkpoints,
                no_op=part.no_op,
                by_problem=part.by_problem,
                notes=part.notes,
            )
            for part in slices
        ),
        notes=analysis.notes,
    )
