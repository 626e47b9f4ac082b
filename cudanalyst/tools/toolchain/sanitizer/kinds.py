"""Kinds of findings in the CPU engine's words, from the words of compute-sanitizer. Pure.

The same defect has the same kind wherever it was found, so that what an agent has learnt of one place holds for the other.
"""

import re
from typing import Final

_SPACES: Final = ("global", "shared", "local")
_ACCESS: Final = re.compile(r"\b(read|write|atomic)\b", re.IGNORECASE)
_SPACE: Final = re.compile(r"__(\w+?)__")
_FREED: Final = re.compile(r"free'?d|after (?:it is )?free", re.IGNORECASE)

LAUNCH_CALLS: Final = ("cudaLaunch", "cuLaunch", "cudaGraphLaunch", "cuGraphLaunch")
COPY_CALLS: Final = ("cudaMemcpy", "cuMemcpy", "cudaMemset", "cuMemset")
_FREE_CALLS: Final = ("cudaFree", "cuMemFree")
_ASSERT: Final = 710
DEVICE_FAULTS: Final = frozenset({214, 220, 226, 700, 702, 710, 714, 715, 716, 717, 718, 719, 721})
"""Results of calls that only pass on that a kernel was stopped."""
_LAUNCH_ERRORS: Final = frozenset({1, 9, 98, 701, 720})
"""Results with which a launch itself is refused: a value, the configuration, the function, resources, cooperation."""


def space_of(text: str) -> str:
    """`global`, from `__global__` or a sentence that holds it."""
    match = _SPACE.search(text)
    word = match[1].lower() if match else text.strip().lower()
    return next((space for space in _SPACES if space in word), "global")


def access_of(text: str) -> str:
    """`read`, `write` or `atomic`, from a sentence."""
    match = _ACCESS.search(text)
    return match[1].lower() if match else "access"


def memory_kind(text: str, space: str, access: str) -> str:
    """The kind of a wrong access to device memory."""
    if "misaligned" in text.lower():
        return f"misaligned_{space}_{access}"
    if _FREED.search(text):
        return f"use_after_free_{access}"
    return f"invalid_{space}_{access}"


def api_kind(call: str, result: int | None, text: str) -> str:
    """The kind of a CUDA call that failed."""
    if result == _ASSERT:
        return "assertion_failed"
    if result in DEVICE_FAULTS:
        return "device_fault"
    if call.startswith(LAUNCH_CALLS) and (result is None or result in _LAUNCH_ERRORS):
        return "invalid_launch"
    if call.startswith(COPY_CALLS):
        return "invalid_copy"
    if call.startswith(_FREE_CALLS):
        return free_kind(text)
    return "api_error"


def free_kind(text: str) -> str:
    """The kind of a wrong free."""
    return "double_free" if "double free" in text.lower() or "already" in text.lower() else "invalid_free"


def race_kind(first: str, second: str, space: str = "shared") -> str:
    """The kind of a race, from its accesses in their order: an atomic counts as a write."""
    hazard = {(False, True): "war", (True, False): "raw"}.get((_writes(first), _writes(second)), "waw")
    return f"{space}_race_{hazard}"


def _writes(access: str) -> bool:
    return "read" not in access.lower()


def barrier_kind(text: str) -> str:
    """The kind of a misused barrier, from what synccheck says of it."""
    said = text.lower()
    if "barrier overflow" in said or "missing init" in said:
        return "invalid_barrier"
    if "deadlock" in said:
        return "barrier_deadlock"
    if "divergent" in said:
        return "divergent_barrier"
    if "mask" in said or "invalid argument" in said:
        return "invalid_warp_mask"
    return "invalid_barrier"
