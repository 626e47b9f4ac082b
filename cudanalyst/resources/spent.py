"""What an experiment has used of its budget."""

from cudanalyst.resources.design.models import Budget
from cudanalyst.resources.regimes.shapes import SHAPES
from cudanalyst.resources.trial_state import Accounts, ExperimentState, TrialProgress
from cudanalyst.resources.trials import Trial
from cudanalyst.values import Frozen

SECONDS_A_MINUTE = 60.0


class Spent(Frozen):
    """Sums over the trials that were answered; reused ones cost nothing."""

    calls: int = 0
    tokens: int = 0
    """As far as clients told."""
    device_minutes: float = 0.0
    wall_minutes: float = 0.0
    """Since the first trial was opened."""


def calls_of(trial: Trial) -> int:
    """Model calls of one trial: a source for each step, and a plan where one is made."""
    return trial.horizon * (2 if SHAPES[trial.regime].plan == "own" else 1)


def spent(state: ExperimentState, now: float) -> Spent:
    """What has been used, open trials counted as answered, and calls that a service failed counted like the others."""
    accounts, unaccounted = state.accounts, state.unaccounted
    for trial in unaccounted:
        _account(accounts, state.trials[trial])
    unaccounted.clear()
    begun = now if accounts.begun is None else accounts.begun
    return Spent(
        calls=accounts.calls,
        tokens=accounts.tokens,
        device_minutes=accounts.device_s / SECONDS_A_MINUTE,
        wall_minutes=(now - begun) / SECONDS_A_MINUTE,
    )


def _account(accounts: Accounts, progress: TrialProgress) -> None:
    """Takes in what a trial has cost by now, in place of what it had cost before."""
    calls, tokens, device_s = accounts.of_trial.pop(progress.trial.id, (0, 0, 0.0))
    accounts.calls -= calls
    accounts.tokens -= tokens
    accounts.device_s -= device_s
    if progress.opened is None or progress.reused_from is not None:
        return
    usage = progress.usage
    tokens = 0 if usage is None else (usage.input_tokens or 0) + (usage.output_tokens or 0)
    cost = (calls_of(progress.trial) * max(1, progress.attempts), tokens, progress.device_s or 0.0)
    accounts.of_trial[progress.trial.id] = cost
    accounts.calls += cost[0]
    accounts.tokens += cost[1]
    accounts.device_s += cost[2]
    accounts.begun = progress.opened.at if accounts.begun is None else min(accounts.begun, progress.opened.at)


def exceeded(budget: Budget, used: Spent) -> str | None:
    """Which limit is reached, in words; None where none is."""
    for name in type(budget).model_fields:
        limit, amount = getattr(budget, name), getattr(used, name)
        if limit is not None and amount >= limit:
            return f"the budget of {limit:g} {name.replace('_', ' ')} is spent"
    return None
