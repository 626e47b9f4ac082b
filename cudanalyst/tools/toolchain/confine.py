"""How a toolchain starts what it does not trust."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, Protocol

from cudanalyst.tools.process import DEFAULT_OUTPUT_LIMIT, ProcessResult, run_process, scrubbed_environment
from cudanalyst.tools.result import Sandbox

Purpose = Literal["compile", "run", "gpu", "tools"]
"""`gpu`: a run that may reach NVIDIA's devices and what their driver library reads of the system; `tools`: the same under NVIDIA's tools."""


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
        control: int | None = None,
        stop: asyncio.Event | None = None,
    ) -> ProcessResult:
        """Runs in `work`, with `env` added to the scrubbed environment; it inherits the descriptor `control`, and ends by `stop`."""


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
        control: int | None = None,
        stop: asyncio.Event | None = None,
    ) -> ProcessResult:
        """As the protocol says, without confinement."""
        return await run_process(
            argv,
            cwd=work,
            env=scrubbed_environment(env),
            stdin=stdin,
            timeout_s=timeout_s,
            memory_bytes=memory_bytes or None,
            capture_bytes=capture_bytes,
            output_limit=output_limit,
            pass_fds=() if control is None else (control,),
            stop=stop,
        )
