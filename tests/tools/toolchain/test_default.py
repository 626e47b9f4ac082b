from pathlib import Path

import pytest

from cudanalyst.errors import BadRequest
from cudanalyst.tools.gpu.state import NvmlMonitor, UnknownMonitor
from cudanalyst.tools.toolchain.default import automatic, choose_toolchain
from tests.tools.gpu.fake_nvml import FakeNvml


def machine(tmp_path: Path) -> Path:
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/nvidiactl").touch()
    return tmp_path


def nvml(**answers):
    return lambda: (NvmlMonitor(FakeNvml(**answers)), None)


def no_nvml():
    return UnknownMonitor(), "nvidia-ml-py is not installed"


def test_auto_is_the_cpu_engine_where_there_is_no_gpu(tmp_path):
    assert automatic({}, root=tmp_path, monitor=nvml()) == ("cpu", "no NVIDIA GPU here")


def test_auto_is_a_gpu_whose_driver_is_new_enough(tmp_path):
    root = machine(tmp_path)
    chosen, why = automatic({}, root=root, monitor=nvml())
    assert (chosen, "NVIDIA H200" in why) == ("gpu", True)
    chosen, why = automatic({}, root=root, monitor=nvml(nvmlSystemGetCudaDriverVersion_v2=12080))
    assert (chosen, "update NVIDIA's driver" in why) == ("cpu", True)
    chosen, why = automatic({"CUDA_VISIBLE_DEVICES": ""}, root=root, monitor=nvml())
    assert (chosen, "CUDA_VISIBLE_DEVICES" in why) == ("cpu", True)


def test_without_nvml_the_driver_library_decides(tmp_path):
    root = machine(tmp_path)
    assert automatic({}, root=root, monitor=no_nvml)[0] == "cpu"
    (root / "usr/local/nvidia/lib64").mkdir(parents=True)
    (root / "usr/local/nvidia/lib64/libcuda.so.1").touch()
    assert automatic({}, root=root, monitor=no_nvml)[0] == "gpu"


def test_a_toolchain_is_chosen_by_name(tmp_path):
    assert choose_toolchain("gpu").name == "gpu"
    assert choose_toolchain("cpu").name == "cpu"
    assert choose_toolchain(f"replay:{tmp_path}").name == "replay"


@pytest.mark.parametrize("name", ["", "cuda", "replay:", "replay:/no/such/folder"])
def test_an_unknown_name_is_refused_with_those_that_are_known(name):
    with pytest.raises(BadRequest, match=r"replay:FOLDER"):
        choose_toolchain(name)
