"""What the demo's attribution ought to find: the scripted planner's policy is known, so v(S) is an exact sum."""

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations

from cudanalyst.clients.agent import Step
from cudanalyst.clients.connection import Connection
from cudanalyst.clients.scripted import ScriptedPlanner
from cudanalyst.kernels.editbook import applicable, apply
from cudanalyst.kernels.problem import Component, Problem
from cudanalyst.resources.answers import EvidenceResult
from cudanalyst.resources.attribution.enumerate import enumerated_values
from cudanalyst.resources.attribution.game import Table
from cudanalyst.resources.attribution.ground_truth import Tables
from cudanalyst.resources.outcomes import base_status_of, outcome_of
from cudanalyst.resources.trials import Outcome
from cudanalyst.tools.compile import CompileResult
from cudanalyst.tools.run import RunResult

LEVELS = ("compiled", "passed", "fast_modelled")


async def enumerate_truth(
    connection: Connection,
    planner: ScriptedPlanner,
    steps: Sequence[Step],
    *,
    problems: Callable[[str], Problem],
    players: Sequence[Component],
    advance: Callable[[], None],
) -> dict[str, Tables]:
    """True v(S) by level and checkpoint: evaluates every edit once, and weighs it by the policy of each coalition.

    Args:
        connection: To the server that froze the checkpoints, after the experiment has ended.
        planner: Whose policy it is.
        steps: The checkpoints of the experiment.
        problems: Gives the problem of an id.
        players: The experiment's players.
        advance: Called after each checkpoint.
    """
    tables: dict[str, dict[tuple[str, str], Table]] = {level: {} for level in LEVELS}
    for step in steps:
        evidence = {
            component: (
                await connection.call("get_evidence", EvidenceResult, checkpoint=step.checkpoint, component=component)
            ).text
            or ""
            for component in players
        }
        policy: dict[tuple[str, ...], dict[str, float]] = {
            coalition: planner.policy(step.problem, step.source, {player: evidence[player] for player in coalition})
            for size in range(len(players) + 1)
            for coalition in combinations(sorted(players), size)
        }
        outcomes = await edit_outcomes(connection, step, problems(step.problem))
        for level in LEVELS:
            tables[level][step.problem, step.checkpoint] = enumerated_values(policy, outcomes, players, level)
        advance()
    return dict(tables)


async def edit_outcomes(connection: Connection, step: Step, problem: Problem) -> Mapping[str, Outcome]:
    """What each edit that applies to a step's source leads to."""
    before_compiled, before_ran = await _verdict(connection, problem.id, step.source)
    before = base_status_of(before_compiled.status, before_ran.status)
    outcomes: dict[str, Outcome] = {}
    for edit in applicable(problem, step.source):
        source = apply(edit, step.source) or step.source
        compiled, ran = await _verdict(connection, problem.id, source)
        outcomes[edit.id] = outcome_of(
            before,
            compiled.status,
            ran.status,
            ran.modelled_speedup,
            before_speedup=before_ran.modelled_speedup,
        )
    return outcomes


async def _verdict(connection: Connection, problem: str, source: str) -> tuple[CompileResult, RunResult]:
    compiled = await connection.call("compile", CompileResult, source=source, problem=problem)
    ran = await connection.call("run", RunResult, candidate=compiled.candidate)
    return compiled, ran
