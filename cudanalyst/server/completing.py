"""Completion of the resource templates' arguments, where every caller may know all the values: problems and components."""

from collections.abc import Sequence
from typing import Any, Final, get_args

from mcp.server import MCPServer
from mcp_types import (
    Completion,
    CompletionArgument,
    CompletionContext,
    PromptReference,
    ResourceTemplateReference,
)

from cudanalyst.kernels.catalogue import Catalogue
from cudanalyst.kernels.problem import Component

PROBLEM: Final = "cudanalyst://problems/{problem}"
EVIDENCE: Final = "cudanalyst://checkpoints/{checkpoint}/evidence/{component}"
MAX_VALUES: Final = 100
"""The protocol's limit."""


def add_completion(server: MCPServer[Any], problems: Catalogue) -> None:
    """Registers the completion. Handles are secrets and never completed."""

    async def complete(
        ref: PromptReference | ResourceTemplateReference,
        argument: CompletionArgument,
        context: CompletionContext | None,  # noqa: ARG001 - the SDK's
    ) -> Completion | None:
        known: dict[tuple[str, str], Sequence[str]] = {
            (PROBLEM, "problem"): problems.ids,
            (EVIDENCE, "component"): sorted(get_args(Component)),
        }
        values = known.get((getattr(ref, "uri", ""), argument.name))
        return None if values is None else matching(values, argument.value)

    register: Any = server.completion  # untyped in the SDK
    register()(complete)


def matching(values: Sequence[str], begun: str) -> Completion:
    """The values that begin as a reader has begun to write; then those that hold it elsewhere."""
    begun = begun.lower()
    found = [one for one in values if one.startswith(begun)]
    found += [one for one in values if begun in one and one not in found]
    return Completion(values=found[:MAX_VALUES], total=len(found), has_more=len(found) > MAX_VALUES)
