"""What a toolchain answers where it cannot be used at all. Pure but for the clock."""

import time
from typing import Literal

from cudanalyst.tools.result import MeasuredOn
from cudanalyst.tools.source import Source
from cudanalyst.tools.toolchain.protocol import Build, Capabilities


def no_capabilities(toolchain: Literal["cpu", "gpu"], reason: str) -> Capabilities:
    """Nothing can be done, all for one reason."""
    return Capabilities(
        build=False,
        execute=False,
        sanitize=(),
        profile=False,
        reasons=dict.fromkeys(("build", "execute", "sanitize", "profile"), reason),
        measured_on=MeasuredOn(toolchain=toolchain),
    )


def no_build(toolchain: Literal["cpu", "gpu"], source: Source, reason: str, started: float) -> Build:
    """Nothing was compiled, and why; `started` is a reading of `time.monotonic`, in seconds."""
    return Build(
        status="unavailable",
        source_id=source.id,
        reason=reason,
        duration_s=time.monotonic() - started,
        measured_on=MeasuredOn(toolchain=toolchain),
    )
