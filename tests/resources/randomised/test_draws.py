"""Draws: within bounds, as likely as stated, the same everywhere, and not to be foreseen."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from cudanalyst.resources.randomised.draws import LEAST, MOST, RandomisedDelivery, draw

DESIGN = RandomisedDelivery(propensities={"profiler": 0.3, "analyzer": 0.5, "debugger": 0.8})


@given(
    st.dictionaries(
        st.sampled_from(["analyzer", "compiler", "debugger", "profiler"]), st.floats(LEAST, MOST), min_size=1
    )
)
def test_joint_propensities_of_all_draws_add_up_to_one(propensities):
    design = RandomisedDelivery(propensities=propensities)
    every = [some for size in range(5) for some in combinations(design.components, size)]
    assert sum(design.joint(some) for some in every) == pytest.approx(1)


@pytest.mark.parametrize("value", [0.0, 0.1999, 0.8001, 1.0, float("nan")])
def test_a_propensity_outside_the_bounds_is_refused(value):
    with pytest.raises(ValidationError, match=r"give 0.2 to 0.8"):
        RandomisedDelivery(propensities={"profiler": value})


def test_offers_come_as_often_as_their_propensities_say_and_independently():
    draws = [draw(b"secret", "ses_a", f"cand_{number}", DESIGN) for number in range(20_000)]
    for component, propensity in DESIGN.propensities.items():
        assert sum(component in one for one in draws) / len(draws) == pytest.approx(propensity, abs=0.012)
    both = sum({"profiler", "analyzer"} <= set(one) for one in draws) / len(draws)
    assert both == pytest.approx(0.15, abs=0.01)


def test_a_draw_depends_on_secret_session_and_candidate_and_on_nothing_else():
    draws = {
        (secret, session): [draw(secret, session, f"cand_{number}", DESIGN) for number in range(64)]
        for secret in (b"one", b"two")
        for session in ("ses_a", "ses_b")
    }
    assert len({tuple(one) for one in draws.values()}) == 4
    assert draws[b"one", "ses_a"] == [draw(b"one", "ses_a", f"cand_{number}", DESIGN) for number in range(64)]
