"""Tells what the engine wrote from what a candidate wrote into the same file. Pure.

Each run has a key of its own. The engine takes it out of the environment before any of the candidate's code runs, and seals every line of
its report with the line's number; contents of result files are in sealed lines by their digest. The key still lies in the
memory of the candidate's process: this stops whoever can write files, not whoever searches the process (docs/threat-model.md).
"""

import hashlib
import hmac
import secrets
from collections.abc import Iterable, Mapping
from typing import Any, Final

VARIABLE: Final = "CUDANALYST_SEAL"
NOT_THE_ENGINES: Final = "was not written by the engine"
_KEY_BYTES: Final = 32
_TAG_BYTES: Final = 16


def new_key() -> bytes:
    """A key for one run."""
    return secrets.token_bytes(_KEY_BYTES)


def line_tag(key: bytes, number: int, line: bytes) -> bytes:
    """The seal of the n-th line (from 0), in hexadecimal: keyed BLAKE2b of its number and text."""
    message = number.to_bytes(8, "little") + line
    return hashlib.blake2b(message, key=key, digest_size=_TAG_BYTES).hexdigest().encode()


def open_line(key: bytes, number: int, line: bytes) -> bytes | None:
    """The line without its seal, or None where the seal is not the engine's."""
    text, tab, tag = line.rpartition(b"\t")
    return text if tab and hmac.compare_digest(tag, line_tag(key, number, text)) else None


def digest(contents: bytes) -> str:
    """What a `download` record says of a file's contents."""
    return hashlib.blake2b(contents, digest_size=_KEY_BYTES).hexdigest()


def changed_download(
    records: Iterable[Mapping[str, Any]], downloads: Iterable[Mapping[str, bytes]]
) -> tuple[int, str] | None:
    """The first result that is not what the engine wrote: index of its call and name of the buffer; None if there is none."""
    written = {
        (record.get("index"), record.get("buffer")): record.get("digest")
        for record in records
        if record["type"] == "download"
    }
    for index, contents in enumerate(downloads):
        for name, data in contents.items():
            if written.get((index, name)) != digest(data):
                return index, name
    return None
