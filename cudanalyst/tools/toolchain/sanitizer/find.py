"""Finds compute-sanitizer, and asks it for its version."""

import os
import re
import sysconfig
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cudanalyst.errors import Unavailable
from cudanalyst.tools.process import run_process

REMEDY: Final = "install the CUDA toolkit's compute-sanitizer, or: pip install nvidia-cuda-sanitizer-api"
_NAME: Final = "compute-sanitizer"
_LOCAL_TOOLKITS: Final = "/usr/local"
_PROBE_S: Final = 20.0


@dataclass(frozen=True)
class Sanitizer:
    """An installed compute-sanitizer."""

    path: Path
    version: str
    """For instance 2025.3.1.0."""


def places(environment: Mapping[str, str], site_packages: Iterable[Path]) -> Iterator[Path]:
    """Where it may be, best first, each once; it need not exist there."""
    seen = set()
    homes = [Path(environment[name]) for name in ("CUDA_HOME", "CUDA_PATH") if environment.get(name)]
    folders = [folder for home in homes for folder in (home / "bin", home / "compute-sanitizer")]
    folders += [Path(entry) for entry in environment.get("PATH", os.defpath).split(os.pathsep) if entry]
    for root in sorted(Path(_LOCAL_TOOLKITS).glob("cuda*")):
        folders += [root / "bin", root / "compute-sanitizer"]
    folders += [site / "nvidia" / "cu13" / "bin" for site in site_packages]
    for folder in folders:
        path = (folder / _NAME).absolute()
        if path not in seen:
            seen.add(path)
            yield path


def parse_version(output: str) -> str | None:
    """`2025.3.1.0` from `compute-sanitizer --version`."""
    match = re.search(r"^Version (\d+(?:\.\d+)+)", output, re.MULTILINE)
    return match[1] if match else None


async def find_sanitizer(
    environment: Mapping[str, str] | None = None, site_packages: Iterable[Path] | None = None
) -> Sanitizer:
    """The first compute-sanitizer that answers.

    Raises:
        Unavailable: There is none; the text says what was seen and how to get one.
    """
    environment = os.environ if environment is None else environment
    if site_packages is None:
        site_packages = {Path(sysconfig.get_path(name)) for name in ("purelib", "platlib")}
    broken = []
    for path in places(environment, site_packages):
        if not (path.is_file() and os.access(path, os.X_OK)):
            continue
        try:
            answer = await run_process([path, "--version"], timeout_s=_PROBE_S)
        except Unavailable as error:
            broken.append(str(error))
            continue
        version = parse_version(answer.stdout.text)
        if version is not None:
            return Sanitizer(path, version)
        broken.append(f"{path} (does not tell its version)")
    seen = f" Found, but of no use: {'; '.join(broken)}." if broken else ""
    raise Unavailable(f"compute-sanitizer was not found.{seen} To debug on a GPU, {REMEDY}")
