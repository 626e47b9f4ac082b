"""Evaluations that share a device, as discrete events on a clock of their own: what a policy of leases makes of recorded hold times."""

import heapq
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from cudanalyst.tools.gpu.lease import MOST_SHARED, Mode, due_ns

Due = Callable[[int, Mode], int]
HAND_OVER_S: Final = 0.003
"""From a lease's end to the next one's begin: waiters look every 2 ms."""


@dataclass(frozen=True)
class Step:
    """A part of an evaluation: on the host, with a lease, or with an oracle until it is given back."""

    what: Literal["host", "shared", "exclusive", "borrow", "return"]
    seconds: float = 0.0
    driver_s: float = 0.0
    """Of a shared lease besides: opening and destroying contexts, which the driver does one after the other."""


def first_come(arrived_ns: int, mode: Mode) -> int:
    """The policy that serves by arrival alone."""
    return arrived_ns


@dataclass
class Wait:
    """How long somebody waited for a lease."""

    mode: Mode
    arrived_s: float
    due: int
    served_s: float = 0.0


@dataclass
class Device:
    """One GPU with its leases, its driver and its oracles."""

    due: Due = due_ns
    most_shared: int = MOST_SHARED
    oracles: int = 3
    now_s: float = 0.0
    waits: list[Wait] = field(default_factory=list)
    exclusive_phases: int = 0
    """How often the shared holders were drained."""
    _events: list[tuple[float, int, Callable[[], None]]] = field(default_factory=list)
    _number: "itertools.count[int]" = field(default_factory=itertools.count)
    _queue: list[tuple[int, int, Wait, Callable[[], None]]] = field(default_factory=list)
    _borrowers: list[Callable[[], None]] = field(default_factory=list)
    _shared: int = 0
    _exclusive: bool = False
    _phase: Mode = "shared"
    _driver_free_s: float = 0.0

    def after(self, seconds: float, then: Callable[[], None]) -> None:
        """Does something later."""
        heapq.heappush(self._events, (self.now_s + seconds, next(self._number), then))

    def play(self, until_s: float) -> None:
        """Lets time pass."""
        while self._events and self._events[0][0] <= until_s:
            self.now_s, _, then = heapq.heappop(self._events)
            then()
        self.now_s = until_s

    def take(self, mode: Mode, then: Callable[[], None]) -> None:
        """Waits for a lease."""
        wait = Wait(mode, self.now_s, self.due(round(self.now_s * 1e9), mode))
        heapq.heappush(self._queue, (wait.due, next(self._number), wait, then))
        self._serve()

    def give(self, mode: Mode) -> None:
        """Gives a lease back."""
        if mode == "exclusive":
            self._exclusive = False
        else:
            self._shared -= 1
        self._serve()

    def _serve(self) -> None:
        """As `Leases` does: nobody goes before a ticket that is due earlier."""
        while self._queue:
            _, _, wait, then = self._queue[0]
            alone = wait.mode == "exclusive"
            if self._exclusive or (self._shared if alone else self._shared >= self.most_shared):
                return
            heapq.heappop(self._queue)
            self._exclusive = alone
            self._shared += not alone
            self.exclusive_phases += alone and self._phase == "shared"
            self._phase = wait.mode
            wait.served_s = self.now_s
            self.waits.append(wait)
            self.after(HAND_OVER_S, then)

    def work(self, step: Step, then: Callable[[], None]) -> None:
        """What is done with a lease."""
        begins_s = max(self.now_s, self._driver_free_s) if step.driver_s else self.now_s
        if step.driver_s:
            self._driver_free_s = begins_s + step.driver_s
        self.after(begins_s + step.driver_s + step.seconds - self.now_s, then)

    def borrow(self, then: Callable[[], None]) -> None:
        """Waits for an oracle."""
        if self.oracles:
            self.oracles -= 1
            then()
        else:
            self._borrowers.append(then)

    def bring_back(self) -> None:
        """Gives it to the next."""
        if self._borrowers:
            self.after(0.0, self._borrowers.pop(0))
        else:
            self.oracles += 1


def client(device: Device, steps: Sequence[Step], done: Callable[[], None]) -> None:
    """Evaluates one candidate after the other."""

    def go(index: int = 0) -> None:
        if index == len(steps):
            done()
            index = 0
        step = steps[index]

        def proceed() -> None:
            go(index + 1)

        match step.what:
            case "host":
                device.after(step.seconds, proceed)
            case "borrow":
                device.borrow(proceed)
            case "return":
                device.bring_back()
                proceed()
            case "shared" | "exclusive" as mode:

                def finished() -> None:
                    device.give(mode)
                    proceed()

                device.take(mode, lambda: device.work(step, finished))

    go()


def evaluations(device: Device, steps: Sequence[Step], clients: int, seconds: float, ramp_s: float = 20.0) -> int:
    """How many are done in so many seconds, after a ramp."""
    times: list[float] = []
    for number in range(clients):
        device.after(0.01 * number, lambda: client(device, steps, lambda: times.append(device.now_s)))
    device.play(ramp_s + seconds)
    return sum(time > ramp_s for time in times)
