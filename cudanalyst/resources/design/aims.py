"""What an analysis must keep to be one of its design: every effect and claim speaks of what is run.

Asked when a design is read or locked, not when a stored one is read back: what was run must stay readable.
"""

from collections.abc import Iterator

from cudanalyst.errors import BadRequest
from cudanalyst.resources.attribution.plan import ANALYSIS_VERSION, SCORES, AnalysisPlan
from cudanalyst.resources.design.models import Design


def check_analysis(design: Design) -> None:
    """Refuses effects and claims of players, planners or regimes that the design does not run.

    Raises:
        BadRequest: The text begins with the path of the field and says what is allowed.
    """
    plan = design.analysis
    if plan.primary or plan.claims or plan.stopping.effects:
        from cudanalyst.resources.attribution.claims import check_plan  # statistics: half a second of imports

        try:
            check_plan(plan, sorted(design.players))
        except BadRequest as error:
            raise BadRequest(f"The design cannot be used:\n- analysis: {error}") from error
    if faults := [*_contradictions(plan), *_strangers(design, plan)]:
        raise BadRequest("The design cannot be used:\n" + "\n".join(f"- {one}" for one in faults))


def _strangers(design: Design, plan: AnalysisPlan) -> Iterator[str]:
    planners = [one.name for one in design.planners]
    regimes, listed = set(design.regimes), ", ".join(design.regimes)
    if design.kind == "confirmatory" and plan.primary_regime not in regimes:
        yield f"analysis.primary_regime: {plan.primary_regime} is not run, so nothing would be confirmed; take one of {listed}"
    for index, pair in enumerate(plan.contrasts):
        for field in ("regime", "against"):
            if (named := getattr(pair, field)) not in regimes:
                yield f"analysis.contrasts[{index}].{field}: {named} is none of `regimes` ({listed})"
    for index, claim in enumerate(plan.claims):
        for field in ("regime", "against"):
            if (named := getattr(claim, field)) is not None and named not in regimes:
                yield f"analysis.claims[{index}].{field}: {named} is none of `regimes` ({listed})"
        for field in ("planner", "plan_of", "against_plan_of"):
            if (named := getattr(claim, field)) is not None and named not in planners:
                yield f"analysis.claims[{index}].{field}: {named!r} is none of `planners` ({', '.join(planners)})"


def _contradictions(plan: AnalysisPlan) -> Iterator[str]:
    if plan.version != ANALYSIS_VERSION:
        yield f"analysis.version: this is version {ANALYSIS_VERSION}; leave the field out, and say so where you locked another"
    if plan.primary_level not in plan.levels:
        yield f"analysis.levels: {plan.primary_level}, the `primary_level`, is not among them"
    margins = [("margin", plan.margin)]
    for index, claim in enumerate(plan.claims):
        if claim.margin is not None and (claim.level or plan.primary_level) not in SCORES:
            margins.append((f"claims[{index}].margin", claim.margin))
    for field, margin in margins:
        if margin >= 1:
            yield f"analysis.{field}: two probabilities never differ by more than 1, so {margin:g} would prove anything; take less"
