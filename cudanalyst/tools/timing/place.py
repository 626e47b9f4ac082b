"""Compares two builds on a device, in an executor that it starts or is lent."""

import contextlib
import time
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path

from cudanalyst.errors import Unavailable
from cudanalyst.tools.cases import derive_seed
from cudanalyst.tools.gpu.oracle_client import GpuOracle
from cudanalyst.tools.gpu.state import DeviceFacts, DeviceState
from cudanalyst.tools.gpu.turns import Held, Turns
from cudanalyst.tools.spending import spending
from cudanalyst.tools.timing.commands import Calibration
from cudanalyst.tools.timing.compare import compare
from cudanalyst.tools.timing.conclude import Settings, stopped_by
from cudanalyst.tools.timing.contents import Contents, HostContents, OracleContents
from cudanalyst.tools.timing.floor import Rates, floor_of
from cudanalyst.tools.timing.foreseen import AHEAD, NUMBERS, Foreseen, host_contents
from cudanalyst.tools.timing.models import Comparison, Floor, Uncompared
from cudanalyst.tools.timing.replayed import SETS, ReplayedRig, crashed
from cudanalyst.tools.timing.warmth import Warmth
from cudanalyst.tools.toolchain.executor import Executor, ExecutorCommand, ExecutorFailed, start_executor
from cudanalyst.tools.toolchain.protocol import Build, ComparisonRequest
from cudanalyst.tools.toolchain.recording import Recorder
from cudanalyst.tools.toolchain.replaying import Code
from cudanalyst.tools.toolchain.workspace import Workspace, workspace

_CAPABILITY = (75, 76)
_MULTIPROCESSORS = 16


@dataclass(frozen=True)
class TimingPlace:
    """A device, and what is needed to time on it."""

    recorder: Recorder
    executor: Callable[[Workspace], ExecutorCommand]
    """How the executor is started in its work directory, for this device."""
    kernels: Path
    """The executor's device kernels (`toolchain.gpu_kernels.executor_kernels`)."""
    state: Callable[[], DeviceState]
    """Samples the device."""
    facts: DeviceFacts | None = None
    oracles: Callable[[str], AbstractAsyncContextManager[GpuOracle | None]] = lambda _: contextlib.nullcontext()
    """Lends what makes contents and compares at sizes that are too large for this process, for one comparison of a problem; outside any turn,
    since others may have to give it back first."""
    device_index: int = 0
    calibrations: MutableMapping[str, Calibration] = field(default_factory=dict)
    """By UUID of the device: kept by whoever holds the toolchain."""
    warmth: Warmth = field(default_factory=Warmth)
    """Of the device, kept likewise."""
    turns: Turns = field(default_factory=Held)
    """When the device may be used; by default the caller holds it alone."""
    own_contexts: Callable[[], int] = lambda: 1
    """Processes of ours, of other sessions too, that may have a context on the device."""
    foreseen: Foreseen = field(default_factory=Foreseen)
    """Contents that were begun before there were builds."""
    lend: Callable[[], AbstractAsyncContextManager[Executor]] | None = None
    """Lends an executor for one comparison, outside any turn, that has run nothing but this candidate, its baseline, and our own code; None: one is started."""

    def running(self, work: Workspace, limit_s: float) -> AbstractAsyncContextManager[Executor]:
        """The executor to be used."""
        return start_executor(self.executor(work), timeout_s=limit_s) if self.lend is None else self.lend()


async def compare_replayed(
    place: TimingPlace, candidate: Build, baseline: Build, requests: Sequence[ComparisonRequest]
) -> tuple[Comparison | Uncompared, ...]:
    """Times a candidate against a baseline, with modules and buffers that are new for each request, on a device that `place.turns` gives.

    Returns:
        An answer to each request, in order; fewer where the candidate was at fault, which ends it.
    """
    code = [Code(one.binary, one.image, one.symbols) for one in (candidate, baseline) if one.binary and one.image]
    if len(code) < 2:
        return (Uncompared(reason="both the candidate and the baseline have to be built for this device"),) * len(
            requests
        )
    contents = [place.foreseen.take(request) or host_contents(request) for request in requests]
    found: list[Comparison | Uncompared] = []
    try:
        for index, request in enumerate(requests):
            for one in contents[index : index + AHEAD]:
                if one is not None:
                    one.begin(range(NUMBERS))
            found.append(await _attempt(place, f"timing {index + 1}", code, request, contents[index]))
            if _at_fault(found[-1]):
                break
    finally:
        for one in contents:
            if one is not None:
                await one.forget()
    return tuple(found)


def _at_fault(result: Comparison | Uncompared) -> bool:
    return isinstance(result, Comparison) and result.fault is not None


async def _attempt(
    place: TimingPlace, name: str, code: Sequence[Code], request: ComparisonRequest, own: HostContents | None
) -> Comparison | Uncompared:
    """One comparison, with an oracle where it needs one, and an executor; a failure of these is its answer."""
    try:
        async with contextlib.AsyncExitStack() as stack:
            contents: Contents | None = own
            oracle = None
            if own is None and request.folder is not None:
                with spending("waiting for the oracle"):
                    oracle = await stack.enter_async_context(place.oracles(request.problem.id))
                if oracle is not None:
                    contents = OracleContents(oracle, request.folder, request.sizes, request.secret)
            if contents is None:
                return Uncompared(
                    reason="inputs of this size are made on the device, which needs CuPy: pip install 'cudanalyst[gpu]'"
                )
            work = stack.enter_context(workspace(place.recorder.scratch))
            if own is not None:
                with spending("inputs and references"):
                    await own.drawn()
            # No turn is held here; but one in which something failed is kept until the executor has been seen to.
            await stack.enter_async_context(place.turns.away())
            executor = await stack.enter_async_context(place.running(work, request.timeout_s))
            with spending(name):
                return await _one(place, name, executor, work.path, code, request, contents, oracle)
    except (ExecutorFailed, Unavailable) as error:
        return Uncompared(reason=f"the executor could not do it: {error}")


async def _one(
    place: TimingPlace,
    name: str,
    executor: Executor,
    folder: Path,
    code: Sequence[Code],
    request: ComparisonRequest,
    contents: Contents,
    oracle: GpuOracle | None,
) -> Comparison | Uncompared:
    """One comparison in a context that has nothing in it, and never had anything of another candidate."""
    turns = place.turns
    ends_at = time.monotonic() - turns.waited_s + request.timeout_s
    held_s = turns.held_s
    async with turns.shared():
        with spending("context"):
            device = await executor.open_emptied(place.device_index)
    rig = ReplayedRig(
        executor=executor,
        device=device,
        recorder=place.recorder,
        problem=request.problem,
        sizes=request.sizes,
        candidate=code[0],
        baseline=code[1],
        contents=contents,
        folder=folder,
        ends_at=ends_at,
        waited=lambda: turns.waited_s,
    )
    own_contexts = max(1 + (oracle is not None and oracle.opened is not None), place.own_contexts())
    settings = _settings(place, name, request, device.uuid, device.attributes, own_contexts)
    try:
        result, calibration = await compare(rig, settings)
        if oracle is not None:
            with contextlib.suppress(Unavailable):
                async with turns.shared():  # unmapping what was shared is the device's work, too
                    await contents.forget()
    except ExecutorFailed as error:
        flaw = crashed(error)
        if flaw is None:
            return Uncompared(reason=f"the executor could not do it: {error}")
        return stopped_by(flaw, settings, turns.held_s - held_s)
    except Unavailable as error:
        return Uncompared(reason=str(error))
    finally:
        with contextlib.suppress(Unavailable):  # before the context goes with the memory that was shared
            await contents.forget()
    if calibration is not None:
        place.calibrations[device.uuid] = calibration
    if isinstance(result, Uncompared):
        return result
    return result.model_copy(update={"device_s": turns.held_s - held_s})


def _settings(
    place: TimingPlace, name: str, request: ComparisonRequest, uuid: str, known: Mapping[int, int], own_contexts: int
) -> Settings:
    most_mhz = place.facts.max_sm_clock_mhz if place.facts is not None else None

    def floor(calibration: Calibration, state: DeviceState) -> Floor | None:
        clock = most_mhz or state.sm_clock_mhz
        rates = Rates(
            dram_gb_per_s=calibration.dram_gb_per_s,
            l2_gb_per_s=calibration.l2_gb_per_s,
            l2_bytes=calibration.l2_bytes,
            capability=(known.get(_CAPABILITY[0], 0), known.get(_CAPABILITY[1], 0)),
            sm_count=known.get(_MULTIPROCESSORS, 0),
            clock_mhz=float(clock) if clock else None,
        )
        return floor_of(request.problem, request.sizes, request.mode, rates, SETS)

    return Settings(
        mode=request.mode,
        kernels=place.kernels,
        state=place.state,
        floor=floor,
        turns=place.turns,
        warmth=place.warmth,
        own_contexts=own_contexts,
        mig=place.facts.mig if place.facts is not None else None,
        name=name,
        seed=derive_seed(request.secret, "order"),
        calibration=place.calibrations.get(uuid),
    )
