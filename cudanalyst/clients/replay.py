"""Answers from a recorded journal: the third way to drive an experiment, with nobody asked anew."""

from collections import defaultdict, deque
from pathlib import Path

from cudanalyst.clients.experiment.journal import Answered, asked, records
from cudanalyst.clients.planner import Code, PlanText, State
from cudanalyst.errors import CudanalystError


class MissingAnswer(CudanalystError):
    """The journal holds no answer to what was asked."""


class Recorded:
    """The answers of a journal, by what was asked: role, model, prompt and seed.

    What was asked several times in the same words is answered in the recorded order, each answer once.
    """

    def __init__(self, path: Path) -> None:
        """Reads a journal.

        Raises:
            CudanalystError: It cannot be read, or holds no answer at all.
        """
        self.path = path
        self._answers: dict[str, deque[Answered]] = defaultdict(deque)
        self._who: set[str] = set()
        for one in records(path):
            if isinstance(one, Answered) and not one.trial.startswith("backbone:"):
                self._answers[one.key].append(one)
                self._who.add(one.who)
        if not self._answers:
            raise CudanalystError(f"{path} holds no recorded answers. Name the journal.jsonl of a run.")

    def take(self, key: str, who: str, what: str) -> Answered:
        """The next recorded answer.

        Raises:
            MissingAnswer: There is none (left).
        """
        waiting = self._answers.get(key)
        if not waiting:
            known = ", ".join(sorted(self._who))
            reason = (
                f"nobody of that name answered in it (it has {known})"
                if who not in self._who
                else "it was asked something else, or less often (another checkpoint, seed, regime or number of repeats)"
            )
            raise MissingAnswer(f"{self.path} has no {what} of {who} for this prompt and seed: {reason}.")
        return waiting.popleft()


class ReplayPlanner:
    """Plans as recorded."""

    def __init__(self, recorded: Recorded, name: str) -> None:
        """A planner of the recorded name."""
        self._recorded = recorded
        self.name = name

    async def plan(self, state: State) -> PlanText:
        """The recorded plan.

        Raises:
            MissingAnswer: There is none.
        """
        found = self._recorded.take(asked("plan", self.name, state, None), self.name, "plan").plan
        return found if found is not None else PlanText(text=None, failure="refusal")


class ReplayCoder:
    """Writes as recorded."""

    def __init__(self, recorded: Recorded, name: str) -> None:
        """A coder of the recorded name."""
        self._recorded = recorded
        self.name = name

    async def write(self, state: State, plan: str | None) -> Code:
        """The recorded source.

        Raises:
            MissingAnswer: There is none.
        """
        found = self._recorded.take(asked("code", self.name, state, plan), self.name, "source").code
        return found if found is not None else Code(source=None, failure="refusal")
