"""Whether two readings of one Nsight Compute report say the same of its kernels: the package's exact numbers, and the printed pages' rounded ones."""

from collections.abc import Sequence
from typing import Any

import pytest

from cudanalyst.tools.counter_gain import measured_bound
from cudanalyst.tools.hardware import HardwareKernel


def differences(printed: Sequence[HardwareKernel], exact: Sequence[HardwareKernel]) -> list[tuple[str, str, Any, Any]]:
    """What differs by more than printed digits hide: kernel, what, as printed, as the package says."""
    by_package = {kernel.name: kernel for kernel in exact}
    differ = []
    for kernel in printed:
        other = by_package[kernel.name]
        for what, mine, expected in (
            ("duration", kernel.duration_us, pytest.approx(other.duration_us, rel=0.01)),
            ("shares", kernel.sol, pytest.approx(other.sol, abs=0.01)),
            ("memory", [row.model_dump() for row in kernel.memory], [_about(row) for row in other.memory]),
            ("mix", kernel.instruction_mix, other.instruction_mix),
            ("bound", measured_bound(kernel), measured_bound(other)),
        ):
            if mine != expected:
                differ.append((kernel.name, what, mine, expected))
    return differ


def _about(row: Any) -> dict[str, Any]:
    """A row of the memory table to a part in ten thousand, rates to a hundredth of a percent: ncu prints two decimals."""
    return {
        name: pytest.approx(value, rel=1e-4, abs=1.01e-4) if isinstance(value, float) else value
        for name, value in row.model_dump().items()
    }
