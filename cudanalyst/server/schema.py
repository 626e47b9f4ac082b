"""Published schemas: true of every result and short enough to be read, since clients hand them to a model on each turn."""

from typing import Any, Final

from cudanalyst.server.bounds import compact_json
from cudanalyst.tools.text import CHARACTERS_A_TOKEN

_DROPPED: Final = ("title", "default", "additionalProperties", "maxItems", "maxLength", "minLength")
"""Lengths are checked all the same; a caller that meets one is told."""

_UNSAID: Final = frozenset(
    {
        "omitted",
        "truncated",
        "duration_s",
        "engine",
        "metrics",
        "duration_us",
        "sass",
        "sass_reason",
        "baseline_measured_us",
        "speedup_min",
        "large_sizes_left_out",
        "nondeterminism",
        "trust_reason",
        "planner",
        "coder",
        "evidence_for",
        "decoding",
        "template",
        "step",
        "steps",
        "counts",
        "design",
    }
)
"""Fields that say how a result was made, or that only some places give: sent, and left to the result model to state."""


def outline(schema: dict[str, Any]) -> dict[str, Any]:
    """The top level of a result's schema: names, types and status words; what is nested is `object` or `array`.

    Every result that is sent is a value of its outline: what was not measured is left out, so no null is among them. The
    full schema is what the result model states.
    """
    definitions = schema.get("$defs", {})
    properties = {
        name: _flat(part, definitions) for name, part in schema.get("properties", {}).items() if name not in _UNSAID
    }
    return {"type": "object", "properties": properties, "required": schema.get("required", [])}


def _flat(part: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    if "$ref" in part:
        part = definitions[part["$ref"].removeprefix("#/$defs/")]
    if "anyOf" in part:
        choices = [_flat(one, definitions) for one in part["anyOf"] if one != {"type": "null"}]
        return choices[0] if len(choices) == 1 else {}
    kept: dict[str, Any] = {"type": part.get("type", "object")}
    if "enum" in part:
        kept["enum"] = part["enum"]
    if "const" in part:
        kept["enum"] = [part["const"]]
    return kept


def compact_input(schema: dict[str, Any]) -> dict[str, Any]:
    """An input schema without generated titles, with short forms for optional values, closed to unknown names."""
    definitions = schema.get("$defs", {})
    properties = {name: _argument(part, definitions) for name, part in schema.get("properties", {}).items()}
    compact: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
    if required := schema.get("required"):
        compact["required"] = required
    return compact


def _argument(part: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in part.items() if key not in _DROPPED and key != "anyOf"}
    if (default := part.get("default")) not in (None, [], ""):
        kept["default"] = default
    if "$ref" in kept:
        kept |= definitions[kept.pop("$ref").removeprefix("#/$defs/")]
    choices = [one for one in part.get("anyOf", ()) if one != {"type": "null"}]
    if len(choices) == 1:
        kept |= _argument(choices[0], definitions)
    elif choices:
        kept["anyOf"] = [_argument(one, definitions) for one in choices]
    if "items" in kept:
        kept["items"] = _argument(kept["items"], definitions)
    return {key: value for key, value in kept.items() if key not in _DROPPED[:1]}


def estimated_tokens(definition: Any) -> int:
    """Tokens of a definition, rounded up, by its compact JSON at 3.5 characters a token."""
    return -int(-len(compact_json(definition)) // CHARACTERS_A_TOKEN)
