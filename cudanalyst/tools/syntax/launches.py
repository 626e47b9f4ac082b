"""Kernel launches, and the block size they state."""

import re
from dataclasses import dataclass

from tree_sitter import Node

from cudanalyst.tools.syntax.model import Launch
from cudanalyst.tools.syntax.names import FileNames, number
from cudanalyst.tools.syntax.tree import Tree, text_of, walk

MAX_BLOCK_THREADS = 1024
_DIM3 = re.compile(r"^(?:const |constexpr )*dim3\b")


@dataclass(frozen=True)
class LaunchSite:
    """A launch with what is known of its block: extents that are numbers, None where they are not."""

    launch: Launch
    block: tuple[int | None, int | None, int | None]
    node: Node


def launch_sites(tree: Tree, file: FileNames) -> tuple[LaunchSite, ...]:
    """Every `kernel<<<...>>>(...)`, in source order."""
    found: list[LaunchSite] = []
    for node in walk(tree.root):
        if node.type != "call_expression":
            continue
        syntax = next((child for child in node.children if child.type == "kernel_call_syntax"), None)
        function = node.child_by_field_name("function")
        if syntax is None or function is None:
            continue
        arguments = [text_of(child) for child in syntax.named_children if child.type != "comment"]
        if len(arguments) < 2:
            continue
        block_text, extents = _geometry(arguments[1], node, file)
        found.append(
            LaunchSite(
                Launch(
                    kernel=re.sub(r"<.*", "", text_of(function)).split("::")[-1].strip(),
                    place=tree.place(node),
                    grid=_geometry(arguments[0], node, file)[0],
                    block=block_text,
                    shared_bytes=arguments[2] if len(arguments) > 2 else None,
                    stream=arguments[3] if len(arguments) > 3 else None,
                ),
                extents,
                node,
            )
        )
    return tuple(found)


def block_of(kernel: str, sites: tuple[LaunchSite, ...]) -> tuple[int | None, int | None, int | None]:
    """The block extents of a kernel where all launches agree on a number."""
    blocks = {site.block for site in sites if site.launch.kernel == kernel}
    if not blocks:
        return (None, None, None)
    x, y, z = (values.pop() if len(values := {block[axis] for block in blocks}) == 1 else None for axis in range(3))
    return (x, y, z)


def _geometry(text: str, node: Node, file: FileNames) -> tuple[str, tuple[int | None, int | None, int | None]]:
    """`b` where `dim3 b(16, 16)` stands above is `dim3(16, 16)`: its text and its extents."""
    if text.isidentifier():
        text = _definition(text, node) or text
    match = re.fullmatch(r"dim3\s*[({](.*)[)}]", text)
    parts = _split(match.group(1)) if match else [text]
    numbers = [_number(part, file) for part in parts[:3]]
    numbers += [1] * (3 - len(numbers)) if match or numbers[0] is not None else [None] * (3 - len(numbers))
    return text, (numbers[0], numbers[1], numbers[2])


def _definition(name: str, node: Node) -> str | None:
    """What a host variable of a launch was last declared as, before the launch."""
    function: Node | None = node
    while function is not None and function.type != "function_definition":
        function = function.parent
    best: str | None = None
    for item in walk(function) if function is not None else ():
        if item.start_byte >= node.start_byte:
            break
        if item.type != "init_declarator" or item.parent is None:
            continue
        declarator, value = item.child_by_field_name("declarator"), item.child_by_field_name("value")
        if declarator is not None and value is not None and text_of(declarator) == name:
            is_dim3 = _DIM3.match(text_of(item.parent)) is not None
            best = (
                f"dim3{text_of(value)}"
                if is_dim3 and value.type in {"argument_list", "initializer_list"}
                else text_of(value)
            )
    return best


def _split(text: str) -> list[str]:
    parts, depth, current = [], 0, ""
    for character in text:
        depth += (character in "([{") - (character in ")]}")
        if character == "," and depth == 0:
            parts.append(current.strip())
            current = ""
        else:
            current += character
    return [*parts, current.strip()]


def _number(text: str, file: FileNames) -> int | None:
    value = number(text)
    if value is None:
        value = file.constants.get(text)
    if value is None and (product := re.fullmatch(r"(\w+)\s*\*\s*(\w+)", text)):
        left, right = _number(product[1], file), _number(product[2], file)
        value = left * right if left is not None and right is not None else None
    return value
