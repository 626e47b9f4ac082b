"""From a recorder's bytes to what an executor may replay."""

import hashlib
from dataclasses import dataclass

from cudanalyst.tools.trace.order import without_idle_events
from cudanalyst.tools.trace.parse import HEADER, MalformedTrace, UnfinishedTrace, parse_trace
from cudanalyst.tools.trace.records import CallError, Operation, Refusal
from cudanalyst.tools.trace.table import Table
from cudanalyst.tools.trace.verify import Unacceptable, verify


@dataclass(frozen=True)
class Operations:
    """A trace that may be replayed."""

    operations: tuple[Operation, ...]
    status: int
    """What `solve` or `init` returned; anything but 0 says that it gave up."""
    error: CallError | None
    """A CUDA error that it left behind."""
    queries: tuple[str, ...]
    name: str
    """sha256 of the trace's bytes, hexadecimal: evidence of what was recorded."""

    @property
    def canonical(self) -> bytes:
        """The text for the executor: what is replayed, and nothing else."""
        return canonical(without_idle_events(self.operations))


@dataclass(frozen=True)
class Junk:
    """Not a trace of an honest recorder: missing, malformed, or naming what it was not given."""

    reason: str
    line: int | None = None
    unfinished: bool = False
    """As a recorder that was ended while it wrote may leave it too: how its process ended says whose fault that is."""


Reading = Operations | Refusal | Junk


def canonical(operations: tuple[Operation, ...]) -> bytes:
    """A trace of these operations alone."""
    return "\n".join([HEADER, *(operation.text() for operation in operations), "end 0", ""]).encode("ascii")


def read_trace(data: bytes | None, table: Table, index: int | None) -> Reading:
    """Parses and verifies a trace. Never raises for what is in it.

    Args:
        data: The file's bytes; None: the recorder left none.
        table: What the recorder was given.
        index: Of the buffer set; None for `init`.
    """
    if data is None:
        return Junk("the process left no trace: the candidate ended it")
    try:
        trace = parse_trace(data)
        if trace.refusal is not None:
            return trace.refusal
        refusal = verify(trace, table, index)
    except (MalformedTrace, Unacceptable) as error:
        return Junk(error.text, error.line, isinstance(error, UnfinishedTrace))
    if refusal is not None:
        return refusal
    return Operations(trace.operations, trace.status, trace.error, trace.queries, hashlib.sha256(data).hexdigest())
