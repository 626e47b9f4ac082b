"""Which problems there are: the built-in ones and those in folders that a user names."""

import difflib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from cudanalyst.errors import BadProblem, NotFound
from cudanalyst.kernels.dtypes import Array
from cudanalyst.kernels.inputs import Inputs
from cudanalyst.kernels.loader import PROBLEM_FILE, ProblemFolder, load_problem
from cudanalyst.kernels.problem import Problem
from cudanalyst.kernels.reference import Reference, expected_outputs, load_reference

VARIABLE: Final = "CUDANALYST_PROBLEMS"
BUILT_IN: Final = Path(__file__).parent / "problems"


class Catalogue:
    """Problems by id; each is read when it is first asked for, and then kept."""

    def __init__(self, folders: Sequence[Path] = ()) -> None:
        """Looks through the built-in problems and `folders`.

        Args:
            folders: Each a problem folder, or a folder of problem folders.

        Raises:
            BadProblem: A folder does not exist, holds no problem, or an id is there twice.
        """
        self._folders: dict[str, Path] = {}
        self._loaded: dict[str, ProblemFolder] = {}
        self._references: dict[str, Reference] = {}
        for folder in (BUILT_IN, *folders):
            for found in _problem_folders(folder):
                other = self._folders.setdefault(found.name, found)
                if other != found:
                    message = f"{found}: there is a problem `{found.name}` already, in {other}; rename the folder"
                    raise BadProblem(message)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> "Catalogue":
        """The built-in problems and those in `CUDANALYST_PROBLEMS` (a list like PATH)."""
        return cls([Path(part) for part in environment.get(VARIABLE, "").split(os.pathsep) if part])

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids of all problems, sorted."""
        return tuple(sorted(self._folders))

    def entry(self, problem_id: str) -> ProblemFolder:
        """A problem with its folder.

        Raises:
            NotFound: The text lists what there is.
            BadProblem: Its folder is invalid.
        """
        if problem_id not in self._loaded:
            if problem_id not in self._folders:
                near = difflib.get_close_matches(problem_id, self.ids, n=1)
                hint = f"did you mean `{near[0]}`? " if near else ""
                message = f"there is no problem `{problem_id[:60]}`; {hint}known are: {', '.join(self.ids)}"
                raise NotFound(message)
            self._loaded[problem_id] = load_problem(self._folders[problem_id])
        return self._loaded[problem_id]

    def problem(self, problem_id: str) -> Problem:
        """A problem.

        Raises:
            NotFound: The text lists what there is.
            BadProblem: Its folder is invalid.
        """
        return self.entry(problem_id).problem

    def expected(self, problem_id: str, inputs: Inputs, sizes: Mapping[str, int]) -> dict[str, Array]:
        """The outputs that a right `solve` gives, from the float64 reference.

        Raises:
            NotFound: No such problem.
            BadProblem: The reference is invalid.
        """
        entry = self.entry(problem_id)
        if problem_id not in self._references:
            self._references[problem_id] = load_reference(entry)
        return expected_outputs(entry.problem, entry.reference_file, self._references[problem_id], inputs, sizes)


def _problem_folders(folder: Path) -> list[Path]:
    if (folder / PROBLEM_FILE).exists():
        return [folder.resolve()]
    if not folder.is_dir():
        message = f"{folder}: no such folder; {VARIABLE} lists problem folders, or folders of them"
        raise BadProblem(message)
    found = sorted(path.parent.resolve() for path in folder.glob(f"*/{PROBLEM_FILE}"))
    if not found:
        message = f"{folder}: holds no {PROBLEM_FILE}, nor does a folder in it"
        raise BadProblem(message)
    return found
