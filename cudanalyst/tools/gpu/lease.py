"""One lease for each GPU, for all servers and processes of a machine: `exclusive` for who is timed and alone, `shared` for everyone else.

Locks are `flock`s, so the kernel gives them back when a process dies, however it dies. A shared holder also has one of a few places, whose
number bounds how many there are. Who waits has a ticket: a file whose name says when it is due, and which its process keeps locked; a ticket that
nobody locks is a dead one's. A waiter takes a GPU only if no live ticket that is due before asks for that GPU, for any number of GPUs and servers.

An exclusive ticket is due when it is taken, a shared one `SHARED_PATIENCE_S` later. Of each kind, who comes first is served first; and an exclusive
one waits for those that hold, while shared ones wait for all exclusive ones that have gathered meanwhile and go in together after them. So the holders
are drained once for a batch, not once for each who is timed (simulated in tests/tools/gpu/test_lease_policy.py). When a ticket is due never changes,
and nobody who comes later than that overtakes it: everyone's wait is bounded.

The files lie side by side in a folder that everyone may write and where nobody can remove another's (sticky). They are opened without following
links and locked through read-only descriptors, so that users share them without any right to change them. Another user can hold a
lease as long as they like, as they can use the GPU itself; `wait_s` bounds that.
"""

import asyncio
import contextlib
import fcntl
import os
import re
import secrets
import stat
import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from cudanalyst.errors import BadRequest, Unavailable
from cudanalyst.tools.device_time import count_device_time
from cudanalyst.tools.gpu.lease_files import FOLDER_VARIABLE, create, holders, lease_folder, try_lock, unlock

__all__ = [
    "MOST_SHARED",
    "SHARED_PATIENCE_S",
    "Lease",
    "LeaseTimedOut",
    "Leases",
    "Mode",
    "Totals",
    "due_ns",
    "lease_folder",
]

Mode = Literal["exclusive", "shared"]
MOST_SHARED: Final = 10
"""Shared holders of one GPU at once, where its memory has room for them."""
SHARED_PATIENCE_S: Final = 0.5
"""By how much later an exclusive ticket may be than a shared one and still go before it; longer than all who are timed once need in turn."""
_PREFIX: Final = "cudanalyst-gpu"
_UUID: Final = re.compile(r"[A-Za-z0-9-]{1,80}")
_TICKET: Final = re.compile(rf"{_PREFIX}-ticket-(\d{{20}})-[0-9a-f]{{8}}")
_MAX_TICKET_BYTES: Final = 4096
_HEAD_POLL_S: Final = 0.002
_QUEUE_POLL_S: Final = 0.01
_MAX_POLL_S: Final = 0.2
_STALE_S: Final = 10.0
"""A live process shows itself at every poll; one that has not for so long is stopped, and is passed over."""
_SHOW_S: Final = 1.0

Positions = Callable[[int], None]
"""Told how many are ahead, whenever that changes: those that wait, and one for the holder."""


class LeaseTimedOut(Unavailable):
    """The GPU did not become free in the time that the caller would wait; nothing was run."""

    def __init__(self, waited_s: float, ahead: int, holders: str) -> None:
        """Says who is in the way."""
        self.waited_s = waited_s
        self.ahead = ahead
        super().__init__(
            f"the GPU was busy: waited {waited_s:.1f} s for it, {ahead} still ahead{holders}; "
            "try again later, or allow more time to wait"
        )


@dataclass(frozen=True)
class Lease:
    """A held GPU."""

    uuid: str
    waited_s: float
    mode: Mode
    descriptor: int
    """Of the lock. A trusted process that inherits it keeps the lease until it ends too, should its parent be killed."""


@dataclass
class Totals:
    """How leases of one mode were used by this process."""

    count: int = 0
    held_s: float = 0.0
    waited_s: float = 0.0


def due_ns(arrived_ns: int, mode: Mode) -> int:
    """When a ticket is due: the order in which those who wait are served (see the head of this module)."""
    return arrived_ns + (round(SHARED_PATIENCE_S * 1e9) if mode == "shared" else 0)


class Leases:
    """Gives out the GPUs of a machine."""

    def __init__(self, folder: Path) -> None:
        """Keeps locks and tickets in `folder` (`lease_folder()`)."""
        self._folder = folder
        self._wants: dict[str, frozenset[str]] = {}
        self._own: dict[str, frozenset[str]] = {}
        self._moved = asyncio.Event()
        """Wakes this process's own waiters; others look for themselves."""
        self.totals: dict[Mode, Totals] = {"exclusive": Totals(), "shared": Totals()}
        self._remedy = f"or set {FOLDER_VARIABLE} to a folder that all its users may write"

    @contextlib.asynccontextmanager
    async def hold(
        self,
        uuids: Sequence[str],
        *,
        wait_s: float,
        ahead: Positions | None = None,
        mode: Mode = "exclusive",
        most: Callable[[str], int] = lambda _: MOST_SHARED,
    ) -> AsyncIterator[Lease]:
        """Waits for the first of the GPUs that is free and this caller's turn, and holds it for the body.

        Args:
            uuids: GPUs that would do.
            wait_s: Time to wait, apart from the time of the body.
            ahead: Told of the place in the queue.
            mode: Alone, or beside other shared holders.
            most: How many shared holders a GPU has room for at this moment; at least one is let in.

        Raises:
            LeaseTimedOut: None became free in time.
            Unavailable: The folder of leases cannot be used.
            BadRequest: No GPU, or something that is no UUID, was asked for.
        """
        started = time.monotonic()
        if not uuids or not all(_UUID.fullmatch(uuid) for uuid in uuids):
            raise BadRequest(f"a lease needs UUIDs of GPUs, not {list(uuids)!r}")
        wish = _Wish(tuple(dict.fromkeys(uuids)), mode, most, started, started + wait_s, ahead)
        with contextlib.ExitStack() as stack:
            ticket, name = self._take_ticket(uuids, mode)
            stack.callback(self._drop_ticket, ticket, name)
            uuid, locks = await self._wait(name, ticket, wish)
            taken = time.monotonic()
            totals = self.totals[mode]
            totals.count, totals.waited_s = totals.count + 1, totals.waited_s + taken - started
            try:
                stack.pop_all().close()  # others need not wait for this ticket any more
                yield Lease(uuid, taken - started, mode, locks[0])
            finally:
                for lock in reversed(locks):
                    unlock(lock)
                totals.held_s += time.monotonic() - taken
                count_device_time(time.monotonic() - taken)
                self._move()

    async def _wait(self, name: str, ticket: int, wish: "_Wish") -> tuple[str, list[int]]:
        told: int | None = None
        shown = time.monotonic()
        while True:
            earlier = self._earlier(name)
            for uuid in wish.uuids:
                if not any(uuid in wanted for wanted in earlier) and (locks := self._try(uuid, wish)):
                    return uuid, locks
            now = time.monotonic()
            position = sum(bool(wanted & set(wish.uuids)) for wanted in earlier) + 1
            if now >= wish.until:
                blocking = holders([self._lock_path(uuid) for uuid in wish.uuids])
                raise LeaseTimedOut(now - wish.started, position, blocking)
            if position != told and wish.ahead is not None:
                wish.ahead(position)
            told = position
            if now - shown > _SHOW_S:
                os.utime(ticket)
                shown = now
            poll = _HEAD_POLL_S if position == 1 else min(_QUEUE_POLL_S * position, _MAX_POLL_S)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(min(poll, wish.until - now)):
                    await self._moved.wait()

    def _move(self) -> None:
        self._moved.set()
        self._moved = asyncio.Event()

    def _lock_path(self, uuid: str) -> Path:
        return self._folder / f"{_PREFIX}-{uuid}.lock"

    def _try(self, uuid: str, wish: "_Wish") -> list[int]:
        """The locks of a GPU, or none while others hold it. Of an exclusive holder's one, all shared ones have a part; each has a place besides."""
        shared = wish.mode == "shared"
        lock = try_lock(self._lock_path(uuid), self._remedy, shared=shared)
        if lock is None or not shared:
            return [] if lock is None else [lock]
        taken: int | None = None
        try:
            for place in range(max(1, wish.most(uuid))):
                taken = try_lock(self._folder / f"{_PREFIX}-{uuid}.place-{place}", self._remedy)
                if taken is not None:
                    return [lock, taken]
        finally:
            if taken is None:
                unlock(lock)
        return []

    def _take_ticket(self, uuids: Sequence[str], mode: Mode) -> tuple[int, str]:
        """A locked file that shows its name only once it is locked."""
        unique = secrets.token_hex(4)
        hidden = self._folder / f"{_PREFIX}-new-{os.getpid()}-{unique}"
        descriptor = -1
        try:
            descriptor = create(hidden)
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.write(descriptor, "\n".join(uuids).encode())
            # The monotonic clock is one for all processes of a machine.
            name = f"{_PREFIX}-ticket-{due_ns(time.monotonic_ns(), mode):020d}-{unique}"
            hidden.rename(self._folder / name)
            self._own[name] = frozenset(uuids)
        except OSError as error:
            if descriptor >= 0:
                os.close(descriptor)
            hidden.unlink(missing_ok=True)
            raise Unavailable(
                f"no place in the GPU's queue could be had in {self._folder} ({error.strerror}); free space there, "
                f"or set {FOLDER_VARIABLE} to a folder that all users of the GPU may write"
            ) from error
        return descriptor, name

    def _drop_ticket(self, descriptor: int, name: str) -> None:
        self._own.pop(name, None)
        with contextlib.suppress(OSError):
            (self._folder / name).unlink()
        os.close(descriptor)
        self._move()

    def _earlier(self, own: str) -> list[frozenset[str]]:
        """What the live tickets that are due before this one ask for."""
        with os.scandir(self._folder) as entries:
            names = {entry.name for entry in entries if entry.name < own and _TICKET.fullmatch(entry.name)}
        for gone in self._wants.keys() - names:
            del self._wants[gone]
        found = (self._wanted(name) for name in sorted(names))
        return [wanted for wanted in found if wanted]

    def _wanted(self, name: str) -> frozenset[str]:
        """What a ticket asks for; nothing when its process is dead or stopped."""
        if (own := self._own.get(name)) is not None:
            return own  # of a process that is alive, as it asks
        path = self._folder / name
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return frozenset()
        try:
            about = os.fstat(descriptor)
            if not stat.S_ISREG(about.st_mode) or time.time() - about.st_mtime > _STALE_S:
                return frozenset()
            try:
                fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                if name not in self._wants:
                    text = os.read(descriptor, _MAX_TICKET_BYTES).decode(errors="replace")
                    self._wants[name] = frozenset(text.split("\n"))
                return self._wants[name]
            with contextlib.suppress(OSError):  # another user's remains, and counts for nothing
                path.unlink()
            return frozenset()
        finally:
            os.close(descriptor)


@dataclass(frozen=True)
class _Wish:
    """What a waiter waits for."""

    uuids: tuple[str, ...]
    mode: Mode
    most: Callable[[str], int]
    started: float
    until: float
    ahead: Positions | None
