"""Finds nvcc among $CUDA_HOME, PATH, /usr/local and the installed wheels: for the CPU engine the first of CUDA 13.0.x."""

import os
import re
import shutil
import sysconfig
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cudanalyst.errors import Unavailable
from cudanalyst.tools.process import run_process

REMEDY: Final = "Install it with: pip install 'cudanalyst[cuda]' (or set CUDA_HOME to a CUDA 13.0 toolkit)"
LOCAL_TOOLKITS: Final = "/usr/local"
WANTED: Final = (13, 0)
_PROBE_S: Final = 30.0

Refusal = Callable[[tuple[int, int]], str | None]
"""Why a toolkit of this version is of no use (empty where the version says it), or None."""


def refused_by_engine(version: tuple[int, int]) -> str | None:
    """The engine executes the PTX of one release."""
    return None if version == WANTED else ""


@dataclass(frozen=True)
class Toolkit:
    """A CUDA toolkit, as a full installation or as wheels lay it out."""

    root: Path
    version: str
    """For instance 13.0.88."""

    @property
    def nvcc(self) -> Path:
        """The compiler driver itself, not a wrapper."""
        return self.root / "bin" / "nvcc"

    @property
    def include(self) -> Path:
        """Folder of cuda_runtime_api.h."""
        return self.root / "include"

    @property
    def library_dirs(self) -> tuple[Path, ...]:
        """Folders with libraries; the wheels have only `lib`."""
        return tuple(folder for name in ("lib64", "lib") if (folder := self.root / name).is_dir())


def candidates(environment: Mapping[str, str], site_packages: Iterable[Path]) -> Iterator[Path]:
    """Places where nvcc may be, best first, each once; they need not exist."""
    seen = set()
    folders = [Path(environment[name]) / "bin" for name in ("CUDA_HOME", "CUDA_PATH") if environment.get(name)]
    folders += [Path(entry) for entry in environment.get("PATH", os.defpath).split(os.pathsep) if entry]
    folders += [root / "bin" for root in sorted(Path(LOCAL_TOOLKITS).glob("cuda*"))]
    folders += [site / "nvidia" / "cu13" / "bin" for site in site_packages]
    for folder in folders:
        path = (folder / "nvcc").absolute()
        if path not in seen:
            seen.add(path)
            yield path


def parse_dryrun(output: str) -> Path | None:
    """The toolkit's root from `nvcc --dryrun`, whatever wrapper started it."""
    match = re.search(r"^#\$ TOP=(.+)$", output, re.MULTILINE)
    return Path(os.path.normpath(match[1].strip())) if match else None


def parse_version(output: str) -> str | None:
    """`13.0.88` from `nvcc --version`."""
    match = re.search(r"\bV(\d+\.\d+\.\d+)", output)
    return match[1] if match else None


async def find_toolkit(
    environment: Mapping[str, str] | None = None,
    site_packages: Iterable[Path] | None = None,
    *,
    refusal: Refusal = refused_by_engine,
    wanted: str = "CUDA 13.0",
) -> Toolkit:
    """The first toolkit that is not refused.

    Args:
        environment: For CUDA_HOME, CUDA_PATH and PATH; None for `os.environ`.
        site_packages: Where wheels are installed; None for this interpreter's.
        refusal: Says why a version is of no use.
        wanted: What is looked for, in words.

    Raises:
        Unavailable: There is none; the text says which others were seen and how to get one.
    """
    environment = os.environ if environment is None else environment
    if site_packages is None:
        site_packages = {Path(sysconfig.get_path(name)) for name in ("purelib", "platlib")}
    others = []
    for path in candidates(environment, site_packages):
        if not (path.is_file() and os.access(path, os.X_OK)):
            continue
        toolkit = await _probe(path)
        if toolkit is None:
            others.append(f"{path} (does not work)")
            continue
        major, minor = map(int, toolkit.version.split(".")[:2])
        if (reason := refusal((major, minor))) is None:
            return toolkit
        others.append(f"{path} (version {toolkit.version}{reason and f': {reason}'})")
    seen = f" Found, but of no use here: {', '.join(others)}." if others else ""
    raise Unavailable(f"nvcc of {wanted} was not found.{seen} {REMEDY}")


async def _probe(nvcc: Path) -> Toolkit | None:
    """Asks an nvcc, or a wrapper script around one, for its version and its toolkit."""
    # An empty environment but PATH: a wrapper may need a shell. No input file exists, and none is read.
    environment = {"PATH": os.defpath}
    try:
        version = parse_version(
            (await run_process([nvcc, "--version"], env=environment, timeout_s=_PROBE_S)).stdout.text
        )
        dryrun = await run_process([nvcc, "--dryrun", "-c", "x.cu"], env=environment, timeout_s=_PROBE_S)
    except Unavailable:
        return None
    root = parse_dryrun(dryrun.stderr.text + dryrun.stdout.text)
    if version is None or root is None or not (root / "bin" / "nvcc").is_file():
        return None
    return Toolkit(root, version)


def find_tool(name: str, environment: Mapping[str, str]) -> Path | None:
    """A program on PATH."""
    found = shutil.which(name, path=environment.get("PATH", os.defpath))
    return Path(found) if found else None
