"""What names mean inside one kernel, and its index expressions as polynomials."""

import re
from dataclasses import dataclass, field

from tree_sitter import Node

from cudanalyst.tools.syntax.names import FileNames, expression_of, number
from cudanalyst.tools.syntax.symbolic import Poly
from cudanalyst.tools.syntax.tree import Tree, text_of, walk

INDICES = tuple(f"{base}.{axis}" for base in ("threadIdx", "blockIdx") for axis in "xyz")
_UNIFORM = tuple(f"{base}.{axis}" for base in ("blockDim", "gridDim") for axis in "xyz")
_MAX_DEPTH = 24
_WARP = 32


@dataclass
class Variable:
    """A local: its declaration, the stretch where it is visible and everything assigned to it."""

    name: str
    type: str
    pointer: bool
    start: int
    end: int
    initial: Node | None = None
    assigned: list[tuple[str, Node | None]] = field(default_factory=list)
    unknown: bool = False
    """Anything may be in it: the parameter of a lambda, or a variable whose address escapes."""


@dataclass(frozen=True)
class PointerParameter:
    """A pointer parameter of a kernel."""

    name: str
    type: str
    const: bool
    restrict: bool
    volatile: bool


@dataclass
class Scope:
    """Names of one kernel."""

    tree: Tree
    function: Node
    file: FileNames
    pointers: dict[str, PointerParameter] = field(default_factory=dict)
    scalars: set[str] = field(default_factory=set)
    shared: dict[str, tuple[str, tuple[Node, ...]]] = field(default_factory=dict)
    """Shared arrays: element type and extents."""
    variables: dict[str, list[Variable]] = field(default_factory=dict)
    constants: dict[str, int] = field(default_factory=dict)
    influences: dict[int, frozenset[str]] = field(default_factory=dict)
    """Memory of `dependence`, by the identity of a variable."""

    def variable(self, node: Node) -> Variable | None:
        """The local that an identifier refers to: the innermost declaration that is visible there."""
        best: Variable | None = None
        for candidate in self.variables.get(text_of(node), []):
            visible = candidate.start <= node.start_byte < candidate.end
            if visible and (best is None or candidate.start >= best.start):
                best = candidate
        return best

    def poly(self, node: Node, depth: int = 0) -> Poly:
        """An expression as a polynomial; what is not understood is opaque, with what it may depend on."""
        if depth > _MAX_DEPTH:
            return Poly.opaque("...", frozenset(INDICES))
        kind = node.type
        if kind == "number_literal":
            value = number(text_of(node))
            return Poly.opaque(text_of(node)) if value is None else Poly.constant(value)
        if kind == "identifier":
            return self._name(node, depth)
        if kind == "field_expression":
            text = text_of(node).replace(" ", "")
            if text in INDICES or text in _UNIFORM:
                return Poly.constant(self.constants[text]) if text in self.constants else Poly.atom(text)
        elif kind in {"parenthesized_expression", "cast_expression"}:
            inner = node.child_by_field_name("value") or (node.named_children[-1] if node.named_children else None)
            if inner is not None:
                return self.poly(inner, depth + 1)
        elif kind == "unary_expression" and text_of(node).startswith(("-", "+")):
            argument = node.child_by_field_name("argument")
            if argument is not None:
                value_poly = self.poly(argument, depth + 1)
                return -value_poly if text_of(node).startswith("-") else value_poly
        elif kind == "binary_expression":
            return self._binary(node, depth)
        elif kind == "call_expression":
            return self._call(node, depth)
        return self._opaque(node, depth)

    def _binary(self, node: Node, depth: int) -> Poly:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        operator = node.child_by_field_name("operator")
        if left is None or right is None or operator is None:
            return self._opaque(node, depth)
        sign = operator.type
        a, b = self.poly(left, depth + 1), self.poly(right, depth + 1)
        if sign == "+":
            return a + b
        if sign == "-":
            return a - b
        if sign == "*":
            return a * b
        constant = b.value
        if sign == "<<" and constant is not None and 0 <= constant < _WARP:
            return a * Poly.constant(1 << constant)
        if constant is not None and constant > 0:
            whole = a.value
            if whole is not None and sign in {"/", "%"}:
                return Poly.constant(whole // constant if sign == "/" else whole % constant)
            return self._within_warp(node, a, sign, constant, depth)
        return self._opaque(node, depth)

    def _within_warp(self, node: Node, a: Poly, sign: str, constant: int, depth: int) -> Poly:
        """`threadIdx.x / 32` is the same in a warp, and `threadIdx.x % 32` moves by one from lane to lane."""
        period = {"/": constant, "%": constant, ">>": 1 << min(constant, 31), "&": constant + 1}.get(sign)
        factor = a.coefficient("threadIdx.x")
        whole_warps = period is not None and period % _WARP == 0 and (sign != "&" or (period & (period - 1)) == 0)
        if not whole_warps or factor is None or factor.value != 1:
            return self._opaque(node, depth)
        others = self.dependence(node, depth) - {"threadIdx.x"}
        base = Poly.opaque(text_of(node), frozenset(others))
        return base if sign in {"/", ">>"} else base + Poly.atom("threadIdx.x")

    def _call(self, node: Node, depth: int) -> Poly:
        function, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        if function is None or arguments is None:
            return self._opaque(node, depth)
        name = text_of(function)
        if name.endswith("thread_rank") and not arguments.named_children:
            rank = Poly.atom("threadIdx.x")
            if "grid" in name:
                rank = rank + Poly.atom("blockIdx.x") * Poly.atom("blockDim.x")
            return rank
        if (
            re.fullmatch(r"(static_cast<.*>|int|unsigned|long|size_t|uint32_t|int64_t)", name)
            and arguments.named_child_count == 1
        ):
            return self.poly(arguments.named_children[0], depth + 1)
        macro = self.file.macros.get(name)
        if macro is not None and len(macro.parameters) == arguments.named_child_count:
            parsed = expression_of(macro.expand([text_of(a) for a in arguments.named_children]))
            if parsed is not None:
                return _Detached(self, node).poly(parsed, depth + 1)
        return self._opaque(node, depth)

    def _name(self, node: Node, depth: int) -> Poly:
        name = text_of(node)
        if name in self.constants:
            return Poly.constant(self.constants[name])
        variable = self.variable(node)
        if variable is not None:
            return self._local(variable, depth)
        if name in self.file.constants:
            return Poly.constant(self.file.constants[name])
        if name in self.file.text_macros and (parsed := expression_of(self.file.text_macros[name])) is not None:
            return _Detached(self, node).poly(parsed, depth + 1)
        return Poly.atom(name)

    def _local(self, variable: Variable, depth: int) -> Poly:
        if variable.unknown:
            return Poly.opaque(variable.name, frozenset(INDICES))
        if variable.pointer:
            return Poly.atom(variable.name)
        start = self.poly(variable.initial, depth + 1) if variable.initial is not None else Poly()
        if not variable.assigned and variable.initial is not None:
            return start
        steps = {operator for operator, _ in variable.assigned}
        influence: frozenset[str] = frozenset()
        for _, value in variable.assigned:
            if value is not None:
                influence |= self.dependence(value, depth + 1, ignore=variable.name)
        if steps <= {"+=", "-=", "++", "--"} and not influence and variable.initial is not None:
            return start + Poly.atom(variable.name)  # it moves by the same amount in all threads
        if (
            variable.initial is None
            and steps == {"="}
            and len(variable.assigned) == 1
            and variable.assigned[0][1] is not None
        ):
            return self.poly(variable.assigned[0][1], depth + 1)
        if variable.initial is not None:
            influence |= self.dependence(variable.initial, depth + 1, ignore=variable.name)
        return Poly({(variable.name,): 1}, influence)

    def dependence(self, node: Node, depth: int = 0, ignore: str | None = None) -> frozenset[str]:
        """Which of threadIdx and blockIdx a value may depend on, through locals and loads."""
        if depth > _MAX_DEPTH:
            return frozenset(INDICES)
        found: set[str] = set()
        for item in walk(node):
            if item.type == "field_expression":
                text = text_of(item).replace(" ", "")
                if text in INDICES and text not in self.constants:
                    found.add(text)
            elif item.type == "identifier" and text_of(item) != ignore:
                variable = self.variable(item)
                if variable is not None:
                    found |= self._influence(variable, depth)
            elif item.type == "call_expression" and "thread_rank" in text_of(
                item.child_by_field_name("function") or item
            ):
                found.add("threadIdx.x")
        return frozenset(found)

    def _influence(self, variable: Variable, depth: int) -> frozenset[str]:
        if variable.unknown:
            return frozenset(INDICES)
        key = id(variable)
        if key not in self.influences:
            self.influences[key] = frozenset()  # what a variable owes to itself adds nothing
            found: frozenset[str] = frozenset()
            for value in (variable.initial, *(assigned for _, assigned in variable.assigned)):
                if value is not None:
                    found |= self.dependence(value, depth + 1)
            self.influences[key] = found
        return self.influences[key]

    def _opaque(self, node: Node, depth: int) -> Poly:
        return Poly.opaque(text_of(node)[:80], self.dependence(node, depth + 1))


class _Detached(Scope):
    """The scope as seen from a place in the kernel, for nodes that were parsed apart from it (macro bodies)."""

    def __init__(self, scope: Scope, at: Node) -> None:
        super().__init__(
            scope.tree,
            scope.function,
            scope.file,
            scope.pointers,
            scope.scalars,
            scope.shared,
            scope.variables,
            scope.constants,
            scope.influences,
        )
        self._at = at

    def variable(self, node: Node) -> Variable | None:
        best: Variable | None = None
        for candidate in self.variables.get(text_of(node), []):
            visible = candidate.start <= self._at.start_byte < candidate.end
            if visible and (best is None or candidate.start >= best.start):
                best = candidate
        return best
