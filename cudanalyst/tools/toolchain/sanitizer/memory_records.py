"""Findings from records about device memory: wrong accesses, memory that was never written, the heap, leaks. Pure."""

from typing import Final

from cudanalyst.tools.findings import Check, Finding
from cudanalyst.tools.toolchain.sanitizer import kinds
from cudanalyst.tools.toolchain.sanitizer.context import Context, called, located, shared_place
from cudanalyst.tools.toolchain.sanitizer.records import Element, integer

_NOTHING: Final = Element("what")


def wrong_access(record: Element, check: Check, context: Context) -> Finding:
    """An access out of bounds, misaligned, or to freed memory; or an exception that stopped a kernel."""
    what = record.child("what") or _NOTHING
    text = what.word("text")
    if not what.word("address") and "of size" not in text:
        return exception(record, check, context)
    space = kinds.space_of(what.word("space") or text)
    access = what.word("direction").lower() or kinds.access_of(text)
    kind = kinds.memory_kind(f"{text} {what.word('error')}", space, access)
    size, address = integer(what.word("size")), integer(what.word("address"))
    verb = "Misaligned" if kind.startswith("misaligned") else "Use after free:" if "after_free" in kind else "Invalid"
    message = f"{verb} {space} {access}" + (f" of {size} bytes" if size else "")
    shown = remark = None
    if address is not None and space == "global":
        place = context.book.place(address)
        shown, remark = place.text, place.remark
    elif address is not None and space == "shared":
        shown, remark = shared_place(address, context), ", outside the shared memory of the block"
    elif address is not None:
        shown, remark = f"local + {address}", ", outside the thread's local memory"
    message += f" at {shown}" if shown else ""
    if kind.startswith("misaligned"):
        message += f", which is not a multiple of {size}" if size else ""
    elif kind.startswith("invalid"):
        message += remark or f", which is {what.word('error') or 'out of bounds'}"
    if rank := what.word("ctaRank"):
        message += f" (of block {rank} of the cluster)"
    return located(record, check, context, kind=kind, message=message, address=shown)


def exception(record: Element, check: Check, context: Context) -> Finding:
    """A trap, an illegal instruction, a failed assertion, a stack that overflowed: what stopped the kernel, and where."""
    what = record.child("what") or _NOTHING
    said = what.word("exception") or what.word("text") or what.word("error") or record.word("kind")
    kind = "assertion_failed" if "assert" in said.lower() else "device_fault"
    return located(record, check, context, kind=kind, message=f"The kernel was stopped: {said}")


def never_written(record: Element, check: Check, context: Context) -> Finding:
    """A read of memory that nothing has written."""
    what = record.child("what") or _NOTHING
    space = kinds.space_of(what.word("space") or what.word("text"))
    size, address = integer(what.word("size")), integer(what.word("address"))
    place = None if address is None else context.book.place(address).text
    message = "Read of" + (f" {size} bytes of" if size else "") + f" {space} memory" + (f" at {place}" if place else "")
    kind = f"uninitialized_{space}_read"
    return located(record, check, context, kind=kind, message=f"{message} that nothing has written", address=place)


def never_written_copy(record: Element, check: Check, context: Context) -> Finding | None:
    """A copy to the host of memory that nothing has written."""
    if context.replayed:
        return None  # the executor reads results back whether or not a kernel has written them
    what = record.child("what") or _NOTHING
    address = integer(what.word("accessAddress") or what.word("errorAddress"))
    place = None if address is None else context.book.place(address).text
    message = "A copy to the host reads device memory" + (f" at {place}" if place else "") + " that nothing has written"
    return called(record, check, context, kind="uninitialized_copy", message=message, address=place)


def heap(record: Element, check: Check, context: Context) -> Finding:
    """A wrong free on the device heap."""
    what = record.child("what") or _NOTHING
    said = what.word("error") or what.word("text") or "wrong free"
    return located(record, check, context, kind=kinds.free_kind(said), message=f"On the device heap: {said}")


def leak(record: Element, check: Check, context: Context) -> Finding:
    """Memory that was never freed."""
    what = record.child("what") or _NOTHING
    size = integer(what.word("size"))
    message = (
        f"{size} bytes of device memory were never freed" if size else what.word("text") or "Memory was never freed"
    )
    return called(record, check, context, kind="leak", message=message)


def unused(record: Element, check: Check, context: Context) -> Finding:
    """An allocation that nothing uses, or not all of it."""
    what = record.child("what") or _NOTHING
    size, unused_bytes = integer(what.word("allocation", "size")), integer(what.word("unused"))
    message = f"{unused_bytes} of the {size} bytes of an allocation were never written"
    if size is None or unused_bytes is None:
        message = what.word("text") or "Memory that nothing uses"
    return called(record, check, context, kind="unused_memory", message=message)
