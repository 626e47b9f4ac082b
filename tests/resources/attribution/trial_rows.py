"""Rows of trials for tests of analyses."""

from cudanalyst.resources.attribution import game
from cudanalyst.resources.trial_rows import TrialRow

PLAYERS = ("analyzer", "debugger", "profiler")
COALITIONS = tuple(game.members(mask, PLAYERS) for mask in range(8))


def row(coalition, *, rung=None, problem="p", checkpoint=None, block=0, players=PLAYERS, **more):
    """One evaluated trial that got as far as `rung`: None, `compiled`, `passed` or `fast`."""
    height = {None: 0, "compiled": 1, "passed": 2, "fast": 3}[rung]
    values = {
        "state": "evaluated",
        "base_status_before": "wrong",
        "compiled": height >= 1,
        "passed": height >= 2,
        "fast_modelled": height >= 3,
        "improved": height >= 2,
        "regressed": False,
        "modelled_speedup": 2.0 if height >= 3 else 1.0,
        **more,
    }
    return TrialRow(
        experiment="e",
        trial="/".join(
            map(
                str,
                (
                    problem,
                    checkpoint,
                    block,
                    coalition,
                    *(more.get(one) for one in ("regime", "planner", "plan_of", "sentinel")),
                ),
            )
        ),
        problem=problem,
        checkpoint=checkpoint or f"{problem}-0",
        coalition=coalition,
        players=players,
        block=block,
        **values,
    )


def full(table, *, repeats=10, rung="passed", players=PLAYERS, **more):
    """Every coalition in `repeats` complete blocks; success as often as the table says, to the nearest trial."""
    return [
        row(
            game.members(mask, players), rung=rung if r < round(p * repeats) else None, block=r, players=players, **more
        )
        for r in range(repeats)
        for mask, p in enumerate(table)
    ]


def effect(part, index, *players):
    """One effect of a slice; None where it is absent."""
    return next((one for one in part.effects if one.index == index and one.players == players), None)


def value(part, *coalition):
    """v(S) of a slice."""
    return next(one for one in part.values if one.coalition == coalition)
