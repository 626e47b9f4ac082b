import os
import sysconfig
from pathlib import Path

import pytest

from cudanalyst.errors import Unavailable
from cudanalyst.tools.toolchain.discovery import candidates, find_toolkit, parse_dryrun, parse_version

pytestmark = pytest.mark.anyio
SITE = Path(sysconfig.get_path("purelib"))
WHEELS = SITE / "nvidia" / "cu13"


def fake_nvcc(folder: Path, version: str) -> Path:
    """A toolkit whose nvcc answers the two questions that discovery asks."""
    (folder / "bin").mkdir(parents=True)
    nvcc = folder / "bin" / "nvcc"
    nvcc.write_text(
        f'#!/bin/sh\ncase "$1" in --version) echo "Cuda compilation tools, release X, V{version}";;'
        f' *) echo "#$ TOP={folder}/bin/.." >&2;; esac\n'
    )
    nvcc.chmod(0o755)
    return folder


@pytest.fixture(autouse=True)
def only_named_places(monkeypatch):
    """The machine's own /usr/local toolkits are not looked at."""
    monkeypatch.setattr("cudanalyst.tools.toolchain.discovery.LOCAL_TOOLKITS", "/nonexistent")


async def test_cuda_home_comes_before_path(tmp_path):
    first, second = fake_nvcc(tmp_path / "a", "13.0.88"), fake_nvcc(tmp_path / "b", "13.0.48")
    found = await find_toolkit({"CUDA_HOME": str(second), "PATH": f"{first}/bin"}, ())
    assert (found.root, found.version) == (second, "13.0.48")


async def test_another_version_is_passed_over(tmp_path):
    old, new = fake_nvcc(tmp_path / "cuda-12", "12.9.41"), fake_nvcc(tmp_path / "cuda-13.5", "13.5.1")
    right = fake_nvcc(tmp_path / "site" / "nvidia" / "cu13", "13.0.88")
    found = await find_toolkit({"CUDA_HOME": str(old), "PATH": f"{new}/bin"}, [tmp_path / "site"])
    assert found.root == right


async def test_a_wrapper_script_is_followed_to_the_real_toolkit(tmp_path):
    real = fake_nvcc(tmp_path / "real", "13.0.88")
    wrapper = tmp_path / "bin" / "nvcc"
    wrapper.parent.mkdir()
    wrapper.write_text(f'#!/bin/sh\nexec {real}/bin/nvcc "$@"\n')
    wrapper.chmod(0o755)
    found = await find_toolkit({"PATH": str(wrapper.parent)}, ())
    assert (found.root, found.nvcc) == (real, real / "bin" / "nvcc")


async def test_a_toolkit_that_does_not_work_is_passed_over(tmp_path):
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "nvcc").write_text("no program")
    (broken / "nvcc").chmod(0o755)
    right = fake_nvcc(tmp_path / "right", "13.0.88")
    assert (await find_toolkit({"PATH": f"{broken}:{right}/bin"}, ())).root == right


async def test_nothing_found_says_how_to_get_it():
    with pytest.raises(Unavailable, match=r"pip install 'cudanalyst\[cuda\]'"):
        await find_toolkit({"PATH": ""}, ())


async def test_nothing_right_found_says_what_was_seen(tmp_path):
    old = fake_nvcc(tmp_path, "12.9.41")
    with pytest.raises(Unavailable, match=r"nvcc \(version 12\.9\.41\)"):
        await find_toolkit({"PATH": f"{old}/bin"}, ())


@pytest.mark.skipif(not WHEELS.is_dir(), reason="the cuda extra is not installed")
async def test_the_wheels_are_found_and_have_lib_only():
    found = await find_toolkit({"PATH": os.defpath}, [SITE])
    assert found.root == WHEELS
    assert found.version.startswith("13.0.")
    assert found.library_dirs == (WHEELS / "lib",)
    assert (found.include / "cuda_runtime_api.h").is_file()


async def test_places_are_named_once_and_in_order(tmp_path):
    environment = {"CUDA_HOME": "/a", "CUDA_PATH": "/a", "PATH": "/b:/a/bin:/c"}
    assert [str(path) for path in candidates(environment, [Path("/s")])] == [
        "/a/bin/nvcc", "/b/nvcc", "/c/nvcc", "/s/nvidia/cu13/bin/nvcc",
    ]  # fmt: skip


def test_versions_and_roots_are_read_from_what_nvcc_prints():
    assert parse_version("Cuda compilation tools, release 13.0, V13.0.88\nBuild x") == "13.0.88"
    assert parse_version("something else") is None
    assert parse_dryrun("#$ _HERE_=/x/bin\n#$ TOP=/x/bin/..\n") == Path("/x")
    assert parse_dryrun("") is None
