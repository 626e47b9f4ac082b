"""Simulated agents for randomised.py, whose true effects are known at every history."""

from dataclasses import dataclass, fields
from itertools import product

import numpy as np

from cudanalyst.resources.randomised.excursion import terms
from cudanalyst.resources.randomised.regression import Floats, Ints

COMPONENTS = ("analyzer", "debugger", "profiler")
TERMS = terms(len(COMPONENTS))
ARMS = np.array(list(product((0.0, 1.0), repeat=len(COMPONENTS))))


@dataclass(frozen=True)
class Scenario:
    """How the simulated agents behave."""

    name: str
    effects: tuple[float, float, float] = (0.5, 0.7, 1.0)
    """Of seeing each component the first time, on the log odds of success."""
    synergy: float = 0.5
    """Of analyzer and profiler together."""
    fading: float = 0.0
    """How fast evidence of a kind that was seen before loses its effect."""
    carry: float = 0.0
    """Of every piece of evidence seen before."""
    uptake: float = 1.0
    """Share of what is offered that is read."""
    asking: float = -20.0
    """Log odds of asking for what was withheld; trouble and skill raise them."""
    stopping: float = -20.0
    """Log odds of stopping before the next candidate; success and idle evidence raise them."""
    drift: float = 0.0
    """Between the first and the last session."""
    skill: float = 0.8
    """Standard deviation between sessions."""
    problems: float = 0.0
    """Standard deviation of the profiler's effect between sessions' problems."""
    propensities: tuple[float, float, float] = (0.5, 0.5, 0.5)
    steps: int = 10
    sessions: int | None = None
    """Of a data set, where not as many as in the others."""
    shared: int = 0
    """Problems that the sessions of a data set share; 0: each has its own."""
    requested: bool = False
    """Ordinary sessions: nothing is offered, agents ask for what they want."""


SCENARIOS = (
    Scenario("no effect at all", effects=(0.0, 0.0, 0.0), synergy=0.0),
    Scenario("effects only"),
    Scenario("carry-over and fading", fading=0.5, carry=0.25),
    Scenario("non-compliance", uptake=0.7, asking=-1.0),
    Scenario("stopping", stopping=-2.5),
    Scenario("drift", drift=1.5),
    Scenario("effects differ by problem", problems=0.8),
    Scenario("15 problems, crossed", problems=0.8, shared=15, sessions=60),
    Scenario("12 sessions", fading=0.3, sessions=12),
    Scenario("one session, 100 decisions", fading=0.05, uptake=0.8, asking=-1.0, sessions=1, steps=100, skill=0.3),
    Scenario("unequal propensities", propensities=(0.3, 0.5, 0.7)),
    Scenario(
        "all of these",
        fading=0.5, carry=0.25, uptake=0.8, asking=-1.0, stopping=-2.8, drift=1.0, problems=0.5,
        propensities=(0.4, 0.5, 0.6),
    ),
)  # fmt: skip


@dataclass
class Simulated:
    """Decisions of many sessions, rows in no order of time."""

    session: Ints
    problem: Ints
    offered: Floats
    seen: Floats
    success: Floats
    stopped: Floats
    status: Ints
    number: Ints
    earlier: Floats
    truth: Floats
    """Effect of each term on success at this decision's own history, (rows, terms)."""
    seen_truth: Floats
    """Effect of seeing each component there, the others as they were, (rows, components)."""


@dataclass
class Agents:
    """Where all simulated sessions are."""

    scenario: Scenario
    skill: Floats
    when: Floats
    problem: Ints
    gain: Floats
    status: Ints
    exposure: Floats
    offers: Floats

    def want(self, who: Ints) -> Floats:
        """What makes an agent look for feedback: skill and trouble. This is what confounds."""
        return np.asarray(0.9 * self.skill[who] + 0.9 * (self.status[who] < 2))

    def success(self, who: Ints, seen: Floats) -> tuple[Floats, Floats]:
        """Probability that the next candidate is better, and that there is none."""
        scenario = self.scenario
        base = -1.2 + self.skill[who] + scenario.drift * self.when[who] - 0.35 * self.status[who]
        base = base + scenario.carry * np.minimum(self.exposure[who].sum(1), 4)
        faded = self.gain[who] * np.exp(-scenario.fading * self.exposure[who])
        lift = (seen * faded).sum(1) + scenario.synergy * seen[:, 0] * seen[:, 2]
        stop = logistic(scenario.stopping + 0.5 * (self.status[who] >= 2) + 0.8 * (seen.sum(1) == 0))
        return (1 - stop) * logistic(base + lift), stop

    def reading(self, who: Ints, offered: Floats) -> Floats:
        """Probability that each component is read, given what is offered."""
        if self.scenario.requested:
            return logistic(-0.6 + self.want(who)[:, None] + np.array([0.0, 0.6, -0.3]))
        ask = logistic(self.scenario.asking + self.want(who))[:, None]
        return np.where(offered > 0, self.scenario.uptake, ask)

    def move(self, who: Ints, success: Floats, seen: Floats, offered: Floats, worse: Floats) -> None:
        """Goes on to the next candidate."""
        self.status[who] = np.clip(self.status[who] + (success > 0) - ((success == 0) & (worse < 0.3)), 0, 3)
        self.exposure[who] += seen
        self.offers[who] += offered


def logistic(x: Floats) -> Floats:
    """Probability by log odds."""
    return np.asarray(1 / (1 + np.exp(-x)))


def simulate(scenario: Scenario, sessions: int, rng: np.random.Generator, sets: int = 1) -> Simulated:
    """Lets `sets * sessions` agents work."""
    agents = begin(scenario, sessions, rng, sets)
    alive, parts = np.ones(sets * sessions, np.bool_), []
    for step in range(scenario.steps):
        who = np.flatnonzero(alive)
        if not len(who):
            break
        part = decide(agents, who, step + 1, rng)
        agents.move(who, part.success, part.seen, part.offered, rng.random(len(who)))
        alive[who[part.stopped > 0]] = False
        parts.append(part)
    return Simulated(*(np.concatenate([getattr(part, one.name) for part in parts]) for one in fields(Simulated)))


def begin(scenario: Scenario, sessions: int, rng: np.random.Generator, sets: int) -> Agents:
    """Draws agents; those of a data set share problems where the scenario says so."""
    total = sets * sessions
    problem = np.arange(total)
    if scenario.shared and sets > 1:
        own = np.tile(np.arange(sessions), sets) % scenario.shared
        problem = np.repeat(np.arange(sets), sessions) * scenario.shared + own
    gain = np.tile(np.array(scenario.effects), (total, 1))
    gain[:, 2] += rng.normal(0, scenario.problems, total)[problem]
    return Agents(
        scenario,
        skill=rng.normal(0, scenario.skill, total),
        when=np.tile(np.linspace(-0.5, 0.5, sessions), sets),
        problem=problem,
        gain=gain,
        status=rng.integers(0, 2, total),
        exposure=np.zeros((total, 3)),
        offers=np.zeros((total, 3)),
    )


def decide(agents: Agents, who: Ints, number: int, rng: np.random.Generator) -> Simulated:
    """One decision of every agent that is left, with the true effects at its history."""
    p = np.array(agents.scenario.propensities)
    offered, truth = np.zeros((len(who), 3)), np.zeros((len(who), len(TERMS)))
    if not agents.scenario.requested:
        truth = effects(agents, who)
        offered = (rng.random((len(who), 3)) < p).astype(np.float64)
    seen = (rng.random((len(who), 3)) < agents.reading(who, offered)).astype(np.float64)
    likely, stop = agents.success(who, seen)
    stopped = rng.random(len(who)) < stop
    success = ~stopped & (rng.random(len(who)) < likely / np.maximum(1 - stop, 1e-12))
    ends = [[agents.success(who, _with(seen, one, value))[0] for value in (0.0, 1.0)] for one in range(3)]
    return Simulated(
        session=who,
        problem=agents.problem[who],
        offered=offered,
        seen=seen,
        success=success.astype(np.float64),
        stopped=stopped.astype(np.float64),
        status=agents.status[who].copy(),
        number=np.full(len(who), number),
        earlier=agents.offers[who].copy(),
        truth=truth,
        seen_truth=np.stack([after - before for before, after in ends], 1),
    )


def effects(agents: Agents, who: Ints) -> Floats:
    """True excursion effects: over every draw, and for each over every way in which it may be taken up."""
    p = np.array(agents.scenario.propensities)
    by_seen = np.stack([agents.success(who, np.tile(arm, (len(who), 1)))[0] for arm in ARMS], axis=1)
    by_arm = np.zeros((len(who), len(ARMS)))
    for index, arm in enumerate(ARMS):
        reads = agents.reading(who, np.tile(arm, (len(who), 1)))[:, None, :]
        by_arm[:, index] = (np.prod(np.where(ARMS[None] > 0, reads, 1 - reads), axis=2) * by_seen).sum(1)
    chances = np.where(ARMS > 0, p, 1 - p)
    columns = []
    for term in TERMS:
        others = np.prod(chances[:, [one for one in range(3) if one not in term]], axis=1)
        columns.append(by_arm @ (np.prod(2 * ARMS[:, list(term)] - 1, axis=1) * others))
    return np.stack(columns, 1)


def _with(seen: Floats, component: int, value: float) -> Floats:
    changed = seen.copy()
    changed[:, component] = value
    return changed
