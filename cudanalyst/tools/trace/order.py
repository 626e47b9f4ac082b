"""What must come before what in a trace: own streams fork from stream 0 and join it, told by vector clocks."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from cudanalyst.tools.trace.records import Copy, EventRecord, EventWait, Fill, Launch, Operation, Upload

Clock = dict[int, int]
"""For each stream, how many of its operations are known to come before."""


@dataclass
class _Lane:
    forked: bool
    clock: Clock = field(default_factory=dict)


def fork_and_join(operations: Iterable[Operation]) -> str | None:
    """What is wrong with the order of streams, or None.

    Work on an own stream must come after something of stream 0 (or after its start, by an event recorded there), and stream 0
    must wait for all of it before the end.
    """
    lanes: dict[int, _Lane] = {0: _Lane(forked=True)}
    events: dict[int, _Lane] = {}
    done: Clock = {}
    for operation in operations:
        if isinstance(operation, Launch | Copy | Upload | Fill):
            stream = operation.stream
            lane = lanes.setdefault(stream, _Lane(forked=False))
            if not lane.forked:
                return (
                    "work on an own stream does not follow `stream`: fork it first (cudaEventRecord(e, stream); "
                    "cudaStreamWaitEvent(own, e, 0))"
                )
            done[stream] = done.get(stream, 0) + 1
            lane.clock[stream] = done[stream]
        elif isinstance(operation, EventRecord):
            lane = lanes.setdefault(operation.stream, _Lane(forked=False))
            events[operation.event] = _Lane(lane.forked, dict(lane.clock))
        elif isinstance(operation, EventWait) and operation.event in events:
            lane, event = lanes.setdefault(operation.stream, _Lane(forked=False)), events[operation.event]
            lane.forked = lane.forked or event.forked
            for stream, count in event.clock.items():
                lane.clock[stream] = max(lane.clock.get(stream, 0), count)
    main = lanes[0].clock
    if any(main.get(stream, 0) < count for stream, count in done.items()):
        return (
            "work on an own stream is not joined: record an event after it and make `stream` wait "
            "(cudaEventRecord(e, own); cudaStreamWaitEvent(stream, e, 0)) before solve returns"
        )
    return None


def without_idle_events(operations: Sequence[Operation]) -> tuple[Operation, ...]:
    """The same work in the same order, without events that order nothing.

    A stream that is waited for before it forks, or that waits for `stream` and then has nothing to do, is no fault of a candidate; in a
    captured graph it would be one. Expects what `fork_and_join` accepts.
    """
    forked, idle_events = {0}, set[int]()
    kept: list[Operation] = []
    for operation in operations:
        if isinstance(operation, EventRecord):
            (idle_events.discard if operation.stream in forked else idle_events.add)(operation.event)
            if operation.stream not in forked:
                continue
        elif isinstance(operation, EventWait):
            if operation.event in idle_events:
                continue
            forked.add(operation.stream)
        kept.append(operation)
    return _that_something_follows(kept)


def _that_something_follows(operations: Sequence[Operation]) -> tuple[Operation, ...]:
    """From the end: a wait counts where its stream goes on, a record where a wait that counts is for it."""
    busy, wanted = {0}, set[int]()
    kept: list[Operation] = []
    for operation in reversed(operations):
        if isinstance(operation, EventRecord):
            if operation.event not in wanted:
                continue
            wanted.discard(operation.event)
            busy.add(operation.stream)
        elif isinstance(operation, EventWait):
            if operation.stream not in busy:
                continue
            wanted.add(operation.event)
        elif isinstance(operation, Launch | Copy | Upload | Fill):
            busy.add(operation.stream)
        kept.append(operation)
    return tuple(reversed(kept))
