"""One registered tool: arguments checked with words that name them, errors told apart, results bounded."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Literal

from mcp import MCPError
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp.server.mcpserver.tools import Tool
from mcp_types import CallToolResult, TextContent, ToolAnnotations
from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from cudanalyst.errors import CudanalystError
from cudanalyst.server.bounds import Detail, compact_json
from cudanalyst.server.schema import compact_input, outline
from cudanalyst.tools.text import error_text, printable

Perform = Callable[[dict[str, Any], "Common", Context[Any, Any]], Awaitable[tuple[BaseModel, dict[str, Any]]]]
"""Does one call: (arguments, common arguments, SDK context) to (result model, bounded JSON of it)."""


@dataclass(frozen=True)
class Common:
    """Arguments that every tool takes and no handler sees."""

    session: str | None = None
    context: str | None = None
    detail: Detail = "concise"


_COMMON: dict[str, Any] = {
    "session": (str | None, Field(None, description="Session handle")),
    "context": (str | None, Field(None, description="Your conversation's name")),
}
_DETAIL: dict[str, Any] = {"detail": (Detail, Field("concise", description="full: up to 44,000 characters"))}
_EXPLAINING = frozenset({"session_start", "trial_next"})
"""Tools whose definitions say what `session` and `context` are: a client reads all definitions, and these two introduce them."""
_SHOWN: Literal[200] = 200


class WorkbenchTool(Tool):
    """A tool whose handler is a method of the workbench, called through `perform` and never past it."""

    model_config = ConfigDict(arbitrary_types_allowed=True)
    perform: Perform = Field(exclude=True)

    @classmethod
    def of(
        cls,
        handler: Callable[..., Any],
        perform: Perform,
        *,
        name: str,
        title: str,
        description: str,
        annotations: ToolAnnotations,
        detailed: bool,
    ) -> "WorkbenchTool":
        """Registers `handler(call, **arguments)`, whose first parameter the surface fills."""
        plain = Tool.from_function(
            handler, name=name, title=title, description=description, annotations=annotations, context_kwarg="call"
        )
        metadata = plain.fn_metadata
        metadata.arg_model = create_model(
            f"{name}Arguments", __base__=metadata.arg_model, **_COMMON, **(_DETAIL if detailed else {})
        )
        if metadata.output_schema is None or metadata.wrap_output:
            message = f"{name}: a handler returns one pydantic model"
            raise TypeError(message)
        metadata.output_schema = outline(metadata.output_schema)
        fields = {field: getattr(plain, field) for field in Tool.model_fields}
        fields["parameters"] = compact_input(metadata.arg_model.model_json_schema(by_alias=True))
        if name not in _EXPLAINING:
            for common in _COMMON:
                fields["parameters"]["properties"][common].pop("description")
        return cls(**fields, perform=perform)

    async def run(
        self,
        arguments: dict[str, Any],
        context: Context[Any, Any],
        convert_result: bool = False,  # noqa: FBT001, FBT002 - the SDK's
    ) -> Any:
        """Checks the arguments, does the work, and gives the bounded result.

        Raises:
            ToolError: The call cannot be served; its text says what to do.
            UnexpectedToolError: A bug; nothing of it reaches the caller.
        """
        values = self._checked(arguments)
        common = Common(**{name: values.pop(name) for name in (*_COMMON, *_DETAIL) if name in values})
        try:
            model, data = await self.perform(values, common, context)
        except CudanalystError as error:
            raise ToolError(error_text(error)) from error
        except MCPError:
            raise
        except Exception as error:
            message = f"Error executing tool {self.name}"
            raise UnexpectedToolError(message) from error
        if not convert_result:
            return model
        return CallToolResult(content=[TextContent(type="text", text=compact_json(data))], structured_content=data)

    def _checked(self, arguments: dict[str, Any]) -> dict[str, Any]:
        known = self.fn_metadata.arg_model.model_fields
        if unknown := sorted(set(arguments) - set(known)):
            message = f"{printable(', '.join(unknown)[:_SHOWN])}: no such argument of {self.name}; it takes {', '.join(known)}"
            raise ToolError(message)
        try:
            return self.fn_metadata.validate_arguments(arguments)
        except ValidationError as error:
            raise ToolError(f"{self.name}: {explain(error)}") from error


def explain(error: ValidationError) -> str:
    """What is wrong with which argument, without links and without echoing the values."""
    said = []
    for one in error.errors(include_url=False, include_context=False, include_input=False):
        place = ".".join(str(part) for part in one["loc"] if part != "function-after")
        said.append(f"{place}: {one['msg']}")
    return "; ".join(said)[:2000]
