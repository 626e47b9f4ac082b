"""What tests on a GPU measured and saw, in files: one for each name, whichever of several workers wrote what of it."""

import fcntl
import json
from pathlib import Path
from typing import Any


def keep(folder: Path, name: str, value: Any, *, run: str | None) -> Path:
    """Writes a value, as JSON unless it is text, and gives the file.

    Args:
        folder: Of all records.
        name: Has a suffix where it is not JSON.
        value: What is kept. Of a dictionary that several workers of one run fill, each knows its own entries only: they are put together.
        run: Names a run of several workers; None where there is but one process.
    """
    path = folder / f"{name}{'' if '.' in name else '.json'}"
    path.parent.mkdir(parents=True, exist_ok=True)
    if run is None or not isinstance(value, dict):
        path.write_text(value if isinstance(value, str) else _text(value))
        return path
    beside = path.with_name(f".{path.name}.run")
    with beside.open("a+") as whose:
        fcntl.flock(whose, fcntl.LOCK_EX)
        whose.seek(0)
        # What an earlier run left is no part of this one.
        others = json.loads(path.read_text()) if whose.read() == run and path.exists() else {}
        path.write_text(_text(others | value))
        whose.seek(0)
        whose.truncate()
        whose.write(run)
        whose.flush()
    return path


def _text(value: Any) -> str:
    return json.dumps(value, indent=1, default=str)
