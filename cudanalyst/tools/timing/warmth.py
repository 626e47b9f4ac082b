"""Whether a device is still as warm as the last work on it left it: who comes right after another need not heat it once more."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from cudanalyst.tools.timing.commands import LEAST_HEAT_MS, Executor, Preheat, preheat

STAYS_WARM_S: Final = 0.03
"""After as long without timed work the device is heated again."""


@dataclass
class Warmth:
    """Of one device, for all comparisons that one process makes there."""

    clock: Callable[[], float] = time.monotonic
    _until: float = field(default=float("-inf"))
    _steady: bool = False

    @property
    def lasts(self) -> bool:
        """Whether the clock was steady, and the device has been worked since then without a long pause."""
        return self._steady and self.clock() < self._until

    def worked(self) -> None:
        """Its multiprocessors were busy until now, with nobody else's work between."""
        self._until = self.clock() + STAYS_WARM_S

    async def heat(self, executor: Executor, least_ms: int = LEAST_HEAT_MS) -> Preheat:
        """Works the device until its clock has settled, whatever came before."""
        found = await preheat(executor, least_ms=least_ms)
        self._steady = found.steady
        self.worked()
        return found

    async def keep(self, executor: Executor, least_ms: int = LEAST_HEAT_MS) -> Preheat:
        """Heats it unless it is warm."""
        return Preheat(0.0, steady=True) if self.lasts else await self.heat(executor, least_ms)
