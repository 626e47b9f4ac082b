"""Which sizes are large: those that only a GPU runs.

One number decides it, the bytes of a problem's buffers. Above it the CPU engine, which interprets, would take minutes, and NumPy would
draw inputs and compute references for seconds; so such a size is left out on the CPU engine, and on a GPU its inputs and its
reference are made on the device (tools/gpu/oracle.py). Below it starting that process would cost more than it saves.
"""

from collections.abc import Mapping
from typing import Final

from cudanalyst.kernels.inputs import nbytes_of
from cudanalyst.kernels.problem import Problem

LARGE_BYTES: Final = 16 << 20


def buffer_bytes(problem: Problem, sizes: Mapping[str, int]) -> int:
    """Bytes of all buffers at some sizes."""
    return sum(nbytes_of(parameter, sizes) for parameter in problem.parameters if parameter.role != "scalar")


def is_large(problem: Problem, sizes: Mapping[str, int]) -> bool:
    """Whether only a GPU runs these sizes."""
    return buffer_bytes(problem, sizes) > LARGE_BYTES
