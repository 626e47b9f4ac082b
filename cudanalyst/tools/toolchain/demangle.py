"""Demangles symbols with c++filt, in a process of its own: symbols come from untrusted code, and demanglers have crashed on such."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from cudanalyst.errors import Unavailable
from cudanalyst.tools.process import run_process
from cudanalyst.tools.text import clean

_TIMEOUT_S: Final = 10.0
_MAX_NAME: Final = 400


async def demangle(symbols: Sequence[str], program: Path | None) -> dict[str, str]:
    """Symbol to readable name; a symbol stands for itself where it cannot be demangled."""
    plain = {symbol: symbol for symbol in symbols}
    mangled = [symbol for symbol in symbols if symbol.startswith("_Z") and "\n" not in symbol]
    if not mangled or program is None:
        return plain
    try:
        result = await run_process(
            [program],
            env={"PATH": os.defpath},
            stdin="".join(f"{symbol}\n" for symbol in mangled).encode("utf-8", "replace"),
            timeout_s=_TIMEOUT_S,
            capture_bytes=8 << 20,
            memory_bytes=1 << 30,
        )
    except Unavailable:
        return plain
    lines = result.stdout.text.splitlines()
    if result.exit_status != 0 or len(lines) != len(mangled):
        return plain
    return {**plain, **{symbol: clean(line, _MAX_NAME) for symbol, line in zip(mangled, lines, strict=True)}}
