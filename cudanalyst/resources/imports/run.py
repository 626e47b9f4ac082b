"""A run of another system, as far as it is taken over."""

from collections.abc import Mapping
from functools import cached_property
from typing import Literal

from cudanalyst.errors import BadRequest
from cudanalyst.values import Frozen, content_id

System = Literal["openevolve", "llm4ad"]
MAX_LINEAGE = 256
"""Ancestors kept of a program, the nearest ones."""


class ImportedProgram(Frozen):
    """One program of a run."""

    key: str
    """What the run calls it."""
    code: str
    generation: int = 0
    parent: str | None = None
    """Key of the program that it was made from; None where the run does not say, or where that one is gone."""
    model: str | None = None
    """Who wrote it, where the run says so."""
    claims: dict[str, float | str | bool | None] = {}
    """Metrics as the run states them: shown beside our own measurements, never in place of them."""
    found_in: str
    """File of the run."""


class ImportedRun(Frozen):
    """All programs of a run, in the order of their generations."""

    system: System
    programs: tuple[ImportedProgram, ...]
    best: str | None = None
    """Key of the program that the run takes for its best; a claim too."""
    method: str | None = None
    """The search that made it, as the run names it."""
    notes: tuple[str, ...] = ()
    """What the run does not tell, or what was left out."""

    @property
    def backbone(self) -> str:
        """Name of the run for designs and results: by content, so that importing it twice gives one."""
        programs = "\n".join(f"{one.key} {content_id('code', one.code)}" for one in self.programs)
        return f"{self.system}-{content_id('run', programs).removeprefix('run_')[:12]}"

    def program(self, key: str) -> ImportedProgram:
        """The program of a key that is known to be there."""
        return self.by_key[key]

    def ancestors(self, key: str) -> tuple[str, ...]:
        """Keys of the programs that led to one, oldest first, without itself.

        Raises:
            BadRequest: The parents go round in a circle.
        """
        known, path = self.by_key, [key]
        while (parent := known[path[-1]].parent) is not None:
            if parent in path:
                where = known[path[-1]].found_in
                raise BadRequest(
                    f"{where}: parent_id: {parent!r} descends from itself; the lineage must not be a circle."
                )
            path.append(parent)
            if len(path) > MAX_LINEAGE:
                break
        return tuple(reversed(path[1:]))

    @cached_property
    def by_key(self) -> Mapping[str, ImportedProgram]:
        """Programs by what the run calls them."""
        return {one.key: one for one in self.programs}
