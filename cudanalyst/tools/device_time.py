"""Seconds for which a GPU was held, for whoever asks: cost next to benefit."""

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar

_held: ContextVar[list[float] | None] = ContextVar("held", default=None)


@contextlib.contextmanager
def device_time() -> Iterator[list[float]]:
    """Gathers, in a list that grows, how long each GPU was held in the block and in tasks that are started there."""
    found: list[float] = []
    token = _held.set(found)
    try:
        yield found
    finally:
        _held.reset(token)


def count_device_time(seconds: float) -> None:
    """Says that a GPU was held; costs nothing where nobody asks."""
    found = _held.get()
    if found is not None:
        found.append(seconds)
