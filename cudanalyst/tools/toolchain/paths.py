"""Turns paths of this machine into names that mean something to a reader and give nothing away."""

import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

SYSTEM_PREFIXES: Final = ("/usr/include", "/usr/local/include", "/usr/lib/gcc")
_PATH: Final = re.compile(r"(?<![\w.<>/-])/(?:[\w.+@~^%-]+/)+[\w.+@~^%-]*")
_TEMPORARY: Final = re.compile(r"tmpxft_[0-9a-f]+_[0-9a-f]+-\d+_")


@dataclass(frozen=True)
class PathNames:
    """Which folder is shown under which name."""

    own_file: str
    """`candidate.cu` or `program.cu`."""
    folders: Mapping[str, str]
    """Absolute folder to what is shown for it; for the work directory the empty text."""

    def name(self, path: str) -> str | None:
        """What to show for a file: a name relative to a known folder, or None for a file that is not the reader's business."""
        if not path.startswith("/"):
            path = posixpath.normpath(path)
            return None if path.startswith("..") else path
        path = posixpath.normpath(path)
        for folder, shown in sorted(self.folders.items(), key=lambda item: -len(item[0])):
            if path.startswith(folder.rstrip("/") + "/"):
                rest = path[len(folder.rstrip("/")) + 1 :]
                return f"{shown}/{rest}" if shown else rest
        for prefix in SYSTEM_PREFIXES:
            if path.startswith(prefix + "/"):
                return "<system>" + path[len(prefix) :]
        return None

    def scrub(self, text: str) -> str:
        """Replaces paths within a message; a path outside the known folders keeps only its last part."""

        def replace(match: re.Match[str]) -> str:
            return self.name(match[0]) or "<path>/" + posixpath.basename(match[0].rstrip("/"))

        return _TEMPORARY.sub("", _PATH.sub(replace, text))


def shown_file(path: str, names: PathNames) -> str | None:
    """What to show for a path of a line table. Builds are made in folders of their own, so the submitted source is known by its name."""
    shown = names.name(path)
    if shown is not None and shown.startswith("<work>/") and posixpath.basename(shown) == names.own_file:
        return names.own_file
    return shown
