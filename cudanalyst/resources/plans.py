"""Plans: what a planner means to do, and on which evidence."""

from cudanalyst.values import Frozen, content_id

MAX_PLAN = 20_000
"""Characters of a plan's text."""


class Plan(Frozen):
    """A planner's decision in its own words."""

    text: str
    cites: tuple[str, ...] = ()
    """Ids of evidence items, e.g. `debugger.2`."""
    author: str | None = None

    @property
    def id(self) -> str:
        """Identity by content."""
        return content_id("plan", self)
