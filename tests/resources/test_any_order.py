"""Two servers on one store, any order of calls, clocks that jump: nothing is lost, and nothing counts twice."""

import random
from collections import Counter
from contextlib import suppress

import pytest

from cudanalyst.errors import CudanalystError
from cudanalyst.resources import judging, trial_flow
from cudanalyst.resources.delivery import NoTrial
from cudanalyst.resources.experiment import Experiments
from cudanalyst.resources.outcomes import outcome_of
from cudanalyst.resources.plans import Plan
from cudanalyst.resources.store import Store
from cudanalyst.resources.trial_rows import rows_of
from tests.resources.test_regimes import begin


class Chance:
    """A client, an evaluator and a clock that do whatever comes up, each through any of two servers."""

    def __init__(self, lab, second: Store, seed: int) -> None:
        self.lab, self.draw, self.stores = lab, random.Random(seed), (lab.store, second)
        self.servers = [lab.experiments, Experiments(second)]
        self.given: list[tuple[str, str]] = []
        self.experiment = begin(
            lab,
            lab.freeze("a"),
            regimes=["P+F", "PT", "NP+NF"],
            coalitions=[[], ["debugger"]],
            repeats=2,
            attempts=2,
            time_limit_s=50,
            planners=[{"name": "x", "kind": "external"}, {"name": "y", "kind": "external", "plans_from": ["x"]}],
            sentinels={"coalition": ["debugger"]},
        )

    @property
    def server(self) -> Experiments:
        return self.draw.choice(self.servers)

    def take(self) -> None:
        context = self.lab.context(f"c{self.draw.getrandbits(60)}")
        payload = trial_flow.next_trial(
            self.server, context, self.experiment, planner=self.draw.choice([None, "x", "y"])
        )
        if not isinstance(payload, NoTrial):
            self.given.append((payload.trial, str(context.context)))
            assert trial_flow.next_trial(self.server, context, self.experiment) == payload

    def answer(self) -> None:
        trial, name = self.draw.choice(self.given)
        kind, context = self.draw.random(), self.lab.context(name)
        if kind < 0.7:
            plan = Plan(text="p") if self.draw.random() < 0.8 else None
            trial_flow.submit_trial(self.server, context, trial, source=f"// {self.draw.randrange(2)}", plan=plan)
        elif kind < 0.8:
            trial_flow.submit_trial(self.server, context, trial, failure="refusal")
        else:
            phase = self.draw.choice(["model", "evaluator"])
            judging.record_infrastructure_failure(self.server, self.lab.owner, trial, phase, "x")

    def judge(self) -> None:
        for one in judging.pending(self.server, self.lab.owner, self.experiment)[:2]:
            outcome = outcome_of(one.checkpoint.base_status, "compiled", "passed", 1.5)
            for server in self.servers:
                judging.record_outcome(server, self.lab.owner, one.trial, outcome)

    def tick(self) -> None:
        self.lab.clock.now += self.draw.choice([1, 10, 60, -30])

    def restart(self) -> None:
        self.servers[self.draw.randrange(2)] = Experiments(self.draw.choice(self.stores))

    def act(self) -> None:
        does = self.draw.choices([self.take, self.answer, self.judge, self.tick, self.restart], [7, 7, 4, 1, 1])[0]
        if self.given or does != self.answer:
            with suppress(CudanalystError):  # asked for what cannot be now
                does()


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_whatever_happens_in_whatever_order_every_trial_ends_once(lab, seed: int) -> None:
    owner = lab.owner
    with Store.open(lab.store.folder, clock=lab.clock) as second:
        chance = Chance(lab, second, seed)
        experiment = chance.experiment
        while not lab.experiments.progress(owner, experiment).ended:
            chance.act()
            seen = [server.progress(owner, experiment) for server in chance.servers]
            assert seen[0] == seen[1]
        rows = rows_of(Experiments(second), owner, experiment)
        assert rows == rows_of(lab.experiments, owner, experiment)
    assert {row.state for row in rows} <= {"evaluated", "infrastructure_failed"}
    assert all((row.compiled is not None) == (row.state == "evaluated") for row in rows)
    events = [one.event for one in lab.store.events(owner, experiment=experiment)]
    kinds = Counter((one.kind, getattr(one, "trial", "")) for one in events)
    assert {count for (kind, _), count in kinds.items() if kind in {"trial_submitted", "trial_evaluated"}} == {1}
    assert max(count for (kind, _), count in kinds.items() if kind == "trial_opened") <= 2
