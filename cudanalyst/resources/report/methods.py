"""The methods paragraph: exactly what was done, from the data that the numbers came from."""

from cudanalyst.resources.attribution.levels import title
from cudanalyst.resources.attribution.table import TARGETS, Attribution, Target, interval_for
from cudanalyst.resources.report.data import ReportData


def methods(data: ReportData) -> tuple[str, ...]:
    """Sentences in reading order."""
    found, how = data.attribution, data.method
    levels = ", ".join(title(level.level) for level in found.levels)
    repeats = f"{how.repeats} time{'' if how.repeats == 1 else 's'}"
    seed = "" if how.seed is None else f" (seed {how.seed})"
    delivery = "assigned" if how.open else "delivered"
    sentences = [
        (
            f"{found.checkpoints} program states of {found.problems} problems were frozen together with everything that the "
            f"components {', '.join(found.players)} said about them; no evidence was gathered again."
        ),
        (
            f"Each of the {2 ** len(found.players)} coalitions of components was {delivery} {repeats} per state, in blocks of "
            f"every coalition in random order{seed}, under regime {how.regime}: the planner saw the state, its base status and the "
            "evidence of the coalition, and nothing of the rest."
        ),
        f"Planner: {how.planner}. Coder: {how.coder}. Evaluated on: {how.measured_on}.",
        (
            f"{found.trials} evaluated trials were counted at the levels {levels or 'none'}; levels are nested: "
            "success at a higher one is success at every lower one, and a planner that gave no candidate counts as a failure."
        ),
        f"{found.contaminated} contaminated trials and {found.infrastructure_failed} without an outcome are not among them.",
        "v(S) is the mean over problems of the mean over a problem's states of the share of successes with the evidence of S.",
        (
            "Banzhaf value of i: the mean of v(S+i) − v(S) over all S without i. "  # noqa: RUF001 - minus sign
            "Interaction of i and j: the mean of v(S+ij) − v(S+i) − v(S+j) + v(S) over all S without both; "  # noqa: RUF001
            "sigma is its term at S = none alone."
        ),
    ]
    for target in TARGETS:
        if used := _used(found, target):
            article = "" if target == TARGETS[0] else "the "
            sentences += [f"95 % intervals for {article}{target}: {'; or '.join(used)}."]
    if how.open:
        sentences.append(
            "The experiment was open: the planner could gather evidence by itself, so effects are of assigning a component."
        )
    return (*sentences, *how.extra)


def _used(found: Attribution, target: Target) -> list[str]:
    """Every interval method behind a number of the report, in order of first use."""
    methods_used: dict[str, None] = {}
    for level in found.levels:
        rows = [row.intervals for row in level.effects] + [row.intervals for row in level.values]
        for intervals in rows:
            if (interval := interval_for(intervals, target)) is not None:
                methods_used.setdefault(interval.method)
    return list(methods_used)
