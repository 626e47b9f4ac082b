"""Which components a decision is offered: drawn from a secret, so that nobody can foresee a draw and every server agrees on it."""

import hashlib
import hmac
from typing import Final, Self

from pydantic import Field, model_validator

from cudanalyst.kernels.problem import Component
from cudanalyst.values import Frozen

LEAST: Final = 0.2
MOST: Final = 0.8
"""Bounds of a propensity: beyond them one arm is too thin, and withholding or offering becomes a habit that agents learn."""


class RandomisedDelivery(Frozen):
    """How a session that opted in is offered feedback: each component independently, at every decision anew."""

    propensities: dict[Component, float] = Field(min_length=1)
    """Probability that a component is offered."""

    @model_validator(mode="after")
    def _within(self) -> Self:
        for component, value in self.propensities.items():
            if not LEAST <= value <= MOST:
                raise ValueError(
                    f"randomise: {component} is to be offered with probability {value:g}; give {LEAST} to {MOST}"
                )
        return self

    @property
    def components(self) -> tuple[Component, ...]:
        """What is randomised, sorted."""
        return tuple(sorted(self.propensities))

    def joint(self, offered: tuple[Component, ...]) -> float:
        """Probability that exactly these are offered."""
        product = 1.0
        for component, value in self.propensities.items():
            product *= value if component in offered else 1 - value
        return product


def draw(secret: bytes, session: str, candidate: str, design: RandomisedDelivery) -> tuple[Component, ...]:
    """The components that a candidate's feedback offers in a session.

    A function of secret, session and candidate alone: the same after a restart, the same on every server of a store, and new
    for a new candidate.
    """
    return tuple(
        component
        for component in design.components
        if _uniform(secret, session, candidate, component) < design.propensities[component]
    )


def _uniform(secret: bytes, *names: str) -> float:
    """A number in [0, 1) that only who knows the secret can tell; each name is preceded by its length."""
    code = hmac.new(secret, b"randomised delivery", hashlib.sha256)
    for name in names:
        data = name.encode()
        code.update(len(data).to_bytes(8, "big"))
        code.update(data)
    return (int.from_bytes(code.digest()[:8], "big") >> 11) / (1 << 53)
