"""The documented file is one that is read."""

import re
from pathlib import Path

from cudanalyst.resources.design.file import read_design
from cudanalyst.resources.design.models import Design

PAGE = (Path(__file__).parents[3] / "docs" / "experiments.md").read_text("utf-8")


def test_the_example_is_read_and_every_field_is_named() -> None:
    (example,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    design = read_design(example)
    assert design.planner("weak-a").plans_from == ("strong-a",)
    assert [name for name in Design.model_fields if name not in PAGE] == []
