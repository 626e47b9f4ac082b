"""How much of a result goes over the wire: bounded, with totals and the way to the rest.

What is cut is said in `omitted`, one entry a list or text, so that no reader takes a part for the whole.
"""

import json
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Literal

from pydantic import BaseModel

from cudanalyst.tools.result import Truncation

Detail = Literal["concise", "full"]
LIMITS: Final[dict[Detail, int]] = {"concise": 5_600, "full": 44_000}
"""Characters of JSON. 2,000 tokens are at least 6,000 characters of it at 3 characters a token."""
_KEPT_ITEMS: Final = 1
_SHORT_LIST: Final = 4
"""A list of so few is rather a structure than a listing: it is cut only after longer ones."""
_KEPT_CHARACTERS: Final = 160
_CONTAINERS: Final = (tuple, list, dict)
_NEVER_CUT: Final = frozenset({"summary", "reason", "status", "candidate", "resource"})


def compact_json(data: Any) -> str:
    """JSON as it is sent."""
    return json.dumps(data, separators=(",", ":"), ensure_ascii=False)


def lean(model: BaseModel) -> dict[str, Any]:
    """JSON of a model without what was not measured and what is empty; parsing it gives an equal model."""
    dumped = model.model_dump(mode="json")
    return _without_empty(model, dumped)


def _without_empty(model: BaseModel, dumped: dict[str, Any]) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    for name, required, default in _defaults(type(model)):
        value = getattr(model, name)
        if not required and (value is None or (not value and isinstance(value, _CONTAINERS))) and default == value:
            continue
        kept[name] = _lean_value(value, dumped[name])
        if kept[name] == {} and isinstance(value, BaseModel) and not required:
            del kept[name]
    return kept


@cache
def _defaults(model: type[BaseModel]) -> tuple[tuple[str, bool, Any], ...]:
    """Name, whether it is required, and default of each field."""
    return tuple(
        (name, field.is_required(), field.get_default(call_default_factory=True))
        for name, field in model.model_fields.items()
    )


def _lean_value(value: object, dumped: Any) -> Any:
    if isinstance(value, BaseModel):
        return _without_empty(value, dumped)
    if isinstance(value, tuple | list):
        return [_lean_value(one, plain) for one, plain in zip(value, dumped, strict=True)]
    if isinstance(value, dict):
        return {key: _lean_value(one, dumped[str(key)]) for key, one in value.items()}
    return dumped


@dataclass
class _Cut:
    """A list or text of the tree that can be made shorter."""

    holder: Any
    key: Any
    path: str
    size: int

    @property
    def weight(self) -> tuple[float, str]:
        """What is cut first; the path makes the choice reproducible."""
        value = self.holder[self.key]
        structural = isinstance(value, list) and len(value) <= _SHORT_LIST
        return (self.size / 8 if structural else float(self.size), self.path)


def bounded(data: dict[str, Any], detail: Detail, rest: str | None = None) -> dict[str, Any]:
    """Cuts lists and texts of a result's JSON, largest first, until it fits; records each cut in `omitted`.

    Lists keep their head (results put the most important first), texts their head and tail.

    Args:
        data: JSON of a result, changed in place.
        detail: Which limit holds.
        rest: Resource that holds the whole.
    """
    totals: dict[str, tuple[Any, int]] = {}
    size = len(compact_json(data))
    limit = LIMITS[detail]
    while size > limit:
        cuts = _cuttable(data)
        if not cuts:
            break
        cut = max(cuts, key=lambda one: one.weight)
        value = cut.holder[cut.key]
        totals.setdefault(cut.path, (cut.holder, len(value)))
        cut.holder[cut.key] = _shortened(value)
        size = len(compact_json(data)) + 90 * len(totals)
    if totals:
        data["omitted"] = [*data.get("omitted", ()), *_said(data, totals, rest)]
    return data


def _said(data: dict[str, Any], totals: dict[str, tuple[Any, int]], rest: str | None) -> list[dict[str, Any]]:
    said = []
    for path, (holder, total) in totals.items():
        parts = path.split(".")
        shown = len(holder[int(parts[-1]) if isinstance(holder, list) else parts[-1]])
        if _reachable(data, parts):
            said.append(Truncation(what=path, shown=shown, total=total, resource=rest).model_dump(exclude_none=True))
    return said[:12]


def _reachable(data: Any, parts: list[str]) -> bool:
    for part in parts:
        if isinstance(data, list):
            if int(part) >= len(data):
                return False
            data = data[int(part)]
        elif isinstance(data, dict) and part in data:
            data = data[part]
        else:
            return False
    return True


def _shortened(value: Any) -> Any:
    if isinstance(value, list):
        return value[: max(_KEPT_ITEMS, len(value) // 2)]
    keep = max(_KEPT_CHARACTERS, len(value) // 2)
    return f"{value[: keep * 2 // 3]}\n[...]\n{value[len(value) - keep // 3 :]}"


def _cuttable(data: Any, path: str = "") -> list[_Cut]:
    found: list[_Cut] = []
    items = enumerate(data) if isinstance(data, list) else data.items() if isinstance(data, dict) else ()
    for key, value in items:
        here = f"{path}.{key}" if path else str(key)
        if isinstance(value, list):
            if len(value) > _KEPT_ITEMS:
                found.append(_Cut(data, key, here, len(compact_json(value))))
            found += _cuttable(value, here)
        elif isinstance(value, dict):
            found += _cuttable(value, here)
        elif isinstance(value, str) and len(value) > 2 * _KEPT_CHARACTERS and key not in _NEVER_CUT:
            found.append(_Cut(data, key, here, len(value)))
    return found
