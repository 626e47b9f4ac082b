"""Removes what an untrusted process left behind: nested deeper than any recursion or path reaches, or without permissions."""

import contextlib
import itertools
import os
import secrets
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FEW_FOLDERS: Final = 20
_FEW_FILES: Final = 100
REMOVAL: Final = "removal of"
"""How the name of a thread begins that removes."""


def remove_tree(path: Path) -> None:
    """Removes a folder and all that is in it, as far as that can be done; links are not followed.

    Nobody may be writing to it any more. Every folder is moved to the top before it is emptied, so depth costs nothing.
    """
    with contextlib.suppress(OSError):
        with _opened(path, None) as root:
            prefix = secrets.token_hex(8)  # a name that nothing in there has
            names = (f"{prefix}-{number}" for number in itertools.count())
            waiting = _emptied(root, root, names)
            while waiting:
                name = waiting.pop()
                with contextlib.suppress(OSError):
                    with _opened(name, root) as folder:
                        waiting += _emptied(folder, root, names)
                    os.rmdir(name, dir_fd=root)
        path.rmdir()


def remove_aside(path: Path) -> None:
    """The same, in a thread of its own where there is much to remove: the server's loop does not wait for it."""
    folders = list(itertools.islice(os.walk(path), _FEW_FOLDERS))
    if len(folders) < _FEW_FOLDERS and sum(len(files) for _, _, files in folders) < _FEW_FILES:
        remove_tree(path)
    else:
        threading.Thread(target=remove_tree, args=(path,), name=f"{REMOVAL} {path.name}").start()


@contextlib.contextmanager
def _opened(path: str | Path, folder: int | None) -> Iterator[int]:
    try:
        descriptor = os.open(path, _FOLDER, dir_fd=folder)
    except PermissionError:
        os.chmod(path, 0o700, dir_fd=folder)
        descriptor = os.open(path, _FOLDER, dir_fd=folder)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _emptied(folder: int, root: int, names: Iterator[str]) -> list[str]:
    """Removes the files of a folder, and moves its folders to the root: their names there."""
    moved: list[str] = []
    with os.scandir(folder) as found:
        entries = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in found]
    for name, is_folder in entries:
        with contextlib.suppress(OSError):
            if not is_folder:
                os.unlink(name, dir_fd=folder)
                continue
            new = next(names)
            try:
                os.rename(name, new, src_dir_fd=folder, dst_dir_fd=root)
            except PermissionError:
                os.chmod(name, 0o700, dir_fd=folder)
                os.rename(name, new, src_dir_fd=folder, dst_dir_fd=root)
            moved.append(new)
    return moved
