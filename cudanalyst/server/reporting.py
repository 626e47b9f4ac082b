"""The report of an experiment that has ended, put together from the store."""

from cudanalyst.errors import BadRequest
from cudanalyst.resources.experiment import Experiments
from cudanalyst.resources.report.data import CheckpointRow, ComponentCost, Method, ReportData
from cudanalyst.resources.report.page import render_html
from cudanalyst.server.attributing import attribution_of
from cudanalyst.server.schema import CHARACTERS_A_TOKEN


def experiment_report(experiments: Experiments, owner: str, experiment: str) -> str:
    """One self-contained page of HTML.

    Raises:
        NotFound: The experiment is not this owner's.
        BadRequest: It has not ended, or nothing was evaluated.
    """
    found = attribution_of(experiments, owner, experiment)
    if found.status != "final" or found.attribution is None:
        raise BadRequest(f"There is no report yet: {found.summary}")
    with experiments.step(owner, experiment) as state:
        spec = state.spec.experiment
        frozen = {one: experiments.checkpoint(owner, one) for one in spec.checkpoints}
        planner, coder = state.spec.trials[0].planner, state.spec.trials[0].coder
    rows = tuple(
        CheckpointRow(
            id=name,
            problem=one.problem,
            base_status=one.base_status,
            generation=one.generation,
            fast_modelled=one.fast,
            placebos=tuple(player for player in spec.players if one.evidence[player].structural),
        )
        for name, one in frozen.items()
    )
    costs = tuple(
        ComponentCost(
            component=player,
            evidence_tokens=sum(len(one.evidence[player].text) for one in frozen.values())
            / CHARACTERS_A_TOKEN
            / len(frozen),
        )
        for player in spec.players
    )
    devices = ", ".join(sorted({one.device for one in frozen.values()}))
    return render_html(
        ReportData(
            title="Which feedback helped",
            attribution=found.attribution,
            method=Method(
                planner=planner,
                coder=coder,
                repeats=spec.repeats,
                seed=spec.seed,
                measured_on=devices,
                open=spec.open,
            ),
            experiment=experiment,
            checkpoints=rows,
            costs=costs,
        )
    )
