"""Made-up trials with known chances, for reports and exports."""

from functools import partial
from itertools import combinations, product

import numpy as np

from cudanalyst.resources.attribution.analysis import analyse
from cudanalyst.resources.attribution.plan import AnalysisPlan
from cudanalyst.resources.report.data import CheckpointRow, ComponentCost, Method, ReportData
from cudanalyst.resources.trial_rows import TrialRow

PLAYERS = ("analyzer", "debugger", "profiler")
TOKENS = {"analyzer": 420, "debugger": 610, "profiler": 980, "compiler": 150}


def chances(coalition, problem, generation, strength):
    """Chance of each level, given the one below it."""
    has = {name: name in coalition for name in ("analyzer", "debugger", "profiler")}
    compiled = 0.5 + strength * (0.3 * has["analyzer"] + 0.1 * (has["analyzer"] and has["debugger"]))
    passed = (
        0.45 + strength * (0.15 * has["debugger"] + 0.2 * (has["analyzer"] and has["debugger"])) + 0.05 * (problem % 3)
    )
    fast = 0.15 + strength * (0.45 * has["profiler"]) + 0.03 * generation
    return [min(max(chance, 0.02), 0.98) for chance in (compiled, passed, fast)]


def rows(
    *,
    players=PLAYERS,
    problems=6,
    generations=(0,),
    planners=("scripted",),
    regimes=("P+F",),
    repeats=4,
    seed=0,
    measured=False,
    sentinels=False,
    spoiled=0,
):
    """Trials of a whole design, blocked, with a chance of success that depends on coalition, regime and planner."""
    rng = np.random.default_rng(seed)
    coalitions = [some for size in range(len(players) + 1) for some in combinations(sorted(players), size)]
    strengths = {name: 1.0 - 0.35 * k for k, name in enumerate(planners)}
    worth = {"P+F": 1.0, "NP+F": 0.6, "P+S": 0.8, "NP+S": 0.5, "DP": 0.3, "RF": 0.1, "PT": 0.9}
    made = []
    blocks = product(range(problems), generations, planners, regimes, range(repeats))
    for problem, generation, planner, regime, repeat in blocks:
        one = partial(_row, rng, players, problem, generation, planner, regime, repeat, measured=measured)
        cells = coalitions if not regime.endswith("NF") else [()]
        strength = strengths[planner] * worth.get(regime, 0.0)
        made += [
            one(order=order, coalition=cells[place], strength=strength)
            for order, place in enumerate(rng.permutation(len(cells)))
        ]
        if sentinels and regime == "P+F" and problem == 0:
            everyone = tuple(sorted(players))
            made.append(one(order=99, coalition=everyone, strength=strengths[planner], sentinel=True))
    for k in range(spoiled):
        made[k] = made[k].model_copy(update={"contaminated": True, "contamination": "read the checkpoint's resource"})
        made[-1 - k] = TrialRow.model_validate(
            {
                **made[-1 - k].model_dump(include={*IDENTITY}),
                "state": "infrastructure_failed",
                "base_status_before": "wrong",
            }
        )
    return tuple(made)


IDENTITY = (
    "experiment", "trial", "problem", "checkpoint", "coalition", "players", "regime", "planner", "coder", "generation",
    "block", "repeat", "order", "seed", "no_op",
)  # fmt: skip


def _row(
    rng, players, problem, generation, planner, regime, repeat, *, order, coalition, strength, measured, sentinel=False
):
    compiled, passed, fast = chances(coalition, problem, generation, strength)
    draws = rng.random(3)
    built = bool(draws[0] < compiled)
    right = built and bool(draws[1] < passed)
    quick = right and bool(draws[2] < fast)
    before = "compile_failed" if problem % 2 else "wrong"
    after = "passed" if right else "wrong" if built else "compile_failed"
    name = f"{problem}-{generation}-{planner}-{regime}-{repeat}-{order}"
    return TrialRow(
        experiment="exp_" + "0" * 32,
        trial=f"tri_{name}",
        problem=f"problem_{problem}",
        checkpoint=f"chk_{problem}_{generation}",
        coalition=coalition,
        players=tuple(sorted(players)),
        regime=regime,
        planner=planner,
        coder=planner,
        model=f"{planner}-model@fp1",
        backbone=f"run-{problem}",
        operator="eoh",
        generation=generation,
        block=repeat,
        repeat=repeat,
        order=order,
        seed=repeat,
        sentinel=sentinel,
        state="evaluated",
        attempts=1,
        base_status_before=before,
        base_status_after=after,
        compiled=built,
        passed=right,
        fast_modelled=quick,
        fast=quick if measured else None,
        improved=built,
        regressed=False,
        modelled_speedup=1.0 + float(rng.random()) if quick else 1.0,
        speedup=(1.0 + float(rng.random()) if quick else 1.0) if measured else None,
        no_op={"compiled": before != "compile_failed", "passed": False, "fast_modelled": False},
        candidate=f"cand_{name}",
        prompt_hash=f"hash {name}",
        evidence_tokens={one: TOKENS.get(one, 300) for one in coalition},
        evaluate_s=0.5,
        opened_at=1_700_000_000.0 + order,
        submitted_at=1_700_000_010.0 + order,
        evaluated_at=1_700_000_020.0 + order,
    )


def report(trials=None, plan=None, **more):
    """A report over made-up trials."""
    trials = rows() if trials is None else trials
    found = analyse(trials, plan or AnalysisPlan())
    who = ", ".join(dict.fromkeys(row.planner for row in trials))
    given = {
        "title": "Which feedback helped",
        "method": Method(planner=who, coder=who, repeats=4, seed=7),
        "experiment": "exp_" + "0" * 32,
        "created": "2026-01-02 03:04 UTC",
        "checkpoints": tuple(
            CheckpointRow(
                id=one, problem=problem, base_status="wrong", generation=generation, operator="eoh", backbone="run-1"
            )
            for one, problem, generation in sorted({(row.checkpoint, row.problem, row.generation) for row in trials})
        ),
        "costs": tuple(
            ComponentCost(
                component=one, evidence_tokens=float(TOKENS.get(one, 300)), total_tokens=12000, tool_seconds=1.25
            )
            for one in found.players
        ),
        "versions": {"cudanalyst": "0.1.0", "nvcc": "13.0.88"},
    }
    return ReportData(analysis=found, rows=tuple(trials), **{**given, **more})
