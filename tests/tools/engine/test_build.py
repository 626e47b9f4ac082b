"""The engine is built once, safely, with whatever g++ is here, and says what to do where it cannot be."""

import asyncio
from pathlib import Path

import pytest

from cudanalyst.errors import Unavailable
from cudanalyst.tools.engine import build
from cudanalyst.tools.engine.build import (
    EngineInstallation,
    HostCompiler,
    cache_directory,
    find_host_compiler,
    install_engine,
)
from cudanalyst.tools.engine.objects import SOURCES
from cudanalyst.tools.engine.symbols import stub_source, symbol_names
from cudanalyst.tools.process import run_process
from cudanalyst.tools.toolchain.discovery import Toolkit


def script(folder: Path, text: str) -> Path:
    """An executable that plays a compiler."""
    path = folder / "g++"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def test_a_missing_compiler_says_what_to_install(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match=r"Install g\+\+ 11 or newer"):
        asyncio.run(find_host_compiler({"PATH": str(tmp_path)}))


def test_an_old_compiler_is_refused_with_its_version(tmp_path: Path) -> None:
    old = script(tmp_path, "echo 9.4.0")
    with pytest.raises(Unavailable, match=r"version 9\.4\.0"):
        asyncio.run(find_host_compiler({"CXX": str(old)}))


def test_what_is_no_compiler_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="did not say its version"):
        asyncio.run(find_host_compiler({"CXX": str(script(tmp_path, "echo hello"))}))


def test_missing_headers_say_what_to_install(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="`cuda` extra"):
        asyncio.run(install_engine(cuda_include=tmp_path, cache=tmp_path / "cache"))


def test_headers_of_another_cuda_are_refused(tmp_path: Path) -> None:
    (tmp_path / "cuda_runtime_api.h").write_text("#define CUDART_VERSION  12040\n")
    with pytest.raises(Unavailable, match="12040"):
        asyncio.run(install_engine(cuda_include=tmp_path, cache=tmp_path / "cache"))


def test_a_compiler_that_fails_is_named_with_its_words_and_leaves_nothing(toolkit: Toolkit, tmp_path: Path) -> None:
    compiler = HostCompiler(script(tmp_path, "echo cannot do it >&2; exit 1"), "12.0.0")
    cache = tmp_path / "cache"
    with pytest.raises(Unavailable, match="cannot do it"):
        asyncio.run(install_engine(cuda_include=toolkit.include, cache=cache, compiler=compiler))
    assert sorted(path.name for path in (cache / "engine").iterdir()) == [".lock", "objects"]


def test_a_build_that_was_interrupted_is_cleared_and_does_not_count(toolkit: Toolkit, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    stale = cache / "engine" / "tmp-killed"
    stale.mkdir(parents=True)
    compiler = HostCompiler(script(tmp_path, "exit 1"), "12.0.0")
    with pytest.raises(Unavailable):
        asyncio.run(install_engine(cuda_include=toolkit.include, cache=cache, compiler=compiler))
    assert not stale.exists()


def test_sources_that_are_edited_during_a_build_leave_no_engine_of_both(
    toolkit: Toolkit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    versions = iter(["before", "after"])
    monkeypatch.setattr(build, "build_version", lambda *_: next(versions))

    async def pretend(_compiler: HostCompiler, _include: Path, work: Path, _progress: object) -> None:
        (work / "obj").mkdir()

    monkeypatch.setattr(build, "_compile_and_link", pretend)
    compiler = HostCompiler(Path("/usr/bin/g++"), "12.0.0")
    with pytest.raises(Unavailable, match="changed while it was built"):
        asyncio.run(install_engine(cuda_include=toolkit.include, cache=tmp_path, compiler=compiler))
    assert [path.name for path in (tmp_path / "engine").iterdir()] == [".lock"]


def test_two_builders_at_once_build_once(toolkit: Toolkit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    builds = []

    async def pretend(_compiler: HostCompiler, _include: Path, root: Path, _progress: object) -> None:
        builds.append(root)
        await asyncio.sleep(0)
        root.mkdir()

    monkeypatch.setattr(build, "_build", pretend)
    messages: list[str] = []

    async def both() -> list[EngineInstallation]:
        compiler = HostCompiler(Path("/usr/bin/g++"), "12.0.0")
        jobs = [
            install_engine(cuda_include=toolkit.include, cache=tmp_path, compiler=compiler, progress=messages.append)
            for _ in range(2)
        ]
        return list(await asyncio.gather(*jobs))

    first, second = asyncio.run(both())
    assert first == second
    assert len(builds) == 1
    assert messages == ["waiting for another process that is building the CPU engine"]


def test_a_second_request_is_answered_from_the_cache(engine: EngineInstallation, toolkit: Toolkit) -> None:
    messages: list[str] = []
    assert asyncio.run(install_engine(cuda_include=toolkit.include, progress=messages.append)) == engine
    assert messages == []


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"CUDANALYST_CACHE": "/a", "XDG_CACHE_HOME": "/b", "HOME": "/c"}, "/a"),
        ({"XDG_CACHE_HOME": "/b", "HOME": "/c"}, "/b/cudanalyst"),
        ({"HOME": "/c"}, "/c/.cache/cudanalyst"),
    ],
)
def test_the_cache_lies_where_the_environment_says(environment: dict[str, str], expected: str) -> None:
    assert cache_directory(environment) == Path(expected)


def test_every_function_of_the_real_libraries_is_exported(engine: EngineInstallation) -> None:
    listed = asyncio.run(
        run_process(["nm", "-D", "--defined-only", str(engine.library)], timeout_s=20, capture_bytes=1 << 20)
    )
    exported = {line.split()[-1].split("@")[0] for line in listed.stdout.text.splitlines()}
    assert set(symbol_names(SOURCES / "api")) <= exported
    assert all(name.startswith(("cu", "__cuda", "libcudart")) for name in exported)


def test_a_stub_is_weak_so_that_an_implementation_wins() -> None:
    text = stub_source(SOURCES / "api")
    assert '__attribute__((weak, visibility("default"))) int cudaGraphLaunch()' in text
