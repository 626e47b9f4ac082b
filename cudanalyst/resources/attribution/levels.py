"""Success levels: nested, a total order within each ladder, so that a better outcome never counts as a lost one."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from cudanalyst.resources.trials import Outcome

SUCCESS: Final[Mapping[str, Callable[[Outcome], bool]]] = MappingProxyType(
    {
        "compiled": lambda outcome: outcome.compiled,
        "passed": lambda outcome: outcome.passed,
        "fast_modelled": lambda outcome: outcome.fast_modelled,
        "improved": lambda outcome: outcome.improved,
        "regressed": lambda outcome: outcome.regressed,
    }
)
"""How an outcome is read at each level; `improved` and `regressed` are relative to the checkpoint, not rungs."""

TITLES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "compiled": "compiled",
        "passed": "passed",
        "fast_modelled": "fast (modelled)",
        "fast": "fast (measured)",
        "improved": "improved on its checkpoint",
        "regressed": "regressed from its checkpoint",
    }
)


def title(level: str) -> str:
    """A level's name for people; modelled speed always says that it is modelled."""
    return TITLES.get(level, level)
