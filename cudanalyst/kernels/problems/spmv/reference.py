"""Float64 reference."""

from typing import Any

import numpy as np


def reference(inputs: dict[str, Any], sizes: dict[str, int]) -> dict[str, Any]:
    """Adds up each row's products."""
    products = inputs["values"] * inputs["x"][inputs["columns"]]
    # The row of entry j is the number of inner offsets up to j.
    inner = np.bincount(inputs["offsets"][1:-1], minlength=sizes["nnz"] + 1)
    row_of = np.cumsum(inner[: sizes["nnz"]])
    return {"y": np.bincount(row_of, weights=products, minlength=sizes["rows"])}
