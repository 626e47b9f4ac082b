"""The ready experiment files."""

from importlib import resources
from pathlib import Path
from typing import Final

from cudanalyst.errors import BadRequest, CudanalystError
from cudanalyst.resources.design.file import read_design
from cudanalyst.resources.design.models import Design

_PACKAGE: Final = "cudanalyst.clients.experiments"
NAMES: Final = (
    "quickstart",
    "regimes",
    "sampled",
    "confirmatory",
    "external",
    "replay",
    "paper-findings-quick",
    "paper-findings",
)
"""In the order in which a newcomer would read them."""


def text_of(name: str) -> str:
    """The text of an example.

    Raises:
        BadRequest: There is none of the name.
    """
    if name not in NAMES:
        raise BadRequest(f"{name!r} is no example; choose from {', '.join(NAMES)}")
    return resources.files(_PACKAGE).joinpath(f"{name}.toml").read_text(encoding="utf-8")


def examples() -> dict[str, Design]:
    """Every example, read."""
    return {name: read_design(text_of(name)) for name in NAMES}


def copy(name: str, out: Path) -> Path:
    """Writes an example to a new file.

    Raises:
        BadRequest: There is none of the name, or the file exists.
        CudanalystError: It cannot be written.
    """
    text = text_of(name)
    try:
        with out.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as error:
        raise BadRequest(f"{out} exists already; name another file with --out") from error
    except OSError as error:
        raise CudanalystError(
            f"{out} cannot be written ({error.strerror}); make its folder, or name another file with --out"
        ) from error
    return out
