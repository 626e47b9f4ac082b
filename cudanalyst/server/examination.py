"""What is on this machine, and what to do about what is missing."""

import os
from collections.abc import Callable, Mapping
from importlib import metadata
from pathlib import Path
from typing import Final, Literal

from cudanalyst.errors import CudanalystError, Unavailable
from cudanalyst.tools.engine.build import build_version, cache_directory, find_host_compiler
from cudanalyst.tools.gpu.abilities import Ability
from cudanalyst.tools.process import run_process
from cudanalyst.tools.result import Sandbox
from cudanalyst.tools.toolchain.cpu import CpuToolchain
from cudanalyst.tools.toolchain.default import automatic
from cudanalyst.tools.toolchain.discovery import Toolkit, find_tool, find_toolkit
from cudanalyst.tools.toolchain.gpu import GpuToolchain
from cudanalyst.values import Frozen

PROBE_S: Final = 20.0
PACKAGES: Final = (
    "cudanalyst", "mcp", "pydantic", "numpy", "scipy", "tree-sitter", "tree-sitter-cuda", "matplotlib",
    "nvidia-cuda-nvcc", "nvidia-cuda-runtime", "nvidia-cuda-nvdisasm", "cupy-cuda13x", "nvidia-ml-py", "ncu-report",
)  # fmt: skip
OPTIONAL: Final = frozenset(
    name for name in PACKAGES if name.startswith("nvidia-") or name in {"cupy-cuda13x", "ncu-report"}
)
NO_DEVICE: Final = "none here; kernels run on the CPU engine and times are modelled"
NVIDIA_FOLDERS: Final = ("/opt/nvidia/nsight-compute", "/usr/local/cuda/bin")


class Item(Frozen):
    """One thing that was looked for."""

    name: str
    group: Literal["tools", "gpu", "packages"] = "tools"
    status: Literal["ok", "limited", "missing", "optional_missing"]
    """`missing` keeps a tool from working; `optional_missing` does not; `limited` works with what `remedy` says."""
    found: str | None = None
    """Version and place."""
    remedy: str | None = None
    """What to do; present unless it is there."""


class Examination(Frozen):
    """What `cudanalyst doctor` says."""

    status: Literal["ready", "limited"]
    summary: str
    sandbox: Sandbox | None
    items: tuple[Item, ...]


async def examine(
    environment: Mapping[str, str] | None = None,
    *,
    build: bool = False,
    toolchain: CpuToolchain | None = None,
    gpu: GpuToolchain | None = None,
    progress: Callable[[str], None] | None = None,
) -> Examination:
    """Looks for everything; builds the CPU engine only where `build` asks for it, and tells `progress` how far it is."""
    environment = os.environ if environment is None else environment
    toolchain = toolchain or CpuToolchain(environment=environment, progress=progress)
    gpu = gpu or GpuToolchain(environment=environment, progress=progress)
    toolkit, compiler = await _toolkit(environment)
    host, engine = await _host_and_engine(environment, toolkit, toolchain, build=build)
    sandbox, confined = await _sandbox(toolchain, built=engine.status == "ok")
    items = (
        compiler,
        host,
        engine,
        confined,
        _choice(environment),
        *await gpu_items(environment, gpu, built=engine.status == "ok"),
        *(_package(name) for name in PACKAGES),
    )
    missing = [item.name for item in items if item.status == "missing"]
    return Examination(
        status="limited" if missing else "ready",
        summary=f"Missing: {', '.join(missing)}." if missing else "Everything that the five tools need here is there.",
        sandbox=sandbox,
        items=items,
    )


async def _toolkit(environment: Mapping[str, str]) -> tuple[Toolkit | None, Item]:
    try:
        toolkit = await find_toolkit(environment)
    except Unavailable as error:
        return None, Item(name="nvcc", status="missing", remedy=str(error))
    return toolkit, Item(name="nvcc", status="ok", found=f"{toolkit.version}, used from {toolkit.root}")


async def _host_and_engine(
    environment: Mapping[str, str], toolkit: Toolkit | None, toolchain: CpuToolchain, *, build: bool
) -> tuple[Item, Item]:
    try:
        host = await find_host_compiler(environment)
    except Unavailable as error:
        blocked = Item(name="CPU engine", status="missing", remedy="needs the host compiler first")
        return Item(name="host compiler", status="missing", remedy=str(error)), blocked
    found = Item(name="host compiler", status="ok", found=f"g++ {host.version}, {host.path}")
    if toolkit is None:
        return found, Item(name="CPU engine", status="missing", remedy="needs nvcc first")
    try:
        if build:
            await toolchain.prepare()
        used = toolchain.engine
        version = build_version(host, toolkit.include) if used is None else used.version
    except CudanalystError as error:
        return found, Item(name="CPU engine", status="missing", remedy=str(error))
    folder = cache_directory(environment) / "engine" / version if used is None else used.root
    if folder.is_dir():
        return found, Item(name="CPU engine", status="ok", found=f"{version[:12]}, built in {folder}")
    remedy = "not built yet; it is built on first use, or now by: cudanalyst doctor --build"
    return found, Item(name="CPU engine", status="optional_missing", remedy=remedy)


async def _sandbox(toolchain: CpuToolchain, *, built: bool) -> tuple[Sandbox | None, Item]:
    if not built:
        return None, Item(name="sandbox", status="optional_missing", remedy="known once the CPU engine is built")
    capabilities = await toolchain.capabilities()
    level = capabilities.measured_on.sandbox
    if not capabilities.execute:
        return level, Item(name="sandbox", status="missing", remedy=capabilities.reasons.get("execute"))
    return level, Item(name="sandbox", status="ok", found=level or "there; each result says its level")


def _choice(environment: Mapping[str, str]) -> Item:
    chosen, why = automatic(environment)
    return Item(name="toolchain", status="ok", found=f"--toolchain auto means {chosen}: {why}")


async def gpu_items(environment: Mapping[str, str], gpu: GpuToolchain, *, built: bool) -> tuple[Item, ...]:
    """What can be done on a GPU. The tools are tried where the engine is built, since that has the executor; else only looked for."""
    if built and (abilities := await gpu.abilities()) and abilities[0].status != "unavailable":
        return tuple(_item(ability) for ability in abilities)
    reason = NO_DEVICE if not Path("/dev/nvidiactl").exists() else "try it with: cudanalyst doctor --build"
    if built and Path("/dev/nvidiactl").exists():
        reason = abilities[0].text
    return (
        Item(name="GPU", group="gpu", status="optional_missing", remedy=reason),
        await _nvidia_tool("ncu", environment, "profiling on a GPU needs it: install NVIDIA Nsight Compute"),
        await _nvidia_tool(
            "compute-sanitizer",
            environment,
            "debugging on a GPU needs it: install the CUDA toolkit's compute-sanitizer",
        ),
    )


def _item(ability: Ability) -> Item:
    status: Final[dict[str, Literal["ok", "limited", "optional_missing"]]] = {
        "ok": "ok",
        "limited": "limited",
        "unavailable": "optional_missing",
    }
    return Item(
        name=f"GPU {ability.name}" if ability.name != "device" else "GPU",
        group="gpu",
        status=status[ability.status],
        found=ability.found,
        remedy=ability.text or None,
    )


async def _nvidia_tool(name: str, environment: Mapping[str, str], remedy: str) -> Item:
    path = find_tool(name, environment)
    if path is None:
        home = environment.get("CUDA_HOME")
        folders = [Path(home) / "bin", Path(home) / "compute-sanitizer"] if home else []
        folders += [Path(folder) for folder in NVIDIA_FOLDERS]
        found = [
            one for folder in folders for one in (folder / name, *folder.glob(f"*/{name}")) if os.access(one, os.X_OK)
        ]
        path = next((one for one in found if one.is_file()), None)
    if path is None:
        return Item(name=name, group="gpu", status="optional_missing", remedy=remedy)
    try:
        answer = await run_process([path, "--version"], timeout_s=PROBE_S)
    except Unavailable as error:
        return Item(name=name, group="gpu", status="optional_missing", remedy=str(error))
    version = next((line for line in answer.stdout.text.splitlines() if "ersion" in line), "").strip()
    return Item(name=name, group="gpu", status="ok", found=f"{version}, {path}".removeprefix(", "))


def _package(name: str) -> Item:
    try:
        return Item(name=f"package {name}", group="packages", status="ok", found=metadata.version(name))
    except metadata.PackageNotFoundError:
        extra = "cuda" if name.startswith("nvidia-cuda") else "gpu"
        if name in OPTIONAL:
            remedy = f"pip install 'cudanalyst[{extra}]'"
            return Item(name=f"package {name}", group="packages", status="optional_missing", remedy=remedy)
        return Item(name=f"package {name}", group="packages", status="missing", remedy=f"pip install {name}")
