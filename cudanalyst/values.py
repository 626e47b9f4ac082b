"""The two things that every value in the package shares: immutability and identity by content."""

import hashlib
import json
from typing import Final

from pydantic import BaseModel, ConfigDict

ID_LENGTH: Final = 32
"""Hexadecimal characters kept of a SHA-256 digest: 128 bits."""


class Frozen(BaseModel):
    """Base of every value: immutable, and strict about unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


def content_id(prefix: str, *parts: str | bytes | BaseModel) -> str:
    """Names a value by what it holds: `prefix_` and 128 bits of SHA-256, never a clock or a name.

    Parts are length-prefixed, so that moving a byte from one part to the next changes the id.
    """
    digest = hashlib.sha256()
    for part in parts:
        if isinstance(part, BaseModel):
            data = canonical_json(part)
        elif isinstance(part, str):
            data = part.encode("utf-8", "surrogatepass")
        else:
            data = part
        digest.update(len(data).to_bytes(8, "big"))
        digest.update(data)
    return f"{prefix}_{digest.hexdigest()[:ID_LENGTH]}"


def canonical_json(value: BaseModel) -> bytes:
    """JSON bytes that are equal exactly when the values are: sorted keys, no spaces, UTF-8."""
    return json.dumps(
        value.model_dump(mode="json"), sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    ).encode("utf-8", "surrogatepass")
