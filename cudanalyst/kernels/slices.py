"""A reference computed in slices, so that a large one needs little memory beside its inputs and its outputs.

A problem may name a size along which its outputs are independent (`independent = "rows"`). A buffer is cut along the axis whose
extent is exactly that name; other buffers are passed whole. The reference sees the slice's length in place of the size.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from cudanalyst.errors import BadProblem
from cudanalyst.kernels.arrays import module_of
from cudanalyst.kernels.dtypes import Array
from cudanalyst.kernels.inputs import Inputs, scalar_of, shape_of
from cudanalyst.kernels.problem import Parameter, Problem

Compute = Callable[[Inputs, Mapping[str, int]], dict[str, Array]]
"""The whole reference of some inputs: `expected_outputs`, or a catalogue's."""
TEMPORARIES: Final = 6
"""Arrays as large as a slice that a reference is taken to hold at once, in float64."""


def axis_of(parameter: Parameter, name: str | None) -> int | None:
    """The axis along which a buffer is cut; None where it is passed whole."""
    return parameter.shape.index(name) if name is not None and name in parameter.shape else None


def sliced_outputs(
    problem: Problem, compute: Compute, inputs: Inputs, sizes: Mapping[str, int], budget_bytes: int
) -> dict[str, Array]:
    """The reference, in as few slices as keep its temporaries within a budget.

    Args:
        problem: Whose reference.
        compute: Computes it for inputs and sizes, whole.
        inputs: The whole inputs.
        sizes: The whole sizes.
        budget_bytes: For temporaries; the outputs, whole, come on top. A problem without `independent` may exceed it.

    Raises:
        BadProblem: The reference fails, or gives something else than its outputs.
    """
    name = problem.independent
    extent = sizes[name] if name is not None else 1
    cut = [item for item in problem.parameters if item.role != "scalar" and axis_of(item, name) is not None]
    slice_bytes = sum(8 * math.prod(shape_of(item, sizes)) for item in cut) // extent * TEMPORARIES
    length = max(budget_bytes // max(slice_bytes, 1), 1)
    if name is None or length >= extent:
        return compute(inputs, sizes)
    outputs: dict[str, Array] = {}
    for start in range(0, extent, length):
        stop = min(start + length, extent)
        own = dict(sizes) | {name: stop - start}
        arrays = {
            item.name: _cut(inputs.arrays[item.name], axis_of(item, name), start, stop)
            for item in problem.parameters
            if item.name in inputs.arrays
        }
        scalars = {item.name: scalar_of(item, own) for item in problem.parameters if item.role == "scalar"}
        for output, part in compute(replace(inputs, arrays=arrays, scalars=scalars), own).items():
            parameter = next(item for item in problem.parameters if item.name == output)
            axis = axis_of(parameter, name)
            if axis is None:
                raise BadProblem(f"problem {problem.id}: `independent` is `{name}`, which `{output}` has no extent of")
            if output not in outputs:
                outputs[output] = module_of(part).empty(shape_of(parameter, sizes), dtype=part.dtype)
            _cut(outputs[output], axis, start, stop)[...] = part
    return outputs


def _cut(array: Array, axis: int | None, start: int, stop: int) -> Array:
    if axis is None:
        return array
    part: Array = array[(slice(None),) * axis + (slice(start, stop),)]
    return part
