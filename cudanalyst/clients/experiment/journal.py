"""The runner's memory: every answer that was paid for is on disk before it is used, so that a kill repeats none of them.

One JSON object a line. A line counts once its newline is on the disk; a kill can only leave a last line without one, which is
dropped on the next opening. What is not an answer (which context has which trial, what was submitted) is kept too, but losing it
costs only a call that the server answers again.
"""

import fcntl
import json
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Final, Literal

from anyio import Lock, to_thread
from pydantic import Field, TypeAdapter, ValidationError

from cudanalyst.clients.planner import Code, PlanText, State
from cudanalyst.errors import BadRequest, CudanalystError
from cudanalyst.kernels.problem import BaseStatus
from cudanalyst.values import Frozen, content_id

Role = Literal["plan", "code"]
LOOKS_S: Final = (0.02, 0.1, 0.3)


class Began(Frozen):
    """An experiment was laid down on a server."""

    kind: Literal["began"] = "began"
    experiment: str
    session: str
    """Where contexts live: a later connection names it."""
    design: str
    """Hash of the design, so that another file is not taken up by mistake."""
    trials: int
    checkpoints: int
    url: str | None = None
    """Of the server, where it is not one that the run started."""
    at: float


class Induced(Frozen):
    """A generation that a backbone froze for the experiment."""

    kind: Literal["induced"] = "induced"
    backbone: str
    checkpoint: str
    problem: str
    start: str
    generation: int
    source: str
    base_status: BaseStatus
    session: str
    by: str | None = None
    """Hash of the backbone and of the agents that it asked; None in journals of before there was one."""
    at: float


class Prompt(Frozen):
    """What was asked: once for all trials that ask the same."""

    kind: Literal["prompt"] = "prompt"
    prompt: str
    state: State
    """With seed 0."""
    plan: str | None = None
    """The plan that a coder was given."""


class Opened(Frozen):
    """A trial went to a context."""

    kind: Literal["opened"] = "opened"
    context: int
    trial: str
    planner: str
    coder: str
    prompt: str
    seed: int
    at: float


class Answered(Frozen):
    """A planner's or coder's answer."""

    kind: Literal["answered"] = "answered"
    key: str
    """Names who was asked what, with which seed (`asked`)."""
    trial: str
    role: Role
    who: str
    prompt: str
    plan: PlanText | None = None
    code: Code | None = None
    at: float
    seconds: float


class Submitted(Frozen):
    """The server has the answer of a trial."""

    kind: Literal["submitted"] = "submitted"
    context: int
    trial: str
    answered: bool = True
    """Whether there was one; else a service failed, and the trial waits for another context."""
    at: float


class Note(Frozen):
    """Something that whoever reads the journal later may want to know (a run began, was interrupted, ran out of budget)."""

    kind: Literal["note"] = "note"
    words: str
    at: float


Record = Annotated[Began | Induced | Prompt | Opened | Answered | Submitted | Note, Field(discriminator="kind")]
_RECORD: Final[TypeAdapter[Record]] = TypeAdapter(Record)


def asked(role: Role, who: str, state: State, plan: str | None) -> str:
    """Names a question: the same for the same role, model, prompt and seed, whatever trial or run asks it."""
    return content_id("ask", role, who, state, "" if plan is None else f"plan:{plan}")


def records(path: Path) -> Iterator[Record]:
    """What a journal holds; nothing where there is none.

    Raises:
        CudanalystError: It cannot be read, or a line that is not the last is damaged.
    """
    yield from _whole(path)[0]


def _whole(path: Path) -> tuple[list[Record], int]:
    """The records of a journal, and how many of its bytes they fill."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return [], 0
    except OSError as error:
        raise CudanalystError(f"The journal {path} cannot be read ({error.strerror}).") from error
    found: list[Record] = []
    end = 0
    for number, line in enumerate(data.splitlines(keepends=True), 1):
        if not line.endswith(b"\n"):
            break
        try:
            found.append(_RECORD.validate_json(line))
        except ValidationError as error:
            raise CudanalystError(
                f"Line {number} of the journal {path} is damaged, or was written by something else. Take it out if it is no answer's; "
                "else restore the file from a copy, or remove it to begin anew (every answer would then be paid for again)."
            ) from error
        end += len(line)
    return found, end


def _alone(descriptor: int) -> bool:
    """Keeps others out; tells whether that could be done. Somebody who only looks has it for a moment at most."""
    for pause in (*LOOKS_S, None):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            if pause is None:
                return False
            time.sleep(pause)
        else:
            return True
    return False


class Journal:
    """A journal open for writing, by one runner at a time."""

    def __init__(self, path: Path, descriptor: int, past: list[Record]) -> None:
        """Use `opened`."""
        self.path = path
        self.past: tuple[Record, ...] = tuple(past)
        """What was in it when it was opened."""
        self._descriptor = descriptor
        self._writing, self._syncing = Lock(), Lock()
        self._written = self._synced = 0
        """Writes so far, and those of them that are on the disk."""
        self._prompts = {one.prompt for one in past if isinstance(one, Prompt)}

    @classmethod
    def opened(cls, path: Path) -> "Journal":
        """Opens or makes a journal, drops a torn last line, and keeps other runners out until it is closed.

        Raises:
            BadRequest: Another runner has it open.
            CudanalystError: It cannot be used.
        """
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise CudanalystError(f"The journal {path} cannot be opened ({error.strerror}).") from error
        try:
            if not _alone(descriptor):
                raise BadRequest(
                    f"Another run of this experiment is under way (it holds {path}). Wait for it, or look at it with "
                    "`cudanalyst experiment status`."
                )
            past, end = _whole(path)
            os.ftruncate(descriptor, end)
        except BaseException:
            os.close(descriptor)
            raise
        return cls(path, descriptor, past)

    def close(self) -> None:
        """Lets other runners in."""
        os.close(self._descriptor)

    async def keep(self, *kept: Record) -> None:
        """Writes records; where an answer or a beginning is among them, returns once all are on the disk.

        A prompt that is there already is not written again. Notes that follow from the server's own memory wait for the next
        answer's turn on the disk: a kill of this process loses none of them, a power cut costs a question to the server.
        """
        fresh = [one for one in kept if not (isinstance(one, Prompt) and one.prompt in self._prompts)]
        self._prompts.update(one.prompt for one in fresh if isinstance(one, Prompt))
        if not fresh:
            return
        async with self._writing:
            await to_thread.run_sync(self._write, b"".join(_line(one) for one in fresh))
            self._written += 1
            mine = self._written
        if any(isinstance(one, Answered | Began | Induced) for one in fresh):
            await self._on_disk(mine)

    async def _on_disk(self, mine: int) -> None:
        """Waits for the disk; those who come while it is busy share its next turn."""
        async with self._syncing:
            if self._synced >= mine:
                return
            reached = self._written
            await to_thread.run_sync(self._sync)
            self._synced = reached

    def _write(self, data: bytes) -> None:
        length = os.fstat(self._descriptor).st_size
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(self._descriptor, view) :]
        except OSError as error:
            with suppress(OSError):  # half a line must not become part of the next one
                os.ftruncate(self._descriptor, length)
            raise self._full(error) from error

    def _sync(self) -> None:
        try:
            os.fsync(self._descriptor)
        except OSError as error:
            raise self._full(error) from error

    def _full(self, error: OSError) -> CudanalystError:
        return CudanalystError(
            f"The journal {self.path} cannot be written ({error.strerror}). Make room, then resume: nothing that was answered "
            "before is lost."
        )


def _line(record: Record) -> bytes:
    return json.dumps(record.model_dump(mode="json")).encode() + b"\n"
