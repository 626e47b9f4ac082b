"""What looking back on sessions says."""

from typing import Literal

from cudanalyst.kernels.problem import Component
from cudanalyst.resources.randomised.models import RandomisedAnalysis
from cudanalyst.resources.usage.costs import ComponentCost
from cudanalyst.resources.usage.mentions import Mention
from cudanalyst.resources.usage.moments import Moment
from cudanalyst.values import Frozen


class Share(Frozen):
    """How many of how many, with a 95 % interval (Wilson)."""

    count: int
    of: int
    low: float | None = None
    high: float | None = None


class ComponentUse(Frozen):
    """One component in ordinary use. Observed: an agent asks for what it thinks it needs, so no difference here is an effect."""

    component: Component
    deliveries: int
    """Times its evidence was delivered before a decision."""
    decisions: int
    """Decisions before which it had been seen since the candidate before."""
    cited: int
    """Decisions whose plan cites an item of it by id."""
    mentioned: int
    """Decisions whose plan speaks of its evidence in words."""
    improved_with: Share
    """Next candidates that stand higher than the one before, where it had been seen."""
    improved_without: Share
    regressed_with: Share
    regressed_without: Share
    passed_with: Share
    passed_without: Share
    difference: float | None = None
    """Of `improved` with and without, base statuses before held equal; confounded."""
    low: float | None = None
    """95 % interval of the difference: of chance alone, not of confounding."""
    high: float | None = None
    difference_per_1000_tokens: float | None = None
    """The difference over a thousand tokens of its results, on average over the decisions that saw it."""


class ToldMoment(Frozen):
    """A decision with what its plan was found to speak of."""

    moment: Moment
    cited: tuple[Component, ...] = ()
    mentions: tuple[Mention, ...] = ()


class UsageAnalysis(Frozen):
    """Observational attribution of one session or several."""

    kind: Literal["observational"] = "observational"
    sessions: int
    decisions: int
    judged: int
    """Whose next candidate has a verdict, and the one before too."""
    plans_read: int
    """Plans whose text was looked at for mentions, newest first."""
    plans: int
    components: tuple[ComponentUse, ...] = ()
    costs: tuple[ComponentCost, ...] = ()
    notes: tuple[str, ...] = ()
    moments: tuple[ToldMoment, ...] = ()
    """Newest last; only where they are asked for."""


class RandomisedCost(Frozen):
    """A component's effect next to what it takes."""

    component: Component
    tokens_per_offer: float | None
    """Tokens of its results over the decisions that offered it."""
    seconds_per_offer: float | None
    device_s_per_offer: float | None
    effect: float | None
    """On `improved`."""
    effect_per_1000_tokens: float | None


class SessionAttribution(Frozen):
    """What ordinary use tells: observed always, and by design where delivery was randomised."""

    observed: UsageAnalysis
    randomised: RandomisedAnalysis | None = None
    costs: tuple[RandomisedCost, ...] = ()
