"""Inputs of `solve`, drawn from a secret seed, and the poison that outputs hold before the call."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from cudanalyst.kernels.arrays import ArrayModule
from cudanalyst.kernels.draws import Draws
from cudanalyst.kernels.dtypes import NUMPY, Array, from_reference, is_float, to_reference
from cudanalyst.kernels.expressions import evaluate, evaluate_integer
from cudanalyst.kernels.generators import Part, alternatives, generate_part, is_elementwise
from cudanalyst.kernels.problem import Parameter, Problem

PoisonPattern = Literal[0, 1]
POISON_BYTES: Final = (0x7F, 0xFE)
"""As f32: 3.4e38 and -1.7e38, finite, so that adding to them shows; as integers 2139062143 and -16843010."""


@dataclass(frozen=True)
class Inputs:
    """One set of arguments of `solve`."""

    arrays: Mapping[str, Array]
    """Contents of the `in` and `inout` buffers, in the buffers' own element types."""
    scalars: Mapping[str, int | float]
    distributions: Mapping[str, str]
    """Which distribution each buffer was drawn from."""

    def for_reference(self, problem: Problem) -> dict[str, Array | int | float]:
        """What `reference` gets: floats widened exactly to float64, integers and scalars as they are."""
        dtypes = {parameter.name: parameter.dtype for parameter in problem.parameters}
        widened: dict[str, Array | int | float] = {
            name: to_reference(array, dtypes[name]) for name, array in self.arrays.items()
        }
        return widened | dict(self.scalars)


def shape_of(parameter: Parameter, sizes: Mapping[str, int]) -> tuple[int, ...]:
    """Extents of a buffer for named sizes."""
    return tuple(evaluate_integer(extent, sizes) for extent in parameter.shape)


def nbytes_of(parameter: Parameter, sizes: Mapping[str, int]) -> int:
    """Bytes of a buffer for named sizes."""
    count = 1
    for extent in shape_of(parameter, sizes):
        count *= extent
    return count * NUMPY[parameter.dtype].itemsize


def scalar_of(parameter: Parameter, sizes: Mapping[str, int]) -> int | float:
    """Value of a scalar parameter for named sizes."""
    expression = parameter.value if parameter.value is not None else parameter.name
    return (
        float(evaluate(expression, sizes))
        if is_float(parameter.dtype)
        else evaluate_integer(expression, sizes, at_least=-(2**63))
    )


def make_inputs(problem: Problem, sizes: Mapping[str, int], secret_seed: int | bytes, index: int = 0) -> Inputs:
    """Draws inputs; the same arguments give the same bytes on every machine.

    Args:
        problem: Whose parameters to draw.
        sizes: Named sizes.
        secret_seed: Never shown to an agent; equal seeds give equal inputs.
        index: Number of the input set; sets take the parameters' distributions in turn.
    """
    arrays: dict[str, Array] = {}
    distributions: dict[str, str] = {}
    for parameter in problem.parameters:
        if parameter.role in {"in", "inout"}:
            stream = InputStream(problem, sizes, secret_seed, index, parameter)
            shape = shape_of(parameter, sizes)
            arrays[parameter.name] = stream.part(0, stream.elements).reshape(shape)
            distributions[parameter.name] = stream.distribution
    scalars = {item.name: scalar_of(item, sizes) for item in problem.parameters if item.role == "scalar"}
    return Inputs(arrays=arrays, scalars=scalars, distributions=distributions)


class InputStream:
    """The contents of one input, drawn in any parts: however it is cut, and wherever it is drawn, the values are the same."""

    def __init__(
        self,
        problem: Problem,
        sizes: Mapping[str, int],
        secret_seed: int | bytes,
        index: int,
        parameter: Parameter,
        *,
        arrays: ArrayModule = np,
    ) -> None:
        """Takes the arguments of `make_inputs`, one parameter, and the array module to draw with."""
        key = ",".join(f"{name}={sizes[name]}" for name in sorted(sizes))
        choices = alternatives(parameter.generator)
        self.distribution = choices[index % len(choices)]
        self.elements = math.prod(shape_of(parameter, sizes))
        self._dtype = parameter.dtype
        self._sizes = sizes
        self._draws = Draws(problem.id, key, secret_seed, index, parameter.name, arrays=arrays)

    @property
    def in_parts(self) -> bool:
        """Whether a part costs no more than its own elements."""
        return is_elementwise(self.distribution)

    def part(self, start: int, stop: int) -> Array:
        """Elements `start` to `stop` in row-major order, in the buffer's own element type."""
        drawn = generate_part(self.distribution, self._draws, Part(self.elements, start, stop), self._sizes)
        return from_reference(drawn, self._dtype)


def distribution_count(problem: Problem) -> int:
    """Input sets needed to meet every distribution of every parameter once."""
    counts = [len(alternatives(item.generator)) for item in problem.parameters if item.role in {"in", "inout"}]
    return max(counts, default=1)


def poison(parameter: Parameter, sizes: Mapping[str, int], pattern: PoisonPattern) -> Array:
    """What an output holds before the call: one of two patterns, so that an answer left there is found out."""
    raw = np.full(nbytes_of(parameter, sizes), POISON_BYTES[pattern], dtype=np.uint8)
    return raw.view(NUMPY[parameter.dtype]).reshape(shape_of(parameter, sizes))
