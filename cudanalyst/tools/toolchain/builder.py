"""Builds a source with nvcc in the sandbox, once for each content."""

import asyncio
import hashlib
import re
import shutil
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, Literal

from cudanalyst.errors import Unavailable
from cudanalyst.tools.compile import NO_SOLVE, Diagnostic
from cudanalyst.tools.process import ProcessResult
from cudanalyst.tools.result import MeasuredOn
from cudanalyst.tools.source import Source
from cudanalyst.tools.text import clean
from cudanalyst.tools.toolchain.arch import parse_arch
from cudanalyst.tools.toolchain.cache import BuildCache, CachedBuild
from cudanalyst.tools.toolchain.confine import Confinement
from cudanalyst.tools.toolchain.demangle import demangle
from cudanalyst.tools.toolchain.diagnostics import double_users, mangled_symbols, parse_diagnostics
from cudanalyst.tools.toolchain.flags import checked_flags
from cudanalyst.tools.toolchain.headers import left_out, may_be_missing
from cudanalyst.tools.toolchain.nvcc import NvccPaths, build_argv, image_name, target_of
from cudanalyst.tools.toolchain.paths import PathNames
from cudanalyst.tools.toolchain.protocol import Build
from cudanalyst.tools.toolchain.ptxas import PtxMap, kernel_resources, parse_resources, read_ptx
from cudanalyst.tools.toolchain.submitted import own_file, unreadable
from cudanalyst.tools.toolchain.workspace import writing
from cudanalyst.values import content_id

COMPILE_TIMEOUT_S: Final = 120.0
COMPILE_MEMORY: Final = 16 << 30
_CAPTURE: Final = 4 << 20
_MAX_PTX: Final = 64 << 20
_MAX_DIAGNOSTICS: Final = 200
_TROUBLE: Final = re.compile(
    r"No space left on device|died due to signal 9\b[^\n]*|Cannot allocate memory|Resource temporarily unavailable"
    r"|virtual memory exhausted[^\n]*|Disk quota exceeded"
)
_NOT_READABLE: Final = re.compile(r"Permission denied|No such file or directory|file not found")
ONLY_HEADERS: Final = (
    "only headers of the toolkit and the system can be included; put everything else into the one source"
)


@dataclass(frozen=True)
class Compiler:
    """All that decides what a build gives, besides the source."""

    paths: NvccPaths
    toolkit_root: Path
    demangler: Path | None
    versions: Mapping[str, str]
    """nvcc, gcc, engine."""
    toolchain: Literal["cpu", "gpu"] = "cpu"

    @property
    def readable(self) -> tuple[Path, ...]:
        """What a compilation may read besides the system: the toolkit, the engine, and a host compiler from elsewhere."""
        host = self.paths.host_compiler.resolve().parent.parent
        own_prefix = () if host in {Path("/"), Path("/usr")} else (host,)
        return (self.toolkit_root, self.paths.engine_libraries, *own_prefix)


def _lacks_a_header(process: ProcessResult, own_file: str) -> bool:
    """Whether a failure may be for want of what was left out."""
    said = process.stderr.text + "\n" + process.stdout.text
    return process.exit_status not in {0, None} and not process.timed_out and may_be_missing(said, own_file)


def machine_trouble(process: ProcessResult) -> str | None:
    """What kept nvcc from its work that another time or machine may not have; such an end is not cached."""
    if process.exit_status == 0 or process.output_limited:
        return None
    if process.signal is not None:
        return f"nvcc was ended by {process.signal}; try again, and look for what kills processes here (memory?)"
    found = _TROUBLE.search(process.stderr.text)
    return f"nvcc could not work here: {found[0]}; free disk space or memory and try again" if found else None


class Builder:
    """Compiles with one compiler into one cache."""

    def __init__(self, compiler: Compiler, confinement: Confinement, cache: BuildCache, scratch: Path) -> None:
        """Work directories are made under `scratch` and removed again."""
        self._compiler = compiler
        self._confinement = confinement
        self._cache = cache
        self._scratch = scratch
        self._building: dict[str, asyncio.Lock] = {}

    def measured_on(self) -> MeasuredOn:
        """What a build says it was made with."""
        return MeasuredOn(
            toolchain=self._compiler.toolchain,
            device=None,
            versions=dict(self._compiler.versions),
            sandbox=self._confinement.level,
        )

    def key(self, source: Source) -> str:
        """Names a build by all that decides it."""
        options = source.options
        parts = [
            _recipe(),
            source.kind,
            source.text,
            target_of(self._compiler.paths, options).name,
            *checked_flags(options.flags),
        ]
        parts += [f"{name} {version}" for name, version in sorted(self._compiler.versions.items())]
        parts += [str(self._compiler.toolkit_root), str(self._compiler.paths.engine_libraries)]
        parts += [str(self._compiler.paths.host_compiler), self._compiler.toolchain, self._compiler.paths.image]
        return content_id("build", *parts)

    async def build(self, source: Source) -> Build:
        """Compiles, or answers from the cache. Failures are cached too; time-outs are not.

        Raises:
            BadRequest: A flag or the architecture is not allowed, or the source is too long.
            StoreError: The cache cannot be written.
        """
        started = time.monotonic()
        parse_arch(source.options.arch)
        checked_flags(source.options.flags)
        if (problem := unreadable(source)) is not None:
            return self._result(
                source,
                CachedBuild(status="failed", binary=None, diagnostics=(problem,), duration_s=0.0),
                None,
                cached=False,
            )
        key = self.key(source)
        lock = self._building.setdefault(key, asyncio.Lock())
        try:
            async with lock:
                if (hit := self._cache.get(key)) is not None:
                    record = hit[0].model_copy(update={"duration_s": time.monotonic() - started})
                    return self._result(source, record, hit[1], cached=True)
                return await self._build(source, key)
        finally:
            if not lock.locked():
                self._building.pop(key, None)

    def _result(self, source: Source, record: CachedBuild, folder: Path | None, *, cached: bool) -> Build:
        return Build(
            status="compiled" if record.status == "compiled" else "failed",
            source_id=source.id,
            binary=folder / record.binary if folder is not None and record.binary is not None else None,
            image=folder / record.image if folder is not None and record.image is not None else None,
            symbols=record.symbols,
            diagnostics=record.diagnostics,
            kernels=record.kernels,
            reason=record.reason,
            cached=cached,
            duration_s=record.duration_s,
            measured_on=self.measured_on(),
        )

    async def _build(self, source: Source, key: str) -> Build:
        started = time.monotonic()
        with writing(self._scratch):
            self._scratch.mkdir(parents=True, exist_ok=True)
            work = Path(tempfile.mkdtemp(prefix="build-", dir=self._scratch))
        try:
            file = work / own_file(source)
            with writing(self._scratch):
                file.write_text(source.text, encoding="utf-8", newline="")
            output = work / ("candidate.so" if source.kind == "candidate" else "program")
            process = await self._nvcc(source, file, output, left_out(source.text))
            if _lacks_a_header(process, file.name):
                process = await self._nvcc(source, file, output, ())
            if process.timed_out:
                reason = f"nvcc was stopped after {COMPILE_TIMEOUT_S:.0f} s; make the source smaller or instantiate fewer templates"
                return self._not_built(source, "timed_out", reason, started)
            if (trouble := machine_trouble(process)) is not None:
                return self._not_built(source, "unavailable", trouble, started)
            record = await self._read(source, process, work, output)
            record = record.model_copy(update={"duration_s": time.monotonic() - started})
            image = work / image_name(self._compiler.paths, source.options, source.kind)
            folder = self._cache.put(key, record, output if record.binary is not None else None, image)
            return self._result(source, record, folder, cached=False)
        except Unavailable as error:
            return self._not_built(source, "unavailable", str(error), started)
        finally:
            shutil.rmtree(work, ignore_errors=True)

    async def _nvcc(self, source: Source, file: Path, output: Path, spared: tuple[str, ...]) -> ProcessResult:
        """Runs nvcc in the folder of the file."""
        names = Path(file.name), Path(output.name)
        return await self._confinement.run(
            build_argv(self._compiler.paths, source.options, source.kind, *names, left_out=spared),
            work=file.parent,
            readable=self._compiler.readable,
            env={"TMPDIR": str(file.parent)},
            timeout_s=COMPILE_TIMEOUT_S,
            memory_bytes=COMPILE_MEMORY,
            capture_bytes=_CAPTURE,
            purpose="compile",
        )

    def _not_built(
        self, source: Source, status: Literal["timed_out", "unavailable"], reason: str, started: float
    ) -> Build:
        return Build(
            status=status,
            source_id=source.id,
            reason=reason,
            duration_s=time.monotonic() - started,
            measured_on=self.measured_on(),
        )

    async def _read(self, source: Source, process: ProcessResult, work: Path, output: Path) -> CachedBuild:
        text = process.stderr.text + "\n" + process.stdout.text
        names = PathNames(own_file(source), {str(work): "", str(self._compiler.toolkit_root): "<toolkit>"})
        ptx = _ptx(work / f"{source.kind}.ptx", own_file(source))
        found = parse_diagnostics(text, names, source.text, ptx)[:_MAX_DIAGNOSTICS]
        raw = parse_resources(text)
        symbols = dict.fromkeys([*(kernel.symbol for kernel in raw), *mangled_symbols(found)])
        readable = await demangle(list(symbols), self._compiler.demangler)
        diagnostics = [_explain(_with_names(d, readable)) for d in found]
        if process.exit_status == 0 and output.is_file() and not output.is_symlink():
            target = target_of(self._compiler.paths, source.options)
            kernels = kernel_resources(raw, readable, ptx, double_users(text, ptx), target)
            image = work / image_name(self._compiler.paths, source.options, source.kind)
            return CachedBuild(
                status="compiled",
                binary=output.name,
                image=image.name if image.is_file() and not image.is_symlink() else None,
                symbols=ptx.variables,
                diagnostics=tuple(diagnostics),
                kernels=kernels,
                duration_s=0.0,
            )
        if not any(d.severity == "error" for d in diagnostics):
            how = process.signal or f"exit status {process.exit_status}"
            if process.output_limited:
                how = "stopped because it printed too much"
            tail = clean(names.scrub(text.strip()), 1000)
            diagnostics.append(Diagnostic(severity="error", text=f"nvcc failed ({how}): {tail or 'it gave no reason'}"))
        return CachedBuild(status="failed", binary=None, diagnostics=tuple(diagnostics), duration_s=0.0)


@cache
def _recipe() -> str:
    """Names the code that makes and reads builds: what an older one read from nvcc's output is not this one's answer."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _ptx(path: Path, own: str) -> PtxMap:
    try:
        if path.is_symlink() or path.stat().st_size > _MAX_PTX:
            return PtxMap()
        return read_ptx(path.read_text(encoding="utf-8", errors="replace"), own)
    except OSError:
        return PtxMap()  # it did not get that far


def _explain(diagnostic: Diagnostic) -> Diagnostic:
    if diagnostic.origin == "host" and _NOT_READABLE.search(diagnostic.text):
        return diagnostic.model_copy(update={"text": f"{diagnostic.text} ({ONLY_HEADERS})"})
    if "required symbol" in diagnostic.text and "solve" in diagnostic.text:
        return diagnostic.model_copy(update={"text": NO_SOLVE})
    if diagnostic.origin == "linker" and "undefined reference to `main'" in diagnostic.text:
        return diagnostic.model_copy(
            update={"text": "a program needs a `main` function; a candidate (with `solve`) needs its problem named"}
        )
    return diagnostic


def _with_names(diagnostic: Diagnostic, readable: Mapping[str, str]) -> Diagnostic:
    """Kernel names instead of symbols."""
    text = diagnostic.text
    for symbol, name in readable.items():
        text = text.replace(f"'{symbol}'", f"'{name}'")
    return diagnostic if text == diagnostic.text else diagnostic.model_copy(update={"text": text})
