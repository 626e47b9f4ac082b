"""What recorder and executor left becomes an execution: nobody is blamed for what was cut off."""

from cudanalyst.tools.capture import Captured
from cudanalyst.tools.cases import Limits, PlannedProcess, plan_verification
from cudanalyst.tools.ending import answered_calls, ending
from cudanalyst.tools.process import ProcessResult
from cudanalyst.tools.toolchain.outcome import Outcome
from cudanalyst.tools.toolchain.protocol import Execution
from cudanalyst.tools.toolchain.recording import Recording
from cudanalyst.tools.trace.read import Junk, Operations, Reading
from tests.tools.fakes import DOUBLE

NOTHING = Operations((), 0, None, (), "name")
CUT = Junk("the trace ends before its last record", 7, unfinished=True)
JUNK = Junk("'x' is not a record", 2)
REPORT = ({"type": "engine"}, {"type": "end", "cuda_error": 0})


def planned() -> PlannedProcess:
    return plan_verification(DOUBLE, "test", {"n": 64}, labels=("a",), seeds=1, secret=b"s", limits=Limits(5.0))


def process(exit_status: int | None = 0, signal: str | None = None, *, timed_out: bool = False) -> ProcessResult:
    empty = Captured(b"", b"", 0)
    return ProcessResult(exit_status, signal, timed_out, False, empty, empty, 1.0)


def executed(reading: Reading, recorder: ProcessResult, report: tuple[dict[str, object], ...] = REPORT) -> Execution:
    """The first call left this, and nothing came after it."""
    request = planned().request
    outcome = Outcome(request, "full")
    calls = (reading, *[None] * (len(request.calls) - 1))
    outcome.recorded(Recording(recorder, None, calls, ()))
    if outcome.reading(0, reading) is not None:
        for index in range(len(request.calls)):
            outcome.answered(index, {})
    outcome.executor_ended(process())
    outcome.engine_report(report, None)
    execution = outcome.result(1.0)
    assert isinstance(execution, Execution)
    return execution


def status(execution: Execution) -> str | None:
    verdict = ending(planned(), execution, answered_calls(planned(), execution))
    return None if verdict is None else verdict.status


def test_a_trace_that_was_being_written_when_time_was_up_timed_out():
    execution = executed(CUT, process(None, timed_out=True))
    assert (execution.how, status(execution)) == ("timed_out", "timed_out")


def test_a_trace_that_was_being_written_when_the_recorder_was_killed_is_a_crash():
    execution = executed(CUT, process(None, "SIGKILL"))
    assert (execution.how, status(execution)) == ("signalled", "crashed")


def test_half_a_trace_of_a_recorder_that_ended_in_good_order_is_a_forgery():
    assert status(executed(CUT, process())) == "contract_violation"


def test_junk_is_a_forgery_however_the_recorder_ended():
    assert status(executed(JUNK, process())) == "contract_violation"
    assert status(executed(JUNK, process(None, "SIGKILL"))) == "contract_violation"


def test_an_engines_report_without_an_end_is_nobodys_forgery():
    execution = executed(NOTHING, process(), REPORT[:1])
    assert execution.how == "unavailable"
    assert "the engine's report has no end" in (execution.reason or "")
    assert executed(NOTHING, process()).how == "returned"
