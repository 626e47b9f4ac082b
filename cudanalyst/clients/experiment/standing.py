"""How far an experiment is, from any terminal: states of trials, never outcomes."""

import fcntl
import json
import os
import time

from rich.console import Console
from rich.table import Table

from cudanalyst.clients.experiment.answers import Spent
from cudanalyst.clients.experiment.budget import active_s
from cudanalyst.clients.experiment.folder import Place
from cudanalyst.clients.experiment.journal import Answered, Began, Induced, Note, Opened, Record, Submitted
from cudanalyst.clients.experiment.locking import when
from cudanalyst.clients.experiment.screen import clock_words
from cudanalyst.clients.experiment.watching import by_condition, watching
from cudanalyst.resources.trial_rows import TrialRow
from cudanalyst.values import Frozen

RECENT_S = 120.0
STATES = ("waiting", "open", "submitted", "evaluated", "infrastructure_failed")


class Standing(Frozen):
    """What `status` says."""

    name: str
    phase: str
    """`not begun`, `inducing checkpoints`, `trials` or `ended`."""
    running: bool
    """Whether a runner has the journal open on this machine."""
    experiment: str | None = None
    began_at: float | None = None
    checkpoints: int = 0
    trials: int | None = None
    states: dict[str, int] = {}
    conditions: dict[str, dict[str, int]] = {}
    """By planner and regime."""
    contaminated: int = 0
    calls: int = 0
    tokens: int = 0
    active_s: float = 0.0
    device_minutes: float | None = None
    remaining_s: float | None = None
    """At the rate of the last two minutes; None where nothing runs, or too little is known."""
    last_note: str | None = None
    changed: bool = False
    """Whether the file is another design than the one whose run began."""


def standing_of(place: Place) -> Standing:
    """Looks at journal and store; neither is changed.

    Raises:
        CudanalystError: The journal is damaged, or there is no store where there should be one.
    """
    design, past = place.design(), place.past()
    began = next((one for one in reversed(past) if isinstance(one, Began)), None)
    spent = Spent()
    for one in past:
        if isinstance(one, Answered):
            spent = spent.plus(one)
    common = {
        "name": design.name,
        "running": is_running(place),
        "checkpoints": (
            began.checkpoints
            if began is not None
            else len({one.checkpoint for one in past if isinstance(one, Induced)}) + len(design.checkpoints)
        ),
        "changed": began is not None and began.design != design.id,
        "calls": spent.calls,
        "tokens": spent.tokens,
        "active_s": active_s(past),
        "last_note": next((one.words for one in reversed(past) if isinstance(one, Note)), None),
    }
    if began is None:
        return Standing.model_validate({**common, "phase": "inducing checkpoints" if past else "not begun"})
    if began.url is not None:
        return Standing.model_validate({**common, **_by_journal(past, began)})
    with watching(place.store) as watcher:
        rows, progress = watcher.rows(began.experiment), watcher.progress(began.experiment)
    device = [row.device_s for row in rows if row.device_s is not None]
    states = {state: sum(row.state == state for row in rows) for state in STATES}
    return Standing.model_validate(
        {
            **common,
            "phase": "ended" if progress.ended else "trials",
            "experiment": began.experiment,
            "began_at": began.at,
            "trials": len(rows),
            "states": states,
            "conditions": {f"{one} {regime}": dict(count) for (one, regime), count in by_condition(rows).items()},
            "contaminated": sum(row.contaminated for row in rows),
            "device_minutes": sum(device) / 60 if device else None,
            "remaining_s": _remaining(rows, past) if common["running"] and not progress.ended else None,
        }
    )


def _by_journal(past: tuple[Record, ...], began: Began) -> dict[str, object]:
    """What can be told of trials on a server elsewhere: what this side did."""
    done = {one.trial for one in past if isinstance(one, Submitted) and one.answered}
    begun = {one.trial for one in past if isinstance(one, Opened)} - done
    notes = [one.words for one in past if isinstance(one, Note)]
    return {
        "phase": "ended" if notes[-1:] == ["finished"] else f"trials on {began.url}",
        "experiment": began.experiment,
        "began_at": began.at,
        "trials": began.trials,
        "states": {"waiting": began.trials - len(done) - len(begun), "open": len(begun), "submitted": len(done)},
    }


def _remaining(rows: tuple[TrialRow, ...], past: tuple[Record, ...]) -> float | None:
    now = time.time()
    recent = sum(isinstance(one, Answered) and one.role == "code" and now - one.at <= RECENT_S for one in past)
    left = sum(row.state in {"waiting", "open"} for row in rows)
    return left * RECENT_S / recent if recent >= RECENT_S / 2 else None


def is_running(place: Place) -> bool:
    """Whether a runner holds the journal."""
    try:
        descriptor = os.open(place.journal, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


def show_standing(place: Place, console: Console, *, as_json: bool) -> None:
    """Prints it.

    Raises:
        CudanalystError: It cannot be told.
    """
    found = standing_of(place)
    if as_json:
        console.print_json(json.dumps(found.model_dump(mode="json")))
        return
    state = "ended" if found.phase == "ended" else f"{found.phase}, {'' if found.running else 'not '}running"
    console.print(f"[bold]{found.name}[/]  {state}", highlight=False)
    if found.phase == "not begun":
        console.print(f"Begin with: cudanalyst experiment run {place.file}", highlight=False, soft_wrap=True)
        return
    if found.began_at is not None:
        console.print(
            f"began {when(found.began_at)}, {found.checkpoints} checkpoints, {found.trials} trials", highlight=False
        )
        console.print(_table(found))
    device = "" if found.device_minutes is None else f" · {found.device_minutes:.1f} device min"
    console.print(
        f"spent: {found.calls:,} calls · {found.tokens:,} tokens · {found.active_s / 60:.1f} min{device}",
        highlight=False,
    )
    if found.contaminated:
        console.print(f"[yellow]{found.contaminated} trials are contaminated: kept, but in no estimate[/]")
    if found.remaining_s is not None:
        console.print(
            f"about {clock_words(found.remaining_s)} left at the rate of the last two minutes", highlight=False
        )
    if found.changed:
        console.print(
            f"[yellow]{place.file} was changed since its run began. Undo the change to resume; or copy it under another name.[/]",
            highlight=False,
            soft_wrap=True,
        )
    elif not found.running and found.phase != "ended":
        last = f" (last run: {found.last_note})" if found.last_note else ""
        console.print(f"Go on with: {place.resumption()}{last}", highlight=False, soft_wrap=True)
    if found.phase == "ended":
        console.print(f"Next: cudanalyst experiment report {place.file}", highlight=False, soft_wrap=True)


def _table(found: Standing) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("planner, regime")
    words = {"infrastructure_failed": "failed service"}
    for state in STATES:
        table.add_column(words.get(state, state), justify="right")
    for name, counts in found.conditions.items():
        table.add_row(name, *(str(counts.get(state, 0) or "·") for state in STATES))
    if len(found.conditions) != 1:
        table.add_row("[bold]all[/]", *(f"[bold]{found.states.get(state, 0)}[/]" for state in STATES))
    return table
