"""What this server has already found out: results of pure evaluations, so that nobody waits for the same answer twice."""

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from cudanalyst.tools.result import ToolResult
from cudanalyst.tools.source import Source
from cudanalyst.values import Frozen

Result = TypeVar("Result", bound=ToolResult)
REMEMBERED: Final = 2048
_PASSING: Final = frozenset({"timed_out", "unavailable", "tool_failed", "running"})
"""Statuses that may be other the next time: they say something of the machine, not of the candidate alone."""


class Memory:
    """Results by (tool, candidate, request).

    Only candidates of problems are remembered: judging one is a pure function of the candidate, the problem, the request and the
    server's secret. A program may read clocks, and is run each time.
    """

    def __init__(self) -> None:
        """Nothing is remembered yet."""
        self._known: OrderedDict[str, ToolResult] = OrderedDict()

    async def recall(
        self, kind: type[Result], source: Source, request: Frozen, make: Callable[[], Awaitable[Result]]
    ) -> Result:
        """The result known for these, marked as cached; or the one that `make` gives."""
        key = f"{kind.__name__} {source.id} {request.model_dump_json()}"
        known = self._known.get(key)
        if isinstance(known, kind):
            self._known.move_to_end(key)
            return known.model_copy(update={"cached": True})
        result = await make()
        if source.problem is not None and getattr(result, "status", None) not in _PASSING:
            self._known[key] = result
            while len(self._known) > REMEMBERED:
                self._known.popitem(last=False)
        return result
