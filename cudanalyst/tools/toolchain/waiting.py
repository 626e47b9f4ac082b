"""Carries what a call waits for, such as its turn on a GPU, from where that is known to whoever called. Per task: nothing is global."""

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar

Listener = Callable[[str | None], None]
"""Told what is waited for; None: the wait is over."""
_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextlib.contextmanager
def heard_by(listener: Listener) -> Iterator[None]:
    """Tells `listener` of waits in the block, and in tasks that are started there."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def tell(words: str | None) -> None:
    """Says what is waited for, or that the wait is over."""
    listener = _listener.get()
    if listener is not None:
        listener(words)


def place_in_line(ahead: int) -> str:
    """`waiting for the GPU: next in line`, or how many are before."""
    return "waiting for the GPU: next in line" if ahead <= 1 else f"waiting for the GPU: {ahead} ahead"
