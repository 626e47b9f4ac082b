"""What one kernel consists of, and how its global accesses move with `threadIdx.x`."""

from collections.abc import Iterable

from tree_sitter import Node

from cudanalyst.tools.result import Place
from cudanalyst.tools.syntax.accesses import Access
from cudanalyst.tools.syntax.kernels import array_extents, base_name, function_name, is_shared, parameters
from cudanalyst.tools.syntax.model import GlobalAccess, KernelFacts, Loop, SharedArray, Stride
from cudanalyst.tools.syntax.scope import Scope
from cudanalyst.tools.syntax.tree import ancestors, text_of, walk

LOOPS = {"for_statement": "for", "for_range_loop": "for", "while_statement": "while", "do_statement": "do"}
BLOCK_BARRIERS = ("__syncthreads", "__syncthreads_count", "__syncthreads_and", "__syncthreads_or")
_LAUNCH_WORDS = {"__launch_bounds__", "__cluster_dims__", "__maxnreg__", "__block_size__", "__noinline__"}


def kernel_facts(scope: Scope, found: tuple[Access, ...]) -> KernelFacts:
    """Collects a kernel's facts; accesses are given since the suspicions need them too."""
    tree, function = scope.tree, scope.function
    body = function.child_by_field_name("body")
    nodes = list(walk(body)) if body is not None else []
    head_start = (
        function.parent.start_byte
        if function.parent is not None and function.parent.type == "template_declaration"
        else function.start_byte
    )
    head_end = body.start_byte if body is not None else function.end_byte
    head = [a for a in tree.attributes if head_start <= a.offset < head_end and a.name in _LAUNCH_WORDS]
    return KernelFacts(
        name=function_name(function) or "?",
        place=tree.place(function),
        parameters=tuple(text_of(p) for p in parameters(function)),
        launch_bounds=next((a.arguments for a in head if a.name == "__launch_bounds__"), ()),
        attributes=tuple(f"{a.name}({', '.join(a.arguments)})" for a in head if a.name != "__launch_bounds__"),
        shared=tuple(
            array for node in nodes if node.type == "declaration" and is_shared(node) for array in _shared(node, scope)
        ),
        loops=tuple(_loop(node, scope) for node in nodes if node.type in LOOPS),
        barriers=tuple(tree.place(node) for node in nodes if is_barrier(node)),
        atomics=_unique(tree.place(node) for node in nodes if _called(node).startswith("atomic")),
        vector_accesses=_unique(tree.place(a.node) for a in found if a.vector and a.space == "global"),
        accesses=tuple(
            GlobalAccess(
                expression=text_of(a.node)[:120],
                place=tree.place(a.node),
                kind=a.kind,
                stride=(stride := stride_of(a))[0],
                stride_elements=stride[1],
            )
            for a in found
            if a.space == "global"
        ),
    )


def stride_of(access: Access) -> tuple[Stride, str | None]:
    """How the address moves from one thread to its neighbour in `threadIdx.x`."""
    for outer in access.indices[:-1]:
        if outer.depends_on("threadIdx.x"):
            factor = outer.coefficient("threadIdx.x")
            return ("strided", "a whole row") if factor is not None and factor.terms else ("unknown", None)
    factor = access.index.coefficient("threadIdx.x")
    if factor is None:
        return "unknown", None
    if not factor.terms:
        return "broadcast", None
    if factor.value in {1, -1}:
        return ("strided", f"sizeof({access.element})/sizeof({access.member})") if access.member else ("unit", None)
    return "strided", str(factor)


def is_barrier(node: Node) -> bool:
    """Whether a node is a call that waits for the whole block."""
    name = _called(node)
    return name in BLOCK_BARRIERS or (
        name.endswith(("block.sync", "cta.sync", "tb.sync")) or name in {"cg::sync", "__barrier_sync"}
    )


def is_any_sync(node: Node) -> bool:
    """Whether a node orders accesses between threads at all: a barrier, a warp barrier, a group's sync."""
    name = _called(node)
    return is_barrier(node) or name == "__syncwarp" or name.endswith((".sync", "->sync", "arrive_and_wait", "_sync"))


def _called(node: Node) -> str:
    if node.type != "call_expression":
        return ""
    function = node.child_by_field_name("function")
    return text_of(function) if function is not None else ""


def _shared(node: Node, scope: Scope) -> list[SharedArray]:
    type_node = node.child_by_field_name("type")
    dynamic = any(text_of(child) == "extern" for child in node.children)
    found: list[SharedArray] = []
    for declarator in node.children_by_field_name("declarator"):
        extents = tuple(text_of(e) for e in array_extents(declarator) if e is not None)
        found.append(
            SharedArray(
                name=base_name(declarator),
                place=scope.tree.place(node),
                type=text_of(type_node) if type_node is not None else "?",
                extents=extents,
                dynamic=dynamic,
            )
        )
    return found


def _loop(node: Node, scope: Scope) -> Loop:
    depth = sum(1 for parent, _ in ancestors(node, scope.function) if parent.type in LOOPS)
    unrolled = any(
        a.name == "#pragma"
        and a.arguments[:1] == ("unroll",)
        and not scope.tree.source[a.end : node.start_byte].strip()
        for a in scope.tree.attributes
        if scope.function.start_byte <= a.offset and a.end <= node.start_byte
    )
    kind = LOOPS[node.type]
    return Loop(
        place=scope.tree.place(node),
        depth=depth,
        kind="for" if kind == "for" else "while" if kind == "while" else "do",
        unrolled=unrolled,
    )


def _unique(places: Iterable[Place]) -> tuple[Place, ...]:
    return tuple(dict.fromkeys(places))
