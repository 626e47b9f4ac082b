"""The planted game of the demo: v(S) from faults and edit book alone."""

import numpy as np
import pytest

from cudanalyst.clients.planted import planted_table
from cudanalyst.kernels.catalogue import Catalogue
from cudanalyst.kernels.editbook import applicable
from cudanalyst.resources.attribution.game import mask_of

PLAYERS = ("analyzer", "debugger", "profiler")
CATALOGUE = Catalogue.from_environment({})
STARTS = [(problem, start.name) for problem in CATALOGUE.ids for start in CATALOGUE.problem(problem).starts]


@pytest.mark.parametrize(("problem", "start"), STARTS)
def test_levels_are_nested_and_values_are_probabilities(problem: str, start: str) -> None:
    tables = [
        planted_table(CATALOGUE.problem(problem), start, PLAYERS, level)
        for level in ("compiled", "passed", "fast_modelled")
    ]
    assert all(np.all((table >= -1e-12) & (table <= 1 + 1e-12)) for table in tables)
    assert np.all(tables[0] >= tables[1] - 1e-12)
    assert np.all(tables[1] >= tables[2] - 1e-12)


def test_what_reveals_the_fault_lifts_the_value_by_the_planners_trust() -> None:
    problem = CATALOGUE.problem("matmul")
    source = next(start.source for start in problem.starts if start.name == "faulty")
    choices = len(applicable(problem, source))
    table = planted_table(problem, "faulty", PLAYERS, "passed", tremble=0.1)
    assert table[0] == pytest.approx(1 / choices)
    assert table[mask_of(("debugger",), PLAYERS)] == pytest.approx(0.9 + 0.1 / choices)


def test_two_faults_in_two_components_need_both() -> None:
    table = planted_table(CATALOGUE.problem("reduction"), "mixed", PLAYERS, "fast_modelled", tremble=0.0)
    both, alone = (
        mask_of(("debugger", "profiler"), PLAYERS),
        [mask_of((one,), PLAYERS) for one in ("debugger", "profiler")],
    )
    assert table[both] == 1
    assert [table[mask] for mask in alone] == [0, 0]
