"""Runs an experiment: every trial in a fresh context, by a planner that sees what the server delivers and nothing else."""

from collections.abc import Callable, Sequence
from typing import Final

import anyio

from cudanalyst.clients.connection import Connection
from cudanalyst.clients.planner import Proposer, State
from cudanalyst.kernels.problem import Component
from cudanalyst.resources.answers import AttributionResult, ExperimentResult, TrialNextResult, TrialSubmitResult

WAIT_S: Final = 5.0
"""Seconds that one `attribution` call waits for evaluations."""
Report = Callable[[int, int], None]
"""Told (submitted, evaluated) trials so far."""


async def run_experiment(
    connection: Connection,
    planner: Proposer,
    checkpoints: Sequence[str],
    players: Sequence[Component],
    *,
    repeats: int,
    seed: int,
    started: Callable[[ExperimentResult], None],
    report: Report,
) -> AttributionResult:
    """Starts an experiment, answers all its trials and waits until each has its outcome."""
    experiment = await connection.call(
        "experiment_start",
        ExperimentResult,
        checkpoints=list(checkpoints),
        players=list(players),
        repeats=repeats,
        seed=seed,
        planner=planner.name,
    )
    started(experiment)
    submitted = 0
    while await _one_trial(connection, planner, str(experiment.experiment), submitted):
        submitted += 1
        report(submitted, 0)
    while True:
        found = await connection.call(
            "attribution", AttributionResult, experiment=experiment.experiment, wait_s=WAIT_S, detail="full"
        )
        report(submitted, found.evaluated or 0)
        if found.status == "final":
            return found


async def _one_trial(connection: Connection, planner: Proposer, experiment: str, number: int) -> bool:
    """Takes and answers one trial; False when none is left to take."""
    context = f"{planner.name}-{experiment}-{number}"
    while True:
        trial = await connection.call("trial_next", TrialNextResult, experiment=experiment, context=context)
        if trial.status != "waiting":
            break
        await anyio.sleep(0.2)
    if trial.status != "open" or trial.problem is None or trial.base_status is None:
        return False
    proposal = await planner.propose(
        State(
            problem=trial.problem,
            source=trial.source or "",
            base_status=trial.base_status,
            evidence={one.component: one.text for one in trial.evidence},
            seed=trial.seed or 0,
        )
    )
    await connection.call(
        "trial_submit",
        TrialSubmitResult,
        trial=trial.trial,
        context=context,
        source=proposal.source,
        failure="refusal" if proposal.source is None else None,
        plan=proposal.plan,
        cites=list(proposal.cites),
    )
    return True
