"""From a build to its machine code: real cubins of nvcc, and nvdisasm or a stand-in for it."""

import os
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cudanalyst.errors import Unavailable
from cudanalyst.tools.source import BuildOptions, Source
from cudanalyst.tools.toolchain.confine import Unconfined
from cudanalyst.tools.toolchain.disassembly import Disassembler, cubins, find_nvdisasm
from cudanalyst.tools.toolchain.paths import PathNames, shown_file

pytestmark = pytest.mark.anyio
LISTING = Path(__file__).parents[1] / "data/nvdisasm-13.5/probe.sass"
SOURCE = """
__global__ void copy4(const float4* x, float4* y) { y[threadIdx.x] = x[threadIdx.x]; }
extern "C" int solve(const float4* x, float4* y, cudaStream_t s) { copy4<<<1, 32, 0, s>>>(x, y); return 0; }
"""


@pytest.fixture(scope="module")
async def build(shared_builder):
    built = await shared_builder.build(Source(text=SOURCE, problem="p", options=BuildOptions(arch="sm_90")))
    assert built.status == "compiled", built.diagnostics
    return built


@pytest.fixture
def stand_in(tmp_path):
    def make(script: str) -> Path:
        path = tmp_path / "bin" / "nvdisasm"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n", "utf-8")
        path.chmod(0o755)
        return path

    return make


async def test_the_machine_code_is_cut_out_of_a_real_library(build):
    (image,) = cubins(build.binary.read_bytes())
    assert image[:4] == b"\x7fELF"
    assert b"copy4" in image
    assert cubins(image) == (image,)  # a cubin holds itself


def disassembler(folder: Path, environment: dict[str, str] | None = None) -> Disassembler:
    return Disassembler(folder, Unconfined(), environment or {"PATH": "/nowhere"}, folder / "scratch")


async def test_a_listing_is_counted_with_names_and_spills_of_ptxas(build, stand_in, tmp_path):
    stand_in(f"test -s image.cubin && cat {LISTING}")
    entry = build.kernels[0].model_copy(
        update={"symbol": "_Z10stream_addPK6float4S1_PS_i", "name": "stream_add()", "spill_load_bytes": 8}
    )
    (kernel,) = await disassembler(tmp_path).kernels(build.model_copy(update={"kernels": (entry,)}))
    assert (kernel.name, kernel.spilled) == ("stream_add()", True)
    assert kernel.access_bits["global_load"] == {"128": 2}


@pytest.mark.skipif(
    find_nvdisasm(os.environ) is None, reason="nvdisasm is not installed (pip install nvidia-cuda-nvdisasm)"
)
async def test_the_real_disassembler_reads_a_real_build(build, tmp_path):
    (kernel,) = await disassembler(tmp_path, dict(os.environ)).kernels(build)
    assert kernel.access_bits == {"global_load": {"128": 1}, "global_store": {"128": 1}}
    assert kernel.spilled is False


async def test_without_the_tool_the_reason_says_how_to_get_it(build, tmp_path, monkeypatch):
    monkeypatch.setattr("cudanalyst.tools.toolchain.disassembly.find_nvdisasm", lambda *_: None)
    with pytest.raises(Unavailable, match="pip install nvidia-cuda-nvdisasm"):
        await disassembler(tmp_path).kernels(build)


async def test_a_build_without_machine_code_is_told_of(build, tmp_path, stand_in):
    stand_in("true")
    path = tmp_path / "only.ptx"
    path.write_text(".version 9.0", "utf-8")
    with pytest.raises(Unavailable, match="no machine code for a GPU"):
        await disassembler(tmp_path).kernels(build.model_copy(update={"binary": path, "image": None}))
    with pytest.raises(Unavailable, match="the build's status is"):
        await disassembler(tmp_path).kernels(build.model_copy(update={"binary": None, "image": None}))


async def test_a_tool_that_fails_is_quoted_without_paths(build, stand_in, tmp_path):
    stand_in("echo 'nvdisasm fatal: cannot read /secret/place/image.cubin' >&2; exit 255")
    with pytest.raises(Unavailable, match=r"exit status 255.*fatal: .*image.cubin") as told:
        await disassembler(tmp_path).kernels(build)
    assert "/secret" not in str(told.value)


def test_the_disassembler_is_found_on_the_path_and_in_toolkits(tmp_path, stand_in):
    tool = stand_in("true")
    assert find_nvdisasm({"PATH": str(tool.parent)}) == tool
    assert find_nvdisasm({"PATH": "/nowhere"}, [tmp_path]) == tool
    assert find_nvdisasm({"PATH": "/nowhere", "CUDA_HOME": str(tmp_path)}) == tool


def test_a_source_built_in_a_folder_of_its_own_is_shown_by_its_name():
    names = PathNames("candidate.cu", {"/cache/jobs": "<work>", "/cuda": "<toolkit>"})
    assert shown_file("/cache/jobs/build-x1/candidate.cu", names) == "candidate.cu"
    assert shown_file("/cache/jobs/build-x1/other.h", names) == "<work>/build-x1/other.h"
    assert shown_file("/cuda/include/mma.h", names) == "<toolkit>/include/mma.h"
    assert shown_file("/home/someone/candidate.cu", names) is None


def image(machine: int, sections: int, at: int) -> bytes:
    header = bytearray(64)
    header[:6] = b"\x7fELF\x02\x01"
    struct.pack_into("<H", header, 18, machine)
    struct.pack_into("<QQ", header, 32, 0, at)
    struct.pack_into("<HHHH", header, 54, 0, 0, 64, sections)
    return bytes(header)


def test_images_of_other_machines_and_lengths_beyond_the_file_are_no_cubins():
    assert cubins(image(62, 0, 64)) == ()
    assert cubins(image(190, 1000, 64)) == ()
    assert cubins(b"x" * 7 + image(190, 0, 64) + b"y") == (image(190, 0, 64),)


@given(st.lists(st.one_of(st.binary(max_size=40), st.just(b"\x7fELF\x02\x01"), st.just(image(190, 0, 64)))))
def test_any_bytes_can_be_looked_through(parts):
    data = b"".join(parts)
    assert all(found in data and len(found) >= 64 for found in cubins(data))
