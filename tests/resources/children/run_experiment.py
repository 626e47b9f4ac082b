"""Works an experiment off, one context a trial, until it ends or the process is killed."""

import sys
from pathlib import Path

from cudanalyst.errors import BadRequest
from cudanalyst.resources import judging, trial_flow
from cudanalyst.resources.delivery import TrialPayload
from cudanalyst.resources.experiment import Experiments
from cudanalyst.resources.outcomes import outcome_of
from cudanalyst.resources.store import Store

folder, session, experiment, name = Path(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4]
store = Store.open(folder)
experiments = Experiments(store)


def say(what):
    sys.stdout.write(what + "\n")
    sys.stdout.flush()


turn = 0
while not experiments.progress("ada", experiment).ended:
    scope = store.scope("ada", session, f"{name} {turn}")
    turn += 1
    given = trial_flow.next_trial(experiments, scope, experiment)
    if isinstance(given, TrialPayload):
        say(f"opened {given.trial}")
        trial_flow.submit_trial(experiments, scope, given.trial, source=f"// {given.trial}")
        say(f"submitted {given.trial}")
    for one in judging.pending(experiments, "ada", experiment):
        try:
            judging.record_outcome(experiments, "ada", one.trial, outcome_of("wrong", "compiled", "passed", 1.0))
        except BadRequest as error:  # the other process judged it first
            if "awaits no outcome" not in str(error):
                raise
        else:
            say(f"evaluated {one.trial}")
say("ended")
