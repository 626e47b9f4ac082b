"""What the demo can be asked to do; apart from the demo, so that the command's help loads nothing heavy."""

from pathlib import Path

from cudanalyst.kernels.problem import Component
from cudanalyst.values import Frozen

PROBLEMS = ("matmul", "reduction", "transpose")
PLAYERS: tuple[Component, ...] = ("analyzer", "debugger", "profiler")


class DemoOptions(Frozen):
    """What the demo does."""

    problems: tuple[str, ...] = PROBLEMS
    players: tuple[Component, ...] = PLAYERS
    repeats: int = 8
    """Blocks per checkpoint; each holds every coalition once."""
    seed: int = 2026
    folder: Path = Path("demo-report")
    truth: bool = True
    """Whether to evaluate every edit, to compare the estimate with the exact value."""
