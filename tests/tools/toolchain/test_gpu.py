import pytest

from cudanalyst.tools.source import Source
from cudanalyst.tools.toolchain.gpu import GpuToolchain
from cudanalyst.tools.toolchain.protocol import ProgramRequest, Toolchain

pytestmark = pytest.mark.anyio


async def test_without_a_device_everything_is_unavailable_with_a_reason(tmp_path):
    gpu: Toolchain = GpuToolchain(environment={"PATH": ""}, root=tmp_path)
    can = await gpu.capabilities()
    assert (can.build, can.execute, can.sanitize, can.profile) == (False, False, (), False)
    assert "no NVIDIA GPU" in can.reasons["execute"]
    assert "compute-sanitizer is not on PATH" in can.reasons["sanitize"]
    assert "ncu is not on PATH" in can.reasons["profile"]


async def test_a_device_does_not_make_it_pretend(tmp_path):
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev" / "nvidiactl").touch()
    (tmp_path / "proc/driver/nvidia").mkdir(parents=True)
    (tmp_path / "proc/driver/nvidia/version").write_text("NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.1\nGCC\n")
    can = await GpuToolchain(environment={"PATH": ""}, root=tmp_path).capabilities()
    assert not can.execute
    assert "use the cpu toolchain" in can.reasons["execute"]
    assert "580.1" in can.measured_on.versions["driver"]


async def test_every_request_is_answered_unavailable(tmp_path):
    gpu = GpuToolchain(environment={"PATH": ""}, root=tmp_path)
    build = await gpu.build(Source(text="int main() {}"))
    assert (build.status, build.binary) == ("unavailable", None)
    assert build.reason
    request = ProgramRequest()
    for execution in (await gpu.execute(build, request), await gpu.profile(build, request)):
        assert execution.how == "unavailable"
        assert execution.reason
    checked = await gpu.sanitize(build, request, "memcheck")
    assert checked.failed
    assert checked.findings == ()
