"""Figures as results show them. Pure."""

from typing import overload


@overload
def rounded(value: float) -> float: ...
@overload
def rounded(value: float | None) -> float | None: ...
def rounded(value: float | None) -> float | None:
    """Four significant digits: counters and models are no better than that."""
    return None if value is None else float(f"{value:.4g}")


def ratio(part: float | None, whole: float | None) -> float | None:
    """Part of a whole, where both are known and the whole is not zero."""
    return rounded(part / whole) if part is not None and whole else None
