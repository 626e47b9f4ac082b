"""A run on a terminal: where trials are, what is waited for, what was spent, and when it ends, where that can be known."""

import os
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars
from rich.text import Text

from cudanalyst.clients.experiment.answers import Spent
from cudanalyst.clients.experiment.budget import Allowance
from cudanalyst.clients.experiment.pipeline import Gauge
from cudanalyst.resources.design.models import Budget
from cudanalyst.resources.trial_state import Progress

LINE_S: Final = 30.0
"""Seconds between two lines where there is no terminal."""
WINDOW_S: Final = 60.0
"""Over which a rate is taken."""
LEAST: Final = (20.0, 30)
"""Seconds and trials after which a rate says something."""
NOTE: Final = 90


class Rate:
    """How fast trials are done lately."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Nothing is known yet."""
        self._clock = clock
        self._marks: deque[tuple[float, int]] = deque()

    def mark(self, done: int) -> None:
        """So many are done now."""
        now = self._clock()
        if not self._marks or now - self._marks[-1][0] >= 1:
            self._marks.append((now, done))
        while len(self._marks) > 2 and now - self._marks[0][0] > WINDOW_S:
            self._marks.popleft()

    @property
    def per_second(self) -> float | None:
        """None while too little is known, or nothing moves."""
        if len(self._marks) < 2:
            return None
        seconds, count = self._marks[-1][0] - self._marks[0][0], self._marks[-1][1] - self._marks[0][1]
        return count / seconds if seconds >= LEAST[0] and count >= LEAST[1] else None

    def remaining_s(self, left: int) -> float | None:
        """Until as many more are done, if it goes on like this; None where that cannot be told."""
        rate = self.per_second
        return None if rate is None else left / rate


class RunConsole(Console):
    """A console whose reader may go away (`| head`, a full disk): the run goes on, and says no more."""

    def on_broken_pipe(self) -> None:
        """Nobody reads any more: everything written from here on goes nowhere."""
        self.quiet = True
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


class RunScreen:
    """Shows a run; a `Watch`."""

    def __init__(self, console: Console, budget: Budget, clock: Callable[[], float] = time.monotonic) -> None:
        """A screen on a console."""
        self._console = console
        self._budget = budget
        self._clock = clock
        self._bars = Bars(
            SpinnerColumn(finished_text="[green]✓[/]"),
            TextColumn("[bold]{task.description:<10}"),
            BarColumn(bar_width=36),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("[dim]{task.fields[note]}", table_column=None),
            console=console,
        )
        self._tasks: dict[str, object] = {}
        self._lines: tuple[Text, ...] = ()
        self._note = ""
        self._said = -LINE_S
        self._rate = Rate(clock)
        self._total = 0

    @contextmanager
    def shown(self) -> Iterator["RunScreen"]:
        """Shows it while the block runs; plain lines where the console is no terminal."""
        if not self._console.is_terminal:
            yield self
            return
        with Live(get_renderable=self._rendered, console=self._console, refresh_per_second=4):
            yield self

    def _rendered(self) -> RenderableType:
        note = Text(f"  {self._note}"[:NOTE], style="dim")
        return Group(self._bars, *self._lines, *([note] if self._note else []))

    def phase(self, name: str, total: int | None = None) -> None:
        """A new bar."""
        for task in self._bars.tasks:
            if not task.finished:
                self._bars.update(task.id, total=max(1, task.total or 1), completed=max(1, task.total or 1))
        if name == "trials":
            self._total = total or 0
            self._tasks = {one: self._bars.add_task(one, total=total, note="") for one in ("Answered", "Evaluated")}
        else:
            self._tasks = {name: self._bars.add_task(name.capitalize(), total=total, note="")}
        self._note = ""
        self._plain(f"{name}" + (f": {total} in all" if total is not None else ""), always=True)

    def step(self, words: str) -> None:
        """What it is at."""
        self._note = words
        if "server" in self._tasks:
            self._plain(words, always=True)

    def done(self, count: int) -> None:
        """Moves the phase's bar."""
        for task in self._tasks.values():
            self._bars.update(task, completed=count)  # type: ignore[arg-type]

    def trials(self, progress: Progress | None, gauge: Gauge, spent: Spent, allowance: Allowance) -> None:
        """Moves both bars, and says where trials are and what was spent."""
        answered = gauge.submitted
        judged = None
        if progress is not None:
            judged = progress.evaluated + progress.infrastructure_failed
            answered = progress.submitted + judged
            self._bars.update(self._tasks["Evaluated"], completed=judged)  # type: ignore[arg-type]
        self._rate.mark(answered)
        self._bars.update(self._tasks["Answered"], completed=answered, note=self._until(answered, gauge))  # type: ignore[arg-type]
        where, cost = places(gauge, progress), costs(spent, self._budget, allowance)
        self._lines = (Text(f"  {where}"), Text(f"  {cost}"))
        self._plain(
            f"answered {answered} of {self._total}, evaluated {'?' if judged is None else judged}; {where}; {cost}"
        )

    def _until(self, answered: int, gauge: Gauge) -> str:
        rate = self._rate.per_second
        if self._total and answered >= self._total:
            return ""
        if gauge.waiting is not None and gauge.at["planning"] + gauge.at["coding"] == 0:
            return f"waiting: {gauge.waiting}"
        left = self._rate.remaining_s(self._total - answered)
        if rate is None or left is None:
            return "end not known yet"
        return f"{rate:.1f}/s, {clock_words(left)} left at this rate"

    def _plain(self, words: str, *, always: bool = False) -> None:
        now = self._clock()
        if not self._console.is_terminal and (always or now - self._said >= LINE_S):
            self._said = now
            try:
                self._console.print(words, highlight=False, soft_wrap=True)
            except OSError:  # a full disk under a redirected output is no reason to lose a run
                self._console.quiet = True


def places(gauge: Gauge, progress: Progress | None) -> str:
    """Where trials are now, in words."""
    queued = gauge.queued()
    parts = []
    for stage, count in gauge.at.items():
        waiting = queued.get(stage, 0)
        parts.append(f"{stage} {count}" + (f" (+{waiting} waiting)" if waiting else ""))
    if progress is not None:
        parts.append(f"to be judged {progress.submitted}")
    if gauge.late:
        parts.append(f"too late {gauge.late}")
    if gauge.service_failures:
        parts.append(f"service failures {gauge.service_failures}")
    return " · ".join(parts)


def costs(spent: Spent, budget: Budget, allowance: Allowance) -> str:
    """What was spent, beside what may be."""
    device = allowance.device_minutes()
    parts = [
        f"{spent.calls:,}{_of(budget.calls)} calls",
        f"{spent.tokens:,}{_of(budget.tokens)} tokens",
        f"{allowance.wall_minutes:.1f}{_of(budget.wall_minutes)} min",
    ]
    if budget.device_minutes is not None:
        parts.append(f"{'?' if device is None else f'{device:.1f}'}{_of(budget.device_minutes)} device min")
    return "spent: " + " · ".join(parts)


def _of(limit: float | None) -> str:
    return "" if limit is None else f" of {limit:,.12g}"


def clock_words(seconds: float) -> str:
    """A duration as people say it."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02d} min"
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"
