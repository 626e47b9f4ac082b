"""The short answer of the tool `attribution`: nothing helps by chance, and a look in the middle decides nothing."""

import numpy as np
import pytest

from cudanalyst.resources.attribution.analysis import analyse
from cudanalyst.resources.attribution.plan import AnalysisPlan
from cudanalyst.server.attributing import in_words
from tests.resources.attribution.trial_rows import full

PLAN = AnalysisPlan(levels=("passed",))
ANALYZER = np.array([0.1 + 0.8 * (mask & 1) for mask in range(8)])


def said(table, **options) -> str:
    return in_words(analyse(full(table), PLAN), **options)


def test_a_clear_effect_is_said_to_help() -> None:
    assert said(ANALYZER).startswith("passed: analyzer helps most, Banzhaf +0.80 (95 % ")


def test_in_the_middle_of_an_experiment_the_same_effect_only_leads() -> None:
    assert said(ANALYZER, interim=True).startswith("passed: analyzer leads so far, Banzhaf +0.80")


@pytest.mark.parametrize("table", [np.full(8, 0.5), np.zeros(8), np.ones(8), 1 - ANALYZER])
@pytest.mark.parametrize("interim", [True, False])
def test_where_every_interval_reaches_zero_nothing_is_said_to_help(table, interim: bool) -> None:
    words = said(table, interim=interim)
    assert "nothing clearly helps" in words
    assert "most" not in words
