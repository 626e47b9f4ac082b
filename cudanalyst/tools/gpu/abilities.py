"""What a machine with a GPU can do of all that is wanted of it, each with its reason and its remedy. Pure."""

import re
from collections.abc import Iterable
from typing import Final, Literal, Self

from pydantic import model_validator

from cudanalyst.tools.gpu.state import DeviceFacts, DeviceState
from cudanalyst.tools.text import one_line
from cudanalyst.tools.toolchain.arch import WITH_SUFFIX, Arch
from cudanalyst.values import Frozen

AbilityName = Literal[
    "driver", "device", "toolkit", "architecture", "state", "timing", "profiler", "counters", "sanitizer", "sandbox"
]
ENGINE_MAJOR: Final = 13
"""The runtime that candidates are linked to is that of CUDA 13."""
OLDEST_DRIVER: Final = "580"
"""The first series that runs code of CUDA 13."""
NO_GPU: Final = "no NVIDIA GPU here: /dev/nvidiactl is missing; install NVIDIA's driver on a machine with a GPU, or use the cpu toolchain"


class Ability(Frozen):
    """One thing that the `gpu` toolchain can or cannot do here."""

    name: AbilityName
    status: Literal["ok", "limited", "unavailable"]
    found: str | None = None
    """What is there: a version and a place."""
    reason: str | None = None
    remedy: str | None = None

    @model_validator(mode="after")
    def _says_why(self) -> Self:
        if self.status != "ok" and not self.reason:
            raise ValueError("what is not there needs a reason")
        return self

    @property
    def text(self) -> str:
        """Reason and remedy as one sentence for a result."""
        return "; ".join(part for part in (self.reason, self.remedy) if part)


def toolkit_refusal(version: tuple[int, int], driver_cuda: tuple[int, int] | None) -> str | None:
    """Why code of a toolkit is of no use, or None.

    Within one major release a driver runs the machine code of newer toolkits too (NVIDIA's minor version compatibility), and what is
    built here holds machine code for the device.
    """
    name = f"CUDA {version[0]}.{version[1]}"
    if version[0] != ENGINE_MAJOR:
        return f"{name}, but candidates are recorded with the runtime of CUDA {ENGINE_MAJOR}"
    if driver_cuda is not None and version[0] > driver_cuda[0]:
        return f"{name}, but the driver runs CUDA {driver_cuda[0]}.{driver_cuda[1]} at most"
    return None


def driver_ability(facts: DeviceFacts | None, nvml_reason: str | None) -> Ability:
    """The driver, and whether it runs code of CUDA 13 at all."""
    if facts is None or facts.driver_cuda is None:
        reason = nvml_reason or "the driver does not tell its version"
        return Ability(
            name="driver", status="limited", reason=reason, remedy="install nvidia-ml-py: pip install 'cudanalyst[gpu]'"
        )
    found = f"{facts.driver}, runs CUDA {facts.driver_cuda[0]}.{facts.driver_cuda[1]}"
    if facts.driver_cuda[0] < ENGINE_MAJOR:
        return Ability(
            name="driver",
            status="unavailable",
            found=found,
            reason=f"the driver {facts.driver} runs code up to CUDA {facts.driver_cuda[0]}.{facts.driver_cuda[1]}, and this needs {ENGINE_MAJOR}",
            remedy=f"update NVIDIA's driver to {OLDEST_DRIVER} or newer",
        )
    return Ability(name="driver", status="ok", found=found)


def device_target(capability: tuple[int, int], codes: Iterable[str]) -> Arch | None:
    """The target to build for: with the instructions that only this architecture has (`sm_90a`), where it has any.

    Args:
        capability: Of the device.
        codes: What nvcc builds for; it does not list the variants with a suffix.
    """
    number = 10 * capability[0] + capability[1]
    if f"sm_{number}" not in codes:
        return None
    return Arch(number, "a" if number in WITH_SUFFIX["a"] else "")


def parse_gpu_codes(output: str) -> tuple[str, ...]:
    """Targets in the output of `nvcc --list-gpu-code`."""
    return tuple(re.findall(r"^sm_\d+[af]?$", output, re.MULTILINE))


def visible(devices: Iterable[DeviceFacts], variable: str | None) -> tuple[DeviceFacts, ...]:
    """The devices that CUDA_VISIBLE_DEVICES leaves, in its order; names that say nothing here end the list, as for CUDA."""
    found = tuple(devices)
    if variable is None:
        return found
    chosen: list[DeviceFacts] = []
    for word in (part.strip() for part in variable.split(",")):
        if word.isdigit():
            match = next((one for one in found if one.index == int(word)), None)
        else:
            match = next((one for one in found if word and one.uuid.startswith(word)), None)
        if match is None or match in chosen:
            break
        chosen.append(match)
    return tuple(chosen)


def timing_ability(facts: DeviceFacts, state: DeviceState) -> Ability:
    """Whether times mean something here."""
    if state.mps:
        return Ability(
            name="timing",
            status="unavailable",
            reason="a multi-process server (MPS) shares the GPU between processes, so times are not a kernel's own",
            remedy="stop it: echo quit | nvidia-cuda-mps-control",
        )
    if facts.compute_mode == "prohibited":
        return Ability(
            name="timing",
            status="unavailable",
            reason="the GPU's compute mode is `prohibited`",
            remedy="set it: nvidia-smi --compute-mode=DEFAULT",
        )
    reasons = []
    if facts.mig:
        reasons.append("the GPU is split (MIG), so others' load on it is felt")
    if state.processes:
        count = len(state.processes)
        reasons.append(f"{count} other process{'es' if count > 1 else ''} on the GPU")
    if state.processes is None:
        reasons.append("the driver does not tell who else is on the GPU")
    if reasons:
        return Ability(
            name="timing",
            status="limited",
            reason="; ".join(reasons),
            remedy="times say so; for undisturbed ones use a GPU alone",
        )
    return Ability(name="timing", status="ok", found="the GPU is free")


def state_ability(state: DeviceState, nvml_reason: str | None) -> Ability:
    """Whether clocks and the like can be read."""
    if nvml_reason is not None:
        return Ability(
            name="state",
            status="unavailable",
            reason=nvml_reason,
            remedy="without it clocks and throttling stay unknown",
        )
    missing = [
        name
        for name in ("sm_clock_mhz", "throttle_reasons", "temperature_c", "processes")
        if getattr(state, name) is None
    ]
    if missing:
        return Ability(name="state", status="limited", reason=f"the driver does not tell {', '.join(missing)}")
    words = f", {', '.join(state.throttle_reasons)}" if state.throttle_reasons else ""
    return Ability(name="state", status="ok", found=f"{state.sm_clock_mhz} MHz, {state.temperature_c} C{words}")


def counters_ability(output: str, exit_status: int | None) -> Ability:
    """What `ncu` said when it profiled one tiny kernel."""
    if "ERR_NVGPUCTRPERM" in output:
        return Ability(
            name="counters",
            status="unavailable",
            reason="the driver refuses performance counters to this user (ERR_NVGPUCTRPERM)",
            remedy=(
                "run as root or with CAP_SYS_ADMIN (a container: --cap-add=SYS_ADMIN), or let everyone: "
                "options nvidia NVreg_RestrictProfilingToAdminUsers=0 in /etc/modprobe.d, and reboot"
            ),
        )
    if exit_status == 0 and "No kernels were profiled" not in output:
        return Ability(name="counters", status="ok", found="a kernel was profiled")
    return Ability(
        name="counters",
        status="unavailable",
        reason=f"ncu could not profile a kernel: {_said(output) or f'exit status {exit_status}'}",
        remedy="run ncu on a program of your own to see more",
    )


def sanitizer_ability(version: str, output: str, exit_status: int | None) -> Ability:
    """What `compute-sanitizer` said of one tiny, correct program."""
    if exit_status == 0 and "ERROR SUMMARY: 0 errors" in output:
        return Ability(name="sanitizer", status="ok", found=version)
    return Ability(
        name="sanitizer",
        status="unavailable",
        found=version,
        reason=f"compute-sanitizer does not work on this GPU: {_said(output) or f'exit status {exit_status}'}",
        remedy="use one that belongs to the driver's CUDA release; until then the CPU engine checks at the test size",
    )


def _said(output: str) -> str:
    """The first line of a tool that speaks of trouble, else its last."""
    lines = [line.strip("= \t") for line in output.splitlines() if line.strip("= \t")]
    trouble = next((line for line in lines if re.search(r"(?i)error|not supported|unable|fail", line)), None)
    return one_line(trouble or (lines[-1] if lines else ""), 300)
