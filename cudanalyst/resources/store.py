"""The store: events, blobs, and who may see what.

Every method may be called from any thread and from any number of processes on one folder. Calls block (a commit waits for
the disk, some milliseconds), so an asynchronous server makes them through worker threads. When a call that writes returns,
what it wrote survives a kill.
"""

import json
import secrets
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Literal, Self

from pydantic_core import PydanticSerializationError

from cudanalyst.errors import BadRequest, NotFound
from cudanalyst.resources.blobs import BlobStore, disk_error
from cudanalyst.resources.checkpoints import Checkpoint
from cudanalyst.resources.codec import decode, recorded
from cudanalyst.resources.database import BUSY_TIMEOUT_S, Database, Value
from cudanalyst.resources.events import CandidateSubmitted, Event, Recorded, SessionStarted
from cudanalyst.resources.known import Known
from cudanalyst.resources.randomised.draws import RandomisedDelivery
from cudanalyst.resources.selecting import selection
from cudanalyst.tools.source import MAX_SOURCE_BYTES, Source
from cudanalyst.values import Frozen, canonical_json

HandleKind = Literal["session", "experiment", "trial", "job"]
_PREFIX: Final[dict[HandleKind, str]] = {"session": "ses", "experiment": "exp", "trial": "tri", "job": "job"}
_INSERT: Final = "INSERT INTO events (at, owner, session, context, experiment, kind, body) VALUES (?, ?, ?, ?, ?, ?, ?)"
MAX_NAME: Final = 200
"""Characters in an owner's or a context's name."""
SOURCES_KNOWN: Final = 32
SUBMISSIONS_KNOWN: Final = 1024


@dataclass(frozen=True, slots=True)
class Scope:
    """On whose behalf something happens, and in which conversation. Made by `Store.scope`, which checks it."""

    owner: str
    session: str | None = None
    context: str | None = None


class Store:
    """Append-only memory of a server, shared by all servers that open the same folder."""

    def __init__(self, folder: Path, database: Database, blobs: BlobStore, clock: Callable[[], float]) -> None:
        """Use `open`."""
        self.folder = folder
        self._database = database
        self._blobs = blobs
        self._clock = clock
        self._sources: Known[tuple[str, str], Source] = Known(SOURCES_KNOWN)
        self._said: Known[tuple[Scope, str, tuple[str, ...]], bool] = Known(SUBMISSIONS_KNOWN)

    @classmethod
    def open(
        cls, folder: Path, *, clock: Callable[[], float] = time.time, busy_timeout_s: float = BUSY_TIMEOUT_S
    ) -> "Store":
        """Opens a store, creating its folder and bringing its schema up to date.

        Raises:
            StoreError: The folder cannot be used; the text says what to do.
        """
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise disk_error(error, "making the store's folder", folder) from error
        database = Database(folder / "store.sqlite", busy_timeout_s=busy_timeout_s)
        return cls(folder, database, BlobStore(folder / "blobs"), clock)

    def close(self) -> None:
        """Closes the database; nothing is buffered, so nothing can be lost."""
        self._database.close()

    def __enter__(self) -> Self:
        """Lets `with` close the store."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes the store."""
        self.close()

    def now(self) -> float:
        """Seconds since the epoch, by the store's clock."""
        return self._clock()

    def transaction(self, *, durable: bool = True) -> AbstractContextManager[None]:
        """Makes several writes one: all or nothing, with no other writer between. Put blobs before, not inside.

        `durable` as in `append`.
        """
        return self._database.transaction(durable=durable)

    def held(self) -> AbstractContextManager[None]:
        """Keeps this process's other threads from the events, for what is folded in memory."""
        return self._database.held()

    # Owners and handles

    def start_session(
        self,
        owner: str,
        client: str | None = None,
        randomise: RandomisedDelivery | None = None,
        *,
        begun_in: str | None = None,
    ) -> str:
        """Mints a session's handle: a secret that its owner passes with every call. `begun_in`: the session that asked for it."""
        if not 0 < len(owner) <= MAX_NAME:
            raise BadRequest(f"An owner's name has 1 to {MAX_NAME} characters.")
        with self.transaction():
            (handle,) = self.mint(owner, "session", parent=None if begun_in is None else self.family(owner, begun_in))
            self.append(Scope(owner, handle, handle), SessionStarted(client=client, randomise=randomise))
        return handle

    def mint(self, owner: str, kind: HandleKind, count: int = 1, *, parent: str | None = None) -> tuple[str, ...]:
        """Makes unguessable handles (128 random bits) of one kind and remembers whose they are."""
        handles = tuple(f"{_PREFIX[kind]}_{secrets.token_hex(16)}" for _ in range(count))
        with self.transaction():
            self._database.execute_many(
                "INSERT INTO handles (handle, kind, owner, parent) VALUES (?, ?, ?, ?)",
                [(handle, kind, owner, parent) for handle in handles],
            )
        return handles

    def check(self, owner: str, kind: HandleKind, handle: str) -> str | None:
        """Verifies that a handle was minted for this owner; returns its parent's handle.

        Raises:
            NotFound: It was not. The text and the look-up are the same for an unknown handle and for another owner's.
        """
        rows = self._database.query(
            "SELECT parent FROM handles WHERE handle = ? AND kind = ? AND owner = ?", (handle, kind, owner)
        )
        if not rows:
            raise NotFound(
                f"Unknown {kind} {handle!r}. Use a handle that this server gave you; start a new {kind} if need be."
            )
        parent = rows[0][0]
        return None if parent is None else str(parent)

    def family(self, owner: str, session: str) -> str:
        """The session that a session was begun in, itself where it was begun in none: one client holds the whole family.

        Raises:
            NotFound: The session is not this owner's.
        """
        return self.check(owner, "session", session) or session

    def scope(self, owner: str, session: str, context: str | None = None) -> Scope:
        """Checks a session's handle and names the conversation: the session itself unless `context` says otherwise.

        Raises:
            NotFound: The session is not this owner's.
            BadRequest: The context's name is empty or too long.
        """
        self.check(owner, "session", session)
        if context is not None and not 0 < len(context) <= MAX_NAME:
            raise BadRequest(f"`context` names a conversation in 1 to {MAX_NAME} characters.")
        return Scope(owner, session, context if context is not None else session)

    # Events

    def append(self, scope: Scope, event: Event, *, durable: bool = True) -> int:
        """Appends one event and returns its position; without `durable` it outlives a power cut after the next durable one."""
        with self._database.transaction(durable=durable):
            return self._database.execute(_INSERT, self._row(scope, event))

    def append_many(self, scope: Scope, events: Iterable[Event]) -> None:
        """Appends events in order and durably, all or none, in one transaction."""
        rows = [self._row(scope, event) for event in events]
        with self.transaction():
            self._database.execute_many(_INSERT, rows)

    def events(
        self,
        owner: str,
        *,
        session: str | None = None,
        context: str | None = None,
        experiment: str | None = None,
        kinds: Sequence[str] = (),
        after: int = 0,
        limit: int | None = None,
        newest: int | None = None,
    ) -> list[Recorded]:
        """An owner's events in order, narrowed by whatever is given; no `kinds` means all.

        `limit` keeps the first of them, `newest` the last.

        Raises:
            StoreError: A newer version wrote an event that this one cannot read.
        """
        columns = {"session": session, "context": context, "experiment": experiment}
        statement, values = selection(owner, columns, kinds, after=after, limit=limit, newest=newest)
        return [recorded(row) for row in self._database.query(statement, values)]

    # Values

    def put(self, value: Frozen | bytes) -> str:
        """Stores a value (as canonical JSON) or bytes; returns the blob's name."""
        return self._blobs.put(value if isinstance(value, bytes) else canonical_json(value))

    def blob(self, digest: str) -> bytes:
        """Reads a blob, verified. Callers pass only names that they took from events of the owner."""
        return self._blobs.get(digest)

    def show(self, owner: str, identity: str, blob: str) -> bool:
        """Lets an owner see a value by its id; tells whether that is new."""
        with self.transaction():
            known = bool(self._database.query("SELECT 1 FROM objects WHERE owner = ? AND id = ?", (owner, identity)))
            if not known:
                self._database.execute(
                    "INSERT INTO objects (owner, id, blob) VALUES (?, ?, ?)", (owner, identity, blob)
                )
        return not known

    def find(self, owner: str, identity: str) -> bytes | None:
        """A value's bytes where this owner may see it, else None."""
        rows = self._database.query("SELECT blob FROM objects WHERE owner = ? AND id = ?", (owner, identity))
        return self._blobs.get(str(rows[0][0])) if rows else None

    def add_candidate(
        self,
        scope: Scope,
        source: Source,
        *,
        parents: Sequence[str] = (),
        operator: str | None = None,
        durable: bool = True,
    ) -> str:
        """Remembers a source for its owner and returns its id; an event says so, once a context. `durable` as in `append`.

        Raises:
            BadRequest: The source is too long, or a parent is not a candidate of this owner.
        """
        identity, said = source.id, (scope, source.id, tuple(parents))
        if self._said.get(said):
            return identity
        size = len(source.text.encode("utf-8", "surrogatepass"))
        if size > MAX_SOURCE_BYTES:
            raise BadRequest(f"The source has {size} bytes; at most {MAX_SOURCE_BYTES} are taken. Shorten it.")
        for parent in parents:
            if self.find(scope.owner, parent) is None:
                raise BadRequest(
                    f"Parent {parent!r} is not a candidate that you submitted. Submit it first, or leave it out."
                )
        blob = self.put(source)
        event = CandidateSubmitted(
            candidate=identity, problem=source.problem, blob=blob, parents=tuple(parents), operator=operator
        )
        with self._database.transaction(durable=durable):
            new = self.show(scope.owner, identity, blob)
            if new or not self._submitted(scope, event):
                self.append(scope, event)
        if self._database.settled:
            self._said.add(said, True)
        return identity

    def candidate(self, owner: str, identity: str) -> Source:
        """The source behind an id.

        Raises:
            NotFound: This owner has not submitted it; the text does not say whether anybody has.
        """
        if (known := self._sources.get((owner, identity))) is not None:
            return known
        data = self.find(owner, identity) if identity.startswith(("cand_", "prog_")) else None
        if data is None:
            raise NotFound(
                f"Unknown candidate {identity!r}. Pass the source itself, or an id that a tool returned to you."
            )
        source = decode(Source, data)
        return self._sources.add((owner, identity), source) if self._database.settled else source

    def checkpoint(self, owner: str, identity: str) -> Checkpoint:
        """The frozen state behind an id.

        Raises:
            NotFound: This owner has not frozen it; the text does not say whether anybody has.
        """
        data = self.find(owner, identity) if identity.startswith("chk_") else None
        if data is None:
            raise NotFound(f"Unknown checkpoint {identity!r}. Use an id that `freeze` returned to you.")
        return decode(Checkpoint, data)

    def _submitted(self, scope: Scope, event: CandidateSubmitted) -> bool:
        """Whether this context has said as much before."""
        statement = (
            "SELECT 1 FROM events WHERE owner = ? AND context IS ? AND kind = 'candidate_submitted'"
            " AND json_extract(body, '$.candidate') = ? AND (? = '[]' OR json_extract(body, '$.parents') = ?) LIMIT 1"
        )
        parents = json.dumps(event.parents, separators=(",", ":"))
        return bool(self._database.query(statement, (scope.owner, scope.context, event.candidate, parents, parents)))

    def _row(self, scope: Scope, event: Event) -> tuple[Value, ...]:
        try:
            body = event.model_dump_json()
        except PydanticSerializationError as error:
            raise BadRequest(f"A text in `{event.kind}` is not valid Unicode ({error}). Send UTF-8 text.") from error
        experiment = getattr(event, "experiment", None)
        return (self._clock(), scope.owner, scope.session, scope.context, experiment, event.kind, body)
