"""What a check reports: one module apart, since both the toolchains and `debug` speak of findings."""

from typing import Literal

from cudanalyst.values import Frozen

Check = Literal["memcheck", "racecheck", "initcheck", "synccheck"]
ALL_CHECKS: tuple[Check, ...] = ("memcheck", "racecheck", "initcheck", "synccheck")


class Side(Frozen):
    """The other access of a race, or the allocation or barrier that a finding refers to."""

    access: str | None = None
    file: str | None = None
    line: int | None = None
    thread: tuple[int, int, int] | None = None
    block: tuple[int, int, int] | None = None


class Finding(Frozen):
    """One defect, counted over all the threads that met it; thread and block are of the first."""

    check: Check
    kind: str
    """Stable code, e.g. `invalid_global_write`, `shared_race_raw`, `uninitialized_global_read`."""
    message: str
    kernel: str | None = None
    file: str | None = None
    line: int | None = None
    thread: tuple[int, int, int] | None = None
    block: tuple[int, int, int] | None = None
    address: str | None = None
    """Allocation and offset, e.g. `x[4096 B] + 4096`; never a raw pointer on the CPU engine."""
    other: Side | None = None
    count: int = 1
