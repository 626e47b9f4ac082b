"""What of an execution is profiled, and how closely."""

import re
from dataclasses import dataclass
from typing import Final, Literal

from cudanalyst.errors import BadRequest

MetricSet = Literal["quick", "standard", "full"]
MOST_LAUNCHES: Final = 20
"""Launches that counters are collected for, unless one is named: each is replayed many times."""
_NAME: Final = re.compile(r"[A-Za-z_~][\w:<>, *&()~\[\]]{0,199}")


@dataclass(frozen=True)
class Selection:
    """Which launches are profiled. A place without hardware counters counts them all, and knows only the kernel filter."""

    metrics: MetricSet = "standard"
    kernel: str | None = None
    """Part of the demangled names of the kernels wanted; None: all."""
    launch: int | None = None
    """The n-th launch of those kernels, from 0; None: the first 20."""


def checked_kernel(name: str | None) -> str | None:
    """A kernel filter that can be handed to a tool.

    Raises:
        BadRequest: It is no part of a C++ name.
    """
    if name is not None and not _NAME.fullmatch(name):
        raise BadRequest(
            f"kernel: {name[:60]!r} is no part of a kernel's name; give letters of it, such as `gemm` or `gemm_tiled<32>`"
        )
    return name
