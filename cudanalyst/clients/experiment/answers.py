"""Asking planners and coders through the journal: an answer that is there is used, a new one is on the disk before it is used."""

import time
from collections import defaultdict, deque
from collections.abc import Callable

from cudanalyst.clients.experiment.journal import Answered, Journal, Prompt, asked
from cudanalyst.clients.planner import Code, Coder, Planner, PlanText, State
from cudanalyst.values import Frozen, content_id


class Spent(Frozen):
    """What answers have cost so far, over all runs of a journal."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0
    """Waiting for answers, added up over parallel calls."""

    @property
    def tokens(self) -> int:
        """Read and written."""
        return self.input_tokens + self.output_tokens

    def plus(self, one: Answered) -> "Spent":
        """With one more answer."""
        answer = one.plan or one.code
        usage = None if answer is None else answer.usage
        return Spent(
            calls=self.calls + 1,
            input_tokens=self.input_tokens + ((usage and usage.input_tokens) or 0),
            output_tokens=self.output_tokens + ((usage and usage.output_tokens) or 0),
            seconds=self.seconds + one.seconds,
        )


class Answers:
    """Answers of a journal, and new ones where it has none."""

    def __init__(self, journal: Journal, clock: Callable[[], float] = time.time) -> None:
        """What was answered in earlier runs is taken up, each answer for the trial that it was given in."""
        self._journal = journal
        self._clock = clock
        self._known: dict[tuple[str, str], deque[Answered]] = defaultdict(deque)
        self.spent = Spent()
        self.replayed = 0
        """Answers of earlier runs that were used again."""
        for one in journal.past:
            if isinstance(one, Answered):
                self._known[one.trial, one.key].append(one)
                self.spent = self.spent.plus(one)

    async def plan(self, planner: Planner, state: State, trial: str) -> tuple[PlanText, float]:
        """A plan, and the seconds that it took when it was made."""
        key, prompt = asked("plan", planner.name, state, None), state.prompt
        if (known := self._take(trial, key)) is not None and known.plan is not None:
            return known.plan, known.seconds
        begun = time.perf_counter()
        made = await planner.plan(state)
        if not _is_text(made.text):
            made = made.model_copy(update={"text": None, "failure": "refusal"})
        await self._keep(
            Prompt(prompt=prompt, state=state.model_copy(update={"seed": 0})),
            Answered(
                key=key, trial=trial, role="plan", who=planner.name, prompt=prompt, plan=made, at=self._clock(),
                seconds=time.perf_counter() - begun,
            ),
        )  # fmt: skip
        return made, time.perf_counter() - begun

    async def code(self, coder: Coder, state: State, plan: str | None, trial: str) -> tuple[Code, float]:
        """A source, and the seconds that it took when it was written."""
        key = asked("code", coder.name, state, plan)
        prompt = state.prompt if plan is None else content_id("prm", state.prompt, plan)
        if (known := self._take(trial, key)) is not None and known.code is not None:
            return known.code, known.seconds
        begun = time.perf_counter()
        made = await coder.write(state, plan)
        if not _is_text(made.source):
            made = made.model_copy(update={"source": None, "failure": "refusal"})
        await self._keep(
            Prompt(prompt=prompt, state=state.model_copy(update={"seed": 0}), plan=plan),
            Answered(
                key=key, trial=trial, role="code", who=coder.name, prompt=prompt, code=made, at=self._clock(),
                seconds=time.perf_counter() - begun,
            ),
        )  # fmt: skip
        return made, time.perf_counter() - begun

    def _take(self, trial: str, key: str) -> Answered | None:
        waiting = self._known.get((trial, key))
        if not waiting:
            return None
        self.replayed += 1
        return waiting.popleft()

    async def _keep(self, prompt: Prompt, answer: Answered) -> None:
        await self._journal.keep(prompt, answer)
        self.spent = self.spent.plus(answer)

    def asking(self, planner: Planner, coder: Coder, place: str) -> "Through":
        """A planner and a coder whose answers are kept under a name of their own (a backbone's run)."""
        return Through(self, planner, coder, place)


def _is_text(answer: str | None) -> bool:
    """Whether an answer can be written down: half of a surrogate pair is no character, and no journal could give it back."""
    try:
        (answer or "").encode()
    except UnicodeEncodeError:
        return False
    return True


class Through:
    """A planner and coder in one, asked through the journal."""

    def __init__(self, answers: Answers, planner: Planner, coder: Coder, place: str) -> None:
        """Use `Answers.asking`."""
        self._answers = answers
        self._planner = planner
        self._coder = coder
        self._place = place

    @property
    def name(self) -> str:
        """The planner's."""
        return self._planner.name

    async def plan(self, state: State) -> PlanText:
        """The planner's answer, asked for once."""
        return (await self._answers.plan(self._planner, state, self._place))[0]

    async def write(self, state: State, plan: str | None) -> Code:
        """The coder's answer, asked for once."""
        return (await self._answers.code(self._coder, state, plan, self._place))[0]
