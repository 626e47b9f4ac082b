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
from cudanalyst.tools.timing.compare import Settings, compare, stopped_by
from cudanalyst.tools.timing.contents import Contents, HostContents, OracleContents
from cudanalyst.tools.timing.floor import Rates, floor_of
from cudanalyst.tools.timing.foreseen import AHEAD, NUMBERS, Foreseen, host_contents
from cudanalyst.tools.timing.models import Comparison, Floor, Uncompared
from cudanalyst.tools.timing.replayed import SETS, ReplayedRig, crashed
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
    oracle: GpuOracle | None = None
    """Makes contents and compares at sizes that are too large for this process."""
    device_index: int = 0
    calibrations: MutableMapping[str, Calibration] = field(default_factory=dict)
    """By UUID of the device: kept by whoever holds the toolchain."""
    turns: Turns = field(default_factory=Held)
    """When the device may be used; by default the caller holds it alone."""
    foreseen: Foreseen = field(default_factory=Foreseen)
    """Contents that were begun before there were builds."""
    lend: Callable[[], AbstractAsyncContextManager[Executor]] | None = None
    """Lends an executor without a context that runs already, or runs again after one was lost; None: one is started."""

    def running(self, work: Workspace, limit_s: float) -> AbstractAsyncContextManager[Executor]:
        """The executor to be used."""
        return start_executor(self.executor(work), timeout_s=limit_s) if self.lend is None else self.lend()


async def compare_replayed(
    place: TimingPlace, candidate: Build, baseline: Build, requests: Sequence[ComparisonRequest]
) -> tuple[Comparison | Uncompared, ...]:
    """Times a candidate against a baseline, in a fresh context for each request, on a device that `place.turns` gives.

    Returns:
        An answer to each request, in order; fewer where the candidate was at fault, which ends it.
    """
    code = [Code(one.binary, one.image, one.symbols) for one in (candidate, baseline) if one.binary and one.image]
    if len(code) < 2:
        return (Uncompared(reason="both the candidate and the baseline have to be built for this device"),) * len(
            requests
        )
    contents = [place.foreseen.take(request) or _contents(place, request) for request in requests]
    found: list[Comparison | Uncompared] = []
    try:
        while len(found) < len(requests) and not (found and _at_fault(found[-1])):
            await _session(place, code, requests, contents, found)
    finally:
        for one in contents:
            if one is not None:
                with contextlib.suppress(Unavailable):  # its process is gone, and so is what it held
                    await one.forget()
    return tuple(found)


def _at_fault(result: Comparison | Uncompared) -> bool:
    return isinstance(result, Comparison) and result.fault is not None


async def _session(
    place: TimingPlace,
    code: Sequence[Code],
    requests: Sequence[ComparisonRequest],
    contents: Sequence[Contents | None],
    found: list[Comparison | Uncompared],
) -> None:
    """Answers requests with one executor, as long as it lives: at least one."""
    answered = len(found)
    limit = sum(request.timeout_s for request in requests[answered:])
    try:
        with workspace(place.recorder.scratch) as work:
            async with place.turns.shared(), place.running(work, limit) as executor:
                while len(found) < len(requests):
                    index = len(found)
                    for one in contents[index : index + AHEAD]:
                        if isinstance(one, HostContents):
                            one.begin(range(NUMBERS))
                    async with place.turns.shared():  # which one that could not be had again may have left
                        with spending(f"timing {index + 1}"):
                            one_found = await _one(
                                place,
                                f"timing {index + 1}",
                                executor,
                                work.path,
                                code,
                                requests[index],
                                contents[index],
                            )
                        found.append(one_found)
                        if executor.lost or _at_fault(found[-1]):
                            return
                        if len(found) < len(requests):
                            with spending("context's end"):
                                await executor.close()
    except (ExecutorFailed, Unavailable) as error:
        if len(found) == answered:
            found.append(Uncompared(reason=f"the executor could not do it: {error}"))


async def _one(
    place: TimingPlace,
    name: str,
    executor: Executor,
    folder: Path,
    code: Sequence[Code],
    request: ComparisonRequest,
    contents: Contents | None,
) -> Comparison | Uncompared:
    """One comparison in a context of its own."""
    if contents is None:
        return Uncompared(
            reason="inputs of this size are made on the device, which needs CuPy: pip install 'cudanalyst[gpu]'"
        )
    if isinstance(contents, HostContents):
        async with place.turns.away():
            with spending("inputs and references"):
                await contents.drawn()
    started = time.monotonic() - place.turns.waited_s

    def spent() -> float:
        return time.monotonic() - place.turns.waited_s - started

    with spending("context"):
        device = await executor.open(place.device_index)
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
        ends_at=started + request.timeout_s,
        waited=lambda: place.turns.waited_s,
    )
    settings = _settings(place, name, request, device.uuid, device.attributes)
    try:
        result, calibration = await compare(rig, settings)
    except ExecutorFailed as error:
        flaw = crashed(error)
        if flaw is None:
            return Uncompared(reason=f"the executor could not do it: {error}")
        return stopped_by(flaw, settings, spent())
    except Unavailable as error:
        return Uncompared(reason=str(error))
    finally:
        with contextlib.suppress(Unavailable):  # before the context goes with the memory that was shared
            await contents.forget()
    if calibration is not None:
        place.calibrations[device.uuid] = calibration
    return result if isinstance(result, Uncompared) else result.model_copy(update={"device_s": spent()})


def _contents(place: TimingPlace, request: ComparisonRequest) -> Contents | None:
    if (own := host_contents(request)) is not None:
        return own
    if place.oracle is None or request.folder is None:
        return None
    return OracleContents(place.oracle, request.folder, request.sizes, request.secret)


def _settings(
    place: TimingPlace, name: str, request: ComparisonRequest, uuid: str, known: Mapping[int, int]
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
        own_contexts=1 + (place.oracle is not None and place.oracle.opened is not None),
        mig=place.facts.mig if place.facts is not None else None,
        name=name,
        seed=derive_seed(request.secret, "order"),
        calibration=place.calibrations.get(uuid),
    )
