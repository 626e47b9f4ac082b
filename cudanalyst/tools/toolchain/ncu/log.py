"""What Nsight Compute says while it collects: passes, warnings and failures. Pure."""

import re
from dataclasses import dataclass
from typing import Final

from cudanalyst.tools.text import one_line

PERMISSION: Final = (
    "the driver refuses performance counters to this user (ERR_NVGPUCTRPERM): run as root or with CAP_SYS_ADMIN, or have an administrator set "
    "`options nvidia NVreg_RestrictProfilingToAdminUsers=0` in /etc/modprobe.d and reload the driver; in a container add --cap-add SYS_ADMIN"
)
BUSY: Final = "another tool (DCGM, a second profiler) holds the device's performance counters; stop it (`dcgmi profile --pause`) and profile again"
_PASSES: Final = re.compile(r'^==PROF== Profiling "(.{1,300}?)".*? - (\d+) pass(?:es)?\s*$', re.MULTILINE)
_LISTED: Final = re.compile(r"^\s*\d+\.\s(.{1,300}?)\s*$")
_ERROR: Final = re.compile(r"^==ERROR==\s*(.+?)\s*$", re.MULTILINE)
_ENDED: Final = re.compile(r"The application returned an error code \((-?\d+)\)")
_MISSING: Final = re.compile(r"Unable to access the following \d+ metrics?: (.+?)\.?$", re.MULTILINE)
_SHOWN: Final = 20


@dataclass(frozen=True)
class Log:
    """One collection's log."""

    passes: int | None
    """Most replays of one launch."""
    profiled: int
    """Launches that were profiled."""
    nothing: bool
    """Whether ncu says that no kernel was profiled."""
    seen: tuple[str, ...]
    """Kernels that it lists instead."""
    errors: tuple[str, ...]
    missing: tuple[str, ...]
    """Counters that it could not collect."""
    ended: int | None
    """The program's exit status, where ncu found fault with it."""

    def failure(self) -> str | None:
        """Why ncu itself could not do its work, with what to do; None where it could."""
        text = "\n".join(self.errors)
        if "ERR_NVGPUCTRPERM" in text or "permission to access NVIDIA GPU Performance Counters" in text:
            return PERMISSION
        if "driver resource was unavailable" in text or "concurrently collecting" in text:
            return BUSY
        own = [error for error in self.errors if not _ENDED.search(error)]
        return f"Nsight Compute failed: {one_line(own[0])}" if own else None


def parse_log(text: str) -> Log:
    """Reads the log; what it does not know it leaves out."""
    profiles = _PASSES.findall(text)
    _, found, rest = text.partition("No kernels were profiled")
    seen: list[str] = []
    if found:
        for row in rest.splitlines()[1:]:
            if match := _LISTED.match(row):
                seen.append(one_line(match[1]))
            elif seen:
                break
    errors = tuple(one_line(error) for error in _ERROR.findall(text))
    ended = _ENDED.search(text)
    missing = [name.strip() for row in _MISSING.findall(text) for name in row.split(",")]
    return Log(
        passes=max((int(count) for _, count in profiles), default=None),
        profiled=len(profiles),
        nothing=bool(found),
        seen=tuple(seen[:_SHOWN]),
        errors=errors[:_SHOWN],
        missing=tuple(missing[:_SHOWN]),
        ended=int(ended[1]) if ended else None,
    )


def no_kernels(log: Log, wanted: str | None) -> str:
    """What to say where nothing was profiled."""
    if log.seen and wanted:
        return f"0 kernels matched `{wanted}`; these were launched: {', '.join(log.seen)}"
    if log.seen:
        return f"0 launches were selected; these kernels were launched: {', '.join(log.seen)}"
    return "no kernel was launched, so there is nothing to profile"
