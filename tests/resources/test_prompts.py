"""The words in which a trial is put to a model."""

from cudanalyst.resources.delivery import DeliveredEvidence
from cudanalyst.resources.prompts import PLANNER, coder_prompt, planner_prompt

STATE = {"statement": "Add two vectors.", "base_status": "wrong", "source": "__global__ void add() {}"}
RACE = DeliveredEvidence(component="debugger", text="debugger.1 shared_race_raw at candidate.cu:21")


def test_prompts_of_two_coalitions_differ_in_the_evidence_alone() -> None:
    without, with_it = planner_prompt(**STATE), planner_prompt(**STATE, evidence=(RACE,))

    assert with_it == f"{without}\n\n# Feedback\n\n{RACE.text}"
    assert without.startswith(PLANNER)


def test_sections_that_a_trial_does_not_have_leave_no_heading() -> None:
    bare = coder_prompt(**STATE)

    assert [line for line in bare.splitlines() if line.startswith("# ")] == ["# Task", "# Program", "# Status"]


def test_a_coder_is_told_to_follow_a_plan_where_there_is_one() -> None:
    told = coder_prompt(**STATE, plan="Add a barrier.", references=("void other() {}",))

    assert told.endswith("# Plan\n\nAdd a barrier.\n\nFollow the plan.")
    assert "# Other programs\n\n```cuda\nvoid other() {}\n```" in told
