"""Reading an experiment file: TOML in, a checked design out, and errors that name the field and what is allowed there."""

import difflib
import json
import tomllib
from collections.abc import Sequence
from typing import Any, Final, get_args

from pydantic import BaseModel, ValidationError

from cudanalyst.errors import BadRequest
from cudanalyst.resources.design.aims import check_analysis
from cudanalyst.resources.design.models import Design

MAX_TEXT: Final = 400_000
MAX_ERRORS: Final = 8
_ALSO: Final = {"coalitions": ", { sample = N, seed = S }, or a list of lists of players"}
"""What else is allowed where a field has several forms."""
TOO_DEEP: Final = "The design nests lists or tables too deeply to be read."
JSON_MARK: Final = "# a design as JSON\n"


def read_design(text: str) -> Design:
    """Parses an experiment file: TOML, or JSON of the same form.

    Raises:
        BadRequest: It is neither, a field is unknown or out of range, or the analysis speaks of what is not run; every fault
            is named with its path.
    """
    if len(text) > MAX_TEXT:
        raise BadRequest(f"The design has {len(text)} characters; at most {MAX_TEXT} are read.")
    body = text.removeprefix(JSON_MARK).lstrip()
    data = _json(body) if body.startswith("{") else _toml(text)
    try:
        design = Design.model_validate(data)
    except ValidationError as error:
        raise BadRequest(_in_words(error, data)) from error
    check_analysis(design)
    return design


def written(design: Design) -> str:
    """A design as TOML that `read_design` reads back to an equal one: what is not default, a line for each field."""
    return "".join(f"{key} = {_value(value)}\n" for key, value in design.document().items())


def _value(value: object) -> str:
    """A value in TOML; tables stand inline."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_value(str(key))} = {_value(one)}" for key, one in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    # Numbers, truth values and strings are written as in JSON, but for one character.
    return json.dumps(value, ensure_ascii=False, allow_nan=False).replace("\x7f", "\\u007f")


def _toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadRequest(f"The design is not valid TOML: {error}.") from error
    except RecursionError as error:
        raise BadRequest(TOO_DEEP) from error


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise BadRequest(f"The design is not valid JSON: {error}.") from error
    except RecursionError as error:
        raise BadRequest(TOO_DEEP) from error


def _in_words(error: ValidationError, data: object) -> str:
    lines: dict[str, None] = {}
    for one in error.errors(include_url=False, include_context=False):
        lines[_line(one["loc"], one["type"], one["msg"], data)] = None
    shown = list(lines)[:MAX_ERRORS]
    rest = len(lines) - len(shown)
    return (
        "The design cannot be used:\n" + "\n".join(f"- {line}" for line in shown) + (f"\n- {rest} more" if rest else "")
    )


def _line(location: Sequence[int | str], kind: str, message: str, data: object) -> str:
    where = _path(location, data, named=kind in {"missing", "extra_forbidden"})
    if kind == "extra_forbidden":
        allowed = _fields_at(location[:-1])
        near = difflib.get_close_matches(str(location[-1]), allowed, 1)
        guess = f"; did you mean `{near[0]}`?" if near else ""
        return f"{where}: unknown{guess} Allowed: {', '.join(allowed)}." if allowed else f"{where}: unknown"
    words = message.removeprefix("Value error, ")
    # Rules over several fields begin with a path of their own.
    return (
        words
        if kind == "value_error"
        else f"{where or 'the design'}: {words[0].lower()}{words[1:]}{_ALSO.get(where, '')}"
    )


def _path(location: Sequence[int | str], data: object, *, named: bool) -> str:
    """`planners[0].kind`; steps that name a type of a union, not a place in the file, are left out."""
    path, here = "", data
    for index, step in enumerate(location):
        last = index == len(location) - 1
        if isinstance(step, int):
            path, here = f"{path}[{step}]", here[step] if isinstance(here, list) and step < len(here) else None
        # What is missing or unknown is named too; any other step that the file does not have names a type.
        elif isinstance(here, dict) and (step in here or (last and named)):
            path, here = (f"{path}.{step}" if path else step), here.get(step)
    return path


def _fields_at(location: Sequence[int | str]) -> list[str]:
    """Names that are allowed where an unknown one was found."""
    model: type[BaseModel] | None = Design
    for step in location:
        if isinstance(step, int) or model is None or step not in model.model_fields:
            continue
        model = _model_in(model.model_fields[step].annotation)
    return [] if model is None else list(model.model_fields)


def _model_in(annotation: object) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for one in get_args(annotation) if (found := _model_in(one)) is not None), None)
