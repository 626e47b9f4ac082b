"""The `replay` toolchain: answers from recordings of another toolchain, by the hash of what is asked.

For tests, demos and counterfactuals: nothing runs. A request that was not recorded is `unavailable`, never guessed.
"""

import base64
import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal

from cudanalyst.errors import NotFound
from cudanalyst.tools.debug import ALL_CHECKS, Check, Finding
from cudanalyst.tools.result import MeasuredOn
from cudanalyst.tools.selection import Selection
from cudanalyst.tools.source import Source
from cudanalyst.tools.timing.models import Comparison, Uncompared
from cudanalyst.tools.toolchain.execution import unavailable
from cudanalyst.tools.toolchain.protocol import (
    Build,
    CandidateRequest,
    Capabilities,
    ComparisonRequest,
    Execution,
    ExecutionRequest,
    Sanitization,
    Toolchain,
)
from cudanalyst.values import content_id

FORMAT: Final = 1
NO_TIMING: Final = "a recording holds no device to time on; use the gpu toolchain"
_BYTES: Final = "base64:"


def request_id(request: ExecutionRequest) -> str:
    """Identity of a request by all that it holds but its time limit, which says nothing about the work."""
    kind = "candidate" if isinstance(request, CandidateRequest) else "program"
    fields = {key: value for key, value in dataclasses.asdict(request).items() if key != "timeout_s"}
    if request.selection in {None, Selection()}:
        fields.pop("selection")  # what was recorded before there was a choice is what is profiled without one
    return content_id("req", kind, json.dumps(fields, sort_keys=True, default=_encode))


def _encode(value: object) -> object:
    if isinstance(value, bytes):
        return _BYTES + base64.b64encode(value).decode("ascii")
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"cannot record a {type(value).__name__}")


def _recording(folder: Path, operation: str, *parts: str) -> Path:
    return folder / f"{content_id(operation, str(FORMAT), *parts)}.json"


def _dump_execution(execution: Execution) -> dict[str, Any]:
    plain = {item.name: getattr(execution, item.name) for item in dataclasses.fields(execution)}
    plain["downloads"] = [{name: _encode(data) for name, data in call.items()} for call in execution.downloads]
    return plain


def _load_execution(data: dict[str, Any]) -> Execution:
    downloads = tuple(
        {name: base64.b64decode(text.removeprefix(_BYTES)) for name, text in call.items()}
        for call in data.pop("downloads")
    )
    return Execution(**{**data, "report": tuple(data["report"]), "downloads": downloads})


def _missing(what: str) -> Execution:
    return unavailable(f"{what} was not recorded; record it with the cpu toolchain")


class ReplayToolchain:
    """Answers what a `RecordingToolchain` has written to a folder."""

    def __init__(self, folder: Path) -> None:
        """Reads recordings of `folder` when they are asked for.

        Raises:
            NotFound: There is no such folder.
        """
        if not folder.is_dir():
            raise NotFound(f"there are no recordings: {folder} is not a folder")
        self._folder = folder

    @property
    def name(self) -> Literal["cpu", "gpu", "replay"]:
        """`replay`."""
        return "replay"

    def _read(self, operation: str, *parts: str) -> dict[str, Any] | None:
        try:
            text = _recording(self._folder, operation, *parts).read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        loaded: dict[str, Any] = json.loads(text)
        return loaded

    async def capabilities(self) -> Capabilities:
        """Whatever was recorded."""
        measured_on = MeasuredOn(toolchain="replay")
        return Capabilities(build=True, execute=True, sanitize=ALL_CHECKS, profile=True, measured_on=measured_on)

    async def build(self, source: Source) -> Build:
        """The recorded build; its binary is not kept."""
        data = self._read("build", source.id)
        if data is None:
            return Build(
                status="unavailable",
                source_id=source.id,
                reason="this source's build was not recorded; record it with the cpu toolchain",
                duration_s=0.0,
                measured_on=MeasuredOn(toolchain="replay"),
            )
        return Build.model_validate(data)

    async def execute(self, build: Build, request: ExecutionRequest) -> Execution:
        """The recorded run."""
        data = self._read("execute", build.source_id, request_id(request))
        return _missing("this run") if data is None else _load_execution(data)

    async def sanitize(self, build: Build, request: ExecutionRequest, check: Check) -> Sanitization:
        """The recorded check."""
        data = self._read("sanitize", build.source_id, request_id(request), check)
        if data is None:
            execution = _missing(f"this {check}")
            return Sanitization(
                check=check, execution=execution, findings=(), failed=execution.reason, coverage="nothing was checked"
            )
        return Sanitization(
            check=check,
            execution=_load_execution(data["execution"]),
            findings=tuple(Finding.model_validate(finding) for finding in data["findings"]),
            failed=data["failed"],
            coverage=data["coverage"],
            broken=data.get("broken"),
            note=data.get("note"),
            stopped=data.get("stopped"),
            wall_s=data.get("wall_s"),
        )

    async def compare(
        self,
        candidate: Build,  # noqa: ARG002 - the protocol's
        baseline: Build,  # noqa: ARG002
        requests: Sequence[ComparisonRequest],
    ) -> tuple[Comparison | Uncompared, ...]:
        """Not here."""
        return (Uncompared(reason=NO_TIMING),) * len(requests)

    async def profile(self, build: Build, request: ExecutionRequest) -> Execution:
        """The recorded profile."""
        data = self._read("profile", build.source_id, request_id(request))
        return _missing("this profile") if data is None else _load_execution(data)


class RecordingToolchain:
    """Passes everything to another toolchain and writes down what it answered, but for what was unavailable."""

    def __init__(self, inner: Toolchain, folder: Path) -> None:
        """Makes the folder."""
        folder.mkdir(parents=True, exist_ok=True)
        self._inner = inner
        self._folder = folder

    @property
    def name(self) -> Literal["cpu", "gpu", "replay"]:
        """That of the inner toolchain."""
        return self._inner.name

    def _write(self, data: dict[str, Any], operation: str, *parts: str) -> None:
        path = _recording(self._folder, operation, *parts)
        temporary = path.with_suffix(".tmp")
        temporary.write_text(json.dumps(data, indent=1, sort_keys=True, default=_encode) + "\n", encoding="utf-8")
        temporary.replace(path)

    async def capabilities(self) -> Capabilities:
        """Those of the inner toolchain."""
        return await self._inner.capabilities()

    async def build(self, source: Source) -> Build:
        """Builds and records."""
        build = await self._inner.build(source)
        if build.status in {"compiled", "failed"}:
            kept = build.model_copy(update={"binary": None, "cached": False})
            kept = kept.model_copy(update={"measured_on": build.measured_on.model_copy(update={"toolchain": "replay"})})
            self._write(kept.model_dump(mode="json"), "build", source.id)
        return build

    async def execute(self, build: Build, request: ExecutionRequest) -> Execution:
        """Runs and records."""
        execution = await self._inner.execute(build, request)
        if execution.how != "unavailable":
            self._write(_dump_execution(execution), "execute", build.source_id, request_id(request))
        return execution

    async def sanitize(self, build: Build, request: ExecutionRequest, check: Check) -> Sanitization:
        """Checks and records."""
        done = await self._inner.sanitize(build, request, check)
        if done.execution.how != "unavailable":
            data = {
                "execution": _dump_execution(done.execution),
                "findings": [finding.model_dump(mode="json") for finding in done.findings],
                "failed": done.failed,
                "coverage": done.coverage,
                "broken": done.broken,
                "note": done.note,
                "stopped": done.stopped,
                "wall_s": done.wall_s,
            }
            self._write(data, "sanitize", build.source_id, request_id(request), check)
        return done

    async def profile(self, build: Build, request: ExecutionRequest) -> Execution:
        """Profiles and records."""
        execution = await self._inner.profile(build, request)
        if execution.how != "unavailable":
            self._write(_dump_execution(execution), "profile", build.source_id, request_id(request))
        return execution
