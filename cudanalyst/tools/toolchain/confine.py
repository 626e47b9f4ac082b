"""How a toolchain starts what it does not trust."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, Protocol

from cudanalyst.tools.process import DEFAULT_OUTPUT_LIMIT, ProcessResult, run_process, scrubbed_environment
from cudanalyst.tools.result import Sandbox

Purpose = Literal["compile", "run"]


class Confinement(Protocol):
    """Starts a process that may read the given folders and its own, and write its own only."""

    @property
    def level(self) -> Sandbox:
        """How far processes are confined."""

    async def run(
        self,
        argv: Sequence[str | Path],
        *,
        work: Path,
        readable: Sequence[Path],
        env: Mapping[str, str],
        timeout_s: float,
        memory_bytes: int,
        purpose: Purpose,
        stdin: bytes = b"",
        capture_bytes: int = 64 << 10,
        output_limit: int = DEFAULT_OUTPUT_LIMIT,
    ) -> ProcessResult:
        """Runs in `work`, with `env` added to the scrubbed environment."""


class Unconfined:
    """Limits of the process runner only; for those who asked for it (`--allow-unsandboxed`)."""

    level: Sandbox = "none"

    async def run(
        self,
        argv: Sequence[str | Path],
        *,
        work: Path,
        readable: Sequence[Path],  # noqa: ARG002 - everything is readable here
        env: Mapping[str, str],
        timeout_s: float,
        memory_bytes: int,
        purpose: Purpose,  # noqa: ARG002
        stdin: bytes = b"",
        capture_bytes: int = 64 << 10,
        output_limit: int = DEFAULT_OUTPUT_LIMIT,
    ) -> ProcessResult:
        """As the protocol says, without confinement."""
        return await run_process(
            argv,
            cwd=work,
            env=scrubbed_environment(env),
            stdin=stdin,
            timeout_s=timeout_s,
            memory_bytes=memory_bytes,
            capture_bytes=capture_bytes,
            output_limit=output_limit,
        )
