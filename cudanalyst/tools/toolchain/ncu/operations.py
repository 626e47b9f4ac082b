"""Arithmetic that a kernel did, from how often each machine instruction was executed. Pure.

Nsight Compute has counters of operations too, but they instrument the code once more for what the counters of single instructions tell already: on the nine
recorded kernels both say the same to the last operation.
"""

import re
from collections.abc import Mapping
from typing import Final

from cudanalyst.tools.sass import Decoded
from cudanalyst.tools.toolchain.ncu.table import Decodings

_EACH: Final[dict[str, tuple[str, float]]] = {
    opcode: (kind, operations)
    for kind, operations, opcodes in (
        ("fp32", 1.0, "FADD FADD32I FMUL FMUL32I"),
        ("fp32", 2.0, "FFMA FFMA32I FADD2 FMUL2"),
        ("fp32", 4.0, "FFMA2"),
        ("fp64", 1.0, "DADD DMUL"),
        ("fp64", 2.0, "DFMA"),
        ("fp16", 2.0, "HADD2 HADD2_32I HMUL2 HMUL2_32I"),
        ("fp16", 4.0, "HFMA2 HFMA2_32I"),
    )
    for opcode in opcodes.split()
}
"""Class, and operations of one thread's execution; half precision works on pairs."""
_SHAPE: Final = re.compile(r"^(?:HMMA|IMMA|DMMA|QMMA)\.(\d+)")
_GROUP_SHAPE: Final = re.compile(r"^(?:HGMMA|QGMMA|IGMMA)\.(\d+)x(\d+)x(\d+)")
_MMA: Final = {
    "1688": (16, 8, 8),
    "16816": (16, 8, 16),
    "16832": (16, 8, 32),
    "884": (8, 8, 4),
    "1684": (16, 8, 4),
    "16864": (16, 8, 64),
    "8816": (8, 8, 16),
}


def operations_by_type(decoded: Decodings, tensor: Mapping[str, int]) -> dict[str, float]:
    """Operations by class: fp32, fp64, fp16, and tensor where there are matrix instructions; empty where executions were not counted.

    Args:
        decoded: Instructions of all launches with their counters.
        tensor: Executions of matrix instructions by their form.
    """
    totals: dict[str, float] = {}
    for one, found in decoded:
        threads = one.values.get("threads_executed")
        if threads is None:
            continue
        if not totals:
            totals = {"fp32": 0.0, "fp64": 0.0, "fp16": 0.0}
        if found is not None and (each := _operations(found)) is not None:
            totals[each[0]] += threads * each[1]
    for form, count in tensor.items():
        if operations := _matrix_operations(form):
            totals["tensor"] = totals.get("tensor", 0.0) + count * operations
    return totals


def _operations(found: Decoded) -> tuple[str, float] | None:
    """What one thread's execution does; None for what is no arithmetic, such as a constant loaded by HFMA2, or half precision widened by HADD2.F32."""
    if found.constant or (found.opcode == "HADD2" and "F32" in found.modifiers):
        return None
    return _EACH.get(found.opcode)


def _matrix_operations(form: str) -> float | None:
    """Operations of one warp's execution of a matrix instruction; a warpgroup's instruction is executed by four warps."""
    if match := _GROUP_SHAPE.match(form):
        return 2.0 * int(match[1]) * int(match[2]) * int(match[3]) / 4.0
    if (match := _SHAPE.match(form)) and (shape := _MMA.get(match[1])):
        return 2.0 * shape[0] * shape[1] * shape[2]
    return None
