"""Who else has a context on the device: processes that are not this one and do not descend from it."""

import os
from collections.abc import Callable, Iterable
from pathlib import Path

from cudanalyst.tools.gpu.state import DeviceState


def parent_of(pid: int) -> int | None:
    """The process that started another; None where there is no such process in this namespace."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    # The name, in brackets, may itself hold brackets and spaces.
    return int(text.rpartition(")")[2].split()[1])


def descends(pid: int, ancestor: int, parent: Callable[[int], int | None] = parent_of) -> bool:
    """Whether a process is another, or was started by it, at whatever distance."""
    seen = set()
    current: int | None = pid
    while current and current not in seen:
        if current == ancestor:
            return True
        seen.add(current)
        current = parent(current)
    return False


def foreign_contexts(
    moments: Iterable[DeviceState],
    own_contexts: int,
    *,
    me: int | None = None,
    parent: Callable[[int], int | None] = parent_of,
) -> int:
    """How many processes of others had a context at one of these moments.

    Args:
        moments: At each of which our executor has a context.
        own_contexts: How many of ours have one. Counted on where none of the numbers is ours: in a container NVML may tell the host's.
        me: This process.
        parent: Of a process.
    """
    me = os.getpid() if me is None else me
    most = 0
    for moment in moments:
        pids = {process.pid for process in moment.processes or ()}
        ours = sum(descends(pid, me, parent) for pid in pids)
        most = max(most, len(pids) - (ours or own_contexts))
    return most
