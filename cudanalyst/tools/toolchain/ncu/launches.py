"""The launches of one kernel, asked by our names for counters. Pure."""

from collections.abc import Iterable, Sequence

from cudanalyst.tools.toolchain.ncu.names import NAMES
from cudanalyst.tools.toolchain.ncu.report import Action


class Launches:
    """The launches of one kernel, asked by our names."""

    def __init__(self, actions: Sequence[Action]) -> None:
        """Takes all launches of one kernel in one shape."""
        self._metrics = [action.metrics for action in actions]
        self._weights = [self._one(metrics, NAMES["duration_ns"]) or 1.0 for metrics in self._metrics]

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self._metrics)

    @staticmethod
    def _one(metrics: dict[str, float], names: Iterable[str]) -> float | None:
        return next((metrics[name] for name in names if name in metrics), None)

    def total(self, *ours: str) -> float | None:
        """Sum over the launches, and over several counters; None if any is missing."""
        values = [self._one(metrics, NAMES[name]) for name in ours for metrics in self._metrics]
        return None if any(value is None for value in values) else sum(value for value in values if value is not None)

    def mean(self, ours: str, scale: float = 1.0) -> float | None:
        """Mean weighted by duration."""
        return self.mean_of(NAMES[ours], scale)

    def mean_of(self, names: Iterable[str], scale: float = 1.0) -> float | None:
        """The same for the first of ncu's names that has a value."""
        names = tuple(names)
        pairs = [
            (value, weight)
            for metrics, weight in zip(self._metrics, self._weights, strict=True)
            if (value := self._one(metrics, names)) is not None
        ]
        return (
            sum(value * weight for value, weight in pairs) / sum(weight for _, weight in pairs) / scale
            if pairs
            else None
        )

    def raw_total(self, name: str) -> float | None:
        """Sum of one of ncu's counters over the launches that have it."""
        values = [metrics[name] for metrics in self._metrics if name in metrics]
        return sum(values) if values else None


def integer(value: float | None) -> int | None:
    """The nearest whole number."""
    return None if value is None else round(value)
