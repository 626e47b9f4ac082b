"""Builds the executor's own device kernels (engine/src/device) for a device, once."""

import asyncio
import contextlib
import hashlib
import os
import shutil
import tempfile
from pathlib import Path
from typing import Final

from cudanalyst.errors import Unavailable
from cudanalyst.tools.engine.objects import SOURCES
from cudanalyst.tools.process import run_process
from cudanalyst.tools.text import one_line
from cudanalyst.tools.toolchain.arch import Arch
from cudanalyst.tools.toolchain.discovery import Toolkit

SOURCE: Final = SOURCES / "device" / "timing.cu"
_LIMIT_S: Final = 120.0
_building = asyncio.Lock()


async def executor_kernels(toolkit: Toolkit, host: Path, target: Arch, cache: Path, *, cubin: bool = True) -> Path:
    """The image that `kernels PATH` loads: a cubin for a GPU, PTX for the CPU engine.

    Raises:
        Unavailable: nvcc cannot build it; the text holds what it said.
    """
    form = "cubin" if cubin else "ptx"
    words = [toolkit.version, str(toolkit.root), target.name, form, str(host)]
    key = hashlib.sha256("\n".join(words).encode() + SOURCE.read_bytes()).hexdigest()[:32]
    image = cache / "gpu" / f"kernels-{key}.{form}"
    async with _building:
        if not image.exists():
            await _build(toolkit, host, target, image)
    return image


async def _build(toolkit: Toolkit, host: Path, target: Arch, image: Path) -> None:
    try:
        image.parent.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(prefix="kernels-", dir=image.parent))
    except OSError as error:
        raise Unavailable(
            f"{image.parent} cannot be written ({error.strerror}); set CUDANALYST_CACHE to a writable folder"
        ) from error
    try:
        made = work / image.name
        code = "sm" if image.suffix == ".cubin" else "compute"
        gencode = f"arch=compute_{target.number}{target.suffix},code={code}_{target.number}{target.suffix}"
        argv: list[str | Path] = [
            toolkit.nvcc,
            "-ccbin",
            host,
            image.suffix.replace(".", "-"),
            "-gencode",
            gencode,
            "-std=c++17",
            "-O3",
        ]
        result = await run_process([*argv, SOURCE, "-o", made], cwd=work, timeout_s=_LIMIT_S)
        if result.exit_status != 0 or not made.is_file():
            raise Unavailable(
                f"nvcc {toolkit.version} could not build the timing kernels: {one_line(result.stderr.text, 1000)}"
            )
        with contextlib.suppress(OSError):  # another process was quicker
            os.replace(made, image)  # noqa: PTH105 - atomic, whether or not it exists
    finally:
        shutil.rmtree(work, ignore_errors=True)
