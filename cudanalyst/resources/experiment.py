"""Experiments: laying them down, and their state as a fold over events.

Thread-safe, and several servers on one store may serve one experiment: every step is one write transaction that folds the
newest events before it decides. Trials go out and come back in `trial_flow`, are judged in `judging`, counted in `results`.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

from cudanalyst.errors import BadRequest, NotFound
from cudanalyst.kernels.problem import Component
from cudanalyst.resources.blocks import schedule
from cudanalyst.resources.checkpoints import Checkpoint
from cudanalyst.resources.codec import decode
from cudanalyst.resources.events import ExperimentEnded, ExperimentStarted
from cudanalyst.resources.expiry import abandon_expired
from cudanalyst.resources.exposure import EXPOSING, Exposing, Exposure, Parents, with_ancestors
from cudanalyst.resources.known import Known
from cudanalyst.resources.store import Scope, Store
from cudanalyst.resources.trial_index import KINDS, TrialIndex
from cudanalyst.resources.trial_state import ExperimentSpec, ExperimentState, Progress
from cudanalyst.resources.trials import Experiment, Trial

TIME_LIMIT_S: Final = 1800.0
ATTEMPTS: Final = 3
MAX_REASON: Final = 500
CONTEXTS_KNOWN: Final = 1024


class Experiments:
    """All experiments of a store."""

    def __init__(self, store: Store) -> None:
        """Keeps folds in memory as a cache only: they are always brought up to the newest event before use."""
        self.store = store
        self._states: dict[str, ExperimentState] = {}
        self._checkpoints: dict[tuple[str, str], Checkpoint] = {}
        self._indexes: dict[str, TrialIndex] = {}
        self._exposures: Known[tuple[str, str | None], Exposing] = Known(CONTEXTS_KNOWN)
        self._parents: dict[str, Parents] = {}

    def start(
        self,
        scope: Scope,
        *,
        players: Sequence[Component],
        checkpoints: Sequence[str],
        statements: Mapping[str, str],
        repeats: int,
        seed: int,
        is_open: bool = False,
        time_limit_s: float = TIME_LIMIT_S,
        attempts: int = ATTEMPTS,
        planner: str = "scripted",
        coder: str = "scripted",
    ) -> Experiment:
        """Lays down an experiment and all its trials.

        Args:
            scope: Who asks.
            players: Components whose effect is asked for; every subset of them is tried.
            checkpoints: Ids of frozen states.
            statements: What is asked, by problem (`delivery.statement_of`).
            repeats: Blocks per checkpoint.
            seed: Makes the random order reproducible.
            is_open: The agent has tools of its own, so evidence can be withheld but not kept from it.
            time_limit_s: How long a trial may stay open before it counts as abandoned.
            attempts: How often a trial is tried when infrastructure fails.
            planner: Name of the planner.
            coder: Name of the coder.

        Raises:
            BadRequest: An argument is out of range, or a checkpoint lacks a player's evidence.
            NotFound: A checkpoint is not this owner's.
        """
        ordered, frozen = tuple(sorted(players)), tuple(dict.fromkeys(checkpoints))
        if len(set(ordered)) != len(ordered):
            raise BadRequest("`players` names a component twice. Name each once.")
        if time_limit_s <= 0 or attempts < 1:
            raise BadRequest("`time_limit_s` must be positive and `attempts` at least 1.")
        problems: dict[str, str] = {}
        for identity in frozen:
            checkpoint = self.checkpoint(scope.owner, identity)
            problems[identity] = checkpoint.problem
            missing = [player for player in ordered if player not in checkpoint.evidence]
            if missing:
                raise BadRequest(f"Checkpoint {identity} holds no evidence of {', '.join(missing)}. Freeze it again.")
            if checkpoint.problem not in statements:
                raise BadRequest(f"`statements` lacks problem {checkpoint.problem!r}.")
        with self.store.transaction():
            (handle,) = self.store.mint(scope.owner, "experiment", parent=scope.session)
            trials = schedule(
                handle,
                players=ordered,
                problems=problems,
                repeats=repeats,
                seed=seed,
                mint=lambda count: self.store.mint(scope.owner, "trial", count, parent=handle),
                planner=planner,
                coder=coder,
            )
            experiment = Experiment(
                id=handle, players=ordered, checkpoints=frozen, repeats=repeats, seed=seed, open=is_open
            )
            spec = ExperimentSpec(
                experiment=experiment,
                trials=trials,
                statements={problem: statements[problem] for problem in sorted(set(problems.values()))},
                time_limit_s=time_limit_s,
                attempts=attempts,
            )
            blob = self.store.put(spec)
            self.store.append(scope, ExperimentStarted(experiment=handle, blob=blob, trials=len(trials)))
        return experiment

    def end(self, owner: str, experiment: str, reason: str) -> None:
        """Stops an experiment early; trials that were not judged stay missing, and are counted as such.

        Raises:
            NotFound: The experiment is not this owner's.
        """
        with self.step(owner, experiment) as state:
            if not state.ended:
                self.store.append(Scope(owner), ExperimentEnded(experiment=experiment, reason=reason[:MAX_REASON]))

    def progress(self, owner: str, experiment: str) -> Progress:
        """How far it is, without a word on outcomes."""
        with self.step(owner, experiment) as state:
            return state.progress()

    def spec(self, owner: str, experiment: str) -> Experiment:
        """What was asked for."""
        with self.step(owner, experiment) as state:
            return state.spec.experiment

    def problems(self, owner: str, experiment: str) -> tuple[str, ...]:
        """The problems of its checkpoints."""
        with self.step(owner, experiment) as state:
            return tuple(state.spec.statements)

    @contextmanager
    def step(self, owner: str, experiment: str, *, durable: bool = True) -> Iterator[ExperimentState]:
        """One transaction on an experiment, with its newest state. What is appended within shows in the next step.

        Trials whose time is over are closed first, so that no state is ever seen with one of them open. Without `durable` the
        caller sees to it that a durable write follows before anybody is told (`Store.append`).

        Raises:
            NotFound: The experiment is not this owner's.
        """
        self.store.check(owner, "experiment", experiment)
        while True:
            with self.store.transaction(durable=durable):
                state = self._folded(owner, experiment)
                if not abandon_expired(self.store, owner, state, self.checkpoint):
                    yield state
                    return

    def peek(self, owner: str, experiment: str) -> ExperimentState:
        """The state of another experiment, within a step: to be read, not to be decided on."""
        self.store.check(owner, "experiment", experiment)
        return self._folded(owner, experiment)

    def _folded(self, owner: str, experiment: str) -> ExperimentState:
        """The state by the newest events. Only committed ones enter it: a step folds before it appends, none nest."""
        state = self._states.get(experiment)
        events = self.store.events(owner, experiment=experiment, after=0 if state is None else state.seq)
        if state is None:
            begun = next((one.event for one in events if isinstance(one.event, ExperimentStarted)), None)
            if begun is None:
                raise NotFound(f"Experiment {experiment!r} was never started. Call `experiment_start`.")
            state = ExperimentState(decode(ExperimentSpec, self.store.blob(begun.blob)))
        state.fold(events)
        self._states[experiment] = state
        return state

    def index(self, owner: str) -> TrialIndex:
        """Which of an owner's trials are open where, by the newest events. Within a step, ask before appending."""
        with self.store.held():
            index = self._indexes.setdefault(owner, TrialIndex())
            index.fold(self.store.events(owner, kinds=KINDS, after=index.seq))
            return index

    def exposure(self, scope: Scope) -> Exposure:
        """What a context knows, ancestors included, by the newest events. Within a step, ask before appending."""
        with self.store.held():
            key = (scope.owner, scope.context)
            known = self._exposures.get(key) or self._exposures.add(key, Exposing())
            known.fold(self.store.events(scope.owner, context=scope.context, kinds=EXPOSING, after=known.seq))
            if not known.candidates:
                return Exposure(problems=frozenset(known.problems))
            parents = self._parents.setdefault(scope.owner, Parents())
            parents.fold(self.store.events(scope.owner, kinds=("candidate_submitted",), after=parents.seq))
            candidates = with_ancestors(known.candidates, parents.of)
            return Exposure(candidates=candidates, problems=frozenset(known.problems))

    def assigned(self, owner: str, experiment: str, trial: str) -> Trial:
        """A trial as the design has it.

        Raises:
            NotFound: The experiment is not this owner's.
        """
        with self.store.held():
            state = self._states.get(experiment)
        if state is None:
            with self.step(owner, experiment) as state:
                pass
        return state.trials[trial].trial

    def of_trial(self, owner: str, trial: str) -> str:
        """The experiment that a trial's handle belongs to.

        Raises:
            NotFound: The trial is not this owner's.
        """
        experiment = self.store.check(owner, "trial", trial)
        if experiment is None:
            raise NotFound(f"Unknown trial {trial!r}. Use a handle that `trial_next` gave you.")
        return experiment

    def checkpoint(self, owner: str, identity: str) -> Checkpoint:
        """A frozen state of this owner, kept in memory: it never changes."""
        key = (owner, identity)
        if key not in self._checkpoints:
            self._checkpoints[key] = self.store.checkpoint(owner, identity)
        return self._checkpoints[key]
