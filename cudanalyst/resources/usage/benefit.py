"""A randomised component's effect next to what it takes."""

from collections.abc import Iterable, Sequence

from cudanalyst.resources.events import Recorded, ToolFinished
from cudanalyst.resources.folds import COMPONENT_OF_TOOL, WITHHELD
from cudanalyst.resources.randomised.decisions import Decision
from cudanalyst.resources.randomised.models import RandomisedAnalysis
from cudanalyst.resources.usage.models import RandomisedCost

LEVEL = "improved"


def benefits(
    events: Iterable[Recorded], draws: Sequence[Decision], effects: RandomisedAnalysis
) -> tuple[RandomisedCost, ...]:
    """Tokens, seconds and device seconds of a component over the decisions that offered it, and its effect per 1,000 tokens."""
    offered = {(one.session, one.candidate, component) for one in draws for component in one.offered}
    totals: dict[str, list[float]] = {}
    for recorded in events:
        event = recorded.event
        if not isinstance(event, ToolFinished) or event.status == WITHHELD:
            continue
        component = COMPONENT_OF_TOOL.get(event.tool)
        if component is None or (recorded.session, event.candidate, component) not in offered:
            continue
        sums = totals.setdefault(component, [0.0, 0.0, 0.0])
        for index, value in enumerate((event.tokens, event.seconds, event.device_s)):
            sums[index] += value or 0.0
    rows = []
    for overlap in effects.overlap:
        offers = sum(overlap.component in one.offered for one in draws)
        sums = totals.get(overlap.component, [0.0, 0.0, 0.0])
        tokens, seconds, device = (round(total / offers, 3) if offers else None for total in sums)
        effect = effects.of(LEVEL, overlap.component)
        value = None if effect is None else effect.value
        rows.append(
            RandomisedCost(
                component=overlap.component,
                tokens_per_offer=tokens,
                seconds_per_offer=seconds,
                device_s_per_offer=device or None,
                effect=value,
                effect_per_1000_tokens=None if value is None or not tokens else round(1000 * value / tokens, 4),
            )
        )
    return tuple(rows)
