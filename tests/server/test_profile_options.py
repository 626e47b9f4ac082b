"""Choices of `profile` on the command line."""

import pytest

from cudanalyst.errors import BadRequest
from cudanalyst.server.commands.feedback import _metric_set


def test_the_sets_of_counters_are_known_by_name():
    assert [_metric_set(name) for name in ("quick", "standard", "full")] == ["quick", "standard", "full"]
    with pytest.raises(BadRequest, match="use quick, standard or full"):
        _metric_set("everything")
