"""Events: what is appended is what is read, in order, and reading mints nothing."""

import typing

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from pydantic import ValidationError

from cudanalyst.errors import BadRequest, StoreError
from cudanalyst.kernels.problem import Component
from cudanalyst.resources import events as events_module
from cudanalyst.resources.events import EVENT, Event, SessionStarted, ToolFinished, TrialEvaluated
from cudanalyst.resources.outcomes import outcome_of
from cudanalyst.resources.randomised.draws import LEAST, MOST, RandomisedDelivery
from cudanalyst.resources.store import Scope, Store
from cudanalyst.resources.trials import Outcome

KINDS = typing.get_args(typing.get_args(Event)[0])
FINITE = st.floats(allow_nan=False, allow_infinity=False)
PROPENSITIES = st.dictionaries(st.sampled_from(typing.get_args(Component)), st.floats(LEAST, MOST), min_size=1)


def events_of(kind):
    """Any event of a kind, with numbers that JSON can carry: others are refused where they are made."""
    fields = {}
    for name, field in kind.model_fields.items():
        if field.annotation is float:
            fields[name] = FINITE
        elif field.annotation == float | None:
            fields[name] = st.one_of(st.none(), FINITE)
        elif name == "propensities":
            fields[name] = PROPENSITIES
        elif name == "randomise":
            fields[name] = st.one_of(st.none(), st.builds(RandomisedDelivery, propensities=PROPENSITIES))
        elif field.annotation is Outcome:
            fields[name] = st.builds(Outcome, modelled_speedup=FINITE)
    return st.builds(kind, **fields)


EVENTS = st.one_of([events_of(kind) for kind in KINDS])


def test_every_event_class_of_the_module_is_in_the_union_under_its_own_tag() -> None:
    tags = [kind.model_fields["kind"].default for kind in KINDS]
    classes = [
        one
        for one in vars(events_module).values()
        if isinstance(one, type) and "kind" in getattr(one, "model_fields", {})
    ]
    assert len(tags) == len(set(tags))
    assert set(classes) == set(KINDS)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_an_event_survives_its_json(kind) -> None:
    @settings(max_examples=15)
    @given(event=events_of(kind))
    def survives(event) -> None:
        assert EVENT.validate_json(event.model_dump_json()) == event

    survives()


def test_no_event_has_an_identity_or_a_clock_of_its_own() -> None:
    for kind in KINDS:
        assert not {"id", "at", "time", "timestamp", "seq"} & set(kind.model_fields), kind
        assert all(field.default_factory is None for field in kind.model_fields.values()), kind


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(ValidationError):
        EVENT.validate_json('{"kind": "coffee_made"}')


@pytest.mark.parametrize("number", [float("inf"), float("-inf"), float("nan")])
def test_a_number_that_json_cannot_carry_is_refused_where_it_is_made(number: float) -> None:
    with pytest.raises(ValidationError):
        ToolFinished(call="c", tool="run", status="passed", seconds=number)
    outcome = outcome_of("wrong", "compiled", "passed", 1.0).model_copy(update={"modelled_speedup": number})
    with pytest.raises(ValidationError):
        TrialEvaluated(experiment="e", trial="t", outcome=outcome)


def test_reading_twice_gives_equal_values(store: Store) -> None:
    store.append_many(Scope("ada"), [SessionStarted(client=str(i)) for i in range(5)])
    assert store.events("ada") == store.events("ada")


def test_text_that_is_not_unicode_is_refused_and_nothing_is_appended(store: Store) -> None:
    with pytest.raises(BadRequest, match="not valid Unicode"):
        store.append_many(Scope("ada"), [SessionStarted(), SessionStarted(client="\ud800")])
    assert store.events("ada") == []


def test_an_event_of_a_newer_version_is_an_error_that_says_to_upgrade(store: Store) -> None:
    with store.transaction():
        store._database.execute(
            "INSERT INTO events (at, owner, kind, body) VALUES (0, 'ada', 'x', '{\"kind\": \"x\"}')"
        )
    with pytest.raises(StoreError, match="Upgrade cudanalyst"):
        store.events("ada")


class Appending(RuleBasedStateMachine):
    """Two stores on one folder against a list."""

    folder: typing.ClassVar
    runs: typing.ClassVar[int] = 0

    @initialize()
    def begin(self) -> None:
        type(self).runs += 1
        self.path = self.folder / str(self.runs)
        self.stores = [Store.open(self.path), Store.open(self.path)]
        self.model: list[tuple[str, Event]] = []

    @rule(which=st.integers(0, 1), owner=st.sampled_from(["ada", "bob"]), event=EVENTS)
    def append(self, which: int, owner: str, event: Event) -> None:
        self.stores[which].append(Scope(owner), event)
        self.model.append((owner, event))

    @rule(which=st.integers(0, 1), events=st.lists(EVENTS, max_size=4))
    def append_many(self, which: int, events: list[Event]) -> None:
        self.stores[which].append_many(Scope("ada"), events)
        self.model.extend(("ada", event) for event in events)

    @rule(which=st.integers(0, 1))
    def reopen(self, which: int) -> None:
        self.stores[which].close()
        self.stores[which] = Store.open(self.path)

    @precondition(lambda self: hasattr(self, "model"))
    @invariant()
    def both_hold_the_list(self) -> None:
        for store in self.stores:
            for owner in ("ada", "bob"):
                held = [recorded.event for recorded in store.events(owner)]
                assert held == [event for whose, event in self.model if whose == owner]

    def teardown(self) -> None:
        for store in getattr(self, "stores", []):
            store.close()


def test_any_order_of_appending_and_reopening_keeps_every_owners_events(tmp_path) -> None:
    Appending.folder = tmp_path
    case = Appending.TestCase
    case.settings = settings(max_examples=12, stateful_step_count=10, deadline=None)
    case("runTest").runTest()
