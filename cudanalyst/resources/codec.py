"""Values to bytes and back: the inverse of `canonical_json`."""

import json
from typing import TypeVar

from pydantic import ValidationError

from cudanalyst.errors import StoreError
from cudanalyst.values import Frozen

T = TypeVar("T", bound=Frozen)


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
