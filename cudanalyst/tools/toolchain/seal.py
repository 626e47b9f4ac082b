"""Tells what the engine wrote from what a candidate wrote into the same file. Pure.

Each run has a key of its own. The engine takes it out of the environment before any of the candidate's code runs, and seals every line of
its report with the line's number; contents of result files are in sealed lines by their digest. The key still lies in the
memory of the candidate's process: this stops whoever can write files, not whoever searches the process (docs/threat-model.md).
"""

import hashlib
import hmac
import secrets
from collections.abc import Mapping, Sequence
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


def vouched_downloads(
    records: Sequence[Mapping[str, Any]], downloads: Sequence[Mapping[str, bytes]]
) -> tuple[tuple[Mapping[str, bytes], ...], tuple[int, str] | None]:
    """The results that the engine's digests stand for, and the first that somebody else has written: index of its call and name of the buffer.

    The engine writes a file, then its digest, and the call's answer after all of them. A process that is ended in between leaves a file without a
    digest: it is no result, and says nothing against anyone. Somebody else's is a file that differs from its digest, or has none though its call was answered.
    """
    written = {
        (record.get("index"), record.get("buffer")): record.get("digest")
        for record in records
        if record["type"] == "download"
    }
    answered = {record.get("index") for record in records if record["type"] == "call" and record.get("status") == "ok"}
    kept: list[Mapping[str, bytes]] = []
    changed: tuple[int, str] | None = None
    for index, contents in enumerate(downloads):
        own: dict[str, bytes] = {}
        for name, data in contents.items():
            said = written.get((index, name))
            if said is not None and said == digest(data):
                own[name] = data
            elif said is not None or index in answered:
                changed = changed or (index, name)
        kept.append(own)
    return tuple(kept), changed
