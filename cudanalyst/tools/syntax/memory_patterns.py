"""Suspicions about memory: bounds, coalescing, bank conflicts, contention, aliasing."""

import re
from collections.abc import Iterator
from typing import Literal

from cudanalyst.tools.syntax.accesses import Access
from cudanalyst.tools.syntax.facts import stride_of
from cudanalyst.tools.syntax.guards import guards, single_lane
from cudanalyst.tools.syntax.kernels import base_name, parameters
from cudanalyst.tools.syntax.mend import split_arguments
from cudanalyst.tools.syntax.model import Suspicion
from cudanalyst.tools.syntax.names import ELEMENT_BYTES
from cudanalyst.tools.syntax.symbolic import Poly
from cudanalyst.tools.syntax.tree import text_of, walk
from cudanalyst.tools.syntax.view import KernelView

WARP = 32
BANKS = 32
BANK_BYTES = 4
_FAR = 8
"""Elements between neighbouring threads from which each 4-byte access needs a sector of its own."""
_MILD = 2
"""Ways of a bank conflict that seldom matter."""
_CLAMPS = ("min(", "max(", "clamp(", "%", "?")


def missing_bounds_guards(view: KernelView) -> Iterator[Suspicion]:
    """Indices made of blockIdx and threadIdx that no condition on the way compares with anything."""
    reported: set[str] = set()
    for access in view.accesses:
        text = text_of(access.node)
        if access.space != "global" or any(clamp in _written_out(access, view) for clamp in _CLAMPS):
            continue
        covered = {d for guard in guards(access.node, view.scope) for d in view.scope.dependence(guard.condition)}
        for axis in "xyz":
            wanted = {f"blockIdx.{axis}", f"threadIdx.{axis}"}
            from_grid = all(
                any(name in index.atoms() and name not in index.tainted for index in access.indices) for name in wanted
            )
            rounding = _grid_rounding(view, axis)
            if from_grid and not wanted & covered and axis not in reported and rounding != "down":
                reported.add(axis)
                yield view.suspicion(
                    "missing_bounds_guard",
                    access.node,
                    f"`{text[:80]}` is reached by every thread of the grid in {axis}; nothing compares its index with a bound, "
                    "so a size that is no multiple of the block runs out of range.",
                    f"Guard it: `if (index < n)` for the index made of blockIdx.{axis} and threadIdx.{axis} "
                    "(threads outside must still reach barriers).",
                    "low" if rounding == "fixed" else "high" if view.scope.scalars and not covered else "medium",
                )


def _grid_rounding(view: KernelView, axis: str) -> Literal["up", "down", "fixed", "unknown"]:
    """How the launches get their number of blocks: rounded up, whole blocks only, a number, or none of these."""
    found: set[Literal["up", "down", "fixed", "unknown"]] = set()
    for site in view.launches:
        grid = site.launch.grid.strip()
        inner = re.fullmatch(r"dim3\s*[({](.*)[)}]", grid, re.DOTALL)
        parts = split_arguments(inner.group(1)) if inner else (grid,)
        position = "xyz".index(axis)
        part = parts[position] if position < len(parts) else "1"
        if part.isdigit():
            found.add("fixed")
        elif re.fullmatch(r"[\w.>-]+\s*/\s*[\w.>-]+", part):
            found.add("down")
        else:
            found.add("up" if "/" in part and "+" in part else "unknown")
    return found.pop() if len(found) == 1 else "unknown"


def _holds_one_more(view: KernelView, bound: str) -> bool:
    """Whether the host adds one to what it passes for `bound`, as for an array that has an element for the bound itself."""
    names = [base_name(p.child_by_field_name("declarator") or p) for p in parameters(view.scope.function)]
    if bound not in names:
        return False
    position = names.index(bound)
    source = view.scope.tree.source
    for site in view.launches:
        listed = site.node.child_by_field_name("arguments")
        passed = listed.named_children if listed is not None else []
        if position < len(passed) and re.search(
            rb"\b" + re.escape(text_of(passed[position]).encode()) + rb"\s*\+\s*1\b", source
        ):
            return True
    return False


def off_by_one_guards(view: KernelView) -> Iterator[Suspicion]:
    """`if (i <= n) a[i]`, which lets one element too many through."""
    seen: set[int] = set()
    for access in view.accesses:
        for guard in guards(access.node, view.scope):
            for item in walk(guard.condition):
                operator = item.child_by_field_name("operator") if item.type == "binary_expression" else None
                left, right = item.child_by_field_name("left"), item.child_by_field_name("right")
                if operator is None or left is None or right is None or item.id in seen:
                    continue
                lets_through = operator.type == "<=" if not guard.leaves else operator.type == ">"
                bound = text_of(right)
                if (
                    lets_through
                    and bound in view.scope.scalars
                    and not _holds_one_more(view, bound)
                    and str(view.scope.poly(left)) in {str(p) for p in access.indices}
                ):
                    seen.add(item.id)
                    yield view.suspicion(
                        "off_by_one_guard",
                        item,
                        f"`{text_of(item)}` lets the index be `{bound}` itself at `{text_of(access.node)[:60]}`; the last element is {bound} - 1.",
                        f"Compare with `<` if `{bound}` is the number of elements.",
                        "medium",
                    )


def uncoalesced_accesses(view: KernelView) -> Iterator[Suspicion]:
    """Neighbouring threads that touch memory far apart."""
    seen: set[tuple[str, int | None]] = set()
    for access in view.accesses:
        if access.space != "global":
            continue
        kind, stride = stride_of(access)
        place = view.scope.tree.place(access.node)
        key = (access.array, place.line)
        if kind != "strided" or stride is None or key in seen or single_lane(access.node, view.scope):
            continue
        seen.add(key)
        factor = access.index.coefficient("threadIdx.x")
        step = abs(factor.value) if factor is not None and factor.value is not None else None
        near = access.member is not None or (step is not None and step < _FAR)
        yield view.suspicion(
            "uncoalesced_access",
            access.node,
            f"`{text_of(access.node)[:80]}`: neighbouring threads are {stride} elements apart, so a warp needs "
            f"{'several times' if near else 'up to 32 times'} the memory sectors.",
            "Let threadIdx.x walk along the contiguous dimension, or stage the tile in shared memory.",
            "medium" if near else "high",
        )


def bank_conflicts(view: KernelView) -> Iterator[Suspicion]:
    """Shared arrays indexed so that lanes of a warp meet in one bank."""
    seen: set[tuple[str, int | None]] = set()
    for access in view.accesses:
        place = view.scope.tree.place(access.node)
        if access.space != "shared" or (access.array, place.line) in seen or single_lane(access.node, view.scope):
            continue
        degree = conflict_degree(access, view)
        if degree is not None and degree > 1:
            seen.add((access.array, place.line))
            yield view.suspicion(
                "shared_bank_conflict",
                access.node,
                f"`{text_of(access.node)[:80]}`: lanes of a warp meet in one bank, up to {degree} ways.",
                f"Pad the fastest dimension of `{access.array}` by one element, or swap the indices.",
                "low" if degree == _MILD else "high" if view.block[0] is not None else "medium",
            )


def conflict_degree(access: Access, view: KernelView) -> int | None:
    """Most distinct words that one bank must serve for one warp; None where the stride is not a number."""
    linear = _linear(access, view)
    element = ELEMENT_BYTES.get(access.element)
    if linear is None or element is None:
        return None
    steps: list[int] = []
    for axis in "xy":
        factor = linear.coefficient(f"threadIdx.{axis}")
        if factor is None or factor.value is None:
            return None
        steps.append(factor.value)
    width = view.block[0] or WARP
    lanes = WARP // max(1, element // BANK_BYTES)  # wide accesses are served half or a quarter of a warp at a time
    banks: dict[int, set[int]] = {}
    for lane in range(lanes):
        offset = (steps[0] * (lane % width) + steps[1] * (lane // width)) * element
        for word in range(offset // BANK_BYTES, (offset + element - 1) // BANK_BYTES + 1):
            banks.setdefault(word % BANKS, set()).add(word)
    return max(len(words) for words in banks.values())


def _linear(access: Access, view: KernelView) -> Poly | None:
    """The index in elements of a shared array with declared extents."""
    extents = view.scope.shared.get(access.array, ("", ()))[1]
    if len(access.indices) == 1:
        return access.index
    if len(extents) < len(access.indices) - 1:
        return None
    inner = extents[-(len(access.indices) - 1) :]
    linear = access.indices[0]
    for index, extent in zip(access.indices[1:], inner, strict=True):
        size = view.scope.poly(extent)
        if size.value is None:
            return None
        linear = linear * size + index
    return linear


def contended_atomics(view: KernelView) -> Iterator[Suspicion]:
    """Atomics by which every thread hits the same address."""
    for access in view.accesses:
        lone = bool(view.launches) and all(site.block == (1, 1, 1) for site in view.launches)
        if access.kind != "atomic" or lone or single_lane(access.node, view.scope):
            continue
        if not any(index.depends_on(f"threadIdx.{axis}") for index in access.indices for axis in "xyz"):
            yield view.suspicion(
                "atomic_contention",
                access.node,
                f"`{text_of(access.node)[:80]}`: every thread of a block updates the same address, one after another.",
                "Reduce within the warp (shuffles) or block (shared memory) first; then one atomic a block.",
                "medium" if access.space == "global" else "low",
            )


def missing_restrict(view: KernelView) -> Iterator[Suspicion]:
    """Several pointers, one of them written, that the compiler must assume to overlap."""
    pointers = view.scope.pointers
    bare = [p.name for p in pointers.values() if not p.restrict and not p.volatile]
    written = {a.array for a in view.accesses if a.kind != "read" and a.space == "global"}
    if len(pointers) > 1 and bare and written:
        yield view.suspicion(
            "missing_restrict",
            view.scope.function,
            f"Pointers {', '.join(bare)} have no __restrict__: the compiler must assume that writes change what is read.",
            "Add __restrict__ (and const for inputs) where the arrays do not overlap.",
            "low",
        )


def double_literals(view: KernelView) -> Iterator[Suspicion]:
    """`1.0` in a float kernel, which makes the expression a double one."""
    types = {p.type for p in view.scope.pointers.values()}
    if "double" in types or not types & {"float", "float2", "float4"}:
        return
    body = view.scope.function.child_by_field_name("body")
    for node in walk(body) if body is not None else ():
        text = text_of(node) if node.type == "number_literal" else ""
        if "." in text and text[-1] not in "fFhH" and not text.lower().startswith("0x"):
            yield view.suspicion(
                "double_literal", node, f"`{text}` is a double: the expression around it may be computed in double precision.",
                f"Write `{text}f`.", "low",
            )  # fmt: skip
            return


def _written_out(access: Access, view: KernelView) -> str:
    """The access and the definitions of the locals in its index, to see clamps in either."""
    texts = [text_of(access.node)]
    for node in walk(access.node):
        variable = view.scope.variable(node) if node.type == "identifier" else None
        if variable is not None and variable.initial is not None:
            texts.append(text_of(variable.initial))
    return " ".join(texts)
