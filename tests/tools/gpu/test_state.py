import builtins

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cudanalyst.errors import Unavailable
from cudanalyst.tools.gpu import state
from cudanalyst.tools.gpu.state import (
    DeviceState,
    NvmlMonitor,
    UnknownMonitor,
    architecture_of,
    find_monitor,
    throttle_words,
)
from tests.tools.gpu.fake_nvml import FakeNvml, NVMLError

ONLY_WHAT_MUST_BE = ("nvmlInit", "nvmlDeviceGetCount", "nvmlDeviceGetHandleByIndex", "nvmlDeviceGetUUID")


def test_facts_are_in_the_units_of_their_names():
    (facts,) = NvmlMonitor(FakeNvml()).devices()
    assert (facts.name, facts.uuid, facts.architecture, facts.arch) == ("NVIDIA H200", "GPU-1111", "Hopper", "sm_90")
    assert (facts.memory_bytes, facts.max_sm_clock_mhz, facts.power_limit_w) == (150_000, 1980, 700.0)
    assert (facts.driver, facts.driver_cuda) == ("580.65.06", (13, 0))
    assert (facts.ecc, facts.mig, facts.persistence, facts.compute_mode) == (True, False, True, "default")


def test_the_state_says_who_else_computes_and_what_holds_the_clock_down():
    now = NvmlMonitor(FakeNvml()).state("GPU-1111")
    assert (now.sm_clock_mhz, now.temperature_c, now.power_w, now.memory_used_bytes) == (345, 31, 75.5, 1000)
    assert now.throttle_reasons == ("idle", "software power cap")
    assert [process.pid for process in now.others(own=[7]) or ()] == [8]
    assert (now.mps, now.uncorrected_ecc_errors) == (False, 0)


def test_a_counter_that_is_not_offered_is_none_and_never_zero():
    nvml = FakeNvml()
    nvml.answers = {name: nvml.answers[name] for name in ONLY_WHAT_MUST_BE}
    monitor = NvmlMonitor(nvml)
    (facts,) = monitor.devices()
    known = {name for name, value in facts.model_dump().items() if value is not None}
    assert known == {"index", "uuid", "name"}
    assert facts.arch is None
    assert monitor.state("GPU-1111") == DeviceState()
    assert DeviceState().others() is None


def test_an_older_driver_names_throttle_reasons_differently():
    nvml = FakeNvml(nvmlDeviceGetCurrentClocksThrottleReasons=0x40)
    del nvml.answers["nvmlDeviceGetCurrentClocksEventReasons"]
    assert NvmlMonitor(nvml).state("GPU-1111").throttle_reasons == ("hardware thermal slowdown",)


def test_mps_clients_and_mig_are_told():
    monitor = NvmlMonitor(FakeNvml(nvmlDeviceGetMPSComputeRunningProcesses=["client"], nvmlDeviceGetMigMode=[1, 1]))
    assert monitor.state("GPU-1111").mps is True
    assert monitor.devices()[0].mig is True


def test_an_unknown_device_has_an_unknown_state():
    assert NvmlMonitor(FakeNvml()).state("GPU-other") == DeviceState()


def test_a_device_that_does_not_answer_is_left_out():
    assert NvmlMonitor(FakeNvml(nvmlDeviceGetHandleByIndex=NVMLError("GPU is lost"))).devices() == ()


def test_a_driver_that_does_not_start_is_told_of(monkeypatch):
    with pytest.raises(Unavailable, match=r"Driver Not Loaded.*nvidia-smi"):
        NvmlMonitor(FakeNvml(nvmlInit=NVMLError("Driver Not Loaded")))


def test_without_the_package_nothing_is_known_and_the_reason_says_how_to_get_it(monkeypatch):
    real = builtins.__import__

    def no_pynvml(name, *rest, **more):
        if name == "pynvml":
            raise ImportError(name)
        return real(name, *rest, **more)

    state._module.cache_clear()
    monkeypatch.setattr(builtins, "__import__", no_pynvml)
    monitor, reason = find_monitor()
    assert isinstance(monitor, UnknownMonitor)
    assert "pip install 'cudanalyst[gpu]'" in (reason or "")
    assert monitor.devices() == ()
    assert monitor.state("GPU-1111") == DeviceState()


@given(st.integers(min_value=0, max_value=2**64 - 1))
def test_every_bit_of_a_throttle_mask_is_told_once(mask):
    words = throttle_words(mask)
    assert len(words) == len(set(words)) == mask.bit_count()


@pytest.mark.parametrize(
    ("capability", "name"),
    [
        ((7, 5), "Turing"),
        ((8, 0), "Ampere"),
        ((8, 9), "Ada"),
        ((9, 0), "Hopper"),
        ((12, 0), "Blackwell"),
        ((99, 0), None),
        (None, None),
    ],
)
def test_architectures_have_names(capability, name):
    assert architecture_of(capability) == name
