"""Memory accesses of a kernel: which array, which index, and how the index moves with `threadIdx.x`."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from tree_sitter import Node

from cudanalyst.tools.syntax.names import VECTOR_TYPES
from cudanalyst.tools.syntax.scope import Scope
from cudanalyst.tools.syntax.symbolic import Poly
from cudanalyst.tools.syntax.tree import text_of, walk

Space = Literal["global", "shared"]
Kind = Literal["read", "write", "atomic"]
_POINTER_DEPTH = 8
_LOADS = {"__ldg", "__ldcs", "__ldca", "__ldcg", "__ldlu", "__ldcv"}


@dataclass(frozen=True)
class Access:
    """One subscript or dereference."""

    node: Node
    array: str
    space: Space
    kind: Kind
    indices: tuple[Poly, ...]
    """One per subscript for a declared array of several dimensions; else a single one in elements."""
    element: str
    vector: bool
    member: str | None
    """Field of a structure that is accessed, if the element is a structure of the file."""

    @property
    def index(self) -> Poly:
        """The last index: the one that moves fastest."""
        return self.indices[-1]


def accesses(scope: Scope) -> Iterator[Access]:
    """Every access to global and shared memory in the kernel's own text, in source order."""
    body = scope.function.child_by_field_name("body")
    if body is None:
        return
    for node in walk(body):
        if node.type == "subscript_expression" and not _is_inner(node):
            yield from _subscript(node, scope)
        elif node.type == "pointer_expression" and text_of(node).startswith("*"):
            argument = node.child_by_field_name("argument")
            if argument is not None:
                yield from _access(node, argument, (), scope)
        elif node.type == "call_expression":
            yield from _intrinsic(node, scope)


def _is_inner(node: Node) -> bool:
    """Whether a subscript is the `a[i]` of `a[i][j]`."""
    parent = node.parent
    return (
        parent is not None and parent.type == "subscript_expression" and parent.child_by_field_name("argument") == node
    )


def _subscript(node: Node, scope: Scope) -> Iterator[Access]:
    indices: list[Poly] = []
    current: Node | None = node
    while current is not None and current.type == "subscript_expression":
        listed = current.child_by_field_name("indices")
        if listed is None or not listed.named_children:
            return
        indices.append(scope.poly(listed.named_children[0]))
        current = current.child_by_field_name("argument")
    if current is not None:
        yield from _access(node, current, tuple(reversed(indices)), scope)


def _access(node: Node, base: Node, indices: tuple[Poly, ...], scope: Scope) -> Iterator[Access]:
    resolved = resolve(base, scope)
    if resolved is None:
        return
    array, offset, cast = resolved
    if array in scope.shared:
        space: Space = "shared"
        element = scope.shared[array][0]
    else:
        space = "global"
        element = scope.pointers[array].type if array in scope.pointers else scope.file.device_arrays.get(array, "")
    element = cast or element
    if not indices:
        indices = (offset,)
    elif offset.terms or offset.tainted:
        indices = (*indices[:-1], indices[-1] + offset)
    member = None
    if node.parent is not None and node.parent.type == "field_expression" and element in scope.file.structures:
        field_node = node.parent.child_by_field_name("field")
        member = text_of(field_node) if field_node is not None else None
    for kind in _kinds(node):
        yield Access(node, array, space, kind, indices, element, element in VECTOR_TYPES, member)


def resolve(base: Node, scope: Scope, depth: int = 0) -> tuple[str, Poly, str | None] | None:
    """The array behind a pointer expression, the offset in elements and the element type of a cast."""
    if depth > _POINTER_DEPTH:
        return None
    if base.type == "parenthesized_expression" and base.named_children:
        return resolve(base.named_children[0], scope, depth + 1)
    if base.type == "identifier":
        name = text_of(base)
        variable = scope.variable(base)
        if variable is not None:
            if variable.pointer and variable.initial is not None and not variable.assigned:
                return resolve(variable.initial, scope, depth + 1)
            return None
        known = name in scope.shared or name in scope.pointers or name in scope.file.device_arrays
        return (name, Poly(), None) if known else None
    if base.type == "binary_expression":
        return _sum(base, scope, depth)
    if base.type == "pointer_expression" and text_of(base).startswith("&"):
        return _address_of(base, scope, depth)
    return _cast(base, scope, depth)


def _sum(base: Node, scope: Scope, depth: int) -> tuple[str, Poly, str | None] | None:
    """`p + i`, `i + p` and `p - i`."""
    left, right = base.child_by_field_name("left"), base.child_by_field_name("right")
    operator = base.child_by_field_name("operator")
    if left is None or right is None or operator is None or operator.type not in {"+", "-"}:
        return None
    found = resolve(left, scope, depth + 1)
    if found is not None:
        step = scope.poly(right)
        return found[0], found[1] + (step if operator.type == "+" else -step), found[2]
    swapped = resolve(right, scope, depth + 1) if operator.type == "+" else None
    return (swapped[0], swapped[1] + scope.poly(left), swapped[2]) if swapped is not None else None


def _address_of(base: Node, scope: Scope, depth: int) -> tuple[str, Poly, str | None] | None:
    """`&p[i]`, and `&x` for an array x."""
    argument = base.child_by_field_name("argument")
    if argument is None or argument.type != "subscript_expression":
        return resolve(argument, scope, depth + 1) if argument is not None else None
    listed, inner = argument.child_by_field_name("indices"), argument.child_by_field_name("argument")
    found = resolve(inner, scope, depth + 1) if inner is not None else None
    if found is None or listed is None or not listed.named_children:
        return None
    return found[0], found[1] + scope.poly(listed.named_children[0]), found[2]


def _cast(base: Node, scope: Scope, depth: int) -> tuple[str, Poly, str | None] | None:
    """`(float4*)p` and `reinterpret_cast<float4*>(p)`: offsets inside are in the old element, and lost."""
    target: str | None = None
    inner: Node | None = None
    if base.type == "cast_expression":
        type_node, inner = base.child_by_field_name("type"), base.child_by_field_name("value")
        target = text_of(type_node) if type_node is not None else None
    elif base.type == "call_expression":
        function, arguments = base.child_by_field_name("function"), base.child_by_field_name("arguments")
        if (
            function is not None
            and "_cast<" in text_of(function)
            and arguments is not None
            and arguments.named_children
        ):
            target, inner = text_of(function).split("<", 1)[1].rstrip(">"), arguments.named_children[0]
    if inner is None or target is None:
        return None
    found = resolve(inner, scope, depth + 1)
    if found is None:
        return None
    element = target.replace("*", "").replace("const", "").replace("volatile", "").strip()
    offset = (
        found[1]
        if not found[1].terms
        else Poly.opaque(str(found[1]), frozenset(a for a in found[1].atoms() if "Idx." in a))
    )
    return found[0], offset, element


def _kinds(node: Node) -> tuple[Kind, ...]:
    """What happens to an lvalue: read, written, both, or the target of an atomic."""
    current, parent = node, node.parent
    while parent is not None and parent.type in {"parenthesized_expression", "field_expression"}:
        current, parent = parent, parent.parent
    if parent is None:
        return ("read",)
    if parent.type == "assignment_expression" and parent.child_by_field_name("left") == current:
        operator = parent.child_by_field_name("operator")
        return ("write",) if operator is not None and operator.type == "=" else ("read", "write")
    if parent.type == "update_expression":
        return ("read", "write")
    if parent.type == "pointer_expression" and text_of(parent).startswith("&"):
        call = parent.parent.parent if parent.parent is not None and parent.parent.type == "argument_list" else None
        name = text_of(call.child_by_field_name("function") or call) if call is not None else ""
        if name.startswith("atomic"):
            return ("atomic",)
        return ("read",) if name in _LOADS else ()
    return ("read",)


def _intrinsic(node: Node, scope: Scope) -> Iterator[Access]:
    """`atomicAdd(p + i, x)` and `__ldg(p + i)`: calls whose first argument is a pointer, not `&p[i]`."""
    function, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    if function is None or arguments is None or not arguments.named_children:
        return
    name, first = text_of(function), arguments.named_children[0]
    if not (name.startswith("atomic") or name in _LOADS) or first.type == "pointer_expression":
        return
    found = resolve(first, scope)
    if found is None:
        return
    array, offset, cast = found
    space: Space = "shared" if array in scope.shared else "global"
    element = cast or (scope.shared[array][0] if space == "shared" else "")
    if not element and array in scope.pointers:
        element = scope.pointers[array].type
    yield Access(
        node,
        array,
        space,
        "atomic" if name.startswith("atomic") else "read",
        (offset,),
        element,
        element in VECTOR_TYPES,
        None,
    )
