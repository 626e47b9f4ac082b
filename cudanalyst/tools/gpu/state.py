"""What a device is and what it is doing, as the driver's management library (NVML) says. A counter that it does not offer is `None`."""

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, Final, Protocol

from cudanalyst.errors import Unavailable
from cudanalyst.values import Frozen

INSTALL: Final = "install it with: pip install 'cudanalyst[gpu]'"
THROTTLE_REASONS: Final[dict[int, str]] = {
    0x1: "idle",
    0x2: "applications clock setting",
    0x4: "software power cap",
    0x8: "hardware slowdown",
    0x10: "sync boost",
    0x20: "software thermal slowdown",
    0x40: "hardware thermal slowdown",
    0x80: "hardware power brake",
    0x100: "display clock setting",
}
"""nvmlClocksEventReason*, by bit."""
ARCHITECTURES: Final[dict[int, str]] = {
    7: "Turing",
    8: "Ampere",
    9: "Hopper",
    10: "Blackwell",
    11: "Blackwell",
    12: "Blackwell",
}
"""By major number of the compute capability; 7.0 and 8.9 are told apart below."""


class DeviceFacts(Frozen):
    """What does not change while a driver is loaded."""

    index: int
    """As NVML counts: by PCI bus, whatever CUDA_VISIBLE_DEVICES says."""
    uuid: str
    """`GPU-...`; CUDA_VISIBLE_DEVICES takes it."""
    name: str
    architecture: str | None = None
    """`Hopper` and the like."""
    capability: tuple[int, int] | None = None
    memory_bytes: int | None = None
    max_sm_clock_mhz: int | None = None
    max_memory_clock_mhz: int | None = None
    power_limit_w: float | None = None
    driver: str | None = None
    """Version of the kernel driver, e.g. 580.65.06."""
    driver_cuda: tuple[int, int] | None = None
    """The newest CUDA that this driver runs."""
    ecc: bool | None = None
    mig: bool | None = None
    """Multi-instance mode: the device is split, and another slice's load is felt."""
    persistence: bool | None = None
    compute_mode: str | None = None
    """`default`, `exclusive process` or `prohibited`."""

    @property
    def arch(self) -> str | None:
        """The target that this device runs, e.g. `sm_90`."""
        return None if self.capability is None else f"sm_{self.capability[0]}{self.capability[1]}"


class ComputeProcess(Frozen):
    """A process that has a context on the device. In a container the number may be the host's, or the process not be shown at all."""

    pid: int
    memory_bytes: int | None = None


class DeviceState(Frozen):
    """One moment of a device."""

    sm_clock_mhz: int | None = None
    memory_clock_mhz: int | None = None
    throttle_reasons: tuple[str, ...] | None = None
    """In words; empty: none."""
    temperature_c: int | None = None
    power_w: float | None = None
    gpu_utilisation_percent: int | None = None
    memory_used_bytes: int | None = None
    processes: tuple[ComputeProcess, ...] | None = None
    """Everyone who computes here, the caller's own processes among them."""
    uncorrected_ecc_errors: int | None = None
    """Since the driver was loaded."""
    mps: bool | None = None
    """Whether clients of a multi-process server are on the device: timing is refused then."""

    def others(self, own: Iterable[int] = ()) -> tuple[ComputeProcess, ...] | None:
        """Processes that are not among `own`."""
        known = frozenset(own)
        return None if self.processes is None else tuple(one for one in self.processes if one.pid not in known)


class DeviceMonitor(Protocol):
    """Says what a device is and does: NVML, or a stand-in."""

    def devices(self) -> tuple[DeviceFacts, ...]:
        """All devices of this machine."""

    def state(self, uuid: str) -> DeviceState:
        """What a device is doing now."""


class UnknownMonitor:
    """Where there is no NVML: no devices, and nothing known of any."""

    def devices(self) -> tuple[DeviceFacts, ...]:
        """None."""
        return ()

    def state(self, uuid: str) -> DeviceState:  # noqa: ARG002 - the protocol's
        """Nothing is known."""
        return DeviceState()


class NvmlMonitor:
    """Asks NVML, through the `pynvml` module of nvidia-ml-py."""

    def __init__(self, nvml: Any = None) -> None:
        """Starts NVML.

        Args:
            nvml: In place of the module `pynvml`.

        Raises:
            Unavailable: The module, the driver's library or the driver is missing, or it refuses; the text says which.
        """
        self._nvml = _module() if nvml is None else nvml
        try:
            self._nvml.nvmlInit()
        except self._nvml.NVMLError as error:
            raise Unavailable(
                f"NVML does not start: {error}; is NVIDIA's driver installed and loaded (nvidia-smi)?"
            ) from error
        self._handles: dict[str, Any] = {}

    def _ask(self, name: str, *arguments: Any) -> Any:
        """What a function answers; None where this driver, device or module lacks it."""
        function = getattr(self._nvml, name, None)
        if function is None:
            return None
        try:
            return function(*arguments)
        except self._nvml.NVMLError:
            return None

    def _constant(self, name: str, value: int) -> int:
        return int(getattr(self._nvml, name, value))

    def devices(self) -> tuple[DeviceFacts, ...]:
        """All devices, in NVML's order; one that does not answer is left out.

        Raises:
            Unavailable: The driver does not say how many there are.
        """
        count = self._ask("nvmlDeviceGetCount")
        if count is None:
            raise Unavailable("NVML does not say how many GPUs there are; look at what nvidia-smi says")
        found = (self._facts(index) for index in range(int(count)))
        return tuple(facts for facts in found if facts is not None)

    def _facts(self, index: int) -> DeviceFacts | None:
        handle = self._ask("nvmlDeviceGetHandleByIndex", index)
        if handle is None:
            return None
        uuid = _text(self._ask("nvmlDeviceGetUUID", handle))
        if uuid is None:
            return None
        self._handles[uuid] = handle
        capability = self._ask("nvmlDeviceGetCudaComputeCapability", handle)
        capability = None if capability is None else (int(capability[0]), int(capability[1]))
        cuda = self._ask("nvmlSystemGetCudaDriverVersion_v2") or self._ask("nvmlSystemGetCudaDriverVersion")
        limit = self._ask("nvmlDeviceGetEnforcedPowerLimit", handle)
        return DeviceFacts(
            index=index,
            uuid=uuid,
            name=_text(self._ask("nvmlDeviceGetName", handle)) or "an unnamed GPU",
            architecture=architecture_of(capability),
            capability=capability,
            memory_bytes=_field(self._ask("nvmlDeviceGetMemoryInfo", handle), "total"),
            max_sm_clock_mhz=_whole(self._ask("nvmlDeviceGetMaxClockInfo", handle, self._constant("NVML_CLOCK_SM", 1))),
            max_memory_clock_mhz=_whole(
                self._ask("nvmlDeviceGetMaxClockInfo", handle, self._constant("NVML_CLOCK_MEM", 2))
            ),
            power_limit_w=None if limit is None else limit / 1000,
            driver=_text(self._ask("nvmlSystemGetDriverVersion")),
            driver_cuda=None if cuda is None else (int(cuda) // 1000, int(cuda) % 1000 // 10),
            ecc=_first_bool(self._ask("nvmlDeviceGetEccMode", handle)),
            mig=_first_bool(self._ask("nvmlDeviceGetMigMode", handle)),
            persistence=_first_bool(self._ask("nvmlDeviceGetPersistenceMode", handle)),
            compute_mode=_COMPUTE_MODES.get(_whole(self._ask("nvmlDeviceGetComputeMode", handle))),
        )

    def state(self, uuid: str) -> DeviceState:
        """What a device is doing now; of an unknown one nothing is known."""
        if uuid not in self._handles:
            self.devices()
        handle = self._handles.get(uuid)
        if handle is None:
            return DeviceState()
        reasons = self._ask("nvmlDeviceGetCurrentClocksEventReasons", handle)
        if reasons is None:
            reasons = self._ask("nvmlDeviceGetCurrentClocksThrottleReasons", handle)
        power = self._ask("nvmlDeviceGetPowerUsage", handle)
        mps = self._ask("nvmlDeviceGetMPSComputeRunningProcesses", handle)
        errors = self._ask(
            "nvmlDeviceGetTotalEccErrors",
            handle,
            self._constant("NVML_MEMORY_ERROR_TYPE_UNCORRECTED", 1),
            self._constant("NVML_VOLATILE_ECC", 0),
        )
        return DeviceState(
            sm_clock_mhz=_whole(self._ask("nvmlDeviceGetClockInfo", handle, self._constant("NVML_CLOCK_SM", 1))),
            memory_clock_mhz=_whole(self._ask("nvmlDeviceGetClockInfo", handle, self._constant("NVML_CLOCK_MEM", 2))),
            throttle_reasons=None if reasons is None else throttle_words(int(reasons)),
            temperature_c=_whole(
                self._ask("nvmlDeviceGetTemperature", handle, self._constant("NVML_TEMPERATURE_GPU", 0))
            ),
            power_w=None if power is None else power / 1000,
            gpu_utilisation_percent=_field(self._ask("nvmlDeviceGetUtilizationRates", handle), "gpu"),
            memory_used_bytes=_field(self._ask("nvmlDeviceGetMemoryInfo", handle), "used"),
            processes=_processes(self._ask("nvmlDeviceGetComputeRunningProcesses", handle)),
            uncorrected_ecc_errors=_whole(errors),
            mps=None if mps is None else bool(mps),
        )


def find_monitor(make: Callable[[], DeviceMonitor] = NvmlMonitor) -> tuple[DeviceMonitor, str | None]:
    """NVML, or a monitor that knows nothing and the reason."""
    try:
        return make(), None
    except Unavailable as error:
        return UnknownMonitor(), str(error)


def throttle_words(reasons: int) -> tuple[str, ...]:
    """The bits of a clocks-event mask in words; an unknown bit by its number."""
    bits = (1 << position for position in range(reasons.bit_length()) if reasons >> position & 1)
    return tuple(THROTTLE_REASONS.get(bit, f"reason {bit:#x}") for bit in bits)


def architecture_of(capability: tuple[int, int] | None) -> str | None:
    """NVIDIA's name for a compute capability; None for one that is unknown here."""
    if capability is None:
        return None
    return {(7, 0): "Volta", (7, 2): "Volta", (8, 9): "Ada"}.get(capability) or ARCHITECTURES.get(capability[0])


_COMPUTE_MODES: Final[dict[int | None, str]] = {0: "default", 2: "prohibited", 3: "exclusive process"}


@cache
def _module() -> Any:
    try:
        import pynvml
    except ImportError as error:
        raise Unavailable(f"the package nvidia-ml-py is not installed; {INSTALL}") from error
    return pynvml


def _text(value: Any) -> str | None:
    if value is None:
        return None
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def _whole(value: Any) -> int | None:
    return None if value is None else int(value)


def _field(value: Any, name: str) -> int | None:
    return None if value is None else _whole(getattr(value, name, None))


def _first_bool(value: Any) -> bool | None:
    """Modes come as a number, or as a pair of the current and the pending one."""
    if value is None:
        return None
    return bool(value[0] if isinstance(value, (list, tuple)) else value)


def _processes(found: Any) -> tuple[ComputeProcess, ...] | None:
    if found is None:
        return None
    return tuple(
        ComputeProcess(pid=int(one.pid), memory_bytes=_whole(getattr(one, "usedGpuMemory", None))) for one in found
    )
