"""Ends a run whose errors are many: where each thread makes one, writing them down takes minutes, and the first thousand say as much."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

from cudanalyst.tools.toolchain.sanitizer.log import MAX_LOG_BYTES
from cudanalyst.tools.toolchain.workspace import read_plain

MANY_BYTES: Final = 16 << 10
"""Text of the tool from which on there are many errors: some forty of them. Nothing else that it writes is as long."""
PATIENCE_S: Final = 3.0
"""Seconds that a run has from then on to get to its end by itself."""
_LOOK_S: Final = 0.2

Ended = TypeVar("Ended")


@dataclass(frozen=True)
class Patience:
    """How long a run may go on writing errors down."""

    seconds: float = PATIENCE_S
    look_s: float = _LOOK_S
    many_bytes: int = MANY_BYTES


async def with_patience(
    run: Coroutine[Any, Any, Ended], log: Path, tells: Callable[[bytes], bool], patience: Patience | None = None
) -> Ended | None:
    """What the run came to; None where it was stopped, since it had told of many errors and did not end.

    Args:
        run: The run; it is cancelled to stop it.
        log: The text that its tool writes as it goes.
        tells: Whether the text so far holds findings: without any a run is never stopped here.
        patience: When to stop it.
    """
    patience = patience or Patience()
    task = asyncio.create_task(run)
    try:
        while not (task.done() or await asyncio.to_thread(_is_long, log, patience.many_bytes)):
            await asyncio.wait({task}, timeout=patience.look_s)
        await asyncio.wait({task}, timeout=patience.seconds)
        if task.done() or not await asyncio.to_thread(_tells, log, tells):
            return await task
    finally:
        if not task.done():
            task.cancel()
            await asyncio.wait({task})
            if not task.cancelled():
                task.exception()  # what it says of its being stopped is of no interest
    return None


def _is_long(path: Path, size: int) -> bool:
    try:
        return path.stat().st_size >= size
    except OSError:
        return False


def _tells(path: Path, tells: Callable[[bytes], bool]) -> bool:
    text = read_plain(path, MAX_LOG_BYTES)
    return text is not None and tells(text)
