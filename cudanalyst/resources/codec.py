"""Stored bytes to values: the inverse of `canonical_json`, and rows to events."""

import json
from collections.abc import Sequence
from typing import Final, TypeVar

from pydantic import ValidationError

from cudanalyst.errors import StoreError
from cudanalyst.resources.events import EVENT, Recorded
from cudanalyst.values import Frozen

T = TypeVar("T", bound=Frozen)
EVENT_COLUMNS: Final = "seq, at, owner, session, context, body"
"""Of the table of events, as `recorded` takes them."""


def decode(model: type[T], data: bytes) -> T:
    """Parses the canonical JSON of a value.

    Sources may hold any text that a client sent, lone surrogates too, so the bytes are decoded as `canonical_json` encodes.

    Raises:
        StoreError: The bytes are not such a value; a newer version may have written them.
    """
    try:
        return model.model_validate(json.loads(data.decode("utf-8", "surrogatepass")))
    except (UnicodeDecodeError, json.JSONDecodeError, ValidationError) as error:
        raise StoreError(
            f"A stored {model.__name__} cannot be read by this version. Upgrade cudanalyst to the version that wrote it."
        ) from error


def recorded(row: Sequence[str | int | float | None]) -> Recorded:
    """An event as it was stored.

    Raises:
        StoreError: A newer version wrote it.
    """
    seq, at, owner, session, context, body = row
    try:
        event = EVENT.validate_json(str(body))
    except ValidationError as error:
        raise StoreError(
            f"Event {seq} of the store cannot be read by this version ({error.error_count()} errors). "
            "Upgrade cudanalyst to the version that wrote it."
        ) from error
    envelope = {"seq": seq, "at": at, "owner": owner, "session": session, "context": context, "event": event}
    return Recorded.model_validate(envelope)
