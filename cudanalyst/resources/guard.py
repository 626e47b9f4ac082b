"""Keeps withheld evidence withheld: what a context may not call while it, or its experiment, has a trial under way.

A near-copy of a frozen program has another id but the same faults, so roads are closed by problem and by default, not by
candidate. The server asks before every tool and resource.
"""

from collections.abc import Sequence
from typing import Final

from cudanalyst.errors import BadRequest
from cudanalyst.resources.audit import HARMLESS_TOOLS
from cudanalyst.resources.events import Recorded, TrialOpened
from cudanalyst.resources.experiment import Experiments
from cudanalyst.resources.store import Scope
from cudanalyst.values import Frozen

FEEDBACK_TOOLS: Final = frozenset(
    {"compile", "run", "debug", "analyze", "profile", "feedback", "freeze", "get_evidence", "job_status", "candidates"}
)
"""What could tell a planner how its own trial went."""
RESULT_TOOLS: Final = frozenset({"attribution", "report"})


class Request(Frozen):
    """A call or a read that a client wants to make."""

    tool: str
    """Name of the tool; for a resource the first word of its address: `checkpoints`, `sessions`, ..."""
    problem: str | None = None
    """Problem of the source, candidate, checkpoint or job that it is about; None for a program or where none is named."""
    experiment: str | None = None


def guard(experiments: Experiments, scope: Scope, request: Request) -> None:
    """Lets a request pass, or refuses it.

    A call that names no context of its own may come from any conversation of its session, so an open trial in any of
    them closes the session's own context too.

    Raises:
        BadRequest: The request is closed to this context now; the text says until when.
        NotFound: The experiment is not this owner's.
    """
    if request.tool in RESULT_TOOLS and request.experiment is not None:
        progress = experiments.progress(scope.owner, request.experiment)
        if not progress.ended:
            raise BadRequest(
                "Results stay closed until the experiment ends: "
                f"{progress.evaluated + progress.infrastructure_failed} of {progress.trials} trials are done."
            )
    if request.tool in HARMLESS_TOOLS:
        return
    trial = _open(experiments, scope)
    if trial is not None:
        raise BadRequest(
            f"`{request.tool}` is closed in this context while trial {trial.trial} is open. Answer it with `trial_submit`, "
            "or work in another session."
        )
    if request.tool in FEEDBACK_TOOLS:
        _refuse_own_outcome(experiments, scope, request)


def visible_events(experiments: Experiments, scope: Scope, events: Sequence[Recorded]) -> tuple[Recorded, ...]:
    """Events that may be shown to a client: nothing of a trial's coalition or outcome before its experiment ends."""
    ended: dict[str, bool] = {}
    shown: list[Recorded] = []
    for recorded in events:
        event = recorded.event
        experiment = getattr(event, "experiment", None)
        trial = getattr(event, "trial", None)
        if experiment is None and trial is not None:
            experiment = experiments.of_trial(scope.owner, trial)
        if experiment is not None and event.kind not in {"trial_opened", "trial_submitted"}:
            if experiment not in ended:
                ended[experiment] = experiments.progress(scope.owner, experiment).ended
            if not ended[experiment]:
                continue
        shown.append(recorded)
    return tuple(shown)


def _open(experiments: Experiments, scope: Scope) -> TrialOpened | None:
    """The open trial that closes roads here, after those that ran out of time were closed."""
    whole_session = scope.session is not None and scope.context in {None, scope.session}
    trial = experiments.index(scope.owner).open_in(scope, anywhere_in_session=whole_session)
    if trial is not None and trial.deadline_at <= experiments.store.now():
        # Looking at an experiment closes what ran out of time in it.
        experiments.progress(scope.owner, trial.experiment)
        trial = experiments.index(scope.owner).open_in(scope, anywhere_in_session=whole_session)
    return trial


def _refuse_own_outcome(experiments: Experiments, scope: Scope, request: Request) -> None:
    """A program may be any candidate in disguise, so it is closed together with the problem."""
    for problem, experiment in experiments.index(scope.owner).given_to(scope):
        if request.problem in {None, problem} and not experiments.progress(scope.owner, experiment).ended:
            raise BadRequest(
                f"`{request.tool}` on problem {problem} is closed in this context until its experiment ends: "
                "outcomes of trials stay unknown to planners. Work in another session."
            )
