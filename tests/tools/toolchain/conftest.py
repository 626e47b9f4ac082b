"""A builder with the machine's nvcc that links the toolkit's own runtime in place of the engine: nothing that it builds is run."""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from cudanalyst.tools.toolchain.builder import Builder, Compiler
from cudanalyst.tools.toolchain.cache import BuildCache
from cudanalyst.tools.toolchain.confine import Unconfined
from cudanalyst.tools.toolchain.discovery import Toolkit, find_tool, find_toolkit
from cudanalyst.tools.toolchain.nvcc import NvccPaths

MakeBuilder = Callable[[Toolkit, Path], Builder]


def _builder(toolkit: Toolkit, folder: Path) -> Builder:
    host = find_tool("g++", os.environ)
    assert host is not None
    paths = NvccPaths(toolkit.nvcc, host, toolkit.library_dirs, toolkit.root / "lib")
    compiler = Compiler(paths, toolkit.root, find_tool("c++filt", os.environ), {"nvcc": toolkit.version})
    return Builder(compiler, Unconfined(), BuildCache(folder / "builds"), folder / "work")


@pytest.fixture(scope="session")
async def toolkit(anyio_backend) -> Toolkit:
    return await find_toolkit()


@pytest.fixture(scope="session")
def shared_builder(toolkit, tmp_path_factory) -> Builder:
    return _builder(toolkit, tmp_path_factory.mktemp("builder"))


@pytest.fixture(scope="session")
def make_builder() -> MakeBuilder:
    return _builder


@pytest.fixture
def folders(monkeypatch) -> list[Path]:
    """The workspaces that this test made: other workers of a test run have theirs beside them."""
    made: list[Path] = []
    make = tempfile.mkdtemp

    def watched(*arguments, prefix=None, **options):
        path = make(*arguments, prefix=prefix, **options)
        if prefix == "run-":
            made.append(Path(path))
        return path

    monkeypatch.setattr(tempfile, "mkdtemp", watched)
    return made
