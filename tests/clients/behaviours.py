"""Planners that break the rules of a valid trial on purpose, for tests that must notice: they remember, drift, or ignore seeds."""

import itertools
import random

from cudanalyst.clients.planner import PlanText, State
from cudanalyst.clients.scripted import Policy, ScriptedPlanner, led_by
from cudanalyst.kernels.problem import Component


class Remembering:
    """Knows in every later trial what it was told of the same program in an earlier one: contexts that are not fresh."""

    def __init__(self, planner: ScriptedPlanner) -> None:
        """A planner with a memory that outlives trials."""
        self._planner = planner
        self._seen: dict[tuple[str, str], dict[Component, str]] = {}

    @property
    def name(self) -> str:
        """The planner's."""
        return f"{self._planner.name}-remembering"

    async def plan(self, state: State) -> PlanText:
        """Plans from all evidence that it ever saw of this program."""
        seen = self._seen.setdefault((state.problem, state.source), {})
        seen.update(state.evidence)
        return await self._planner.plan(state.model_copy(update={"evidence": dict(seen)}))


class Drifting:
    """Loses trust in its evidence from call to call, as a served model that is exchanged underneath."""

    def __init__(self, planner: ScriptedPlanner, per_call: float) -> None:
        """A planner that trusts `per_call` less after every call, down to nothing."""
        self._planner = planner
        self._per_call = per_call
        self.calls = 0

    @property
    def name(self) -> str:
        """The planner's."""
        return f"{self._planner.name}-drifting"

    def trust(self, calls: int) -> float:
        """Trust in full evidence after so many calls."""
        return max(0.0, self._planner.character.trust - self._per_call * calls)

    def policy(self, state: State, calls: int) -> Policy:
        """What it would do then."""
        return led_by(self._planner.problems(state.problem), state.source, state.evidence, self.trust(calls))

    async def plan(self, state: State) -> PlanText:
        """Plans with the trust that is left."""
        changed = self._planner.character.model_copy(update={"trust": self.trust(self.calls)})
        self.calls += 1
        return await self._planner.as_character(changed).plan(state)


class Seedless:
    """Draws from a stream of its own: the same state and seed give other answers, as remote models do."""

    def __init__(self, planner: ScriptedPlanner, stream: str) -> None:
        """A planner that draws from the stream of that name."""
        self._planner = planner
        self._stream = stream
        self._count = itertools.count()

    @property
    def name(self) -> str:
        """The planner's."""
        return f"{self._planner.name}-seedless"

    async def plan(self, state: State) -> PlanText:
        """Plans with a seed of its own."""
        seed = random.Random(f"{self._stream} {next(self._count)}").getrandbits(31)
        return await self._planner.plan(state.model_copy(update={"seed": seed}))
