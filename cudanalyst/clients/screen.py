"""Progress for people: bars on a terminal, plain lines elsewhere."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

NOTE: Final = 70
"""Characters shown of what a bar is at."""


class Screen:
    """Bars that share one console with ordinary lines."""

    def __init__(self, console: Console) -> None:
        """A screen on a console."""
        self.console = console
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("[bold]{task.description:<12}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("[dim]{task.fields[note]}"),
            console=console,
        )

    @contextmanager
    def shown(self) -> Iterator["Screen"]:
        """Shows the bars while the block runs."""
        with self._progress:
            yield self

    def bar(self, name: str, total: int) -> TaskID:
        """Adds a bar."""
        return self._progress.add_task(name, total=total, note="")

    def set(self, bar: TaskID, completed: int | None = None, note: str | None = None, total: int | None = None) -> None:
        """Moves a bar to a place, or says what it is at."""
        if completed is not None:
            self._progress.update(bar, completed=completed)
        if total is not None:
            self._progress.update(bar, total=total)
        if note is not None:
            self._progress.update(bar, note=note[:NOTE])

    def say(self, words: str) -> None:
        """Says what the newest unfinished bar is at."""
        for task in reversed(self._progress.tasks):
            if not task.finished:
                self.set(task.id, note=words)
                return

    def advance(self, bar: TaskID) -> None:
        """Moves a bar by one."""
        self._progress.advance(bar)
