"""The `pynvml` module of a machine that does not exist: what a test does not set is not supported."""

from types import SimpleNamespace
from typing import Any


class NVMLError(Exception):
    """As pynvml's."""


class FakeNvml:
    """One H200, recorded by hand from the documentation's units; answers of functions can be replaced."""

    NVMLError = NVMLError

    def __init__(self, **answers: Any) -> None:
        self.answers: dict[str, Any] = {
            "nvmlInit": None,
            "nvmlDeviceGetCount": 1,
            "nvmlDeviceGetHandleByIndex": "handle",
            "nvmlDeviceGetUUID": "GPU-1111",
            "nvmlDeviceGetName": b"NVIDIA H200",
            "nvmlDeviceGetCudaComputeCapability": (9, 0),
            "nvmlSystemGetDriverVersion": "580.65.06",
            "nvmlSystemGetCudaDriverVersion_v2": 13000,
            "nvmlDeviceGetMemoryInfo": SimpleNamespace(total=150_000, used=1000),
            "nvmlDeviceGetClockInfo": 345,
            "nvmlDeviceGetMaxClockInfo": 1980,
            "nvmlDeviceGetCurrentClocksEventReasons": 0x1 | 0x4,
            "nvmlDeviceGetTemperature": 31,
            "nvmlDeviceGetPowerUsage": 75_500,
            "nvmlDeviceGetEnforcedPowerLimit": 700_000,
            "nvmlDeviceGetEccMode": [1, 1],
            "nvmlDeviceGetMigMode": [0, 0],
            "nvmlDeviceGetPersistenceMode": 1,
            "nvmlDeviceGetComputeMode": 0,
            "nvmlDeviceGetComputeRunningProcesses": [
                SimpleNamespace(pid=7, usedGpuMemory=512),
                SimpleNamespace(pid=8, usedGpuMemory=None),
            ],
            "nvmlDeviceGetMPSComputeRunningProcesses": [],
            "nvmlDeviceGetTotalEccErrors": 0,
            **answers,
        }

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("nvml"):
            raise AttributeError(name)

        def function(*_: Any) -> Any:
            answer = self.answers.get(name, NVMLError("Not Supported"))
            if isinstance(answer, Exception):
                raise answer
            return answer

        return function
