"""The `gpu` toolchain: says honestly what this machine lacks for it. Building and running on a device is not part of this version."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal

from cudanalyst.tools.debug import Check
from cudanalyst.tools.result import MeasuredOn
from cudanalyst.tools.source import Source
from cudanalyst.tools.toolchain.discovery import find_tool
from cudanalyst.tools.toolchain.execution import unavailable
from cudanalyst.tools.toolchain.protocol import Build, Capabilities, Execution, ExecutionRequest, Sanitization

DRIVER_FILE: Final = "proc/driver/nvidia/version"
NOT_YET: Final = "this version of cudanalyst runs nothing on a GPU yet; use the cpu toolchain"


class GpuToolchain:
    """Reports what is here of a device, its driver and NVIDIA's tools."""

    def __init__(self, *, environment: Mapping[str, str] | None = None, root: Path = Path("/")) -> None:
        """Looks under `root` for the driver's files and on the environment's PATH for tools."""
        self._environment = os.environ if environment is None else environment
        self._root = root

    @property
    def name(self) -> Literal["cpu", "gpu", "replay"]:
        """`gpu`."""
        return "gpu"

    def _reason(self) -> str:
        if not (self._root / "dev/nvidiactl").exists():
            return "no NVIDIA GPU here: /dev/nvidiactl is missing; install NVIDIA's driver on a machine with a GPU, or use the cpu toolchain"
        return NOT_YET

    async def capabilities(self) -> Capabilities:
        """Nothing, with a reason for each."""
        reason = self._reason()
        reasons = {"build": reason, "execute": reason, "sanitize": reason, "profile": reason}
        for tool, ability in (("compute-sanitizer", "sanitize"), ("ncu", "profile")):
            if find_tool(tool, self._environment) is None:
                reasons[ability] += f"; {tool} is not on PATH either"
        return Capabilities(
            build=False, execute=False, sanitize=(), profile=False, reasons=reasons, measured_on=self._measured_on()
        )

    def _measured_on(self) -> MeasuredOn:
        try:
            driver = (self._root / DRIVER_FILE).read_text(encoding="utf-8", errors="replace").splitlines()[0]
        except (OSError, IndexError):
            return MeasuredOn(toolchain="gpu")
        return MeasuredOn(toolchain="gpu", versions={"driver": driver[:200]})

    async def build(self, source: Source) -> Build:
        """Not here."""
        return Build(
            status="unavailable",
            source_id=source.id,
            reason=self._reason(),
            duration_s=0.0,
            measured_on=self._measured_on(),
        )

    async def execute(self, build: Build, request: ExecutionRequest) -> Execution:  # noqa: ARG002 - the protocol's
        """Not here."""
        return unavailable(self._reason())

    async def sanitize(self, build: Build, request: ExecutionRequest, check: Check) -> Sanitization:  # noqa: ARG002
        """Not here."""
        execution = unavailable(self._reason())
        return Sanitization(
            check=check, execution=execution, findings=(), failed=execution.reason, coverage="nothing was checked"
        )

    async def profile(self, build: Build, request: ExecutionRequest) -> Execution:  # noqa: ARG002
        """Not here."""
        return unavailable(self._reason())
