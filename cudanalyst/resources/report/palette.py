"""Colours by role, in light and dark: one table for the page's variables, its plots, and pictures that stand alone."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

STEPS: Final = 10
"""Steps of the sequential and the diverging scale."""
_SHARES: Final = (0, 8, 16, 23, 30, 36, 84, 88, 92, 96, 100)
"""Per cent of the full colour at each step; the jump in the middle keeps text readable on every one."""

_AWAY: Final = (0, 18, 36, 84, 92, 100)
"""The same for the diverging scale, from its middle."""

_ROLES: Final[dict[str, tuple[str, str]]] = {
    "paper": ("#fbfaf7", "#14181b"),
    "card": ("#ffffff", "#1b2024"),
    "ink": ("#1d2327", "#e8e6e1"),
    "soft": ("#5d676e", "#a0a8ad"),
    "rule": ("#e2dfd7", "#31383d"),
    "up": ("#0f766e", "#4fc4b6"),
    "down": ("#b4461f", "#f08a5d"),
    "flat": ("#8d9499", "#7b858b"),
    "truth": ("#a21caf", "#e48bf0"),
    "level0": ("#5b6b8c", "#9db0d6"),
    "level1": ("#0f766e", "#4fc4b6"),
    "level2": ("#a86400", "#f0b04e"),
    "level3": ("#6d5bd0", "#b0a4f5"),
    "level4": ("#b4461f", "#f08a5d"),
    "level5": ("#1d2327", "#e8e6e1"),
    "who0": ("#2563a8", "#7db4ee"),
    "who1": ("#b4461f", "#f08a5d"),
    "who2": ("#0f766e", "#4fc4b6"),
    "who3": ("#8a4fb5", "#cf9bf0"),
    "who4": ("#806400", "#d9bd4a"),
    "who5": ("#1d2327", "#e8e6e1"),
    "seq-lo": ("#f1efe8", "#262d31"),
    "seq-hi": ("#0d6b63", "#6fdccf"),
    "div-lo": ("#a53f1b", "#f08a5d"),
    "on-lo": ("#1d2327", "#e8e6e1"),
    "on-hi": ("#ffffff", "#0c1a18"),
    "help-bg": ("#e3f2ef", "#17332f"),
    "hurt-bg": ("#fbe9e1", "#3a241a"),
    "open-bg": ("#f1efe8", "#252b2f"),
}


def _mixed(scheme: int) -> dict[str, str]:
    found = {role: colours[scheme] for role, colours in _ROLES.items()}
    for step, share in enumerate(_SHARES):
        found[f"seq{step}"] = _mix(found["seq-lo"], found["seq-hi"], share)
    for step in range(STEPS + 1):
        away = _AWAY[abs(step - STEPS // 2)]
        found[f"div{step}"] = _mix(found["seq-lo"], found["seq-hi" if step > STEPS // 2 else "div-lo"], away)
    return found


def _mix(low: str, high: str, share: int) -> str:
    parts = [(int(low[k : k + 2], 16), int(high[k : k + 2], 16)) for k in (1, 3, 5)]
    return "#" + "".join(f"{round(one + (other - one) * share / 100):02x}" for one, other in parts)


LIGHT: Final[Mapping[str, str]] = _mixed(0)
DARK: Final[Mapping[str, str]] = _mixed(1)
# matplotlib knows no CSS variables, so in a page each role is drawn in a colour that nothing else uses and exchanged afterwards.
TOKENS: Final[Mapping[str, str]] = {role: f"#fe01{k:02x}" for k, role in enumerate(LIGHT)}
_current: ContextVar[Mapping[str, str]] = ContextVar("palette", default=TOKENS)


class _Colours:
    """Colours of the palette in use, by role."""

    def __getitem__(self, role: str) -> str:
        return _current.get()[role]


COLOUR: Final = _Colours()


@contextmanager
def drawn_in(palette: Mapping[str, str]) -> Iterator[None]:
    """Draws with the colours of a palette instead of the page's variables."""
    token = _current.set(palette)
    try:
        yield
    finally:
        _current.reset(token)


def css() -> str:
    """The variables of both schemes, as a style sheet."""
    light, dark = (" ".join(f"--{role}: {colour};" for role, colour in found.items()) for found in (LIGHT, DARK))
    return (
        f":root {{ color-scheme: light dark; {light} }}\n@media (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}\n"
    )
