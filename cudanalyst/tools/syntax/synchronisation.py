"""Suspicions about barriers: divergent ones, and ones that are missing."""

from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from cudanalyst.tools.syntax.accesses import Access
from cudanalyst.tools.syntax.facts import LOOPS, is_any_sync, is_barrier
from cudanalyst.tools.syntax.guards import guards, single_lane
from cudanalyst.tools.syntax.model import Suspicion
from cudanalyst.tools.syntax.tree import ancestors, text_of, walk
from cudanalyst.tools.syntax.view import KernelView


def divergent_barriers(view: KernelView) -> Iterator[Suspicion]:
    """`__syncthreads()` that some threads of a block may not reach."""
    body = view.scope.function.child_by_field_name("body")
    for node in walk(body) if body is not None else ():
        if not is_barrier(node):
            continue
        for guard in guards(node, view.scope):
            per_thread = {d for d in view.scope.dependence(guard.condition) if d.startswith("threadIdx")}
            if not per_thread:
                continue
            condition = text_of(guard.condition)[:80]
            if guard.leaves:
                message = f"Threads that left at `{condition}` never reach this barrier."
                remedy = "Replace the early return by a flag, and let every thread of the block reach the barrier."
            else:
                holds = "fails" if guard.negated else "holds"
                message = f"This barrier is reached only by threads for which `{condition}` {holds}, and that differs within a block."
                remedy = "Move the barrier out of the branch or loop, so that all threads of the block reach it equally often."
            yield view.suspicion("divergent_barrier", node, message, remedy, "medium" if guard.leaves else "high")
            break


@dataclass(frozen=True)
class _Event:
    """Something that matters for the order of accesses to one shared array."""

    order: tuple[int, int, int]
    node: Node
    access: Access | None
    """None for a synchronisation."""


def missing_barriers(view: KernelView) -> Iterator[Suspicion]:
    """A shared array that is written by one thread and read by another with no barrier between."""
    for array in dict.fromkeys(a.array for a in view.accesses if a.space == "shared"):
        yield from _missing_barriers(view, array)


def _missing_barriers(view: KernelView, array: str) -> Iterator[Suspicion]:
    events = sorted(_events(view, array), key=lambda event: event.order)
    sequences = [(events, len(events))]
    for loop in {loop.start_byte: loop for event in events for loop in _loops(event.node, view)}.values():
        inside = [event for event in events if loop.start_byte <= event.node.start_byte < loop.end_byte]
        sequences.append((inside + inside, len(inside)))  # the end of one turn meets the beginning of the next
    pairs = [pair for sequence, turn in sequences if (pair := _unordered(sequence, turn, view)) is not None]
    pairs.sort(key=lambda pair: _same_thread_likely(pair[0], pair[1], view))
    for first, second in pairs[:1]:
        line = view.scope.tree.place(first.node).line
        yield view.suspicion(
            "missing_barrier",
            second.node,
            f"`{array}` is {_done(first)} at line {line} and {_done(second)} here by another thread, with no barrier between.",
            "Put __syncthreads() between the two, outside any divergent branch.",
            "low" if _same_thread_likely(first, second, view) else "medium",
        )


def _unordered(sequence: list[_Event], turn: int, view: KernelView) -> tuple[_Event, _Event] | None:
    """The first read and write by different threads without a synchronisation between them."""
    since: list[tuple[int, _Event]] = []
    for position, event in enumerate(sequence):
        if event.access is None:
            since = []
            continue
        for start, earlier in since:
            if _conflict(earlier, event, view, next_turn=start < turn <= position):
                return earlier, event
        since.append((position, event))
    return None


def _conflict(first: _Event, second: _Event, view: KernelView, *, next_turn: bool) -> bool:
    a, b = first.access, second.access
    if a is None or b is None or a.kind == b.kind:  # two writes are mostly a tile and its halo
        return False
    if (not next_turn and _statement(first.node) == _statement(second.node)) or _exclusive(
        first.node, second.node, view
    ):
        return False
    if _own_slice(a, b, view) or _carved_apart(a, b, view) or _exchange(first, second, view):
        return False
    different = [str(p) for p in a.indices] != [str(p) for p in b.indices]
    tainted = any(p.tainted for p in (*a.indices, *b.indices))
    by_threads = any(p.depends_on(f"threadIdx.{axis}") for p in (*a.indices, *b.indices) for axis in "xyz")
    return (different or tainted) and by_threads


def _own_slice(a: Access, b: Access, view: KernelView) -> bool:
    """Whether both stay in the thread's own row or column: one same index of several, different for every thread."""
    axes = {
        f"threadIdx.{axis}"
        for axis in "xyz"
        if any(i.depends_on(f"threadIdx.{axis}") for x in view.accesses for i in x.indices)
    }
    if len(a.indices) < 2 or len(a.indices) != len(b.indices) or axes != {"threadIdx.x"}:
        return False
    for left, right in zip(a.indices, b.indices, strict=True):
        factor = left.coefficient("threadIdx.x")
        if str(left) == str(right) and factor is not None and factor.value and not left.tainted and not right.tainted:
            return True
    return False


def _carved_apart(a: Access, b: Access, view: KernelView) -> bool:
    """Whether the two go through different pointers into one dynamic array, which mostly divide it."""
    dynamic = any(array.name == a.array and array.dynamic for array in view.facts.shared)
    return dynamic and _base(a.node) != _base(b.node)


def _base(node: Node) -> str:
    current = node
    while current.type == "subscript_expression" and (inner := current.child_by_field_name("argument")) is not None:
        current = inner
    return text_of(current)


def _exchange(first: _Event, second: _Event, view: KernelView) -> bool:
    """Whether a thread reads and writes the same two elements there, as in a swap: then they are its own."""
    block = next((p for p, _ in ancestors(second.node, view.scope.function) if p.type == "if_statement"), None)
    if block is None or not block.start_byte <= first.node.start_byte < block.end_byte:
        return False
    inside = [
        x
        for x in view.accesses
        if second.access is not None
        and x.array == second.access.array
        and block.start_byte <= x.node.start_byte < block.end_byte
    ]
    read = {str(x.indices) for x in inside if x.kind == "read"}
    return len(read) > 1 and read == {str(x.indices) for x in inside if x.kind == "write"}


def _same_thread_likely(first: _Event, second: _Event, view: KernelView) -> bool:
    """Whether one thread alone does the second, and only some the first: often it is the same thread."""
    return single_lane(second.node, view.scope) and any(
        d.startswith("threadIdx")
        for guard in guards(first.node, view.scope)
        for d in view.scope.dependence(guard.condition)
    )


def _events(view: KernelView, array: str) -> Iterator[_Event]:
    body = view.scope.function.child_by_field_name("body")
    if body is None:
        return
    for node in walk(body):
        if is_any_sync(node):
            yield _Event((_statement(node).start_byte, 1, node.start_byte), node, None)
    for access in view.accesses:
        if access.array == array and access.space == "shared":
            late = 0 if access.kind == "read" else 2  # what a statement reads comes before what it writes
            yield _Event((_statement(access.node).start_byte, late, access.node.start_byte), access.node, access)


def _statement(node: Node) -> Node:
    current = node
    while current.parent is not None and not current.type.endswith("statement") and current.type != "declaration":
        current = current.parent
    return current


def _exclusive(first: Node, second: Node, view: KernelView) -> bool:
    """Whether the two lie in different branches of one `if`."""
    branches = {
        parent.id: child.id for parent, child in ancestors(first, view.scope.function) if parent.type == "if_statement"
    }
    return any(
        parent.type == "if_statement" and branches.get(parent.id, child.id) != child.id
        for parent, child in ancestors(second, view.scope.function)
    )


def _loops(node: Node, view: KernelView) -> list[Node]:
    return [parent for parent, _ in ancestors(node, view.scope.function) if parent.type in LOOPS]


def _done(event: _Event) -> str:
    words = {"read": "read", "write": "written", "atomic": "changed atomically"}
    return words[event.access.kind] if event.access is not None else "ordered"
