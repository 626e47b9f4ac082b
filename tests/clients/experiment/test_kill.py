"""kill -9 at every stage: no trial is lost, and no answer that was on the disk is asked for again."""

from collections import Counter
from pathlib import Path

import pytest

from cudanalyst.clients.experiment.folder import Place
from cudanalyst.clients.experiment.journal import Answered, Began, Submitted
from tests.clients.experiment.conftest import SMALL, Runner, cells
from tests.clients.experiment.conftest import TRIALS as TRIALS_OF_TWO

ONE_STATE = SMALL.replace("generations = [0, 1]", "generations = [0]")
TRIALS = TRIALS_OF_TWO // 2
MOMENTS = [
    "call:freeze:1",  # a backbone is under way
    "call:experiment_start:1",  # laid down, but not written down
    "keep:began:1",
    "call:trial_next:2",  # a trial was given to a context, but not written down
    "ask:plan:3",
    "torn:answered:5",
    "keep:answered:6",
    "ask:code:4",
    "call:trial_submit:3",  # the server has an answer, but that is not written down
    "keep:submitted:3",
    "torn:submitted:2",
]


@pytest.fixture(scope="module")
def undisturbed(runner: Runner, tmp_path_factory: pytest.TempPathFactory) -> Place:
    file = tmp_path_factory.mktemp("undisturbed") / "small.toml"
    file.write_text(ONE_STATE)
    assert runner.run(file) == (0, ["finished", "0", str(TRIALS)])
    return Place(file)


@pytest.fixture(scope="module")
def killed(runner: Runner, tmp_path_factory: pytest.TempPathFactory) -> tuple[Place, list[set[str]], list[list[str]]]:
    """An experiment killed at each moment in turn, with what was on the disk and what was asked for after each kill."""
    file = tmp_path_factory.mktemp("killed") / "small.toml"
    file.write_text(ONE_STATE)
    place, known, bills = Place(file), list[set[str]](), list[list[str]]()
    for moment in (*MOMENTS, "none"):
        known.append({f"{one.trial} {one.role} {one.key}" for one in place.past() if isinstance(one, Answered)})
        before = _bill(file)
        status, _ = runner.run(file, moment)
        assert status == (0 if moment == "none" else -9), moment
        bills.append(_bill(file)[len(before) :])
    return place, known, bills


def _bill(file: Path) -> list[str]:
    paid = file.parent / "asked.txt"
    return paid.read_text().splitlines() if paid.exists() else []


def test_the_result_is_that_of_an_undisturbed_run(undisturbed: Place, killed: tuple[Place, object, object]) -> None:
    assert cells(killed[0]) == cells(undisturbed)
    assert {state for state, *_ in cells(killed[0]).values()} == {"evaluated"}


def test_no_answer_on_the_disk_is_asked_for_again(killed: tuple[Place, list[set[str]], list[list[str]]]) -> None:
    _, known, bills = killed
    again = [question for on_disk, bill in zip(known, bills, strict=True) for question in bill if question in on_disk]
    assert again == []
    assert sum(map(len, bills)) > 0


def test_what_is_paid_twice_was_under_way_at_a_kill(killed: tuple[Place, list[set[str]], list[list[str]]]) -> None:
    place, _, bills = killed
    answers = Counter(f"{one.trial} {one.role} {one.key}" for one in place.past() if isinstance(one, Answered))
    asked = Counter(question for bill in bills for question in bill)
    under_way = 2 * 2  # two plans and two sources at a time
    assert answers - asked == Counter()
    assert (asked - answers).total() <= under_way * len(MOMENTS)
    assert max(answers.values()) == 1 or all(
        question.startswith("backbone:") for question, count in answers.items() if count > 1
    )


def test_every_trial_is_submitted_and_noted_once(killed: tuple[Place, object, object]) -> None:
    place = killed[0]
    submitted = Counter(one.trial for one in place.past() if isinstance(one, Submitted))
    assert len(submitted) == TRIALS  # also those whose note was lost with a kill
    assert set(submitted.values()) == {1}
    assert sum(isinstance(one, Began) for one in place.past()) == 1
