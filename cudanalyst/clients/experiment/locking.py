"""Locking an experiment's file: the lock stands beside it, and says what was decided when."""

import os
import time
from datetime import UTC, datetime

from rich.console import Console

from cudanalyst.clients.experiment.folder import Place
from cudanalyst.errors import BadRequest, CudanalystError
from cudanalyst.resources.design.lock import Lock, digest_of, lock


def lock_file(place: Place, console: Console) -> Lock:
    """Locks a file; one that is locked and unchanged stays as it is.

    Raises:
        BadRequest: It is locked already, and was changed since; or a run of it has begun.
        CudanalystError: The lock cannot be written.
    """
    design, known = place.design(), place.locked()
    if known is not None:
        if known.digest != digest_of(design):
            raise BadRequest(
                f"{place.file} was locked on {when(known.locked_at)} and changed since. Undo the change; or remove "
                f"{place.lock}, lock again, and say so in the report."
            )
        console.print(f"Already locked on {when(known.locked_at)}: {known.digest[:16]} ({place.lock})", highlight=False)
        return known
    if place.began() is not None:
        raise BadRequest(
            f"A run of {place.file} has begun, so a lock would come too late. Copy the file and lock the copy."
        )
    made = lock(design, time.time())
    aside = place.lock.with_suffix(".part")
    try:
        with aside.open("w", encoding="utf-8") as file:
            file.write(made.model_dump_json(indent=2) + "\n")
            file.flush()
            os.fsync(file.fileno())
        aside.replace(place.lock)
    except OSError as error:
        raise CudanalystError(f"{place.lock} cannot be written ({error.strerror}).") from error
    console.print(f"Locked: [bold]{made.digest[:16]}[/] at {when(made.locked_at)} → {place.lock}", highlight=False)
    for words in made.estimands:
        console.print(f"  • {words}", highlight=False, markup=False)
    return made


def when(seconds: float) -> str:
    """A moment, in UTC."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
