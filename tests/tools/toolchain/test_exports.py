"""What a library exports is read from its symbol table, whatever strings it holds besides."""

import contextlib
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cudanalyst.errors import Unavailable
from cudanalyst.tools.toolchain.exports import exports

SOURCE = """
int init(int n) { return n; }
int device_init(int n) { return n; }
unsigned long get_workspace_bytes(int n) { return n; }
unsigned long workspace_bytes(int n) { return n; }
extern int asked_for(int n);
int solve(int n) { return asked_for(n); }
__attribute__((visibility("hidden"))) int hidden(int n) { return n; }
const char* text = "only_a_string";
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library in which the linker has let `init` share the string of `device_init`."""
    folder = tmp_path_factory.mktemp("exports")
    (folder / "library.c").write_text(SOURCE)
    path = folder / "library.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", path, folder / "library.c"], check=True, capture_output=True)
    return path


def test_names_that_share_the_end_of_a_longer_one_are_found(library: Path) -> None:
    assert b"\0workspace_bytes\0" not in library.read_bytes()
    assert all(exports(library, name) for name in ("init", "device_init", "workspace_bytes", "get_workspace_bytes"))


def test_what_is_hidden_imported_or_only_text_is_not_exported(library: Path) -> None:
    assert not any(exports(library, name) for name in ("hidden", "asked_for", "only_a_string", "_bytes", ""))


def test_a_file_that_is_no_library_is_told_of(tmp_path: Path) -> None:
    (tmp_path / "candidate.so").write_text("no library")
    with pytest.raises(Unavailable, match=r"symbols of candidate\.so"):
        exports(tmp_path / "candidate.so", "init")


@given(cut=st.integers(0, 20_000), at=st.integers(0, 20_000), byte=st.integers(0, 255))
def test_a_damaged_library_gives_an_answer_or_the_one_error(library: Path, cut: int, at: int, byte: int) -> None:
    data = bytearray(library.read_bytes())
    data[at % len(data)] = byte
    damaged = library.with_name("damaged.so")
    damaged.write_bytes(data[: len(data) - cut % len(data)])
    with contextlib.suppress(Unavailable):
        assert exports(damaged, "init") in {True, False}
