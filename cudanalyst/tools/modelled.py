"""From a profiling run's report to modelled kernels: counts, occupancy and time for a named device. Pure."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from cudanalyst.tools.compile import KernelResources, Occupancy
from cudanalyst.tools.counts import KernelCounts, parse_profiles
from cudanalyst.tools.devices import Device
from cudanalyst.tools.model.counted import StatementCounts, parse_statements
from cudanalyst.tools.model.kernel import KernelCode
from cudanalyst.tools.model.predict import Prediction, modelled_launch
from cudanalyst.tools.roofline import Modelled, modelled_time
from cudanalyst.tools.toolchain.arch import parse_arch
from cudanalyst.tools.toolchain.occupancy import occupancy


@dataclass(frozen=True)
class ModelledKernel:
    """One kernel in one launch shape."""

    counts: KernelCounts
    modelled: Modelled
    resources: KernelResources | None
    """None where ptxas said nothing of it."""
    occupancy: Occupancy | None
    dynamic_shared_bytes: int = 0
    prediction: Prediction | None = None
    """From the machine code and the counts; None where there is no machine code."""


def predict_report(
    kernels: Iterable[ModelledKernel],
    report: Sequence[Mapping[str, Any]],
    codes: Mapping[str, KernelCode],
    device: Device,
) -> tuple[ModelledKernel, ...]:
    """Adds what the machine code says; the longest first. Kernels whose code is missing stay as they are."""
    by_shape: dict[tuple[Any, ...], list[StatementCounts]] = {}
    for detail in parse_statements(report):
        by_shape.setdefault((detail.symbol, detail.grid, detail.block, detail.shared_bytes), []).append(detail)
    found = []
    for kernel in kernels:
        counts = kernel.counts
        same = by_shape.get((counts.symbol, counts.grid, counts.block, counts.shared_bytes))
        code = codes.get(counts.symbol)
        if same and code is not None:
            found.append(replace(kernel, prediction=modelled_launch(same.pop(0), code, device)))
        else:
            found.append(kernel)
    return tuple(sorted(found, key=lambda kernel: -(kernel.prediction or kernel.modelled).us))


def model_report(
    report: Sequence[Mapping[str, Any]], resources: Iterable[KernelResources], arch: str, device: Device
) -> tuple[ModelledKernel, ...]:
    """Models every kernel of a report, the longest first."""
    counted, _ = parse_profiles(report)
    by_symbol = {entry.symbol: entry for entry in resources}
    dynamic = _dynamic_shared(report)
    kernels = []
    for counts in counted:
        entry = by_symbol.get(counts.symbol)
        shared = dynamic.get((counts.symbol, counts.grid, counts.block), 0)
        taken = max(counts.shared_bytes, entry.shared_bytes + shared) if entry else counts.shared_bytes
        fit = (
            occupancy(parse_arch(arch).number, counts.block_threads, entry.registers, taken)
            if entry is not None
            else None
        )
        time = modelled_time(counts, device, fit.warps_per_sm if fit else None)
        kernels.append(ModelledKernel(counts, time, entry, fit, shared))
    return tuple(sorted(kernels, key=lambda kernel: -kernel.modelled.us))


def total_us(kernels: Iterable[ModelledKernel]) -> float | None:
    """Modelled time of all kernels, one after the other; None where there are none."""
    times = [(kernel.prediction or kernel.modelled).us for kernel in kernels]
    return sum(times) if times else None


def geometric_mean(ratios: Sequence[float]) -> float | None:
    """Geometric mean, or None of nothing."""
    return math.exp(sum(math.log(ratio) for ratio in ratios) / len(ratios)) if ratios else None


def _dynamic_shared(report: Sequence[Mapping[str, Any]]) -> dict[tuple[Any, ...], int]:
    """Most dynamic shared memory that each kernel was launched with, by symbol and launch shape."""
    most: dict[tuple[Any, ...], int] = {}
    for record in report:
        shared = record.get("shared_bytes")
        if record.get("type") != "launch" or not isinstance(shared, int):
            continue
        try:
            key = (str(record["symbol"]), tuple(record["grid"]), tuple(record["block"]))
        except (KeyError, TypeError):
            continue
        most[key] = max(most.get(key, 0), shared)
    return most
