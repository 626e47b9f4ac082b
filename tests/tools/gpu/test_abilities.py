import pytest

from cudanalyst.tools.gpu.abilities import (
    Ability,
    counters_ability,
    device_target,
    driver_ability,
    parse_gpu_codes,
    sanitizer_ability,
    state_ability,
    timing_ability,
    toolkit_refusal,
    visible,
)
from cudanalyst.tools.gpu.state import ComputeProcess, DeviceFacts, DeviceState

FACTS = DeviceFacts(
    index=0, uuid="GPU-1111", name="NVIDIA H200", capability=(9, 0), driver="580.65", driver_cuda=(13, 0)
)
FREE = DeviceState(processes=())


@pytest.mark.parametrize(
    ("toolkit", "driver", "refused"),
    [
        ((13, 0), (13, 0), False),
        ((13, 5), (13, 0), False),  # machine code of a newer minor release runs
        ((13, 0), None, False),
        ((12, 9), (13, 0), True),
        ((13, 0), (12, 8), True),
        ((14, 0), (14, 0), True),
    ],
)
def test_the_toolkit_is_one_whose_code_the_driver_and_the_recorder_take(toolkit, driver, refused):
    assert (toolkit_refusal(toolkit, driver) is not None) == refused


def test_an_old_driver_is_said_with_what_to_do():
    ability = driver_ability(FACTS.model_copy(update={"driver": "570.86", "driver_cuda": (12, 8)}), None)
    assert ability.status == "unavailable"
    assert "update NVIDIA's driver to 580" in ability.text
    assert driver_ability(FACTS, None).status == "ok"
    assert driver_ability(None, "no NVML").status == "limited"


@pytest.mark.parametrize(
    ("capability", "name"), [((9, 0), "sm_90a"), ((8, 0), "sm_80"), ((10, 0), "sm_100a"), ((7, 0), None)]
)
def test_code_is_built_with_the_instructions_that_only_the_device_has(capability, name):
    codes = parse_gpu_codes("sm_75\nsm_80\nsm_90\nsm_100\n")
    assert codes == ("sm_75", "sm_80", "sm_90", "sm_100")
    target = device_target(capability, codes)
    assert (target.name if target is not None else None) == name


@pytest.mark.parametrize(
    ("variable", "expected"),
    [
        (None, "abc"),
        ("", ""),
        ("1", "b"),
        ("2,0", "ca"),
        ("GPU-b", "b"),
        ("0,7,1", "a"),
        ("0,0", "a"),
        ("nonsense", ""),
    ],
)
def test_cuda_visible_devices_means_what_it_means_to_cuda(variable, expected):
    devices = [DeviceFacts(index=i, uuid=f"GPU-{letter}", name=letter) for i, letter in enumerate("abc")]
    assert "".join(one.name for one in visible(devices, variable)) == expected


def test_times_are_refused_with_mps_and_qualified_beside_others():
    assert timing_ability(FACTS, FREE).status == "ok"
    assert timing_ability(FACTS, DeviceState(mps=True)).status == "unavailable"
    assert timing_ability(FACTS.model_copy(update={"compute_mode": "prohibited"}), FREE).status == "unavailable"
    split = timing_ability(FACTS.model_copy(update={"mig": True}), FREE)
    assert (split.status, "MIG" in split.text) == ("limited", True)
    crowded = timing_ability(FACTS, DeviceState(processes=(ComputeProcess(pid=7),)))
    assert "1 other process on the GPU" in crowded.text
    assert "does not tell who else" in timing_ability(FACTS, DeviceState()).text


def test_counters_that_cannot_be_read_are_named():
    assert state_ability(DeviceState(), "no NVML").status == "unavailable"
    assert "sm_clock_mhz" in state_ability(DeviceState(processes=()), None).text
    full = DeviceState(sm_clock_mhz=345, throttle_reasons=("idle",), temperature_c=30, processes=())
    assert state_ability(full, None).found == "345 MHz, 30 C, idle"


def test_refused_counters_come_with_their_remedy():
    said = "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance Counters"
    refused = counters_ability(said, 1)
    assert refused.status == "unavailable"
    assert "NVreg_RestrictProfilingToAdminUsers=0" in refused.text
    assert counters_ability("==PROF== Profiling probe: 0%....100% - 1 pass", 0).status == "ok"
    assert counters_ability("==WARNING== No kernels were profiled.", 0).status == "unavailable"
    assert "Failed to open" in counters_ability("==PROF== x\n==ERROR== Failed to open library", 1).text
    assert counters_ability("", None).status == "unavailable"


def test_a_sanitizer_that_fails_is_not_one_that_found_nothing():
    assert sanitizer_ability("2025.3", "========= ERROR SUMMARY: 0 errors", 0).status == "ok"
    broken = sanitizer_ability("2025.3", "========= Error: device not supported", 1)
    assert (broken.status, "device not supported" in broken.text) == ("unavailable", True)


def test_what_is_not_there_says_why():
    with pytest.raises(ValueError, match="needs a reason"):
        Ability(name="device", status="unavailable")
