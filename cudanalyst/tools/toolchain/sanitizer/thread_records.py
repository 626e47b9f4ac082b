"""Findings from records about threads that get in each other's way: races in shared memory, misused barriers. Pure."""

from typing import Final

from cudanalyst.tools.findings import Check, Finding, Side
from cudanalyst.tools.text import one_line
from cudanalyst.tools.toolchain.sanitizer import kinds
from cudanalyst.tools.toolchain.sanitizer.context import Context, located, shared_place, where
from cudanalyst.tools.toolchain.sanitizer.records import Element, integer, triple

MAX_COUNT: Final = 1 << 62
_NOTHING: Final = Element("what")


def race(record: Element, check: Check, context: Context) -> Finding:
    """An analysed race: the later access is the finding's place, the earlier one its other side."""
    what = record.child("what") or _NOTHING
    source = what.child("source") or _NOTHING
    targets = list(what.all("destination"))
    target = targets[0] if targets else _NOTHING
    first, second = source.word("direction").lower() or "access", target.word("direction").lower() or "access"
    before, after = where(source, context), where(target, context)
    harmless = " (a warning of the tool: within a warp, or of equal values)" if is_warning(record) else ""
    return Finding(
        check=check,
        kind=kinds.race_kind(first, second),
        message=f"{_races(first, second)}{harmless}",
        kernel=after.kernel or before.kernel,
        file=after.file,
        line=after.line,
        other=Side(access=first, file=before.file, line=before.line),
        count=min(sum(integer(one.word("count")) or 1 for one in targets) or 1, MAX_COUNT),
    )


def hazard(record: Element, check: Check, context: Context) -> Finding:
    """One hazard between two threads."""
    what = record.child("what") or _NOTHING
    common, threads = what.child("common") or _NOTHING, (what.child("thread0"), what.child("thread1"))
    earlier, later = (one or _NOTHING for one in threads)
    said = f"{common.word('type')} {what.word('text')}".lower()
    first, second = earlier.word("access").lower() or "access", later.word("access").lower() or "access"
    kind = next((f"shared_race_{one}" for one in ("raw", "war", "waw") if one in said), kinds.race_kind(first, second))
    before, after = where(earlier, context), where(later, context)
    address = integer(common.word("address"))
    place = None if address is None else shared_place(address, context)
    block = triple(common.child("blockIdx"))
    return Finding(
        check=check,
        kind=kind,
        message=_races(first, second),
        kernel=after.kernel or before.kernel,
        file=after.file,
        line=after.line,
        thread=triple(later.child("threadIdx")),
        block=block,
        address=place,
        other=Side(
            access=first, file=before.file, line=before.line, thread=triple(earlier.child("threadIdx")), block=block
        ),
    )


def _races(first: str, second: str) -> str:
    article = "an" if first[:1] in "aeiou" else "a"
    return (
        f"{second.capitalize()} of shared memory races with {article} {first} by another thread: nothing orders the two"
    )


def is_warning(record: Element) -> bool:
    """Whether the tool itself takes it for less than an error."""
    return record.word("level").lower() == "warning"


def barrier(record: Element, check: Check, context: Context) -> Finding:
    """A barrier, or a warp operation, that threads use wrongly."""
    text, what = record.word("what", "text") or "Barrier error", record.word("what", "type")
    said = f"{text}: {what}" if what else text
    return located(record, check, context, kind=kinds.barrier_kind(said), message=one_line(said))
