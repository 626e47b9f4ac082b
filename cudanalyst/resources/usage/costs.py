"""What each component took: tokens, seconds, device seconds."""

from collections.abc import Iterable

from cudanalyst.resources.events import Recorded, ToolFinished
from cudanalyst.resources.folds import COMPONENT_OF_TOOL
from cudanalyst.values import Frozen


class ComponentCost(Frozen):
    """Calls of one component's tool, summed. None was never measured."""

    component: str
    """A component, or the name of a tool that is no component's, such as `run`."""
    calls: int
    cached: int
    tokens: int | None = None
    """Of results that were sent, at 3.5 characters a token."""
    seconds: float | None = None
    device_s: float | None = None
    """For which a GPU was held."""


def costs(events: Iterable[Recorded]) -> tuple[ComponentCost, ...]:
    """Costs by component, sorted by name."""
    found: dict[str, list[ToolFinished]] = {}
    for recorded in events:
        if isinstance(recorded.event, ToolFinished):
            name = COMPONENT_OF_TOOL.get(recorded.event.tool, recorded.event.tool)
            found.setdefault(name, []).append(recorded.event)
    return tuple(
        ComponentCost(
            component=name,
            calls=len(calls),
            cached=sum(one.cached for one in calls),
            tokens=_sum([one.tokens for one in calls]),
            seconds=_rounded([one.seconds for one in calls]),
            device_s=_rounded([one.device_s for one in calls]),
        )
        for name, calls in sorted(found.items())
    )


def _sum(values: list[int | None]) -> int | None:
    known = [one for one in values if one is not None]
    return sum(known) if known else None


def _rounded(values: list[float | None]) -> float | None:
    known = [one for one in values if one is not None]
    return round(sum(known), 3) if known else None
