"""Works an experiment of a design off, one context a trial, until it ends or the process is killed."""

import sys
from pathlib import Path

from cudanalyst.resources import judging, trial_flow
from cudanalyst.resources.delivery import TrialPayload
from cudanalyst.resources.experiment import Experiments
from cudanalyst.resources.freeze import Moment, checkpoint_of
from cudanalyst.resources.outcomes import outcome_of
from cudanalyst.resources.plans import Plan
from cudanalyst.resources.store import Store
from tests.resources.conftest import tool_results

folder, session, experiment, name = Path(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4]
store = Store.open(folder)
experiments = Experiments(store)


def say(what):
    sys.stdout.write(what + "\n")
    sys.stdout.flush()


def evaluate():
    for one in judging.pending(experiments, "ada", experiment):
        if one.step is not None:
            moment = Moment(source=one.source, lineage=(one.checkpoint.source.id,), generation=one.step)
            frozen = checkpoint_of(moment, tool_results("passed"))
            judging.record_step(experiments, "ada", one.trial, one.step, frozen)
        else:
            judging.record_outcome(experiments, "ada", one.trial, outcome_of("wrong", "compiled", "passed", 1.0))
            say(f"evaluated {one.trial}")


turn = 0
while not experiments.progress("ada", experiment).ended:
    scope = store.scope("ada", session, f"{name} {turn}")
    turn += 1
    given = trial_flow.next_trial(experiments, scope, experiment)
    while isinstance(given, TrialPayload):
        say(f"opened {given.trial} {given.step}")
        plan = Plan(text=f"plan of {given.trial}") if given.plan_step else None
        source = f"// {given.trial} {given.step}"
        trial_flow.submit_trial(experiments, scope, given.trial, source=source, plan=plan)
        say(f"submitted {given.trial} {given.step}")
        evaluate()
        given = trial_flow.next_trial(experiments, scope, experiment) if given.step < given.steps else None
    evaluate()
say("ended")
