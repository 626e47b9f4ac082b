"""Index expressions as polynomials over names: enough to ask how an address moves with `threadIdx.x`."""

from collections.abc import Mapping
from dataclasses import dataclass, field

Monomial = tuple[str, ...]
MAX_TERMS = 48


@dataclass(frozen=True)
class Poly:
    """An integer polynomial over atoms.

    Atoms are names (`n`, `threadIdx.x`) or opaque expressions. `tainted` holds the built-in indices on which an opaque
    part depends in a way that is not known to be linear.
    """

    terms: Mapping[Monomial, int] = field(default_factory=dict)
    tainted: frozenset[str] = frozenset()

    @staticmethod
    def constant(value: int) -> "Poly":
        """A number."""
        return Poly({(): value} if value else {})

    @staticmethod
    def atom(name: str) -> "Poly":
        """A name by itself."""
        return Poly({(name,): 1})

    @staticmethod
    def opaque(text: str, tainted: frozenset[str] = frozenset()) -> "Poly":
        """Something that is not understood further."""
        return Poly({(f"({text})" if not text.isidentifier() else text,): 1}, tainted)

    @property
    def value(self) -> int | None:
        """The number that this is, or None."""
        if not self.terms and not self.tainted:
            return 0
        if set(self.terms) == {()} and not self.tainted:
            return self.terms[()]
        return None

    def __add__(self, other: "Poly") -> "Poly":
        """The sum, with what either side may depend on."""
        terms = dict(self.terms)
        for monomial, factor in other.terms.items():
            terms[monomial] = terms.get(monomial, 0) + factor
        return _bounded(terms, self.tainted | other.tainted)

    def __neg__(self) -> "Poly":
        """The negative."""
        return Poly({m: -c for m, c in self.terms.items()}, self.tainted)

    def __sub__(self, other: "Poly") -> "Poly":
        """The difference."""
        return self + -other

    def __mul__(self, other: "Poly") -> "Poly":
        """The product."""
        terms: dict[Monomial, int] = {}
        for left, a in self.terms.items():
            for right, b in other.terms.items():
                monomial = tuple(sorted(left + right))
                terms[monomial] = terms.get(monomial, 0) + a * b
        return _bounded(terms, self.tainted | other.tainted)

    def atoms(self) -> set[str]:
        """All atoms that occur."""
        return {atom for monomial in self.terms for atom in monomial}

    def depends_on(self, name: str) -> bool:
        """Whether the value may change with `name`."""
        return name in self.tainted or name in self.atoms()

    def coefficient(self, name: str) -> "Poly | None":
        """The factor of `name` where this is linear in it; None where it is not known to be."""
        if name in self.tainted:
            return None
        terms: dict[Monomial, int] = {}
        for monomial, factor in self.terms.items():
            count = monomial.count(name)
            if count > 1:
                return None
            if count == 1:
                rest = list(monomial)
                rest.remove(name)
                terms[tuple(rest)] = terms.get(tuple(rest), 0) + factor
        return Poly({m: c for m, c in terms.items() if c})

    def __str__(self) -> str:
        """As one would write it in C."""
        parts: list[str] = []
        for monomial, factor in sorted(self.terms.items(), key=lambda item: (-len(item[0]), item[0])):
            names = "*".join(monomial)
            if not names:
                parts.append(str(factor))
            elif factor == 1:
                parts.append(names)
            else:
                parts.append(f"{factor}*{names}")
        return " + ".join(parts).replace("+ -", "- ") or "0"


def _bounded(terms: dict[Monomial, int], tainted: frozenset[str]) -> Poly:
    kept = {m: c for m, c in terms.items() if c}
    if len(kept) > MAX_TERMS or any(len(m) > 8 or abs(c) > 1 << 40 for m, c in kept.items()):
        return Poly.opaque("...", tainted | frozenset(a for m in kept for a in m if "Idx." in a))
    return Poly(kept, tainted)
