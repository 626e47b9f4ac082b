"""From a design's planners and coders to what answers for them."""

from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

from pydantic import ValidationError

from cudanalyst.clients.characters import CHARACTERS, Character, character
from cudanalyst.clients.planner import Coder, Planner
from cudanalyst.clients.replay import Recorded, ReplayCoder, ReplayPlanner
from cudanalyst.clients.scripted import Book, ScriptedCoder, ScriptedPlanner
from cudanalyst.errors import BadRequest
from cudanalyst.resources.design.models import Agent, Design

T = TypeVar("T")
EXTERNAL: Final = "external"
"""An agent of its own, over MCP: not asked by this program."""


class Cast:
    """Who plans and who writes in an experiment, by the names of its design."""

    def __init__(self, design: Design, books: Book, folder: Path) -> None:
        """Makes everyone that this program asks.

        Args:
            design: The experiment.
            books: Gives the problem of an id.
            folder: Where the paths of recorded answers begin.

        Raises:
            BadRequest: A planner or coder cannot be asked: its kind is unknown, or an option is wrong.
        """
        self._recorded: dict[Path, Recorded] = {}
        self._books = books
        self._folder = folder
        self.planners: dict[str, Planner] = {}
        self.coders: dict[str, Coder] = {}
        """By name of coder; a planner that writes too has its own name."""
        for index, entry in enumerate(design.planners):
            coder = design.coder_of(entry)
            if entry.kind == EXTERNAL:
                continue
            self.planners[entry.name] = _made(f"planners[{index}]", self._planner, entry)
            self.coders.setdefault(coder.name, _made(f"coder of planners[{index}]", self._coder, coder))
        self.external = tuple(one.name for one in design.planners if one.kind == EXTERNAL)

    def _planner(self, entry: Agent) -> Planner:
        if entry.kind == "scripted":
            return ScriptedPlanner(self._books, character=character_of(entry))
        return ReplayPlanner(self._journal(entry), entry.name)

    def _coder(self, entry: Agent) -> Coder:
        if entry.kind == "scripted":
            return ScriptedCoder(self._books, character_of(entry))
        return ReplayCoder(self._journal(entry), entry.name)

    def _journal(self, entry: Agent) -> Recorded:
        if entry.kind != "replay":
            raise BadRequest(f"kind {entry.kind!r} cannot be asked here; use {', '.join(KINDS)}")
        named = entry.options.get("journal")
        if not isinstance(named, str):
            raise BadRequest(
                'a replayed agent needs options.journal, the path of a recorded journal ("other.run/journal.jsonl")'
            )
        path = (self._folder / named).resolve()
        if path not in self._recorded:
            self._recorded[path] = Recorded(path)
        return self._recorded[path]


KINDS: Final = ("scripted", "replay", EXTERNAL)
"""Kinds of agents that a run knows what to do with."""


def character_of(entry: Agent) -> Character:
    """The scripted model of an agent: the one named by `model` (else by its name), with its options over it.

    Raises:
        BadRequest: There is no such model, or an option is no number of it.
    """
    known = entry.model or (entry.name if entry.name in CHARACTERS else "scripted")
    base = character(known)
    try:
        return Character.model_validate({**base.model_dump(), **entry.options, "name": entry.name})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(step) for step in first["loc"])
        allowed = ", ".join(name for name in Character.model_fields if name != "name")
        raise BadRequest(f"options.{where}: {first['msg'].lower()}. A scripted agent takes {allowed}.") from error


def _made(where: str, make: Callable[[Agent], T], entry: Agent) -> T:
    try:
        return make(entry)
    except BadRequest as error:
        raise BadRequest(f"{where} ({entry.name}): {error}") from error
