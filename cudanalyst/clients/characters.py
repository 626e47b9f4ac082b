"""Scripted models: how far each follows what it reads, in full or in digests, with a plan or without, of its family or not.

The numbers are invented, so that the effects that an experiment should find are known beforehand; they are claims about nobody.
"""

from collections.abc import Mapping
from typing import Final, Literal

from pydantic import Field

from cudanalyst.errors import BadRequest
from cudanalyst.kernels.problem import Component
from cudanalyst.resources.regimes.digest import MAX_STATEMENT, STATEMENTS
from cudanalyst.values import Frozen

Family = Literal["A", "B"]
_PHRASES: Final[dict[Family, tuple[str, str]]] = {
    "A": ("Change one thing: ", ". Leave everything else as it is."),
    "B": ("What I would do here, in a word: ", ", and then look again."),
}
"""What a family of models writes around the name of an edit."""
DIGEST_LINES: Final = 1 + STATEMENTS
DIGEST_WIDTH: Final = MAX_STATEMENT + len("[profiler.99] ")


class Character(Frozen):
    """A scripted model. Every number is a probability."""

    name: str
    family: Family = "A"
    trust: float = Field(default=0.9, ge=0, le=1)
    """Of planning by what full evidence points to, rather than at random."""
    digest_trust: float = Field(default=0.9, ge=0, le=1)
    """The same where the evidence is a digest."""
    direct: float = Field(default=0.9, ge=0, le=1)
    """Of coding by what full evidence points to, without a plan."""
    digest_direct: float = Field(default=0.9, ge=0, le=1)
    """The same where the evidence is a digest."""
    follows: dict[Family, float] = {"A": 1.0}
    """Of coding what a plan names, by the family of who wrote it, rather than what the coder would do without it (by the evidence,
    where it is shown any); a plan of no known family names nothing."""
    truncates: float = Field(default=0.0, ge=0, le=1)
    """Of a plan that breaks off and so is none."""

    def trusts(self, evidence: Mapping[Component, str]) -> float:
        """Trust in evidence when planning."""
        return self.digest_trust if is_digest(evidence) else self.trust

    def trusts_directly(self, evidence: Mapping[Component, str]) -> float:
        """Trust in evidence when coding without a plan."""
        return self.digest_direct if is_digest(evidence) else self.direct


DEMO: Final = Character(name="scripted")
STRONG_A: Final = Character(
    name="strong-a",
    trust=0.92,
    digest_trust=0.86,
    direct=0.62,
    digest_direct=0.58,
    follows={"A": 0.97, "B": 0.72},
)
WEAK_A: Final = Character(
    name="weak-a",
    trust=0.45,
    digest_trust=0.74,
    direct=0.22,
    digest_direct=0.4,
    follows={"A": 0.88, "B": 0.5},
    truncates=0.03,
)
STRONG_B: Final = Character(
    name="strong-b",
    family="B",
    trust=0.88,
    digest_trust=0.84,
    direct=0.56,
    digest_direct=0.52,
    follows={"A": 0.68, "B": 0.95},
)
DEAF: Final = Character(name="deaf", follows={"A": 0.0, "B": 0.0})
"""Ignores every plan."""
CHARACTERS: Final[dict[str, Character]] = {one.name: one for one in (DEMO, STRONG_A, WEAK_A, STRONG_B, DEAF)}


def character(name: str) -> Character:
    """A scripted model by its name.

    Raises:
        BadRequest: There is none.
    """
    if name not in CHARACTERS:
        raise BadRequest(f"{name!r} is no scripted model; choose from {', '.join(CHARACTERS)}")
    return CHARACTERS[name]


def phrased(title: str, family: Family) -> str:
    """A plan in a family's words."""
    before, after = _PHRASES[family]
    return f"{before}{title[:1].lower()}{title[1:]}{after}"


def family_of(plan: str) -> Family | None:
    """Who a plan sounds like; None where it sounds like nobody (a dummy plan)."""
    return next((family for family, (before, _) in _PHRASES.items() if plan.startswith(before)), None)


def is_digest(evidence: Mapping[Component, str]) -> bool:
    """Whether evidence looks summarised: few lines, and none of them long."""
    texts = [text.splitlines() for text in evidence.values()]
    return bool(texts) and all(
        len(lines) <= DIGEST_LINES and max(map(len, lines), default=0) <= DIGEST_WIDTH for lines in texts
    )
