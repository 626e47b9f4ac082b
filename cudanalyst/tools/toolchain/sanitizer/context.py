"""Where a record of compute-sanitizer stands: in which file, line and kernel. Pure."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from cudanalyst.tools.findings import Check, Finding
from cudanalyst.tools.text import one_line
from cudanalyst.tools.toolchain.paths import PathNames
from cudanalyst.tools.toolchain.report import show_file
from cudanalyst.tools.toolchain.sanitizer.places import AddressBook
from cudanalyst.tools.toolchain.sanitizer.records import Element, integer, triple

RESERVED_SHARED: Final = 1024
"""Bytes at the start of shared memory that the system keeps for itself, from compute capability 8.0 on: addresses count them."""
_MAX_FRAMES: Final = 4
_HIDDEN_FRAMES: Final = ("libcudart_static_", "cudart::", "__device_stub_", "__libc_start", "_start", "__cudart")
_DRIVER_CALL: Final = re.compile(r"cu[A-Z]")
_SHORT: Final = re.compile(r"([A-Za-z_]\w*)\s*(?:<.*>)?\s*(?:\(|$)")


@dataclass(frozen=True)
class Context:
    """What is known apart from the records."""

    names: PathNames
    book: AddressBook = field(default_factory=lambda: AddressBook(()))
    kernels: Mapping[str, str] = field(default_factory=dict)
    """By each name that a record may use: the kernel's full name."""
    replayed: bool = False
    """The target is the trusted executor: its own calls are no findings about the candidate."""
    reserved_shared: int = RESERVED_SHARED


@dataclass(frozen=True)
class Place:
    """Where code stands."""

    kernel: str | None = None
    file: str | None = None
    line: int | None = None


def known_kernels(kernels: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The names that records use for kernels, given as (symbol, full name): both, and the bare name where only one kernel has it."""
    known: dict[str, str] = {}
    bare: dict[str, set[str]] = {}
    for symbol, name in kernels:
        known[symbol] = known[name] = name
        bare.setdefault(short_name(name), set()).add(name)
    for short, names in bare.items():
        if len(names) == 1:
            known.setdefault(short, next(iter(names)))
    return known


def short_name(name: str) -> str:
    """`tile` from `void ns::tile<float, 16>(float*)`: XML records have no more."""
    depth, kept = 0, []
    for character in name:
        depth += character == "<"
        if not depth:
            kept.append(character)
        depth -= character == ">"
    head = "".join(kept).split("(", 1)[0].rstrip()
    match = _SHORT.fullmatch(head.rpartition("::")[2].rpartition(" ")[2])
    return match[1] if match else head


def where(element: Element | None, context: Context) -> Place:
    """The innermost place in the agent's file, among the record's own and its callers'; else the innermost of all."""
    if element is None:
        return Place()
    innermost, stack = element.child("where"), element.child("deviceStack")
    frames = ([innermost] if innermost else []) + (list(stack.all("frame")) if stack else [])
    if not frames:
        return Place()
    places = [(show_file(frame.word("path") or None, context.names), integer(frame.word("line"))) for frame in frames]
    file, line = next((one for one in places if one[0] == context.names.own_file), places[0])
    functions = [name for frame in reversed(frames) if (name := frame.word("func"))]
    kernel = next((context.kernels[name] for name in functions if name in context.kernels), None)
    return Place(kernel or next(iter(functions), None), file, line)


def located(
    record: Element, check: Check, context: Context, *, kind: str, message: str, address: str | None = None
) -> Finding:
    """A finding at a place in device code."""
    place = where(record, context)
    return Finding(
        check=check,
        kind=kind,
        message=one_line(message),
        kernel=place.kernel,
        file=place.file,
        line=place.line,
        thread=triple(record.child("who", "threadIdx")),
        block=triple(record.child("who", "blockIdx")),
        address=address,
    )


def called(
    record: Element, check: Check, context: Context, *, kind: str, message: str, address: str | None = None
) -> Finding:
    """A finding at a call of the host, which has no line: the program's own stack stands in the message."""
    stack = record.child("hostStack")
    frames = [frame.word("func") for frame in stack.all("frame")] if stack and not context.replayed else []
    shown = [one for one in frames if one and not one.startswith(_HIDDEN_FRAMES)]
    if any(one.startswith("cuda") for one in shown):  # the runtime's own call of the driver says no more
        shown = [one for one in shown if one.startswith("cuda") or not _DRIVER_CALL.match(one)]
    calls = list(dict.fromkeys(shown))[:_MAX_FRAMES]
    if calls:
        message += f"; call stack: {' < '.join(calls)}"
    return Finding(check=check, kind=kind, message=one_line(message), address=address)


def shared_place(address: int, context: Context) -> str:
    """An address of shared memory as the code counts it."""
    return f"shared + {address - context.reserved_shared if address >= context.reserved_shared else address}"
