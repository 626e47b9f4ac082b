"""What compute-sanitizer wrote on a real GPU, read once."""

import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import pytest

from cudanalyst.tools.findings import Check
from cudanalyst.tools.toolchain.paths import PathNames
from cudanalyst.tools.toolchain.sanitizer.context import Context
from cudanalyst.tools.toolchain.sanitizer.places import Allocation
from cudanalyst.tools.toolchain.sanitizer.verdict import Verdict, interpret

ARCHIVE = Path(__file__).parents[1] / "data" / "compute-sanitizer-2025.3" / "recorded.tar.gz"
TOOLKIT = {"/usr/local/cuda": "<toolkit>", "/usr/local/cuda-13.0": "<toolkit>"}


@dataclass(frozen=True)
class Recordings:
    files: dict[str, bytes]

    def names(self) -> list[str]:
        return sorted(name.removesuffix(".txt") for name in self.files if name.endswith(".txt") and self.check(name))

    @staticmethod
    def check(name: str) -> Check | None:
        return next((check for check in get_args(Check) if f".{check}" in name), None)

    def verdict(
        self,
        name: str,
        *,
        check: Check | None = None,
        own: str = "p.cu",
        replayed: bool = False,
        allocations: tuple[Allocation, ...] = (),
    ) -> Verdict:
        check = check or self.check(name + ".")
        assert check is not None
        return interpret(
            check,
            self.files.get(f"{name}.xml"),
            self.files[f"{name}.txt"],
            Context(PathNames(own, TOOLKIT), replayed=replayed),
            allocations=allocations,
            stderr=self.files.get(f"{name}.err", b"").decode(),
        )

    def line_of(self, text: str, file: str = "p.cu") -> int:
        """The line of a recorded program that holds a text."""
        lines = self.files[file].decode().splitlines()
        return next(number for number, line in enumerate(lines, 1) if text in line)


@pytest.fixture(scope="session")
def recordings() -> Recordings:
    with tarfile.open(ARCHIVE) as archive:
        return Recordings(
            {member.name: archive.extractfile(member).read() for member in archive.getmembers() if member.isfile()}
        )
