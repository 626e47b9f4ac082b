"""What earlier versions stored, and what this one stores, as files: both are read, and none of them may be edited."""

import json
from pathlib import Path

import pytest

from cudanalyst.resources.codec import decode
from cudanalyst.resources.events import EVENT
from cudanalyst.resources.trial_state import ExperimentSpec

DATA = Path(__file__).parent / "data"
EVENTS = (DATA / "trial_events_v2.jsonl").read_text("utf-8").splitlines()


def test_an_experiment_of_the_first_version_is_read_with_what_it_could_not_say_as_default() -> None:
    spec = decode(ExperimentSpec, (DATA / "experiment_v1.json").read_bytes())
    assert spec.design is None
    assert spec.experiment.regimes == ("P+F",)
    assert {(one.regime, one.sentinel, one.horizon, one.donor) for one in spec.trials} == {("P+F", False, 1, None)}


def test_an_experiment_of_a_design_is_read_with_its_design() -> None:
    data = (DATA / "experiment_v2.json").read_bytes()
    spec = decode(ExperimentSpec, data)
    assert spec.design is not None
    assert spec.experiment.design == spec.design.id
    # Whatever was stored is kept: later versions add to it.
    stored, read = json.loads(data), json.loads(spec.model_dump_json())
    assert stored.items() <= read.items() or all(_within(stored[key], read[key]) for key in stored)


def _within(stored: object, read: object) -> bool:
    if isinstance(stored, dict) and isinstance(read, dict):
        return all(key in read and _within(stored[key], read[key]) for key in stored)
    if isinstance(stored, list) and isinstance(read, list):
        return len(stored) == len(read) and all(map(_within, stored, read))
    return stored == read


@pytest.mark.parametrize("line", EVENTS, ids=lambda line: json.loads(line)["kind"])
def test_an_event_as_this_version_stores_it_is_read(line: str) -> None:
    assert _within(json.loads(line), json.loads(EVENT.validate_json(line).model_dump_json()))
