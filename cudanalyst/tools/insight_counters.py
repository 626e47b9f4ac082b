"""What an expert would say first about measured counters, in the words of the modelled insights: the same kinds on GPU and CPU engine."""

from collections.abc import Sequence
from typing import Final

from cudanalyst.tools.counter_execution import EXECUTION_RULES
from cudanalyst.tools.counter_gain import LINES_NAMED, Found
from cudanalyst.tools.counter_memory import MEMORY_RULES
from cudanalyst.tools.hardware import HardwareKernel
from cudanalyst.tools.profiles import Insight

MOST: Final = 5
LEAST_GAIN: Final = 1.03
"""A smaller gain is not worth an agent's time."""


def counter_insights(kernels: Sequence[HardwareKernel], most: int = MOST) -> tuple[Insight, ...]:
    """At most `most` insights over all kernels, what saves most of the whole time first."""
    total = sum(kernel.duration_us or 0.0 for kernel in kernels) or 1.0
    ranked: list[tuple[float, Insight]] = []
    for kernel in kernels:
        for rule in (*MEMORY_RULES, *EXECUTION_RULES):
            for found in rule(kernel):
                if found.gain >= LEAST_GAIN or found.certain:
                    saved = (kernel.duration_us or 0.0) * (1.0 - 1.0 / found.gain) / total
                    ranked.append((saved, _insight(kernel, found)))
    ranked.sort(key=lambda pair: -pair[0])
    return tuple(insight for _, insight in ranked[:most])


def _insight(kernel: HardwareKernel, found: Found) -> Insight:
    file = found.lines[0].file if found.lines else None
    numbers = tuple(dict.fromkeys(line.line for line in found.lines if line.line and line.file == file))[:LINES_NAMED]
    where = f"{file}:{','.join(map(str, numbers))}: " if numbers else ""
    return Insight(
        kind=found.kind,
        message=where + found.message,
        kernel=kernel.name,
        file=file,
        lines=numbers,
        metric=found.metric,
        value=float(f"{found.value:.4g}"),
        remedy=found.remedy,
        estimated_gain=round(found.gain, 3),
    )
