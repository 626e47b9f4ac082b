"""Draws in the store: one a candidate, whoever asks, however many ask at once."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from cudanalyst.resources.events import CandidateJudged, DeliveryRandomised, EvidenceRequested, EvidenceWithheld
from cudanalyst.resources.randomised.delivery import Deliveries
from cudanalyst.resources.randomised.draws import RandomisedDelivery
from cudanalyst.resources.store import Scope, Store
from cudanalyst.tools.source import Source

DESIGN = RandomisedDelivery(propensities={"profiler": 0.5, "compiler": 0.5})
SECRET = b"s" * 32


@pytest.fixture
def store(tmp_path):
    with Store.open(tmp_path / "store") as opened:
        yield opened


def begun(store, design=DESIGN):
    session = store.start_session("ada", None, design)
    return Scope("ada", session, session)


def kinds(store, kind):
    return [one.event for one in store.events("ada") if isinstance(one.event, kind)]


def withheld(deliveries, scope, component="profiler"):
    """A source whose draw withholds a component; drawing it needs no record, for the test knows the secret."""
    for number in range(1000):
        source = Source(text=f"// {number}", problem="matmul")
        if component not in deliveries_draw(scope, source):
            return source
    return pytest.fail("no such draw")


def deliveries_draw(scope, source):
    from cudanalyst.resources.randomised.draws import draw

    return draw(SECRET, scope.session, source.id, DESIGN)


def test_two_servers_that_are_asked_at_once_record_one_draw(store, tmp_path):
    scope, source = begun(store), Source(text="// a", problem="matmul")
    with Store.open(tmp_path / "store") as second, ThreadPoolExecutor(8) as pool:
        servers = [Deliveries(store, SECRET), Deliveries(second, SECRET)]
        offers = list(pool.map(lambda number: servers[number % 2].offer(scope, "run", source), range(16)))
    assert len({one.offered for one in offers}) == 1
    assert len(kinds(store, DeliveryRandomised)) == 1


def test_decisions_are_numbered_in_their_session(store):
    scope, other, deliveries = begun(store), begun(store), Deliveries(store, SECRET)
    for text in ("a", "b"):
        deliveries.offer(scope, "run", Source(text=text, problem="matmul"))
    deliveries.offer(other, "run", Source(text="a", problem="matmul"))
    assert [one.number for one in kinds(store, DeliveryRandomised)] == [1, 2, 1]


def test_the_first_call_is_withheld_and_the_second_is_a_request_after_a_restart_too(store):
    scope = begun(store)
    source = withheld(Deliveries(store, SECRET), scope)
    first = Deliveries(store, SECRET).offer(scope, "profile", source)
    second = Deliveries(store, SECRET).offer(scope, "profile", source)
    assert (first.withheld, second.withheld) == ("profiler", None)
    assert [one.component for one in kinds(store, EvidenceWithheld)] == ["profiler"]
    assert [one.component for one in kinds(store, EvidenceRequested)] == ["profiler"]


def test_what_is_not_randomised_is_never_withheld(store):
    scope, deliveries = begun(store), Deliveries(store, SECRET)
    for number in range(20):
        source = Source(text=f"// {number}", problem="matmul")
        assert deliveries.offer(scope, "debug", source).withheld is None
        assert deliveries.offer(scope, "run", source).withheld is None


def test_sessions_that_did_not_opt_in_programs_and_other_tools_draw_nothing(store):
    plain, scope, deliveries = begun(store, None), begun(store), Deliveries(store, SECRET)
    candidate = Source(text="// a", problem="matmul")
    assert deliveries.offer(plain, "profile", candidate) is None
    assert deliveries.offer(scope, "freeze", candidate) is None
    assert deliveries.offer(scope, "profile", Source(text="int main() {}")) is None
    assert deliveries.offer(Scope("ada"), "profile", candidate) is None
    assert kinds(store, DeliveryRandomised) == []


def test_a_candidate_is_judged_once_a_session(store):
    scope, deliveries = begun(store), Deliveries(store, SECRET)
    verdict = CandidateJudged(candidate="cand_a", problem="matmul", base_status="wrong")
    assert deliveries.needs_verdict(scope, "cand_a")
    for _ in range(2):
        deliveries.judge(scope, verdict)
    assert not Deliveries(store, SECRET).needs_verdict(scope, "cand_a")
    assert kinds(store, CandidateJudged) == [verdict]


def test_a_draw_that_a_power_cut_loses_comes_out_the_same_again(store):
    scope, source = begun(store), Source(text="// a", problem="matmul")
    once = Deliveries(store, SECRET).offer(scope, "run", source)
    assert set(once.offered) == set(deliveries_draw(scope, source))


def test_the_messages_of_a_withheld_compiler_are_hidden_elsewhere_only(store):
    scope, deliveries = begun(store), Deliveries(store, SECRET)
    source = withheld(deliveries, scope, "compiler")
    assert deliveries.offer(scope, "run", source).hides_compiler
    deliveries.offer(scope, "compile", source)
    assert not deliveries.offer(scope, "compile", source).hides_compiler
