"""Wall time of a tool call; never part of anything that is hashed."""

import time


class Stopwatch:
    """Starts when made."""

    def __init__(self) -> None:
        """Starts."""
        self._start = time.monotonic()

    @property
    def elapsed_s(self) -> float:
        """Seconds since it was made."""
        return round(time.monotonic() - self._start, 6)
