"""Finds kernels and builds the scope of each."""

from collections.abc import Iterator

from tree_sitter import Node

from cudanalyst.tools.syntax.names import FileNames, number
from cudanalyst.tools.syntax.scope import PointerParameter, Scope, Variable
from cudanalyst.tools.syntax.tree import Tree, ancestors, text_of, walk


def kernel_definitions(tree: Tree) -> Iterator[Node]:
    """Every `__global__` function with a body."""
    for node in walk(tree.root):
        if node.type == "function_definition" and node.child_by_field_name("body") is not None:
            head = tree.source[node.start_byte : node.child_by_field_name("body").start_byte]  # type: ignore[union-attr]
            if b"__global__" in head and function_name(node):
                yield node


def function_declarator(function: Node) -> Node | None:
    """The declarator with the parameter list."""
    declarator = function.child_by_field_name("declarator")
    while declarator is not None and declarator.type != "function_declarator":
        declarator = declarator.child_by_field_name("declarator")
    return declarator


def function_name(function: Node) -> str | None:
    """The function's name, or None for a misparse."""
    declarator = function_declarator(function)
    name = declarator.child_by_field_name("declarator") if declarator is not None else None
    return text_of(name) if name is not None else None


def parameters(function: Node) -> list[Node]:
    """Parameter declarations in order."""
    declarator = function_declarator(function)
    listed = declarator.child_by_field_name("parameters") if declarator is not None else None
    return [p for p in listed.named_children if p.type.endswith("parameter_declaration")] if listed is not None else []


def scope_of(tree: Tree, function: Node, file: FileNames) -> Scope:
    """Everything that a kernel declares, and what is assigned to it."""
    scope = Scope(tree, function, file)
    for parameter in parameters(function):
        _parameter(parameter, scope)
    _template_arguments(function, scope)
    body = function.child_by_field_name("body")
    if body is None:
        return scope
    for node in walk(body):
        if node.type == "declaration":
            _declaration(node, scope)
        elif node.type == "for_range_loop":
            declarator = node.child_by_field_name("declarator")
            if declarator is not None:
                _add(
                    scope,
                    Variable(base_name(declarator), "auto", pointer=False, start=node.start_byte, end=node.end_byte),
                )
        elif node.type == "lambda_expression":
            _lambda_parameters(node, scope)
    for node in walk(body):
        _assignment(node, scope)
    return scope


def base_name(declarator: Node) -> str:
    """The name that a declarator declares."""
    for node in walk(declarator):
        if node.type in {"identifier", "field_identifier"}:
            return text_of(node)
    return text_of(declarator)


def array_extents(declarator: Node) -> tuple[Node | None, ...]:
    """Extents of an array declarator, outermost first; None for `[]`."""
    extents: list[Node | None] = []
    current: Node | None = declarator
    while current is not None and current.type == "array_declarator":
        extents.append(current.child_by_field_name("size"))
        current = current.child_by_field_name("declarator")
    return tuple(reversed(extents))


def is_shared(declaration: Node) -> bool:
    """Whether a declaration says `__shared__`."""
    return any(text_of(child) == "__shared__" for child in declaration.children)


def _parameter(parameter: Node, scope: Scope) -> None:
    declarator = parameter.child_by_field_name("declarator")
    type_node = parameter.child_by_field_name("type")
    if declarator is None or type_node is None:
        return
    name, text = base_name(declarator), text_of(parameter)
    if any(node.type in {"pointer_declarator", "array_declarator"} for node in walk(declarator)):
        before_star = text.split("*", 1)[0].split()
        scope.pointers[name] = PointerParameter(
            name, text_of(type_node), "const" in before_star, "restrict" in text, "volatile" in before_star
        )
    else:
        scope.scalars.add(name)


def _template_arguments(function: Node, scope: Scope) -> None:
    """Numbers for template parameters, where every launch gives the same ones, or from defaults."""
    template = function.parent
    listed = (
        template.child_by_field_name("parameters")
        if template is not None and template.type == "template_declaration"
        else None
    )
    if listed is None:
        return
    given = scope.file.template_arguments.get(function_name(function) or "", ())
    for index, parameter in enumerate(p for p in listed.named_children if p.type.endswith("parameter_declaration")):
        declarator = parameter.child_by_field_name("declarator")
        default = parameter.child_by_field_name("default_value")
        text = given[index] if index < len(given) else (text_of(default) if default is not None else "")
        value = number(text) if number(text) is not None else scope.file.constants.get(text)
        if declarator is not None and value is not None:
            scope.constants[text_of(declarator)] = value


def _declaration(node: Node, scope: Scope) -> None:
    type_node = node.child_by_field_name("type")
    type_text = text_of(type_node) if type_node is not None else ""
    shared = is_shared(node)
    start, end = _visible(node, scope)
    for child in node.children_by_field_name("declarator"):
        target = child.child_by_field_name("declarator") if child.type == "init_declarator" else child
        if target is None:
            continue
        arrays = [n for n in walk(target) if n.type == "array_declarator"]
        name = base_name(target)
        if shared:
            extents = array_extents(arrays[0]) if arrays else ()
            scope.shared[name] = (type_text, tuple(extent for extent in extents if extent is not None))
            continue
        initial = child.child_by_field_name("value") if child.type == "init_declarator" else None
        pointer = target.type == "pointer_declarator" or bool(arrays) or target.type == "reference_declarator"
        _add(scope, Variable(name, type_text, pointer=pointer, start=start, end=end, initial=initial))


def _visible(node: Node, scope: Scope) -> tuple[int, int]:
    """From the declaration to the end of the block, loop or condition that holds it."""
    for parent, _ in ancestors(node, scope.function):
        if parent.type in {"compound_statement", "for_statement", "if_statement", "while_statement", "case_statement"}:
            return node.start_byte, parent.end_byte
    return node.start_byte, scope.function.end_byte


def _lambda_parameters(node: Node, scope: Scope) -> None:
    for item in walk(node):
        if item.type == "parameter_declaration" and (declarator := item.child_by_field_name("declarator")) is not None:
            name = base_name(declarator)
            _add(scope, Variable(name, "auto", pointer=False, start=node.start_byte, end=node.end_byte, unknown=True))


def _add(scope: Scope, variable: Variable) -> None:
    scope.variables.setdefault(variable.name, []).append(variable)


def _assignment(node: Node, scope: Scope) -> None:
    if node.type == "assignment_expression":
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        operator = node.child_by_field_name("operator")
        if left is not None and left.type == "identifier" and operator is not None:
            variable = scope.variable(left)
            if variable is not None:
                variable.assigned.append((operator.type, right))
    elif node.type == "update_expression":
        argument = node.child_by_field_name("argument")
        if argument is not None and argument.type == "identifier":
            variable = scope.variable(argument)
            if variable is not None:
                variable.assigned.append(("++" if "++" in text_of(node) else "--", None))
    elif node.type == "pointer_expression" and text_of(node).startswith("&"):
        argument = node.child_by_field_name("argument")
        if argument is not None and argument.type == "identifier":
            variable = scope.variable(argument)
            if variable is not None:
                variable.unknown = True
