"""The files of leases: opened without following links, locked through read-only descriptors, never another user's for writing."""

import contextlib
import fcntl
import os
import re
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from cudanalyst.errors import Unavailable

FOLDER_VARIABLE: Final = "CUDANALYST_LEASES"
SHARED_FOLDERS: Final = ("/run/lock", "/tmp")  # noqa: S108 - checked to be sticky, and files are opened defensively


def lease_folder(environment: Mapping[str, str] | None = None, root: Path = Path("/")) -> Path:
    """Where all users' leases are: `$CUDANALYST_LEASES`, else the first of /run/lock and /tmp that everyone may write.

    Every process of a machine must find the same folder, whoever it runs as, so the choice looks at modes and not at own rights.

    Raises:
        Unavailable: There is none.
    """
    environment = os.environ if environment is None else environment
    if own := environment.get(FOLDER_VARIABLE):
        folder = Path(own)
        if not folder.is_dir():
            raise Unavailable(
                f"{FOLDER_VARIABLE} names {own}, which is no folder; make it, writable for all users of the GPU"
            )
        return folder
    for name in SHARED_FOLDERS:
        folder = root / name.lstrip("/")
        with contextlib.suppress(OSError):
            mode = folder.lstat().st_mode
            if stat.S_ISDIR(mode) and mode & stat.S_ISVTX and mode & stat.S_IWOTH:
                return folder
    message = (
        f"neither {' nor '.join(SHARED_FOLDERS)} is a folder that every user may write; set {FOLDER_VARIABLE} to one"
    )
    raise Unavailable(message)


def try_lock(path: Path, remedy: str, *, shared: bool = False) -> int | None:
    """A descriptor that holds the lock of a file, made if it is not there; None while another is in the way.

    Raises:
        Unavailable: The file cannot be used; the text ends with the remedy.
    """
    kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    while True:
        descriptor = _open(path, remedy)
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return None
        # A cleaner of temporary files may have removed the file: a lock that others cannot find is none.
        if _same(descriptor, path):
            return descriptor
        os.close(descriptor)


def unlock(descriptor: int) -> None:
    """Gives a lock back, explicitly: a copy of the descriptor in a child would keep it otherwise."""
    fcntl.flock(descriptor, fcntl.LOCK_UN)
    os.close(descriptor)


def _open(path: Path, remedy: str) -> int:
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        for _ in range(100):
            try:
                descriptor = os.open(path, flags)
            except FileNotFoundError:
                with contextlib.suppress(FileExistsError):
                    os.close(create(path))
                continue
            if stat.S_ISREG(os.fstat(descriptor).st_mode):
                return descriptor
            os.close(descriptor)
            break
    except OSError as error:
        raise Unavailable(
            f"the GPU's lock {path} cannot be opened ({error.strerror}); remove it if nothing uses the GPU, {remedy}"
        ) from error
    raise Unavailable(f"{path} is in the place of the GPU's lock and is no plain file; remove it")


def create(path: Path) -> int:
    """A new file that everyone may read, whatever the umask: a lock needs no more."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    os.fchmod(descriptor, 0o644)
    return descriptor


def _same(descriptor: int, path: Path) -> bool:
    try:
        now = path.lstat()
    except OSError:
        return False
    held = os.fstat(descriptor)
    return (now.st_dev, now.st_ino) == (held.st_dev, held.st_ino)


def holders(paths: Sequence[Path]) -> str:
    """`, held by process 12`, from the kernel's list of locks; empty where it does not tell."""
    inodes = set()
    for path in paths:
        with contextlib.suppress(OSError):
            inodes.add(path.lstat().st_ino)
    try:
        lines = Path("/proc/locks").read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return ""
    pids = []
    for line in lines:
        match = re.match(r"\d+: FLOCK\s+ADVISORY\s+(?:READ|WRITE) (\d+) [0-9a-f]+:[0-9a-f]+:(\d+) ", line)
        if match and int(match[2]) in inodes and match[1] != "0":
            pids.append(match[1])
    return f", held by process {', '.join(pids)}" if pids else ""
