"""Finds out, once, what NVIDIA's tools can do on this machine: by trying them on one tiny program."""

import contextlib
import hashlib
import os
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from cudanalyst.errors import CudanalystError, Unavailable
from cudanalyst.tools.findings import ALL_CHECKS
from cudanalyst.tools.gpu.abilities import Ability, counters_ability, sanitizer_ability
from cudanalyst.tools.process import run_process, scrubbed_environment
from cudanalyst.tools.result import MeasuredOn
from cudanalyst.tools.source import Source
from cudanalyst.tools.toolchain.gpu_parts import GpuParts
from cudanalyst.tools.toolchain.ncu.collect import INSTALL as NCU_REMEDY
from cudanalyst.tools.toolchain.ncu.collect import find_ncu
from cudanalyst.tools.toolchain.protocol import Capabilities
from cudanalyst.tools.toolchain.sanitizer.find import Sanitizer, find_sanitizer
from cudanalyst.values import Frozen

LEAST_METRIC: Final = "sm__cycles_elapsed.max"
PROBE: Final = Source(
    text="""#include <cstdio>
__global__ void probe(int* p) { p[threadIdx.x] = threadIdx.x; }
int main() {
  int* p = nullptr;
  if (cudaError_t e = cudaMalloc(&p, 32 * sizeof(int))) { std::printf("%s\\n", cudaGetErrorName(e)); return 1; }
  probe<<<1, 32>>>(p);
  cudaError_t e = cudaDeviceSynchronize();
  cudaFree(p);
  if (e) std::printf("%s\\n", cudaGetErrorName(e));
  return e != cudaSuccess;
}
"""
)
"""Our own text, so that it may be run outside the sandbox, where the tools need to be."""
_LIMIT_S: Final = 90.0
_WAIT_S: Final = 600.0


class ToolAbilities(Frozen):
    """What became of the tools, with the programs that were found."""

    abilities: tuple[Ability, ...]
    ncu: Path | None = None
    sanitizer: Path | None = None
    sanitizer_version: str = ""
    versions: dict[str, str] = {}

    @property
    def installed_sanitizer(self) -> Sanitizer | None:
        """What runs the checks; None where there is none that works here."""
        ability = self.of("sanitizer")
        works = self.sanitizer is not None and ability is not None and ability.status == "ok"
        return Sanitizer(self.sanitizer, self.sanitizer_version) if works and self.sanitizer is not None else None

    def of(self, name: str) -> Ability | None:
        """One of the abilities."""
        return next((ability for ability in self.abilities if ability.name == name), None)


def capabilities_of(tools: ToolAbilities, parts: GpuParts, measured_on: MeasuredOn) -> Capabilities:
    """What the five tools can do here, with a reason and a remedy for the rest."""
    timing = next((ability for ability in parts.abilities if ability.name == "timing"), None)
    wanted = (("sanitize", tools.of("sanitizer")), ("profile", tools.of("counters")), ("time", timing))
    reasons = {
        name: ability.text for name, ability in wanted if ability is not None and ability.status == "unavailable"
    }
    if not parts.on_gpu:
        reasons["time"] = "the CPU engine stands in for a GPU here, and its times say nothing of one"
    return Capabilities(
        build=True,
        execute=True,
        sanitize=() if "sanitize" in reasons else ALL_CHECKS,
        profile="profile" not in reasons,
        time="time" not in reasons,
        reasons=reasons,
        measured_on=measured_on,
    )


async def probe_tools(parts: GpuParts, environment: Mapping[str, str], cache: Path) -> ToolAbilities:
    """What ncu and compute-sanitizer can do here; remembered until the machine restarts, or a tool or the driver changes."""
    ncu = find_ncu({"CUDA_PATH": str(parts.toolkit.root), **environment})
    ncu_version = await _version(ncu) if ncu is not None else None
    try:
        sanitizer = await find_sanitizer(environment)
        missing = None
    except Unavailable as error:
        sanitizer, missing = None, str(error)
    key = _key(parts, [str(ncu), str(ncu_version), str(sanitizer)])
    if (known := _remembered(cache, key)) is not None:
        return known
    program: Path | None = None
    if ncu is not None or sanitizer is not None:
        build = await parts.builder.build(PROBE)
        program = build.binary
    abilities: list[Ability] = []
    if ncu is None:
        abilities += [
            Ability(
                name="profiler",
                status="unavailable",
                reason=NCU_REMEDY,
            ),
            Ability(name="counters", status="unavailable", reason=NCU_REMEDY),
        ]
    else:
        abilities.append(Ability(name="profiler", status="ok", found=f"{ncu_version or 'of unknown version'}, {ncu}"))
        abilities.append(await _try_counters(parts, ncu, program))
    if sanitizer is None:
        abilities.append(
            Ability(name="sanitizer", status="unavailable", reason=missing or "compute-sanitizer was not found")
        )
    else:
        abilities.append(await _try_sanitizer(parts, sanitizer.path, sanitizer.version, program))
    versions = {
        name: version
        for name, version in (("ncu", ncu_version), ("compute-sanitizer", sanitizer and sanitizer.version))
        if version
    }
    found = ToolAbilities(
        abilities=tuple(abilities),
        ncu=ncu,
        sanitizer=sanitizer.path if sanitizer is not None else None,
        sanitizer_version=sanitizer.version if sanitizer is not None else "",
        versions=versions,
    )
    if _lasts(found):
        _remember(cache, key, found)
    return found


def _lasts(found: ToolAbilities) -> bool:
    """Whether the answer would be the same the next time: a tool that just failed may have met a busy or broken moment."""
    counters, sanitizer = found.of("counters"), found.of("sanitizer")
    refused = counters is not None and "ERR_NVGPUCTRPERM" in (counters.reason or "")
    tried = ((found.ncu, counters), (found.sanitizer, sanitizer))
    return all(
        tool is None or ability is None or ability.status == "ok" or (refused and ability is counters)
        for tool, ability in tried
    )


async def _version(tool: Path) -> str | None:
    with contextlib.suppress(CudanalystError):
        answer = await run_process([tool, "--version"], timeout_s=_LIMIT_S)
        line = next((line for line in answer.stdout.text.splitlines() if line.startswith("Version")), "")
        return line.removeprefix("Version").split("(")[0].strip() or None
    return None


@contextlib.asynccontextmanager
async def _on_device(parts: GpuParts) -> AsyncIterator[dict[str, str]]:
    async with parts.leases.hold([one.uuid for one in parts.devices], wait_s=_WAIT_S) as lease:
        environment = parts.environment(lease.uuid)
        yield scrubbed_environment({**environment, **({"HOME": os.environ["HOME"]} if "HOME" in os.environ else {})})


async def _try_counters(parts: GpuParts, ncu: Path, program: Path | None) -> Ability:
    if program is None:
        return Ability(name="counters", status="unavailable", reason="the program to try ncu with could not be built")
    argv: list[str | Path] = [ncu, "--metrics", LEAST_METRIC, "--target-processes", "application-only", program]
    async with _on_device(parts) as environment:
        answer = await run_process(argv, env=environment, timeout_s=_LIMIT_S)
    status = None if answer.timed_out else answer.exit_status
    return counters_ability(answer.stdout.text + answer.stderr.text, status)


async def _try_sanitizer(parts: GpuParts, sanitizer: Path, version: str, program: Path | None) -> Ability:
    if program is None:
        return Ability(
            name="sanitizer",
            status="unavailable",
            reason="the program to try compute-sanitizer with could not be built",
        )
    argv: list[str | Path] = [sanitizer, "--tool", "memcheck", "--target-processes", "application-only", program]
    async with _on_device(parts) as environment:
        answer = await run_process(argv, env=environment, timeout_s=_LIMIT_S)
    status = None if answer.timed_out else answer.exit_status
    return sanitizer_ability(f"{version}, {sanitizer}", answer.stdout.text + answer.stderr.text, status)


def _key(parts: GpuParts, tools: list[str]) -> str:
    """Names an answer by all that it depends on; the kernel's boot, since permissions change with it."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        boot = ""
    devices = [f"{one.uuid} {one.driver}" for one in parts.devices]
    words = [boot, str(os.geteuid()), _capabilities(), parts.toolkit.version, *devices, *tools, PROBE.id]
    return hashlib.sha256("\n".join(words).encode()).hexdigest()[:32]


def _capabilities() -> str:
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return ""
    return next((line for line in lines if line.startswith("CapEff")), "")


def _remembered(cache: Path, key: str) -> ToolAbilities | None:
    try:
        return ToolAbilities.model_validate_json((cache / "gpu" / f"{key}.json").read_bytes())
    except (OSError, ValidationError):
        return None


def _remember(cache: Path, key: str, found: ToolAbilities) -> None:
    """Kept where it can be; a cache that cannot be written costs only the next start's time."""
    path = cache / "gpu" / f"{key}.json"
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_suffix(f".{os.getpid()}")
        temporary.write_text(found.model_dump_json(), encoding="utf-8")
        temporary.rename(path)
