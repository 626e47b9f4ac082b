"""Exact integer reference."""

from typing import Any

import numpy as np


def reference(inputs: dict[str, Any], _sizes: dict[str, int]) -> dict[str, Any]:
    """Sums each row."""
    return {"out": inputs["x"].sum(axis=1, dtype=np.int64)}
