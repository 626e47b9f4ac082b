"""Gathers what recording and replaying showed into an `Execution`, with the records that a native run would have left."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from cudanalyst.tools.process import ProcessResult
from cudanalyst.tools.result import Sandbox
from cudanalyst.tools.toolchain.execution import RUN_OUTPUT_LIMIT
from cudanalyst.tools.toolchain.executor_session import ExecutorFailed
from cudanalyst.tools.toolchain.protocol import CandidateRequest, Execution
from cudanalyst.tools.toolchain.recording import Recording, WorkspaceAnswer, ended_badly
from cudanalyst.tools.toolchain.report import Record, has
from cudanalyst.tools.trace.read import Junk, Operations, Reading
from cudanalyst.tools.trace.records import Refusal

NOT_SUPPORTED: Final = 801
RUNTIME_NAMES: Final = {
    1: "cudaErrorInvalidValue", 2: "cudaErrorMemoryAllocation", 9: "cudaErrorInvalidConfiguration", 98: "cudaErrorInvalidDeviceFunction",
    209: "cudaErrorNoKernelImageForDevice", 214: "cudaErrorECCUncorrectable", 218: "cudaErrorInvalidPtx", 220: "cudaErrorNvlinkUncorrectable",
    400: "cudaErrorInvalidResourceHandle", 700: "cudaErrorIllegalAddress", 701: "cudaErrorLaunchOutOfResources",
    702: "cudaErrorLaunchTimeout", 710: "cudaErrorAssert", 714: "cudaErrorHardwareStackError", 715: "cudaErrorIllegalInstruction",
    716: "cudaErrorMisalignedAddress", 717: "cudaErrorInvalidAddressSpace", 718: "cudaErrorInvalidPc", 719: "cudaErrorLaunchFailure",
    720: "cudaErrorCooperativeLaunchTooLarge", 801: "cudaErrorNotSupported", 912: "cudaErrorInvalidClusterSize",
}  # fmt: skip
"""Driver and runtime number their errors alike; results have the runtime's names."""

How = Literal["returned", "exited", "signalled", "timed_out", "output_limit", "unavailable"]


@dataclass(frozen=True)
class Unrecordable:
    """Only a native run can show what this candidate does. What the contract forbids is never one: it ends the evaluation (engine/TRACE.md)."""

    reason: str
    """The call that cannot be recorded, and why."""


def runtime_name(code: int | None) -> str:
    """The runtime's name of a CUDA error."""
    return RUNTIME_NAMES.get(code or 0, "cudaErrorUnknown")


class Outcome:
    """What is known so far of one request."""

    def __init__(self, request: CandidateRequest, sandbox: Sandbox) -> None:
        """Nothing is known yet."""
        self._request = request
        self._sandbox = sandbox
        self._how: How = "returned"
        self._reason: str | None = None
        self._calls: list[Record] = []
        self._downloads: list[Mapping[str, bytes]] = []
        self._report: tuple[Record, ...] | None = None
        self._problem: str | None = None
        self._recorder: ProcessResult | None = None
        self._host_findings: tuple[Record, ...] = ()
        self._executor: ProcessResult | None = None
        self._current: int | None = None
        self._fault: Record | None = None
        self._allocations: list[Record] = []
        self.unrecordable: Unrecordable | None = None
        self.failed = False

    # What the recorder showed.

    def workspace(self, answer: WorkspaceAnswer) -> bool:
        """Whether there is a workspace of known size to go on with."""
        self._recorder = answer.process
        if answer.refusal is not None:
            return self._refuse(0, answer.refusal)
        if answer.bytes is None:
            otherwise = answer.error or "workspace_bytes gave no number of bytes that a device has"
            return self._ended_early(0, answer.process, otherwise)
        return True

    def no_workspace(self, size: int) -> None:
        """The device has no room for what was asked for."""
        self._answer(0, "solve_error", 0, f"a workspace of {size} bytes cannot be allocated")

    def recorded(self, recording: Recording) -> None:
        """All calls were recorded, or as many as the candidate got to."""
        self._recorder = recording.process
        readings = (recording.init, *recording.calls)
        first = next((one for one in readings if isinstance(one, Refusal)), None)
        if first is not None and first.kind == "unrecordable":
            self.unrecordable = Unrecordable(first.message)
        self._host_findings = tuple(
            record for record in recording.report if record["type"] == "finding" and record.get("kernel") is None
        )

    def init(self, reading: Reading | None) -> bool:
        """Whether the calls may begin. No trace is fine where the process went on to its calls."""
        if reading is None:
            return True
        return self._operations(0, reading, "init") is not None

    def reading(self, index: int, reading: Reading | None) -> Operations | None:
        """The operations of a call, or None where there is nothing to replay: the call's record then says why."""
        if reading is None:
            if self._recorder is not None:
                self._ended_early(index, self._recorder, "the recording has no end")
            return None
        return self._operations(index, reading, "solve")

    def _operations(self, index: int, reading: Reading, function: str) -> Operations | None:
        if isinstance(reading, Refusal):
            self._refuse(index, reading)
            return None
        if isinstance(reading, Junk):
            if reading.unfinished and self._recorder is not None and ended_badly(self._recorder):
                self._ended_early(index, self._recorder, "the recording has no end")
                return None
            place = "" if reading.line is None else f" (line {reading.line})"
            self._answer(
                index,
                "contract",
                NOT_SUPPORTED,
                f"the trace of this call was not written by the recorder{place}: {reading.reason}",
            )
            return None
        if reading.error is not None:
            if reading.error.code:
                self._answer(index, "cuda_error", reading.error.code, reading.error.text, value=reading.status)
            else:
                self._answer(index, "solve_error", 0, reading.error.text)
            return None
        if reading.status:
            self._answer(index, "solve_error", 0, f"{function} returned a value other than 0", value=reading.status)
            return None
        return reading

    def recorder_ended(self, last: int) -> None:
        """All calls were answered; a process that then ended badly has not let them be."""
        if self._recorder is not None and ended_badly(self._recorder):
            self._ended_early(last, self._recorder, "the recording has no end")

    def _refuse(self, index: int, refusal: Refusal) -> bool:
        if refusal.kind == "unrecordable":
            self.unrecordable = Unrecordable(refusal.message)
        self._answer(index, "contract", NOT_SUPPORTED, refusal.message)
        return False

    def _ended_early(self, index: int, process: ProcessResult, otherwise: str) -> bool:
        """The recorder left no answer: how the process ended says why."""
        self.failed = True
        if process.timed_out:
            self._how, self._reason = "timed_out", f"stopped after {self._request.timeout_s:g} s"
        elif process.output_limited:
            self._how, self._reason = "output_limit", f"stopped after {RUN_OUTPUT_LIMIT >> 20} MB of output"
        elif process.signal is not None:
            self._how, self._reason = "signalled", f"ended by {process.signal}"
        elif process.exit_status is not None and (process.exit_status or otherwise.endswith("no end")):
            self._how, self._reason = "exited", f"ended early with exit status {process.exit_status}"
        else:
            self._answer(index, "solve_error", 0, otherwise)
        return False

    # What the executor showed.

    def allocated(self, name: str, address: int, size: int) -> None:
        """A buffer has its memory: what checks the executor from outside knows addresses only."""
        self._allocations.append({"type": "allocation", "name": name, "address": f"{address:#x}", "bytes": size})

    def calling(self, index: int) -> None:
        """What goes wrong now is the call's work."""
        self._current = index

    def answered(self, index: int, downloads: Mapping[str, bytes]) -> None:
        """A call was replayed, and its results are here."""
        self._current = None
        self._downloads.append(downloads)
        self._answer(index, "ok", 0, None)

    def violated(self, index: int, text: str) -> None:
        """A call was replayed, and has done what its contract forbids."""
        self._current = None
        self._answer(index, "contract", NOT_SUPPORTED, text)

    def executor_failed(self, error: ExecutorFailed) -> None:
        """A command failed: by the call's fault, by its length, or because the executor cannot do it."""
        self.failed = True
        if error.kind == "timed_out" and self._current is not None:
            self._how, self._reason = "timed_out", f"stopped after {self._request.timeout_s:g} s"
        elif error.kind == "cuda" and self._current is not None and error.command in {"trace", "call", "download"}:
            self._answer(self._current, "cuda_error", error.code or 0, error.message)
            self._fault = {
                "type": "error", "code": error.code, "name": runtime_name(error.code), "kernel": None, "file": None,
                "line": None, "message": error.message,
            }  # fmt: skip
        else:
            self._how, self._reason = "unavailable", f"the executor could not do it: {error}"

    def executor_ended(self, process: ProcessResult | None) -> None:
        """How the executor ended; it has more to say than a connection that broke."""
        self._executor = process
        if process is None or self._how != "unavailable":
            return
        if process.output_limited:
            self._how, self._reason = "output_limit", f"stopped after {RUN_OUTPUT_LIMIT >> 20} MB of output"
        elif process.signal is not None or process.exit_status:
            how = process.signal or f"exit status {process.exit_status}"
            self._reason = f"{self._reason}; it ended with {how}: {process.stderr.text[-400:].strip()}"

    def engine_report(self, report: tuple[Record, ...], problem: str | None) -> None:
        """The report of the CPU engine as driver: written by nobody else, so that one without an end is nobody's forgery."""
        self._report, self._problem = report, problem
        if self._how == "returned" and not self.failed and not has(report, "end"):
            self._how, self._reason = (
                "unavailable",
                f"the engine's report has no end: {problem or 'it was not written'}",
            )

    def _answer(self, index: int, status: str, code: int, message: str | None, value: int = 0) -> None:
        self.failed = self.failed or status != "ok"
        name = runtime_name(code) if code else "cudaSuccess"
        self._calls.append(
            {"type": "call", "index": index, "status": status, "value": value, "cuda_error": code, "cuda_error_name": name, "message": message}
        )  # fmt: skip

    def result(self, duration_s: float) -> Execution | Unrecordable:
        """All of it."""
        if self.unrecordable is not None:
            return self.unrecordable
        if self._how == "unavailable":
            return Execution(
                how="unavailable", exit_status=None, signal=None, stdout="", stderr="", stdout_bytes=0, stderr_bytes=0, report=(),
                downloads=(), duration_s=duration_s, sandbox=self._sandbox, reason=self._reason,
            )  # fmt: skip
        processes = [process for process in (self._recorder, self._executor) if process is not None]
        downloads = [*self._downloads, *[{}] * (len(self._request.calls) - len(self._downloads))]
        recorder = self._recorder
        extra: dict[str, str] = {"trust": "replayed"}
        if self._problem is not None:
            extra["report_problem"] = self._problem
        if self._how == "timed_out" and self._current is not None:
            extra["hung_call"] = str(self._current)
        return Execution(
            how=self._how,
            exit_status=recorder.exit_status if recorder is not None else None,
            signal=recorder.signal if recorder is not None and self._how == "signalled" else None,
            stdout="".join(process.stdout.text for process in processes),
            stderr="".join(process.stderr.text for process in processes),
            stdout_bytes=sum(process.stdout.total for process in processes),
            stderr_bytes=sum(process.stderr.total for process in processes),
            report=self._records(),
            downloads=tuple(downloads),
            duration_s=duration_s,
            sandbox=self._sandbox,
            reason=self._reason,
            extra=extra,
        )

    def _records(self) -> tuple[Record, ...]:
        """The report of a native run: the driver's, with the calls before its end."""
        end: list[Record] = []
        if self._report is None:
            work: list[Record] = [{"type": "engine", "version": 1, "mode": "run"}, *self._allocations]
            if self._fault is not None:
                work.append(self._fault)
            code: Any = 0 if self._fault is None else self._fault["code"]
            if self._how == "returned":
                end = [
                    {
                        "type": "end",
                        "cuda_error": code,
                        "cuda_error_name": runtime_name(code) if code else "cudaSuccess",
                    }
                ]
        else:
            work = [record for record in self._report if record["type"] != "end"]
            end = [record for record in self._report if record["type"] == "end"]
            if self._how in {"exited", "signalled", "timed_out", "output_limit"}:
                end = []
        return (*self._host_findings_first(work), *self._calls, *end)

    def _host_findings_first(self, work: list[Record]) -> tuple[Record, ...]:
        """Findings of both processes in one count: an index counts the findings before it."""
        if not self._host_findings:
            return tuple(work)
        shift = sum(record["type"] == "finding" for record in self._host_findings)
        moved = [
            {**record, "index": record["index"] + shift} if record["type"] == "finding_count" and isinstance(record.get("index"), int) else record
            for record in work
        ]  # fmt: skip
        head = [record for record in moved if record["type"] == "engine"]
        return (*head, *self._host_findings, *(record for record in moved if record["type"] != "engine"))
