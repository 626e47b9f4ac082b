"""Where the time of a call goes, for whoever asks: named blocks, each without those within it."""

import contextlib
import time
from collections.abc import Iterator
from contextvars import ContextVar

_into: ContextVar[dict[str, float] | None] = ContextVar("into", default=None)
_inner: ContextVar[list[float] | None] = ContextVar("inner", default=None)


@contextlib.contextmanager
def watched() -> Iterator[dict[str, float]]:
    """Gathers the seconds of the blocks that are run within, also in tasks that are started there."""
    found: dict[str, float] = {}
    token, nobody = _into.set(found), _inner.set(None)
    try:
        yield found
    finally:
        _inner.reset(nobody)
        _into.reset(token)


@contextlib.contextmanager
def spending(what: str) -> Iterator[None]:
    """A block; costs nothing where nobody watches."""
    found = _into.get()
    if found is None:
        yield
        return
    outer, inner = _inner.get(), [0.0]
    token = _inner.set(inner)
    started = time.monotonic()
    try:
        yield
    finally:
        seconds = time.monotonic() - started
        _inner.reset(token)
        found[what] = found.get(what, 0.0) + seconds - inner[0]
        if outer is not None:
            outer[0] += seconds
