"""Holding an experiment to what was decided before it: a digest, a time, and what was changed since."""

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from cudanalyst.errors import BadRequest
from cudanalyst.resources.attribution.plan import ANALYSIS_VERSION, AnalysisPlan, EffectName, LevelName, Stopping
from cudanalyst.resources.design.aims import check_analysis
from cudanalyst.resources.design.models import Design
from cudanalyst.resources.prompts import TEMPLATE
from cudanalyst.resources.regimes.digest import DIGEST_VERSION
from cudanalyst.resources.regimes.dummy import DUMMY_VERSION
from cudanalyst.resources.trial_rows import TrialRow
from cudanalyst.resources.trials import OVER
from cudanalyst.values import Frozen

EXCLUSIONS: Final = (
    "contaminated trials",
    "infrastructure failures, with bounds by coalition",
    "sentinel trials",
    "trials of open designs from delivery effects",
)
SHOWN: Final = 200
"""Characters of a changed value."""


class Lock(Frozen):
    """What was decided, when. The digest covers the whole design; the parts are what a reader looks for first."""

    digest: str
    locked_at: float
    """Seconds since the epoch, by the clock of who locked."""
    name: str
    design: Design
    analysis_version: str
    template: str
    """Version of the prompts."""
    instruments: dict[str, str]
    """Versions of the digests and of the dummy plan."""
    estimands: tuple[str, ...]
    primary: tuple[EffectName, ...]
    primary_level: LevelName
    margins: dict[str, float]
    stopping: Stopping
    exclusions: tuple[str, ...]


def digest_of(design: Design) -> str:
    """SHA-256 over the canonical form of what was decided, the handles that backbones induced left out."""
    return hashlib.sha256(design.canonical()).hexdigest()


def lock(design: Design, at: float) -> Lock:
    """Locks a design. Locking an equal one later gives an equal digest.

    Raises:
        BadRequest: Its analysis speaks of what the design does not run.
    """
    check_analysis(design)
    plan = design.analysis_plan
    return Lock(
        digest=digest_of(design),
        locked_at=at,
        name=design.name,
        design=design.declared(),
        analysis_version=ANALYSIS_VERSION,
        template=TEMPLATE,
        instruments={"digest": DIGEST_VERSION, "dummy_plan": DUMMY_VERSION},
        estimands=_estimands(design, plan),
        primary=plan.primary_effects(sorted(design.players)),
        primary_level=plan.primary_level,
        margins={"probability": plan.margin, "log_speedup": plan.score_margin},
        stopping=plan.stopping,
        exclusions=(*EXCLUSIONS, *(("reused trials",) if plan.exclude_reused else ())),
    )


def read_lock(path: Path) -> Lock:
    """Reads a lock's file.

    Raises:
        BadRequest: There is none, or it is damaged.
    """
    try:
        return Lock.model_validate_json(path.read_bytes())
    except (OSError, ValueError) as error:
        raise BadRequest(
            f"{path} is no lock that this version wrote. Restore it from a copy; a new lock would be another one."
        ) from error


def deviations(locked: Lock, design: Design, rows: Sequence[TrialRow]) -> tuple[str, ...]:
    """Where what was run differs from what was locked, one sentence each; empty where nothing does.

    Args:
        locked: The lock.
        design: As it was run.
        rows: The experiment's trials.
    """
    found = []
    if digest_of(locked.design) != locked.digest:
        found.append(
            "The lock's digest is not that of the design in it: the lock was changed since, or a version with other defaults wrote it."
        )
    found += list(_changes(locked.design.model_dump(mode="json"), design.declared().model_dump(mode="json"), ""))
    for name, then, now in (
        ("The analysis", locked.analysis_version, ANALYSIS_VERSION),
        ("The prompt template", locked.template, TEMPLATE),
        ("The digests", locked.instruments.get("digest"), DIGEST_VERSION),
        ("The dummy plan", locked.instruments.get("dummy_plan"), DUMMY_VERSION),
    ):
        if then != now:
            found.append(f"{name} was version {then} when locked and is version {now} now.")
    early = sum(1 for one in rows if one.opened_at is not None and one.opened_at < locked.locked_at)
    if early:
        found.append(f"{early} of {len(rows)} trials were opened before the design was locked.")
    return (*found, *departures(rows))


def departures(rows: Sequence[TrialRow]) -> tuple[str, ...]:
    """Those of the deviations that trials show by themselves, without the lock."""
    reused = sum(1 for one in rows if one.reused_from is not None)
    missing = sum(1 for one in rows if one.state not in OVER)
    said = ((reused, "taken over from another experiment"), (missing, "not run to an outcome"))
    return tuple(f"{count} of {len(rows)} trials were {words}." for count, words in said if count)


def _estimands(design: Design, plan: AnalysisPlan) -> tuple[str, ...]:
    horizons = ", ".join(map(str, sorted(design.horizons)))
    said = [
        (
            f"v(S), Banzhaf values and interactions of {', '.join(sorted(design.players))} at level {plan.primary_level}, regime "
            f"{plan.primary_regime}, horizon {horizons}, for the target '{plan.target}', each planner on its own"
        )
    ]
    said += [f"{one.regime} against {one.against}, matched" for one in plan.contrasts]
    said += [f"claim '{one.name}': {one.kind} {'+'.join(one.players)}".rstrip() for one in plan.claims]
    return tuple(said)


def _changes(then: object, now: object, path: str) -> Iterable[str]:
    if isinstance(then, dict) and isinstance(now, dict):
        for key in sorted(then.keys() | now.keys()):
            yield from _changes(then.get(key), now.get(key), f"{path}.{key}" if path else key)
    elif isinstance(then, list) and isinstance(now, list) and len(then) == len(now):
        for index, (one, other) in enumerate(zip(then, now, strict=True)):
            yield from _changes(one, other, f"{path}[{index}]")
    elif then != now:
        yield f"`{path}` was {_short(then)} when locked and is {_short(now)} now."


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."
