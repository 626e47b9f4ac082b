"""Every instruction form and every function of CUDA, on inputs at the edges: the engine gives what an H200 gave."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from cudanalyst.tools.engine.build import EngineInstallation
from cudanalyst.tools.toolchain.discovery import Toolkit
from tests.tools.engine.arithmetic.bounds import (
    BOUNDS,
    bound_of,
    errors,
    exact_values,
    far_apart,
    flushed,
    halves,
    values,
)
from tests.tools.engine.arithmetic.forms.families import FAMILIES, forms_of
from tests.tools.engine.arithmetic.functions import FUNCTION_FAMILIES, functions_of
from tests.tools.engine.arithmetic.inputs import inputs
from tests.tools.engine.arithmetic.record import Record, ambiguous, digest_of, kept, launches, load
from tests.tools.engine.arithmetic.run import APPROXIMATE, TOTAL

HERE = Path(__file__).parent
RECORDED = HERE / "recorded" / "h200-driver580-cuda13.0"
EVERY = (*FAMILIES, *FUNCTION_FAMILIES)
Row = npt.NDArray[np.generic]


def on_engine(family: str, engine: EngineInstallation, toolkit: Toolkit, folder: Path) -> dict[str, Row]:
    """All results of a family, from a process of its own."""
    library = engine.library_dir / "libcuda.so.1"
    argv = [
        sys.executable,
        "-m",
        "tests.tools.engine.arithmetic.run",
        library,
        folder,
        family,
        "--nvcc",
        toolkit.nvcc,
        "--all",
    ]
    environment = {**os.environ, "PYTHONPATH": str(HERE.parents[3]), "CUDANALYST_THREADS": "1"}
    ran = subprocess.run(argv, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    with np.load(folder / f"{family}.npz") as rows:
        return dict(rows)


def output_kinds(family: str) -> dict[str, str]:
    """The format of each form's result."""
    return {one.name: one.output for one in (forms_of(family) if family in FAMILIES else functions_of(family))}


def first_difference(name: str, family: str, ours: Row, theirs: Row, index: npt.NDArray[np.int64]) -> str:
    """An input with both results."""
    launch = launches(family)[name]
    at = int(np.flatnonzero(ours != theirs)[0])
    given = " ".join(hex(int(column[index[at]])) for column in inputs(launch.inputs))
    return f"{name} of {given} is {int(theirs[at]):#x} on the GPU and {int(ours[at]):#x} here"


def differences(family: str, results: dict[str, Row], record: Record) -> Iterator[str]:
    """What is wrong, a line a form."""
    index, kinds, by_name = kept(family), output_kinds(family), launches(family)
    for name, theirs in record.rows.items():
        ours, bound = results[name][index], bound_of(name) if family in APPROXIMATE else None
        given = by_name[name].inputs
        ours = np.where(ambiguous(given)[index], theirs, ours)
        if bound is not None:
            if bad := np.count_nonzero(far_apart(ours, theirs, kinds[name], bound)):
                where = np.flatnonzero(far_apart(ours, theirs, kinds[name], bound)) % index.size
                yield f"{bad} results: " + first_difference(name, family, ours[where], theirs[where], index[where])
        elif not np.array_equal(ours, theirs):
            yield first_difference(name, family, ours, theirs, index)
        elif digest_of(results[name], given) != record.digests[name]:
            yield f"{name}: one of the results whose digest alone is kept differs"


def inexact(family: str, rows: dict[str, Row], index: npt.NDArray[np.int64]) -> Iterator[str]:
    """Results that are farther from the exact value than their bound, a line a form."""
    kinds = output_kinds(family)
    by_name = launches(family)
    for name, row in rows.items():
        bound, kind = bound_of(name), kinds[name]
        if bound.exact is None:
            continue
        given = by_name[name].inputs
        if any(k not in {"f16", "bf16", "f32", "f64", "f16x2", "bf16x2"} for k in given):
            continue
        columns = [values(*halves(column[index], k)) for column, k in zip(inputs(given), given, strict=True)]
        plain, single = halves(row, kind)
        if ".ftz." in name and kind == "f32":
            columns = [flushed(column) for column in columns]
        error = errors(plain, single, exact_values(name, columns), bound.absolute)
        if np.max(error) > bound.exact:
            at = int(np.argmax(error))
            yield f"{name}: {float(error[at]):.2f} units from the exact value at {[float(c[at]) for c in columns]}"


@pytest.mark.parametrize("family", EVERY)
def test_every_form_gives_what_the_gpu_gave(
    family: str, engine: EngineInstallation, toolkit: Toolkit, tmp_path: Path
) -> None:
    results = on_engine(family, engine, toolkit, tmp_path)
    assert set(results) == set(output_kinds(family)), "a form was refused"
    assert all(row.size == TOTAL for row in results.values())
    record, index = load(RECORDED / f"{family}.xz"), kept(family)
    assert list(differences(family, results, record)) == []
    if family in APPROXIMATE:
        assert list(inexact(family, {name: row[index] for name, row in results.items()}, index)) == []
        assert list(inexact(family, record.rows, index)) == []


def test_every_bound_belongs_to_a_form() -> None:
    names = [name for family in APPROXIMATE for name in output_kinds(family)]
    used = {line for line in BOUNDS for name in names if bound_of(name) is BOUNDS[line]}
    assert set(BOUNDS) == used
