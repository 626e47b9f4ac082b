"""Files of an export: written whole or not at all, only under their folder, and never over what is there unless asked to."""

import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Final

from cudanalyst.errors import BadRequest, StoreError

MAX_NAME: Final = 150
"""Bytes of one file's name: file systems take 255, and a draft's name is longer."""
_RESERVED: Final = frozenset('<>:"\\|?*')


def safe_name(text: str, *, most: int = 60) -> str:
    """A part of a file's name that every file system takes, from any text; different texts may give the same."""
    kept = "".join(mark if mark.isascii() and (mark.isalnum() or mark in "-_.") else "-" for mark in text)
    return kept.strip("-.")[:most].strip("-.") or "unnamed"


def check_name(name: str) -> PurePosixPath:
    """A relative path of plain names.

    Raises:
        BadRequest: It is absolute, leaves its folder, or holds what some file system does not take.
    """
    parts = name.split("/")
    plain = all(
        part not in {"", ".", ".."}
        and len(part.encode("utf-8", "replace")) <= MAX_NAME
        and not any(mark in _RESERVED or ord(mark) < 32 for mark in part)
        for part in parts
    )
    if not plain:
        raise BadRequest(f"{name!r} is no plain relative path: use names without .., /, \\ and control characters.")
    return PurePosixPath(name)


def write_files(folder: Path, files: Mapping[str, bytes], *, force: bool = False) -> tuple[Path, ...]:
    """Writes files under a folder, each whole: first all drafts, then their names.

    Args:
        folder: made where it is missing.
        files: contents by relative path.
        force: Whether files that are there may be replaced.

    Raises:
        BadRequest: A file is there already, or a path leaves the folder, also through a link.
        StoreError: The folder cannot be written.
    """
    targets = {name: folder / check_name(name) for name in files}
    drafts: dict[str, Path] = {}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _refuse(folder, targets, force=force)
        for name, target in targets.items():
            target.parent.mkdir(parents=True, exist_ok=True)
            drafts[name] = target.with_name(f".{target.name}.{secrets.token_hex(4)}.new")
            _write_new(drafts[name], files[name])
        for name, target in targets.items():
            _name(drafts[name], target, force=force)
    except OSError as error:
        raise StoreError(
            f"{folder} cannot be written ({error.strerror}): free space there, or choose another folder."
        ) from error
    finally:
        for draft in drafts.values():
            with suppress(OSError):
                draft.unlink(missing_ok=True)
    return tuple(targets.values())


def _refuse(folder: Path, targets: Mapping[str, Path], *, force: bool) -> None:
    root = folder.resolve()
    for name, target in targets.items():
        if not target.parent.resolve().is_relative_to(root):
            raise BadRequest(f"{name} leads out of {folder} through a link; choose an empty folder.")
        if not force and os.path.lexists(target):
            raise BadRequest(f"{target} is there already. Choose another folder, or replace it with --force.")
        if target.is_dir():
            raise BadRequest(f"{target} is a folder where a file is to be written. Choose another folder.")


def _write_new(path: Path, data: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _name(draft: Path, target: Path, *, force: bool) -> None:
    """Gives a draft its name; without `force` a file that came in the meantime is not lost."""
    if force:
        draft.replace(target)
        return
    try:
        target.hardlink_to(draft)
    except FileExistsError:
        raise BadRequest(f"{target} is there already. Choose another folder, or replace it with --force.") from None
    except OSError:
        draft.replace(target)  # a file system without hard links: it was looked at a moment ago
