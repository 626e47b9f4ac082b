"""Reads a problem folder: data files, checked, with errors that name the file and the key.

```
vector_add/
  problem.toml     id, title, description, [[parameters]], [sizes], [tolerance], [work]
  baseline.cu      a correct, plain solution
  reference.py     reference(inputs, sizes) -> {output: array}, in float64
  edits.toml       optional: [[starts]], [[faults]], [[edits]]
  starts/NAME.cu   one for each of [[starts]]
```
"""

import ast
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from cudanalyst.errors import BadProblem
from cudanalyst.kernels.problem import Problem
from cudanalyst.kernels.rules import check_edit_book, check_problem

MAX_FILE_BYTES: Final = 1_000_000
PROBLEM_FILE: Final = "problem.toml"
BOOK_FILE: Final = "edits.toml"
BASELINE_FILE: Final = "baseline.cu"
REFERENCE_FILE: Final = "reference.py"
_BOOK_KEYS: Final = ("starts", "faults", "edits")


@dataclass(frozen=True)
class ProblemFolder:
    """A problem and where its reference lies."""

    problem: Problem
    folder: Path

    @property
    def reference_file(self) -> Path:
        """The Python file that defines `reference`."""
        return self.folder / REFERENCE_FILE


def load_problem(folder: Path) -> ProblemFolder:
    """Reads and checks a problem folder.

    Raises:
        BadProblem: Names the file, the key, and what to do.
    """
    if not folder.is_dir():
        message = f"{folder}: no such folder; a problem is a folder with {PROBLEM_FILE}"
        raise BadProblem(message)
    data = _toml(folder / PROBLEM_FILE)
    _refuse_text_keys(folder / PROBLEM_FILE, data)
    data["baseline"] = _text(folder / BASELINE_FILE)
    data |= _book(folder)
    _check_reference(folder / REFERENCE_FILE)
    try:
        problem = Problem.model_validate(data)
    except ValidationError as error:
        raise BadProblem(_explain(folder, error)) from error
    check_problem(folder / PROBLEM_FILE, problem)
    check_edit_book(folder / BOOK_FILE, problem)
    return ProblemFolder(problem=problem, folder=folder)


def _text(path: Path) -> str:
    try:
        data = path.read_bytes()
    except OSError as error:
        message = f"{path}: cannot be read ({error.strerror}); add the file"
        raise BadProblem(message) from error
    if len(data) > MAX_FILE_BYTES:
        message = f"{path}: {len(data)} bytes; at most {MAX_FILE_BYTES} are read"
        raise BadProblem(message)
    try:
        return data.decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        message = f"{path}: byte {error.start} is not UTF-8; save the file as UTF-8"
        raise BadProblem(message) from error


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(_text(path))
    except tomllib.TOMLDecodeError as error:
        message = f"{path}: not valid TOML: {error}"
        raise BadProblem(message) from error


def _refuse_text_keys(path: Path, data: dict[str, Any]) -> None:
    for key, where in {"baseline": BASELINE_FILE, **dict.fromkeys(_BOOK_KEYS, BOOK_FILE)}.items():
        if key in data:
            message = f"{path}: key `{key}` does not belong here; it is read from {where}"
            raise BadProblem(message)


def _book(folder: Path) -> dict[str, Any]:
    path = folder / BOOK_FILE
    sources = {file.stem: file for file in sorted((folder / "starts").glob("*.cu"))}
    if not path.exists() and not sources:
        return {}
    data = _toml(path)
    for key in data:
        if key not in _BOOK_KEYS:
            message = f"{path}: unknown key `{key}`; known are: {', '.join(_BOOK_KEYS)}"
            raise BadProblem(message)
    for key, entries in data.items():
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            message = f"{path}: key `{key}` must be a list of tables: write [[{key}]]"
            raise BadProblem(message)
    starts = data.get("starts", [])
    for position, start in enumerate(starts):
        name = start.get("name")
        if "source" in start or not isinstance(name, str):
            message = f"{path}: key `starts.{position}` needs `name`, and no `source`: the text is starts/NAME.cu"
            raise BadProblem(message)
        if name not in sources:
            message = f"{path}: key `starts.{position}.name`: there is no starts/{name}.cu; add it or drop the entry"
            raise BadProblem(message)
        start["source"] = _text(sources.pop(name))
    if sources:
        message = f'{path}: starts/{min(sources)}.cu has no entry; add [[starts]] with name = "{min(sources)}"'
        raise BadProblem(message)
    return data


def _check_reference(path: Path) -> None:
    """Looks for `reference(inputs, sizes)` without running the file."""
    try:
        tree = ast.parse(_text(path))
    except (SyntaxError, ValueError) as error:
        message = f"{path}: not valid Python: {error}"
        raise BadProblem(message) from error
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == "reference":
            if len(node.args.args) == 2:
                return
            message = f"{path}: `reference` must take (inputs, sizes)"
            raise BadProblem(message)
    message = f"{path}: defines no function `reference(inputs, sizes)`"
    raise BadProblem(message)


def _explain(folder: Path, error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    place = [str(part) for part in first["loc"]]
    file = BOOK_FILE if place and place[0] in _BOOK_KEYS else PROBLEM_FILE
    key = ".".join(place) or "(whole file)"
    match first["type"]:
        case "missing":
            text = "is missing; add it"
        case "extra_forbidden":
            text = "is unknown; remove it or mend its spelling"
        case _:
            given = repr(first.get("input"))
            text = f"{first['msg']} (given: {given[:80]})"
    more = error.error_count() - 1
    rest = f" ({more} further problem{'s' if more > 1 else ''})" if more else ""
    return f"{folder / file}: key `{key}` {text}{rest}"
