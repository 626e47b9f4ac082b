"""Reading JSON that others wrote: bounded, plain files only, and errors that name the file and the field."""

import json
import math
import os
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from cudanalyst.errors import BadRequest
from cudanalyst.tools.source import MAX_SOURCE_BYTES

MAX_FILE_BYTES: Final = 64_000_000
MAX_TOTAL_BYTES: Final = 512_000_000
MAX_FILES: Final = 20_000
MAX_DEPTH: Final = 64
MAX_TEXT: Final = 300
"""Characters of a name or a claim that are kept."""
MAX_CLAIMS: Final = 64
"""Metrics kept of one program."""


class Reader:
    """Reads JSON files under one folder, and counts what it has read."""

    def __init__(self, root: Path, *, max_file: int = MAX_FILE_BYTES, max_total: int = MAX_TOTAL_BYTES) -> None:
        """Opens nothing yet.

        Args:
            root: nothing outside it is read, not through links either.
            max_file: bytes of one file.
            max_total: bytes of all files together.
        """
        self.root = root.resolve()
        self._max_file, self._left = max_file, max_total

    def name(self, path: Path) -> str:
        """A file as messages name it: relative to the folder that was given."""
        return path.relative_to(self.root).as_posix() if path.is_relative_to(self.root) else path.name

    def list(self, folder: Path, pattern: str) -> tuple[Path, ...]:
        """Files of a folder in the order of their names.

        Raises:
            BadRequest: There are too many.
        """
        found: list[Path] = []
        try:
            for path in folder.glob(pattern):
                found.append(path)
                if len(found) > MAX_FILES:
                    raise BadRequest(f"{self.name(folder)}: more than {MAX_FILES} files; import a smaller checkpoint.")
        except OSError as error:
            raise BadRequest(f"{self.name(folder)}: cannot be listed ({error.strerror}).") from error
        return tuple(sorted(found))

    def json(self, path: Path) -> Any:
        """The value of a JSON file; NaN and infinities, which Python's own writer emits, become None.

        Raises:
            BadRequest: It is missing, no plain file below the root, too large, too deep, or no JSON.
        """
        name = self.name(path)
        data = self._bytes(path, name)
        try:
            value = json.loads(data, parse_constant=lambda _: None, parse_float=_finite)
        except UnicodeDecodeError as error:
            raise BadRequest(f"{name}: byte {error.start} is no text in UTF-8.") from error
        except json.JSONDecodeError as error:
            raise BadRequest(f"{name}: line {error.lineno}, column {error.colno}: no JSON ({error.msg}).") from error
        except RecursionError:
            raise BadRequest(f"{name}: nested too deeply.") from None
        except ValueError as error:
            raise BadRequest(f"{name}: a number has too many digits.") from error
        if _depth(value) > MAX_DEPTH:
            raise BadRequest(f"{name}: nested more than {MAX_DEPTH} levels deep.")
        return value

    def head(self, path: Path, size: int) -> str | None:
        """The first bytes of a text file; None where there is none to read."""
        try:
            return self._bytes(path, self.name(path), most=size).decode("utf-8", "replace")
        except BadRequest:
            return None

    def _bytes(self, path: Path, name: str, *, most: int | None = None) -> bytes:
        if not path.resolve().is_relative_to(self.root):
            raise BadRequest(f"{name}: is a link out of {self.root.name}; nothing outside it is read.")
        limit = min(self._max_file, self._left)
        try:
            # Without blocking, so that a pipe with nobody at its other end does not hold us.
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            with os.fdopen(descriptor, "rb") as file:
                if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                    raise BadRequest(f"{name}: no plain file.")
                data = file.read(limit + 1 if most is None else min(most, limit))
        except OSError as error:
            raise BadRequest(f"{name}: cannot be read ({error.strerror}).") from error
        if most is None and len(data) > limit:
            raise BadRequest(f"{name}: more than {limit} bytes, or too much with the files before it; import less.")
        self._left -= len(data)
        return data


def _finite(digits: str) -> float | None:
    number = float(digits)
    return number if math.isfinite(number) else None


def _depth(value: Any) -> int:
    """How deep lists and objects are nested; without recursion, which hostile input could exhaust."""
    deepest, waiting = 0, [(value, 1)]
    while waiting:
        one, depth = waiting.pop()
        if isinstance(one, (dict, list)):
            deepest = max(deepest, depth)
            if deepest > MAX_DEPTH:
                return deepest
            waiting += [(part, depth + 1) for part in (one.values() if isinstance(one, dict) else one)]
    return deepest


class Fields:
    """Fields of one JSON object, with errors that name the file and the field."""

    def __init__(self, where: str, value: Any) -> None:
        """Raises BadRequest where the value is no object."""
        if not isinstance(value, dict):
            raise BadRequest(f"{where}: must be an object, is {_kind(value)}.")
        self.where, self._value = where, value

    def text(self, field: str) -> str:
        """A text that must be there.

        Raises:
            BadRequest: It is missing, empty, no text, or longer than a source may be.
        """
        value = self._value.get(field)
        if not isinstance(value, str) or not value.strip():
            raise self._wrong(field, "a text that is not empty", value)
        size = len(value.encode("utf-8", "surrogatepass"))
        if size > MAX_SOURCE_BYTES:
            raise BadRequest(f"{self.where}: {field}: has {size} bytes; at most {MAX_SOURCE_BYTES} are taken.")
        return value

    def text_or_none(self, field: str) -> str | None:
        """A text, where there is one."""
        value = self._value.get(field)
        if value is None or value == "":
            return None
        if not isinstance(value, str):
            raise self._wrong(field, "a text or null", value)
        return value

    def count(self, field: str, default: int | None = None) -> int:
        """A whole number from 0 to 1,000,000."""
        value = self._value.get(field, default)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= 1_000_000:
            raise self._wrong(field, "a whole number from 0 to 1,000,000", value)
        return value

    def part(self, field: str) -> "Fields | None":
        """An object inside this one, where there is one."""
        value = self._value.get(field)
        return None if value is None else Fields(f"{self.where}: {field}", value)

    def claims(self, field: str) -> dict[str, float | str | bool | None]:
        """Metrics as the run states them: numbers, yes or no, and short texts; everything else is left out.

        Raises:
            BadRequest: It is no object.
        """
        value = self._value.get(field)
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise self._wrong(field, "an object of metrics", value)
        return kept(value)

    def _wrong(self, field: str, wanted: str, value: Any) -> BadRequest:
        given = "is missing" if field not in self._value else f"is {_kind(value)}"
        return BadRequest(f"{self.where}: {field}: must be {wanted}, {given}.")


def kept(value: Mapping[str, Any]) -> dict[str, float | str | bool | None]:
    """The claims of an object that are worth keeping, bounded in number and length."""
    plain = [(name, one) for name, one in value.items() if one is None or isinstance(one, (str, int, float, bool))]
    return {name[:MAX_TEXT]: _claim(one) for name, one in plain[:MAX_CLAIMS]}


def _claim(value: Any) -> float | str | bool | None:
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, str):
        return value[:MAX_TEXT]
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _kind(value: Any) -> str:
    names = {
        dict: "an object",
        list: "a list",
        str: "a text",
        bool: "true or false",
        int: "a number",
        float: "a number",
    }
    return "null" if value is None else names.get(type(value), "of another kind")


def newest(folders: Iterable[Path], prefix: str) -> Path | None:
    """Of folders named `prefix` and a number, the one with the highest number."""
    numbered = [
        (int(path.name.removeprefix(prefix)), path)
        for path in folders
        if path.name.startswith(prefix) and path.name.removeprefix(prefix).isascii()
        and path.name.removeprefix(prefix).isdigit() and len(path.name) < 40 and path.is_dir()
    ]  # fmt: skip
    return max(numbered)[1] if numbered else None
