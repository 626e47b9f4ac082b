"""The report of an experiment that has ended, put together from the store."""

from cudanalyst.resources.experiment import Experiments
from cudanalyst.resources.report.gather import gather
from cudanalyst.resources.report.page import render_html


def experiment_report(experiments: Experiments, owner: str, experiment: str) -> str:
    """One self-contained page of HTML; its numbers are had with `cudanalyst export`.

    Raises:
        NotFound: The experiment is not this owner's.
        BadRequest: It has not ended, or nothing was evaluated.
    """
    return render_html(gather(experiments, owner, experiment), carried=False)
