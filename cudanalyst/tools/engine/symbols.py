"""Every function of the real runtime and driver exists in the engine, so that whatever mentions one still links and loads.

What is not implemented answers 801 and names itself in the report. The names come from lists beside the sources.
"""

from pathlib import Path
from typing import Final

NOT_SUPPORTED: Final = 801


def symbol_names(api: Path) -> tuple[str, ...]:
    """Names of the real libraries' functions, each once, in order."""
    names: dict[str, None] = {}
    for file in ("runtime_symbols.txt", "driver_symbols.txt"):
        for line in (api / file).read_text(encoding="utf-8").splitlines():
            if name := line.strip():
                names[name] = None
    return tuple(names)


def per_thread_names(api: Path) -> dict[str, str]:
    """The driver's variants for the per-thread default stream, each with the function that it is.

    Work runs when it is submitted, so both order it alike. The runtime's variants are written out in its sources.
    """
    names = symbol_names(api)
    known = set(names)
    found = {name: name.removesuffix("_ptsz").removesuffix("_ptds") for name in names if name.startswith("cu")}
    return {
        name: base for name, base in found.items() if base != name and base in known and not name.startswith("cuda")
    }


def stub_source(api: Path) -> str:
    """C++ text with a weak function for each name; an implemented one is strong and wins when the library is linked."""
    variants = per_thread_names(api)
    lines = ['extern "C" __attribute__((visibility("hidden"))) int cudanalyst_refuse(const char* name);']
    lines += [
        f'extern "C" __attribute__((weak, visibility("default"))) int {name}() {{ return cudanalyst_refuse("{name}"); }}'
        for name in symbol_names(api)
        if name not in variants
    ]
    return "\n".join(lines) + "\n"


def link_flags(api: Path) -> tuple[str, ...]:
    """What makes the linker give the per-thread variants the addresses of their functions."""
    return tuple(f"-Wl,--defsym={name}={base}" for name, base in per_thread_names(api).items())
