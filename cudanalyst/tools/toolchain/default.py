"""The toolchain that is used where none was asked for."""

from collections.abc import Callable

from cudanalyst.tools.toolchain.cpu import CpuToolchain


def default_toolchain(
    *, progress: Callable[[str], None] | None = None, allow_unsandboxed: bool = False
) -> CpuToolchain:
    """The CPU engine: it is on every machine. A GPU is only used where it is named."""
    return CpuToolchain(progress=progress, allow_unsandboxed=allow_unsandboxed)
