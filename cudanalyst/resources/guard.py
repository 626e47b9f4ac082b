"""Keeps withheld evidence withheld: what a context may not call while it, or its experiment, has a trial under way.

A near-copy of a frozen program has another id but the same faults, so roads are closed by problem and by default, not by
candidate. The server asks before every tool and resource.
"""

from collections.abc import Sequence
from typing import Final

from cudanalyst.errors import BadRequest
from cudanalyst.resources.audit import HARMLESS_TOOLS
from cudanalyst.resources.codec import decode
from cudanalyst.resources.events import Recorded, ToolFinished, TrialOpened, TrialSubmitted
from cudanalyst.resources.experiment import Experiments
from cudanalyst.resources.likeness import resembles
from cudanalyst.resources.store import Scope
from cudanalyst.tools.source import Source
from cudanalyst.values import Frozen

FEEDBACK_TOOLS: Final = frozenset(
    {"compile", "run", "debug", "analyze", "profile", "feedback", "freeze", "get_evidence", "job_status", "candidates"}
)
"""What could tell a planner how its own trial went."""
EVIDENCE_TOOLS: Final = FEEDBACK_TOOLS - {"job_status", "candidates"} | {"restore"}
"""What makes or shows evidence of a source that the caller names."""
TRIAL_TOOLS: Final = frozenset({"trial_next", "trial_submit"})
"""Their answers differ in length as coalitions do."""
RESULT_TOOLS: Final = frozenset({"attribution", "report"})


class Request(Frozen):
    """A call or a read that a client wants to make."""

    tool: str
    """Name of the tool; for a resource the first word of its address: `checkpoints`, `sessions`, ..."""
    problem: str | None = None
    """Problem of the source, candidate, checkpoint or job that it is about; None for a program or where none is named."""
    experiment: str | None = None
    source: str | None = None
    """Text of the program that it is about: a frozen program may be passed off as one of another problem."""


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
    if request.tool in EVIDENCE_TOOLS:
        _refuse_beside_trial(experiments, scope, request)
    if request.tool in FEEDBACK_TOOLS:
        _refuse_own_outcome(experiments, scope, request)


def visible_events(experiments: Experiments, scope: Scope, events: Sequence[Recorded]) -> tuple[Recorded, ...]:
    """Events that may be shown to a client: nothing of a trial's coalition or outcome before its experiment ends.

    Nor what could be traced back to them: names that are hashes of what was shown or answered, and how long either was.
    """
    ended: dict[str, bool] = {}
    shown: list[Recorded] = []
    for recorded in events:
        event = recorded.event
        experiment = getattr(event, "experiment", None)
        trial = getattr(event, "trial", None)
        if experiment is None and trial is not None:
            experiment = experiments.of_trial(scope.owner, trial)
        over = True
        if experiment is not None:
            if experiment not in ended:
                ended[experiment] = experiments.progress(scope.owner, experiment).ended
            over = ended[experiment]
            if not over and event.kind not in {"trial_opened", "trial_submitted"}:
                continue
        shown.append(_unmarked(recorded, over=over))
    return tuple(shown)


def _unmarked(recorded: Recorded, *, over: bool) -> Recorded:
    """An event without what only some regimes have and, until its experiment is over, without what only some trials have."""
    event = recorded.event
    hidden: dict[str, object] = {}
    if isinstance(event, TrialOpened):
        hidden = {"plan_from": None, "definition": None, **({} if over else {"prompt_hash": ""})}
    elif isinstance(event, TrialSubmitted) and not over:
        hidden = dict.fromkeys(("plan_blob", "candidate", "candidate_blob", "failure", "usage"))
    elif isinstance(event, ToolFinished) and event.tool in TRIAL_TOOLS:
        hidden = {"tokens": None}
    return recorded.model_copy(update={"event": event.model_copy(update=hidden)}) if hidden else recorded


def _open(experiments: Experiments, scope: Scope) -> TrialOpened | None:
    """The open trial that closes roads here, after those that ran out of time were closed."""
    whole_session = scope.session is not None and scope.context in {None, scope.session}
    trial = experiments.index(scope.owner).open_in(scope, anywhere_in_session=whole_session)
    if trial is not None and trial.deadline_at <= experiments.store.now():
        # Looking at an experiment closes what ran out of time in it.
        experiments.progress(scope.owner, trial.experiment)
        trial = experiments.index(scope.owner).open_in(scope, anywhere_in_session=whole_session)
    return trial


def _refuse_beside_trial(experiments: Experiments, scope: Scope, request: Request) -> None:
    """A context is a name that its caller gives, so another of the same session may be the same planner under another name.

    So may one of a session that was begun in it, or that it was begun in.
    """
    family = _family(experiments, scope.owner, scope.session)
    for session, trial in experiments.index(scope.owner).all_open():
        if session != scope.session and _family(experiments, scope.owner, session) != family:
            continue
        if request.problem not in {None, trial.problem} and not _disguised(experiments, scope.owner, request, trial):
            continue
        if trial.deadline_at <= experiments.store.now():
            experiments.progress(scope.owner, trial.experiment)  # looking closes what ran out of time
            if (session, trial) not in experiments.index(scope.owner).all_open():
                continue
        raise BadRequest(
            f"`{request.tool}` on problem {trial.problem} and on programs is closed in this session while a trial of that "
            "problem is open in it or in one that belongs to it. Wait for its answer, or work in another session."
        )


def _answered(experiments: Experiments, request: Request, answer: TrialSubmitted) -> bool:
    """Whether a program is the one that a trial was answered with."""
    if request.source is None or answer.candidate_blob is None:
        return False
    return resembles(request.source, decode(Source, experiments.store.blob(answer.candidate_blob)).text)


def _disguised(experiments: Experiments, owner: str, request: Request, trial: TrialOpened) -> bool:
    program = experiments.checkpoint(owner, trial.checkpoint).source.text
    return request.source is not None and resembles(request.source, program)


def _family(experiments: Experiments, owner: str, session: str | None) -> str | None:
    return None if session is None else experiments.store.family(owner, session)


def _refuse_own_outcome(experiments: Experiments, scope: Scope, request: Request) -> None:
    """A program may be any candidate in disguise, so it is closed together with the problem.

    Whoever started an experiment names its planners' contexts, so there they can be told apart; in any other session they are
    names that a planner gives itself, and all of the experiment's problems are closed.
    """
    index = experiments.index(scope.owner)
    given = dict.fromkeys(index.given_to(scope))
    answers = experiments.store.events(scope.owner, context=scope.context, kinds=("trial_submitted",)) if given else []
    for experiment in dict.fromkeys(experiment for _, experiment in index.given_in(scope.session)):
        if experiments.store.check(scope.owner, "experiment", experiment) != scope.session:
            given |= dict.fromkeys((problem, experiment) for problem in experiments.problems(scope.owner, experiment))
    asked = {request.problem} | {
        answer.problem
        for answer in (one.event for one in answers)
        if isinstance(answer, TrialSubmitted) and _answered(experiments, request, answer)
    }
    for problem, experiment in given:
        if (request.problem is None or problem in asked) and not experiments.progress(scope.owner, experiment).ended:
            raise BadRequest(
                f"`{request.tool}` on problem {problem} is closed in this context until its experiment ends: "
                "outcomes of trials stay unknown to planners. Work in another session."
            )
