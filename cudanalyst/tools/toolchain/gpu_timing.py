"""Timing, and verification at large sizes, on a device."""

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from cudanalyst.kernels.problem import Problem, SizeGroup, SizeSet
from cudanalyst.tools.gpu.oracle_client import GpuOracle
from cudanalyst.tools.gpu.turns import Turns
from cudanalyst.tools.judge import Judgement
from cudanalyst.tools.timing.commands import Calibration
from cudanalyst.tools.timing.foreseen import Foreseen
from cudanalyst.tools.timing.models import Comparison, Uncompared
from cudanalyst.tools.timing.place import TimingPlace, compare_replayed
from cudanalyst.tools.timing.warmth import Warmth
from cudanalyst.tools.toolchain.executor import Executor, start_executor
from cudanalyst.tools.toolchain.gpu_kernels import executor_kernels
from cudanalyst.tools.toolchain.gpu_large import schedule_of, verify_on_device
from cudanalyst.tools.toolchain.gpu_parts import GpuParts
from cudanalyst.tools.toolchain.gpu_tools import OnDevice
from cudanalyst.tools.toolchain.protocol import Build, ComparisonRequest
from cudanalyst.tools.toolchain.replay_session import ReplaySession
from cudanalyst.tools.toolchain.replaying import SETUP_S
from cudanalyst.tools.toolchain.workspace import workspace

LARGE_S = 300.0
"""Wall limit of a verification at a large size: its inputs and references are made within."""


class Kept:
    """What timing has found out about devices."""

    def __init__(self) -> None:
        """Nothing is known yet."""
        self.calibrations: dict[str, Calibration] = {}
        self._warmth: dict[str, Warmth] = {}

    def warmth_of(self, uuid: str) -> Warmth:
        """Whether a device is still warm."""
        return self._warmth.setdefault(uuid, Warmth())


async def compare_on(
    on: OnDevice,
    oracles: Callable[[str], AbstractAsyncContextManager[GpuOracle | None]],
    kept: Kept,
    candidate: Build,
    baseline: Build,
    requests: Sequence[ComparisonRequest],
    *,
    turns: Turns,
    session: ReplaySession,
    lend: Callable[[], AbstractAsyncContextManager[Executor]],
    own_contexts: Callable[[], int],
    foreseen: Foreseen | None = None,
) -> tuple[Comparison | Uncompared, ...]:
    """Times a candidate against its baseline in turns on a device, with executors that a session lends."""
    parts = on.parts
    facts = next((one for one in parts.devices if one.uuid == on.uuid), None)
    place = TimingPlace(
        recorder=session.recorder,
        executor=on.executor_command,
        kernels=await kernels_of(parts, on.scratch.parent),
        state=lambda: parts.monitor.state(on.uuid),
        facts=facts,
        oracles=oracles,
        calibrations=kept.calibrations,
        warmth=kept.warmth_of(on.uuid),
        turns=turns,
        lend=lend,
        own_contexts=own_contexts,
        foreseen=foreseen or Foreseen(),
    )
    return await compare_replayed(place, candidate, baseline, requests)


async def kernels_of(parts: GpuParts, cache: Path) -> Path:
    """The executor's own kernels for these devices."""
    return await executor_kernels(parts.toolkit, parts.host_compiler, parts.target, cache, cubin=parts.on_gpu)


async def verify_large_on(
    on: OnDevice,
    oracle: GpuOracle,
    problem: Problem,
    folder: Path,
    secret: bytes,
    build: Build,
    group: SizeGroup,
    sizes: SizeSet,
    *,
    labels: tuple[str, ...],
    seeds: int,
    session: ReplaySession | None = None,
) -> Judgement:
    """Verifies one large size on a device that the caller holds, with a session's executor or one of its own."""
    case = schedule_of(problem, folder, group, sizes, labels=labels, seeds=seeds, secret=secret, timeout_s=LARGE_S)
    with workspace(on.scratch) as work:
        recorder = on.replaying().recorder if session is None else session.recorder
        running = (
            start_executor(on.executor_command(work), timeout_s=LARGE_S + SETUP_S)
            if session is None
            else session.lend()
        )
        return await verify_on_device(case, build, running, recorder, work, oracle)
