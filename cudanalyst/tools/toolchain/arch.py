"""Names of targets: `sm_90`, `sm_90a`, and what nvcc wants to hear for them."""

import re
from dataclasses import dataclass
from typing import Final

from cudanalyst.errors import BadRequest

SUPPORTED: Final = (75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121)
"""What nvcc 13.0 builds for (`nvcc --list-gpu-code`)."""
WITH_SUFFIX: Final = {"a": (90, 100, 103, 110, 120, 121), "f": (100, 103, 110, 120, 121)}


@dataclass(frozen=True)
class Arch:
    """A full target."""

    number: int
    """Compute capability without its point: 90 for 9.0."""
    suffix: str = ""
    """`a` for code of this architecture only, `f` for its family, else empty."""

    @property
    def name(self) -> str:
        """As in `sm_90a`."""
        return f"sm_{self.number}{self.suffix}"

    @property
    def gencode(self) -> str:
        """Machine code for ptxas's facts and a GPU, PTX for the engine; never the shorthand `-arch=sm_90a` (it adds a pass for compute_90)."""
        target = f"{self.number}{self.suffix}"
        return f"arch=compute_{target},code=[sm_{target},compute_{target}]"


def parse_arch(text: str) -> Arch:
    """Reads `sm_90` and the like.

    Raises:
        BadRequest: It is not a target of nvcc 13.0.
    """
    match = re.fullmatch(r"sm_(\d{2,3})([af]?)", text)
    if match:
        number, suffix = int(match[1]), match[2]
        if number in SUPPORTED and (not suffix or number in WITH_SUFFIX[suffix]):
            return Arch(number, suffix)
    known = ", ".join(f"sm_{number}" for number in SUPPORTED)
    raise BadRequest(f"unknown architecture {text[:40]!r}; use one of {known}, or sm_90a")
