"""From a build to a module in a context, and to what a recorder is told of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cudanalyst.tools.toolchain.executor_session import Device, Executor, ExecutorFailed
from cudanalyst.tools.toolchain.protocol import BufferSpec, ScalarSpec
from cudanalyst.tools.trace.table import Kernel, Region, Table

SLOT: Final = "candidate"
"""Name of the module in the executor, where there is one."""
_NOT_FOUND: Final = 500


@dataclass(frozen=True)
class Code:
    """What a build gave."""

    library: Path
    """The host code, which is recorded."""
    image: Path
    """The device code, which the executor loads."""
    symbols: tuple[str, ...] = ()
    """Names of its variables."""


@dataclass(frozen=True)
class LoadedModule:
    """Device code in a context, as a table needs it."""

    kernels: tuple[Kernel, ...]
    symbols: Mapping[str, Region]


async def load_module(executor: Executor, slot: str, code: Code) -> LoadedModule:
    """Loads the image and finds its kernels and variables.

    Raises:
        ExecutorFailed: The driver refuses the image.
    """
    kernels = await executor.module(slot, code.image)
    symbols: dict[str, Region] = {}
    for name in code.symbols:
        try:
            address, size = await executor.symbol(slot, name)
        except ExecutorFailed as error:
            if error.code != _NOT_FOUND:  # one that no kernel uses may be gone
                raise
        else:
            symbols[name] = Region(address, size)
    return LoadedModule(tuple(Kernel(**vars(kernel)) for kernel in kernels), symbols)


def make_table(
    code: Code,
    device: Device,
    module: LoadedModule,
    *,
    parameters: tuple[BufferSpec | ScalarSpec, ...],
    sizes: Mapping[str, int],
) -> Table:
    """What a recorder is told of device and code; arena, workspace and sets come later."""
    return Table(
        library=code.library,
        device=device.name,
        attributes=device.attributes,
        kernels=module.kernels,
        sizes=sizes,
        parameters=parameters,
        symbols=module.symbols,
        memory_bytes=device.total_bytes,
    )
