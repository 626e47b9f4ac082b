"""The short answer: what helps, how sure."""

from typing import Literal

from cudanalyst.resources.attribution.levels import title
from cudanalyst.resources.attribution.table import Attribution, Effect, Interval, LevelAttribution, interval_for
from cudanalyst.values import Frozen


class Finding(Frozen):
    """One component at one level."""

    level: str
    player: str
    verdict: Literal["helps", "hurts", "unclear"]
    """`helps` or `hurts` only where the interval for these problems excludes zero."""
    effect: float
    interval: Interval | None
    text: str


def findings(attribution: Attribution) -> tuple[Finding, ...]:
    """Every component at every level, strongest first within a level."""
    return tuple(
        _finding(level, effect)
        for level in attribution.levels
        for effect in sorted(
            (effect for effect in level.effects if effect.index == "banzhaf"), key=lambda effect: -abs(effect.value)
        )
    )


def _finding(level: LevelAttribution, effect: Effect) -> Finding:
    interval, harmful = interval_for(effect.intervals, "these problems"), level.level == "regressed"
    verdict: Literal["helps", "hurts", "unclear"] = "unclear"
    if interval is not None and interval.low > 0:
        verdict = "hurts" if harmful else "helps"
    elif interval is not None and interval.high < 0:
        verdict = "helps" if harmful else "hurts"
    words = {"helps": "helps", "hurts": "hurts", "unclear": "has no clear effect"}[verdict]
    sure = f", 95 % interval {interval.low:+.2f} to {interval.high:+.2f} on these problems" if interval else ""
    text = f"{effect.players[0]} {words} ({title(level.level)}: {effect.value:+.2f}{sure})"
    return Finding(
        level=level.level, player=effect.players[0], verdict=verdict, effect=effect.value, interval=interval, text=text
    )


def short_answer(attribution: Attribution) -> str:
    """A sentence per level: what helps, what hurts, what is open."""
    if not attribution.trials:
        return "No trial has been evaluated yet: nothing can be said about which feedback helps."
    found = findings(attribution)
    sentences = []
    for level in attribution.levels:
        here = [finding for finding in found if finding.level == level.level]
        parts = [
            f"{', '.join(f'{finding.player} ({finding.effect:+.2f})' for finding in some)} {words}"
            for verdict, words in (("helps", "helped"), ("hurts", "hurt"), ("unclear", "open"))
            if (some := [finding for finding in here if finding.verdict == verdict])
        ]
        name = title(level.level)
        sentences.append(f"{name[:1].upper()}{name[1:]}: {'; '.join(parts) or 'not enough trials yet'}.")
    basis = f"{attribution.trials} trials, {attribution.checkpoints} checkpoints, {attribution.problems} problems"
    return f"{' '.join(sentences)} ({basis}; Banzhaf values, decided by 95 % intervals for these problems)."
