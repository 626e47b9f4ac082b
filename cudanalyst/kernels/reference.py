"""Calls a problem's float64 reference, and checks what it gives."""

import importlib.util
from collections.abc import Callable, Mapping
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import Any

import numpy as np

from cudanalyst.errors import BadProblem
from cudanalyst.kernels.arrays import module_of
from cudanalyst.kernels.dtypes import Array, is_float
from cudanalyst.kernels.inputs import Inputs, shape_of
from cudanalyst.kernels.loader import ProblemFolder
from cudanalyst.kernels.problem import Problem

Reference = Callable[[dict[str, Any], dict[str, int]], Any]
"""`reference(inputs, sizes)` of a problem folder: what it returns is checked, not trusted."""


class _WithoutBytecode(SourceFileLoader):
    """Leaves no `__pycache__` in a user's data folder, which may not even be writable."""

    def set_data(self, path: str, data: object, *, _mode: int = 0o666) -> None:
        """Writes nothing."""


def load_reference(entry: ProblemFolder) -> Reference:
    """Imports `reference` from a problem folder, by its path and under a name of its own.

    Raises:
        BadProblem: The file fails as it is run.
    """
    path = entry.reference_file
    name = f"cudanalyst_reference_{entry.problem.id}"
    spec = importlib.util.spec_from_file_location(name, path, loader=_WithoutBytecode(name, str(path)))
    if spec is None or spec.loader is None:
        message = f"{path}: cannot be imported"
        raise BadProblem(message)
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        message = f"{path}: fails as it is imported: {type(error).__name__}: {error}"
        raise BadProblem(message) from error
    reference: Reference = module.reference
    return reference


def expected_outputs(
    problem: Problem, path: Path, reference: Reference, inputs: Inputs, sizes: Mapping[str, int]
) -> dict[str, Array]:
    """What the outputs should hold: float64 arrays (integers for integer outputs) by name.

    The inputs' array module decides where it is computed; the arrays given back belong to it too.

    Raises:
        BadProblem: The reference fails, leaves out an output, or gives another shape or kind of element.
    """
    # The reference gets copies of its own, so that it cannot change what `solve` sees; widening makes them.
    arguments = {
        name: value.copy() if value is inputs.arrays.get(name) else value
        for name, value in inputs.for_reference(problem).items()
    }
    try:
        with np.errstate(all="ignore"):
            given = reference(arguments, dict(sizes))
    except Exception as error:
        if type(error).__name__ == "OutOfMemoryError":  # CuPy's: the device's memory is at fault, not the problem
            raise
        message = f"{path}: `reference` fails at {dict(sizes)}: {type(error).__name__}: {error}"
        raise BadProblem(message) from error
    outputs = [parameter for parameter in problem.parameters if parameter.role in {"out", "inout"}]
    if not isinstance(given, Mapping) or set(given) != {parameter.name for parameter in outputs}:
        names = ", ".join(parameter.name for parameter in outputs)
        message = f"{path}: `reference` must return a dict with exactly the outputs: {names}"
        raise BadProblem(message)
    arrays = module_of(next(iter(inputs.arrays.values()))) if inputs.arrays else np
    expected: dict[str, Array] = {}
    for parameter in outputs:
        array = arrays.asarray(given[parameter.name])
        if array.shape != shape_of(parameter, sizes):
            message = (
                f"{path}: `{parameter.name}` has shape {array.shape} at {dict(sizes)}, "
                f"parameters say {shape_of(parameter, sizes)}"
            )
            raise BadProblem(message)
        wanted = "f" if is_float(parameter.dtype) else "iu"
        if array.dtype.kind not in wanted or (wanted == "f" and array.dtype != np.float64):
            kind = "float64" if wanted == "f" else "an integer type"
            message = f"{path}: `{parameter.name}` is {array.dtype}; it must be {kind}"
            raise BadProblem(message)
        expected[parameter.name] = array
    return expected
