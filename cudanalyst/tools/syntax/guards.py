"""Which conditions stand between the start of a kernel and a place in it."""

from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from cudanalyst.tools.syntax.scope import Scope
from cudanalyst.tools.syntax.tree import ancestors, text_of, walk

_LEAVING = {"return_statement", "continue_statement", "break_statement"}
_BRANCHING = {
    "if_statement",
    "for_statement",
    "while_statement",
    "do_statement",
    "switch_statement",
    "conditional_expression",
}


@dataclass(frozen=True)
class Guard:
    """A condition that decides whether a place is reached."""

    condition: Node
    leaves: bool
    """An earlier `if (condition) return;` rather than a branch around the place."""
    negated: bool = False
    """The place lies in the `else` of the condition."""


def guards(node: Node, scope: Scope) -> Iterator[Guard]:
    """Conditions that hold or fail on the way to `node`, from the inside out."""
    for parent, child in ancestors(node, scope.function):
        condition = condition_of(parent)
        if condition is not None and parent.type in _BRANCHING and condition != child:
            in_else = parent.type == "if_statement" and parent.child_by_field_name("alternative") == child
            yield Guard(condition, leaves=False, negated=in_else)
        if parent.type == "binary_expression" and text_of(parent.child_by_field_name("operator") or parent) in {
            "&&",
            "||",
        }:
            left = parent.child_by_field_name("left")
            if left is not None and left != child:
                yield Guard(left, leaves=False)
        if parent.type in {"compound_statement", "case_statement"}:
            for sibling in parent.named_children:
                if sibling.start_byte >= child.start_byte:
                    break
                if sibling.type == "if_statement" and _always_leaves(sibling):
                    early = condition_of(sibling)
                    if early is not None:
                        yield Guard(early, leaves=True)


def condition_of(statement: Node) -> Node | None:
    """The condition of a branch or loop."""
    found = statement.child_by_field_name("condition")
    if found is not None and found.type == "condition_clause":
        return found.child_by_field_name("value") or found
    return found


def single_lane(node: Node, scope: Scope) -> bool:
    """Whether a place is reached by one thread in x only: under `threadIdx.x == 0` or the like."""
    for guard in guards(node, scope):
        for item in walk(guard.condition):
            operator = item.child_by_field_name("operator") if item.type == "binary_expression" else None
            wanted = "!=" if guard.leaves else "=="
            if operator is not None and operator.type == wanted and "threadIdx.x" in scope.dependence(item):
                return True
            if (
                item.type == "unary_expression"
                and text_of(item).startswith("!")
                and "threadIdx.x" in scope.dependence(item)
            ):
                return True
    return False


def _always_leaves(statement: Node) -> bool:
    consequence = statement.child_by_field_name("consequence")
    if consequence is None:
        return False
    if consequence.type == "compound_statement":
        return bool(consequence.named_children) and consequence.named_children[-1].type in _LEAVING
    return consequence.type in _LEAVING
