"""What an analysis may speak of: only what its design runs."""

import pytest

from cudanalyst.errors import BadRequest
from cudanalyst.resources.attribution.plan import AnalysisPlan, Claim
from cudanalyst.resources.design.file import read_design
from cudanalyst.resources.design.lock import lock
from cudanalyst.resources.design.models import Design
from tests.resources.design.test_file import HANDLE

START = f"""
name = "x"
checkpoints = [{{ id = "{HANDLE}" }}]
planners = [{{ name = "a", kind = "external" }}]
"""


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("[analysis]\nprimary = [{ index = 'banzhaf', players = ['compiler'] }]", "banzhaf of compiler is no effect here"),
        ("[analysis]\nclaims = [{ name = 'c', kind = 'positive', players = ['zz'] }]", "'zz' is no player"),
        ("[analysis]\nclaims = [{ name = 'c', kind = 'positive', players = ['analyzer'], planner = 'b' }]", "claims[0].planner: 'b'"),
        ("[analysis]\nclaims = [{ name = 'c', kind = 'regime_positive', against = 'RF' }]", "claims[0].against: RF is none of"),
        ("[analysis]\ncontrasts = [{ against = 'DP' }]", "contrasts[0].against: DP is none of `regimes` (P+F)"),
        ("[analysis.stopping]\neffects = [{ index = 'banzhaf', players = ['analyzer', 'debugger'] }]", "name 1 distinct"),
        ("kind = 'confirmatory'\nregimes = ['NP+F']", "analysis.primary_regime: P+F is not run"),
        ("[analysis]\nlevels = []", "analysis.levels: passed, the `primary_level`, is not among them"),
        ("[analysis]\nversion = '9'", "analysis.version: this is version"),
        ("[analysis]\nmargin = 1.0", "analysis.margin: two probabilities never differ by more than 1"),
        ("[analysis]\nclaims = [{ name = 'c', kind = 'equivalent', players = ['analyzer'], margin = 2 }]", "claims[0].margin"),
        ("[analysis]\nmargin = inf", "analysis.margin: input should be a finite number"),
        ("[analysis]\nseed = -5", "analysis.seed: input should be greater than or equal to 0"),
        ("[analysis]\nx = " + "[" * 3000 + "]" * 3000, "too deeply"),
    ],
)  # fmt: skip
def test_an_analysis_of_what_is_not_run_is_refused_in_words(more: str, said: str) -> None:
    with pytest.raises(BadRequest) as refused:
        read_design(START + more)
    assert said in str(refused.value)


def test_a_margin_of_log_speedup_may_be_more_than_one() -> None:
    claim = "{ name = 'c', kind = 'equivalent', players = ['analyzer'], level = 'score_modelled', margin = 1.5 }"
    assert read_design(f"{START}[analysis]\nclaims = [{claim}]").analysis.claims[0].margin == 1.5


def test_json_that_nests_too_deeply_is_refused() -> None:
    with pytest.raises(BadRequest, match="too deeply"):
        read_design('{"name": ' + "[" * 100_000)


def test_a_design_that_was_not_read_from_a_file_is_looked_at_when_it_is_locked() -> None:
    plan = AnalysisPlan(claims=(Claim(name="c", kind="positive", players=("compiler",)),))
    design = read_design(START).model_copy(update={"analysis": plan})
    with pytest.raises(BadRequest, match="'compiler' is no player"):
        lock(design, at=1.0)


def test_drawn_coalitions_are_analysed_as_drawn_whatever_the_number_of_players() -> None:
    drawn = read_design(START + "coalitions = { sample = 6, seed = 1 }")
    assert (drawn.analysis_plan.coalitions, read_design(START).analysis_plan.coalitions) == ("sampled", "all")
    assert drawn.canonical() == Design.model_validate(drawn.model_dump()).canonical()
