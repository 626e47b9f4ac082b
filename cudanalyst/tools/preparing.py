"""Inputs and references of the sizes to be verified, made in threads while something else is compiled or run."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from cudanalyst.kernels.dtypes import Array
from cudanalyst.kernels.inputs import Inputs
from cudanalyst.kernels.problem import Problem, SizeGroup, SizeSet
from cudanalyst.tools.cases import Limits, PlannedProcess, plan_verification
from cudanalyst.tools.oracle import Expected

AHEAD: Final = 2
"""Sizes made beforehand: enough to keep a device busy, while few contents are in memory."""


@dataclass(frozen=True)
class Prepared:
    """One size."""

    planned: PlannedProcess
    expected: Expected
    """Knows the references of its inputs."""


class Preparation:
    """Makes what the sizes of one verification need, in their order."""

    def __init__(
        self,
        problem: Problem,
        sizes: Sequence[tuple[SizeGroup, SizeSet]],
        expected: Expected,
        *,
        labels: tuple[str, ...],
        seeds: int,
        secret: bytes,
        limits: Limits,
    ) -> None:
        """Begins nothing."""
        self._problem = problem
        self._sizes = sizes
        self._expected = expected
        self._labels = labels
        self._seeds = seeds
        self._secret = secret
        self._limits = limits
        self._tasks: dict[int, asyncio.Task[Prepared]] = {}
        self._begun = 0

    def begin(self, first: int = 0) -> None:
        """Begins with a size, and some that follow."""
        for index in range(self._begun, min(first + AHEAD, len(self._sizes))):
            self._tasks[index] = asyncio.create_task(asyncio.to_thread(self._prepare, *self._sizes[index]))
            self._begun = index + 1

    async def of(self, index: int) -> Prepared:
        """One size, once it is there; to be asked for once, since contents are large."""
        self.begin(index)
        try:
            return await self._tasks[index]
        finally:
            del self._tasks[index]

    def _prepare(self, group: SizeGroup, sizes: SizeSet) -> Prepared:
        planned = plan_verification(
            self._problem,
            group,
            sizes,
            labels=self._labels,
            seeds=self._seeds,
            secret=self._secret,
            limits=self._limits,
        )
        known: dict[int, tuple[Inputs, Mapping[str, Array]]] = {}
        for call in planned.calls:
            if id(call.inputs) not in known:
                known[id(call.inputs)] = call.inputs, self._expected(self._problem.id, call.inputs, sizes)

        def expected(problem: str, inputs: Inputs, extents: Mapping[str, int]) -> Mapping[str, Array]:
            found = known.get(id(inputs))
            return self._expected(problem, inputs, extents) if found is None else found[1]

        return Prepared(planned, expected)

    async def close(self) -> None:
        """Lets go of what nobody asked for."""
        tasks, self._tasks = list(self._tasks.values()), {}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
