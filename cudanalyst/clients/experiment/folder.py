"""Where a run keeps what it has: beside its file, so that any terminal finds it."""

import shlex
from dataclasses import dataclass
from pathlib import Path

from cudanalyst.clients.experiment.journal import Began, Record, records
from cudanalyst.errors import BadRequest
from cudanalyst.resources.design.file import read_design
from cudanalyst.resources.design.lock import Lock, read_lock
from cudanalyst.resources.design.models import Design


@dataclass(frozen=True)
class Place:
    """A file of an experiment, and what belongs to it."""

    file: Path
    store_given: Path | None = None

    @property
    def folder(self) -> Path:
        """Of the run: `NAME.run` beside `NAME.toml`."""
        return self.file.with_suffix(".run")

    @property
    def store(self) -> Path:
        """Of the server that a run starts."""
        return self.store_given or self.folder / "store"

    @property
    def journal(self) -> Path:
        """Every answer."""
        return self.folder / "journal.jsonl"

    @property
    def log(self) -> Path:
        """Of the server that a run starts."""
        return self.folder / "server.log"

    @property
    def lock(self) -> Path:
        """`NAME.lock.json` beside `NAME.toml`."""
        return self.file.with_suffix(".lock.json")

    def design(self) -> Design:
        """The experiment.

        Raises:
            BadRequest: The file cannot be read, or is no design; every fault is named.
        """
        if self.folder == self.file:
            raise BadRequest(
                f"{self.file}: an experiment's file is named NAME.toml; NAME.run is the folder of its runs."
            )
        try:
            text = self.file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is not UTF-8"
            raise BadRequest(
                f"{self.file} cannot be read: {reason}. `cudanalyst experiment new` writes an example."
            ) from error
        try:
            return read_design(text)
        except BadRequest as error:
            raise BadRequest(f"{self.file}: {error}") from error

    def locked(self) -> Lock | None:
        """The lock; None where there is none.

        Raises:
            BadRequest: It is damaged.
        """
        return read_lock(self.lock) if self.lock.exists() else None

    def past(self) -> tuple[Record, ...]:
        """What the journal holds."""
        return tuple(records(self.journal))

    def began(self) -> Began | None:
        """The experiment that a run laid down; None where none did yet."""
        return next((one for one in reversed(self.past()) if isinstance(one, Began)), None)

    def resumption(self) -> str:
        """The command that goes on with the run, or begins it where nothing is kept yet."""
        store = "" if self.store_given is None else f" --store {shlex.quote(str(self.store_given))}"
        began = self.began()
        url = "" if began is None or began.url is None else f" --url {shlex.quote(began.url)}"
        verb = "resume" if self.past() else "run"
        return f"cudanalyst experiment {verb} {shlex.quote(str(self.file))}{store}{url}"
