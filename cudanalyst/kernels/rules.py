"""What a problem must satisfy beyond the types of its fields."""

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Final, NoReturn

import numpy as np

from cudanalyst.errors import BadProblem
from cudanalyst.kernels.draws import Draws
from cudanalyst.kernels.dtypes import NUMPY, is_float
from cudanalyst.kernels.expressions import ExpressionError, evaluate, evaluate_integer
from cudanalyst.kernels.generators import GeneratorError, alternatives, arguments_of, generate, gives_fractions
from cudanalyst.kernels.inputs import scalar_of, shape_of
from cudanalyst.kernels.problem import Edit, Parameter, Problem

SCALAR_DTYPES: Final = ("i32", "i64", "f32", "f64")
MAX_ELEMENTS: Final = 2**32
"""Of one buffer: enough to leave 32-bit indices behind; more fits no ordinary device beside its reference."""
_IDENTIFIER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_RESERVED: Final = frozenset({"stream", "workspace", "workspace_bytes", "solve", "init"})


def check_problem(path: Path, problem: Problem) -> None:
    """Checks everything that `problem.toml` states.

    Raises:
        BadProblem: Names the file and the key.
    """
    if problem.id != path.parent.name:
        _refuse(path, "id", f"is `{problem.id}` but the folder is called `{path.parent.name}`; make them equal")
    _check_sizes(path, problem)
    _check_parameters(path, problem)
    _check_independent(path, problem)
    for group, sets in problem.sizes.items():
        for position, sizes in enumerate(sets):
            where = f"sizes.{group}.{position}"
            _check_expressions(path, problem, sizes, where)
            for index, parameter in enumerate(problem.parameters):
                _check_parameter(path, f"parameters.{index}", parameter, sizes, where)


def check_edit_book(path: Path, problem: Problem) -> None:
    """Checks everything that `edits.toml` states.

    Raises:
        BadProblem: Names the file and the key.
    """
    _unique(path, "starts", (start.name for start in problem.starts))
    _unique(path, "faults", (fault.id for fault in problem.faults))
    _unique(path, "edits", (edit.id for edit in problem.edits))
    known = {fault.id for fault in problem.faults}
    for position, start in enumerate(problem.starts):
        for fault in start.faults:
            if fault not in known:
                _refuse(path, f"starts.{position}.faults", f"names `{fault}`, which is not in [[faults]]")
    for position, fault_entry in enumerate(problem.faults):
        if not fault_entry.visible_in or not all(fault_entry.visible_in):
            _refuse(path, f"faults.{position}.visible_in", "is empty; list at least one component that reveals it")
        if not any(fault_entry.id in start.faults for start in problem.starts):
            _refuse(path, f"faults.{position}.id", f"`{fault_entry.id}` is in no start; add it to one or drop it")
    for position, edit in enumerate(problem.edits):
        _check_edit(path, f"edits.{position}", edit, problem)


def _check_edit(path: Path, where: str, edit: Edit, problem: Problem) -> None:
    known = {fault.id for fault in problem.faults}
    for key, faults in (("fixes", edit.fixes), ("silences", edit.silences)):
        for fault in faults:
            if fault not in known:
                _refuse(path, f"{where}.{key}", f"names `{fault}`, which is not in [[faults]]")
    if bool(edit.fixes) != (edit.effect == "fix"):
        _refuse(path, f"{where}.effect", f"is `{edit.effect}`, and `fixes` lists {len(edit.fixes)} fault(s)")
    if (edit.breaks is not None) != (edit.effect == "harm"):
        _refuse(
            path, f"{where}.breaks", "goes with the effect `harm` and only with it: name the level that it keeps from"
        )
    if not edit.search or edit.search == edit.replace:
        _refuse(path, f"{where}.search", "is empty or equal to `replace`")
    if not any(start.source.count(edit.search) == 1 for start in problem.starts):
        counts = ", ".join(f"{start.name}: {start.source.count(edit.search)}" for start in problem.starts)
        _refuse(path, f"{where}.search", f"(edit `{edit.id}`) occurs exactly once in no start ({counts})")
    for cue in (*edit.cues, *(cue for group in edit.cue_groups for cue in group)):
        try:
            re.compile(cue)
        except re.error as error:
            _refuse(path, f"{where}.cues", f"`{cue}` is not a regular expression: {error}", error)


def _check_sizes(path: Path, problem: Problem) -> None:
    for group in ("test", "eval", "held_out"):
        if not problem.sizes.get(group):
            _refuse(path, f"sizes.{group}", "is missing or empty; list at least one table of sizes")
    names = problem.size_names
    for name in names:
        if not _IDENTIFIER.fullmatch(name):
            _refuse(path, "sizes.test.0", f"`{name}` is not an identifier")
    for group, sets in problem.sizes.items():
        for position, sizes in enumerate(sets):
            where = f"sizes.{group}.{position}"
            if tuple(sizes) != names:
                _refuse(path, where, f"names ({', '.join(sizes)}), sizes.test.0 ({', '.join(names)}); make them equal")
            if any(value < 1 for value in sizes.values()):
                _refuse(path, where, "holds a size below 1")


def _check_parameters(path: Path, problem: Problem) -> None:
    _unique(path, "parameters", (parameter.name for parameter in problem.parameters))
    if not any(parameter.role in {"out", "inout"} for parameter in problem.parameters):
        _refuse(path, "parameters", "has no output; give one the role `out`")
    for index, parameter in enumerate(problem.parameters):
        where = f"parameters.{index}"
        if not _IDENTIFIER.fullmatch(parameter.name) or parameter.name in _RESERVED:
            _refuse(path, f"{where}.name", f"`{parameter.name}` is not an identifier, or is taken by the contract")
        if parameter.role == "scalar":
            if parameter.shape:
                _refuse(path, f"{where}.shape", "is given for a scalar; remove it")
            if parameter.dtype not in SCALAR_DTYPES:
                _refuse(path, f"{where}.dtype", f"of a scalar must be one of {', '.join(SCALAR_DTYPES)}")
        elif not parameter.shape:
            _refuse(path, f"{where}.shape", 'is missing; list the extents, e.g. ["n"]')
        elif parameter.value is not None:
            _refuse(path, f"{where}.value", "is for scalars only; remove it or set the role to `scalar`")


def _check_independent(path: Path, problem: Problem) -> None:
    name = problem.independent
    if name is None:
        return
    if name not in problem.size_names:
        _refuse(path, "independent", f"is `{name}`, which is no size; sizes are: {', '.join(problem.size_names)}")
    for parameter in problem.parameters:
        if parameter.role in {"out", "inout"} and parameter.shape.count(name) != 1:
            _refuse(
                path, "independent", f"is `{name}`: exactly one extent of output `{parameter.name}` must be that name"
            )


def _check_parameter(path: Path, key: str, parameter: Parameter, sizes: dict[str, int], where: str) -> None:
    if parameter.role == "scalar":
        try:
            scalar_of(parameter, sizes)
        except ExpressionError as error:
            _refuse(path, f"{key}.value", f"{error} (at {where})", error)
        return
    try:
        shape = shape_of(parameter, sizes)
    except ExpressionError as error:
        _refuse(path, f"{key}.shape", f"{error} (at {where})", error)
    count = 1
    for extent in shape:
        count *= extent
    if not 0 < count <= MAX_ELEMENTS:
        _refuse(path, f"{key}.shape", f"gives {count} elements at {where}; 1 to {MAX_ELEMENTS} are possible")
    for choice in alternatives(parameter.generator):
        try:
            # One element of each kind: what fails for a whole buffer fails for it.
            generate(choice, Draws(), (1,) * len(shape), sizes)
            bounds = [*arguments_of(choice, sizes), *([count - 1] if choice == "permutation" else [])]
            fractions = gives_fractions(choice)
        except GeneratorError as error:
            _refuse(path, f"{key}.generator", f"{error} (at {where})", error)
        if fractions and not is_float(parameter.dtype) and parameter.role != "out":
            _refuse(path, f"{key}.generator", f"`{choice}` gives fractions, the buffer is {parameter.dtype}")
        if not is_float(parameter.dtype) and not fractions:
            limits = np.iinfo(NUMPY[parameter.dtype])
            for bound in bounds:
                if not limits.min <= bound <= limits.max:
                    text = f"`{choice}` reaches {bound}, beyond what {parameter.dtype} holds (at {where})"
                    _refuse(path, f"{key}.generator", text)


def _check_expressions(path: Path, problem: Problem, sizes: dict[str, int], where: str) -> None:
    expressions = {
        "tolerance.reduction": problem.tolerance.reduction,
        "work.bytes_moved": problem.work.bytes_moved,
        "work.flops": problem.work.flops,
    }
    for key, expression in expressions.items():
        try:
            if key == "work.bytes_moved":
                evaluate_integer(expression, sizes)
            elif evaluate(expression, sizes) < 0:
                _refuse(path, key, f"is negative at {where}")
        except ExpressionError as error:
            _refuse(path, key, f"{error} (at {where})", error)


def _unique(path: Path, key: str, names: Iterable[str]) -> None:
    for name, count in Counter(names).items():
        if count > 1:
            _refuse(path, key, f"has `{name}` {count} times; names must differ")


def _refuse(path: Path, key: str, text: str, cause: Exception | None = None) -> NoReturn:
    message = f"{path}: key `{key}` {text}"
    raise BadProblem(message) from cause
