"""What names mean at file scope: macros, constants, structures, device arrays, template arguments of launches."""

import re
from dataclasses import dataclass, field

from tree_sitter import Node

from cudanalyst.tools.syntax.tree import Tree, parse, text_of, walk

ELEMENT_BYTES = {
    "char": 1, "signed char": 1, "unsigned char": 1, "int8_t": 1, "uint8_t": 1, "bool": 1,
    "short": 2, "unsigned short": 2, "int16_t": 2, "uint16_t": 2, "half": 2, "__half": 2, "__nv_bfloat16": 2,
    "int": 4, "unsigned int": 4, "unsigned": 4, "float": 4, "int32_t": 4, "uint32_t": 4, "half2": 4, "__half2": 4,
    "long": 8, "long long": 8, "unsigned long long": 8, "unsigned long": 8, "size_t": 8, "int64_t": 8, "uint64_t": 8,
    "double": 8, "float2": 8, "int2": 8, "uint2": 8, "float3": 12, "int3": 12,
    "float4": 16, "int4": 16, "uint4": 16, "double2": 16,
}  # fmt: skip
"""Size in bytes of the types that ordinary kernels use."""
VECTOR_TYPES = frozenset(
    {
        "float2",
        "float4",
        "int2",
        "int4",
        "uint2",
        "uint4",
        "double2",
        "longlong2",
        "ulonglong2",
        "short4",
        "uchar4",
        "half2",
    }
)


@dataclass(frozen=True)
class FunctionMacro:
    """`#define NAME(a, b) body`."""

    parameters: tuple[str, ...]
    body: str

    def expand(self, arguments: list[str]) -> str:
        """The body with each argument in parentheses for its parameter, all at once."""
        given = dict(zip(self.parameters, arguments, strict=True))
        return re.sub(r"\b\w+\b", lambda word: f"({given[word[0]]})" if word[0] in given else word[0], self.body)


@dataclass(frozen=True)
class FileNames:
    """What the file says outside its kernels."""

    constants: dict[str, int] = field(default_factory=dict)
    """Object-like macros, `constexpr` and `const` integers, enumerators with a known value."""
    macros: dict[str, FunctionMacro] = field(default_factory=dict)
    text_macros: dict[str, str] = field(default_factory=dict)
    device_arrays: dict[str, str] = field(default_factory=dict)
    """`__device__` arrays and their element types."""
    structures: frozenset[str] = frozenset()
    template_arguments: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Template arguments of a kernel, where all its launches agree."""


def file_names(tree: Tree) -> FileNames:
    """Collects what the kernels' expressions may refer to."""
    names = FileNames(structures=frozenset(_structures(tree)))
    launches: dict[str, set[tuple[str, ...]]] = {}
    for node in walk(tree.root):
        if node.type == "preproc_def":
            _object_macro(node, names)
        elif node.type == "preproc_function_def":
            _function_macro(node, names)
        elif node.type == "declaration":
            _declaration(node, names)
        elif node.type == "template_function" and (arguments := node.child_by_field_name("arguments")) is not None:
            name = node.child_by_field_name("name")
            if name is not None:
                values = tuple(text_of(child) for child in arguments.named_children)
                launches.setdefault(text_of(name), set()).add(values)
    names.template_arguments.update({name: next(iter(values)) for name, values in launches.items() if len(values) == 1})
    return names


def expression_of(text: str) -> Node | None:
    """Parses text as an expression; None where it is not one."""
    tree = parse(f"auto _ = ({text});", "macro")
    if tree.error_ranges:
        return None
    for node in walk(tree.root):
        if node.type == "init_declarator":
            return node.child_by_field_name("value")
    return None


def number(text: str) -> int | None:
    """The integer that a literal denotes."""
    match = re.fullmatch(r"(0[xX][0-9a-fA-F']+|0[bB][01']+|[0-9']+)([uUlLzZ]*)", text)
    if match is None:
        return None
    digits = match.group(1).replace("'", "")
    if digits.lower().startswith(("0x", "0b")):
        return int(digits, 0)
    return (
        int(digits, 8)
        if len(digits) > 1 and digits.startswith("0") and digits.isdigit() and "8" not in digits and "9" not in digits
        else int(digits)
    )


def _object_macro(node: Node, names: FileNames) -> None:
    name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    if name is None or value is None:
        return
    text = re.sub(r"//.*|/\*.*?\*/", "", text_of(value)).strip()
    _constant(text_of(name), text, names)
    names.text_macros[text_of(name)] = text


def _constant(name: str, text: str, names: FileNames) -> None:
    stripped = text.strip("() ")
    value = number(stripped)
    if value is None and (parts := re.fullmatch(r"(\w+)\s*([*+\-/]|<<)\s*(\w+)", stripped)):
        left, right = (number(p) if number(p) is not None else names.constants.get(p) for p in (parts[1], parts[3]))
        if left is not None and right is not None:
            value = {
                "*": left * right,
                "+": left + right,
                "-": left - right,
                "/": left // right if right else None,
                "<<": left << right if 0 <= right < 32 else None,
            }[parts[2]]
    if value is None:
        value = names.constants.get(stripped)
    if value is not None:
        names.constants[name] = value


def _function_macro(node: Node, names: FileNames) -> None:
    name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    parameters = node.child_by_field_name("parameters")
    if name is None or value is None or parameters is None:
        return
    body = re.sub(r"//.*|/\*.*?\*/", "", text_of(value)).strip()
    names.macros[text_of(name)] = FunctionMacro(tuple(text_of(p) for p in parameters.named_children), body)


def _declaration(node: Node, names: FileNames) -> None:
    qualifiers = {text_of(child) for child in node.children if not child.type.endswith("declarator")}
    type_node = node.child_by_field_name("type")
    for child in node.named_children:
        target = child.child_by_field_name("declarator") if child.type == "init_declarator" else child
        value = child.child_by_field_name("value") if child.type == "init_declarator" else None
        if target is None:
            continue
        if qualifiers & {"constexpr", "const"} and target.type == "identifier" and value is not None:
            _constant(text_of(target), text_of(value), names)
        elif "__device__" in qualifiers and target.type == "array_declarator" and type_node is not None:
            base = next((text_of(n) for n in walk(target) if n.type == "identifier"), None)
            if base is not None:
                names.device_arrays[base] = text_of(type_node)


def _structures(tree: Tree) -> list[str]:
    return [
        text_of(name)
        for node in walk(tree.root)
        if node.type == "struct_specifier" and (name := node.child_by_field_name("name")) is not None
    ]
