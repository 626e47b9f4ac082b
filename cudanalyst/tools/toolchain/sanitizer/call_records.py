"""Findings from records about CUDA calls that failed. Pure."""

from collections.abc import Sequence
from typing import Final

from cudanalyst.tools.findings import Check, Finding
from cudanalyst.tools.toolchain.sanitizer import kinds
from cudanalyst.tools.toolchain.sanitizer.context import Context, called
from cudanalyst.tools.toolchain.sanitizer.records import Element, integer

_ASKS: Final = ("cudaGetLastError", "cudaPeekAtLastError")
"""Calls that only hand on the error of an earlier one."""
_REPLAYED: Final = (*kinds.LAUNCH_CALLS, *kinds.COPY_CALLS, "cuFuncSetAttribute", "cuTensorMap", "cuStream", "cuEvent")
"""What a trace can ask for. Anything else under the executor is its own doing, such as looking for a kernel's last parameter."""
_NOTHING: Final = Element("what")


def failed_call(record: Element, check: Check, context: Context) -> Finding:
    """A CUDA call that returned an error."""
    what = record.child("what") or _NOTHING
    call, result = what.word("api") or "A CUDA call", integer(what.word("result"))
    said = what.word("message")
    message = f"{call} failed: {what.word('error') or 'error'}" + (f" ({said})" if said else "")
    kind = kinds.api_kind(call, result, what.word("text"))
    if kind == "invalid_launch":
        message += "; the kernel did not run"
    return called(record, check, context, kind=kind, message=message)


def is_executors_own(record: Element, context: Context) -> bool:
    """Whether a failing call is none of the candidate's: no trace can make it, and it tells of no stopped kernel."""
    what = record.child("what") or _NOTHING
    if not context.replayed or integer(what.word("result")) in kinds.DEVICE_FAULTS:
        return False
    return not what.word("api").startswith(_REPLAYED)


def handed_on(record: Element, before: Sequence[Element]) -> bool:
    """Whether a failing call only hands on what an earlier record tells: an error asked for, or that of a stopped kernel."""
    what = record.child("what") or _NOTHING
    if integer(what.word("result")) in kinds.DEVICE_FAULTS:
        return any(_is_device(one) or _result(one) == _result(record) for one in before)
    return what.word("api").startswith(_ASKS) and any(_result(one) == _result(record) for one in before)


def _is_device(record: Element) -> bool:
    return record.child("who") is not None


def _result(record: Element) -> str:
    return record.word("what", "result")
