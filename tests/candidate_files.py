"""Candidates kept as files: `// key: value` lines at the head say what each is and what must come of it."""

import asyncio
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pytest

from cudanalyst.kernels.catalogue import Catalogue
from cudanalyst.kernels.problem import Problem
from cudanalyst.tools.run import RunRequest, RunResult, run
from cudanalyst.tools.source import BuildOptions, Source
from cudanalyst.tools.toolchain.protocol import Build, Toolchain

CATALOGUE = Catalogue()
SECRET = b"a secret of the tests"
DECOY = "@DECOY@"
"""Stands in a source for the path of a file that must stay unread and unchanged."""


@dataclass(frozen=True)
class CandidateFile:
    """A candidate and what its head says."""

    name: str
    text: str

    def said(self, key: str, default: str = "") -> str:
        """The value of a line of the head."""
        found = re.search(rf"^// {key}: (.*)$", self.text, re.MULTILINE)
        return found[1].strip() if found else default

    @property
    def twin(self) -> "CandidateFile | None":
        """An honest candidate that is the same but for what `timed: TEXT => OTHER TEXT` replaces; None where timed calls are found out as wrong."""
        old, arrow, new = self.said("timed").partition(" => ")
        if not arrow:
            return None
        head, text = self.text.split("#include", 1)
        assert text.count(old) == 1, f"{self.name}: {old!r} is there {text.count(old)} times"
        return CandidateFile(f"{self.name}_honest", f"{head}#include{text.replace(old, new)}")

    @property
    def problem_id(self) -> str:
        """Which problem it claims to solve."""
        return self.said("problem", "vector_add")

    @property
    def gpu_only(self) -> bool:
        """Whether it uses what the CPU engine refuses by name."""
        return self.said("on") == "gpu"

    @property
    def heavy(self) -> bool:
        """Whether its headers alone take nvcc ten seconds."""
        return self.said("headers") == "heavy"

    def source(self, decoy: Path | None = None) -> Source:
        """What is submitted."""
        text = self.text if decoy is None else self.text.replace(DECOY, str(decoy))
        options = BuildOptions(arch=self.said("arch", "sm_90"), flags=tuple(self.said("flags").split()))
        return Source(text=text, problem=self.problem_id, options=options)


def candidate_files(folder: Path) -> list[CandidateFile]:
    """Every candidate of a folder."""
    return [CandidateFile(path.stem, path.read_text()) for path in sorted(folder.glob("*.cu"))]


def small(problem: Problem) -> Problem:
    """Two sizes that are shown, one of them odd, and one that is hidden: enough for a verdict, and quick."""
    test = problem.sizes["test"]
    sizes = {**problem.sizes, "test": (test[0], test[-1]), "held_out": problem.sizes["held_out"][:1]}
    return problem.model_copy(update={"sizes": sizes})


async def evaluated(
    source: Source, toolchain: Toolchain, request: RunRequest, *, all_sizes: bool = False, repeat: int = 0
) -> RunResult:
    """What the `run` tool says of a candidate."""
    assert source.problem is not None
    problem = CATALOGUE.problem(source.problem)
    return await run(
        source,
        problem if all_sizes else small(problem),
        toolchain,
        request.model_copy(update={"repeat": repeat}),
        expected=CATALOGUE.expected,
        secret=SECRET,
    )


def selected(request: pytest.FixtureRequest) -> list[CandidateFile]:
    """The candidates of the tests of a module that are going to run."""
    chosen = [
        item.callspec.params["each"]
        for item in request.session.items
        if isinstance(item, pytest.Function)
        and item.module is request.module
        and hasattr(item, "callspec")
        and item.get_closest_marker("skip") is None
    ]
    return [each for each in chosen if isinstance(each, CandidateFile)]


def build_ahead(
    group: asyncio.TaskGroup, toolchain: Toolchain, sources: Iterable[Source]
) -> dict[str, asyncio.Task[Build]]:
    """Builds sources as many at once as there are cores, while the first tests already run."""
    cores = asyncio.Semaphore(len(os.sched_getaffinity(0)))

    async def build(source: Source) -> Build:
        async with cores:
            return await toolchain.build(source)

    return {source.id: group.create_task(build(source)) for source in sources}
