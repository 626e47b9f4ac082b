"""Every regime in three words: whether its planner plans, in which form evidence goes out, and whose plan the coder gets."""

from typing import Final, Literal, NamedTuple

from cudanalyst.resources.trials import Regime

Form = Literal["full", "digest", "misaligned", "none"]
Role = Literal["planner", "coder"]


class Shape(NamedTuple):
    """What is done in a regime."""

    plan: Literal["own", "none", "dummy", "transferred"]
    form: Form
    """Of the coalition's evidence."""


SHAPES: Final[dict[Regime, Shape]] = {
    "NP+NF": Shape("none", "none"),
    "P+NF": Shape("own", "none"),
    "NP+F": Shape("none", "full"),
    "P+F": Shape("own", "full"),
    "NP+S": Shape("none", "digest"),
    "P+S": Shape("own", "digest"),
    "DP": Shape("dummy", "full"),
    "RF": Shape("own", "misaligned"),
    "PT": Shape("transferred", "full"),
}


def readers(regime: Regime, coder_sees: str) -> tuple[Role, ...]:
    """Who may be shown the evidence.

    Without a plan of their own (NP) coders get the evidence itself, and so they do beside a dummy plan: DP against NP+F is the
    effect of there being a plan at all. A planner's evidence reaches its coder only where the design says so, and a transferred
    plan comes without the evidence that made it, under the same rule.
    """
    match SHAPES[regime].plan:
        case "own":
            return ("planner", "coder") if coder_sees == "plan+evidence" else ("planner",)
        case "transferred":
            return ("coder",) if coder_sees == "plan+evidence" else ()
        case _:
            return ("coder",)
