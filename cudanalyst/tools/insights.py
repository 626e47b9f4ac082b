"""What an expert would say first about a profile: rules on counts, each with its lines, numbers and modelled gain.

The gain of an insight is the kernel's modelled time over the modelled time of the same counts with that one thing mended.
"""

from collections.abc import Sequence
from typing import Final

from cudanalyst.tools.devices import Device
from cudanalyst.tools.insight_execution import EXECUTION_RULES
from cudanalyst.tools.insight_memory import LINES_NAMED, MEMORY_RULES, Found
from cudanalyst.tools.modelled import ModelledKernel
from cudanalyst.tools.profiles import Insight
from cudanalyst.tools.roofline import modelled_time

MOST: Final = 3
LEAST_GAIN: Final = 1.03
"""A smaller modelled gain is not worth an agent's time."""


def insights_of(kernels: Sequence[ModelledKernel], device: Device, most: int = MOST) -> tuple[Insight, ...]:
    """At most `most` insights over all kernels, the largest gain of the whole first."""
    total = sum(kernel.modelled.us for kernel in kernels)
    ranked: list[tuple[float, Insight]] = []
    for kernel in kernels:
        for rule in (*MEMORY_RULES, *EXECUTION_RULES):
            for found in rule(kernel, device):
                fit = kernel.occupancy.warps_per_sm if kernel.occupancy else None
                after = modelled_time(found.mended, device, found.warps_per_sm or fit).us
                gain = kernel.modelled.us / after if after else 1.0
                if gain >= LEAST_GAIN or found.certain:
                    saved = (kernel.modelled.us - after) / total
                    ranked.append((saved, _insight(kernel, found, gain)))
    ranked.sort(key=lambda pair: -pair[0])
    return tuple(insight for _, insight in ranked[:most])


def _insight(kernel: ModelledKernel, found: Found, gain: float) -> Insight:
    places = [line for line in found.lines if line.line]
    file = places[0].file if places else None
    numbers = tuple(dict.fromkeys(line.line for line in places if line.line and line.file == file))[:LINES_NAMED]
    where = f"{file}:{','.join(map(str, numbers))}: " if numbers else ""
    return Insight(
        kind=found.kind,
        message=where + found.message,
        kernel=kernel.counts.kernel,
        file=file,
        lines=numbers,
        metric=found.metric,
        value=round(found.value, 4),
        remedy=found.remedy,
        estimated_gain=round(gain, 3),
    )
