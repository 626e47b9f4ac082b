"""Which nvcc flags a caller may pass. Everything else could run a program, read a file or change what is built."""

import re
from collections.abc import Sequence
from typing import Final

from cudanalyst.errors import BadRequest

MAX_FLAGS: Final = 64
_BOOLEAN: Final = "fmad|ftz|prec-div|prec-sqrt"
_ALLOWED: Final = tuple(
    re.compile(pattern)
    for pattern in (
        r"-O[0-3]",
        r"--optimize=[0-3]",
        r"--?use_fast_math",
        r"--?std=c\+\+(17|20)",
        r"--?maxrregcount=([1-9]\d?|1\d\d|2[0-4]\d|25[0-5])",
        r"-[DU][A-Za-z_]\w{0,80}",
        r"-D[A-Za-z_]\w{0,80}=[\w.+-]{0,100}",
        r"--?expt-relaxed-constexpr",
        r"--?(expt-)?extended-lambda",
        r"--?extra-device-vectorization",
        r"--?restrict",
        r"-lineinfo|--generate-line-info",
        rf"--?({_BOOLEAN})=(true|false)",
        r"--?diag-suppress=\d+(,\d+)*",
    )
)
_PTXAS: Final = re.compile(
    r"-O[0-3]|--opt-level=[0-3]|-v|--verbose|-warn-(spills|lmem-usage|double-usage)|-d[ls]cm=(ca|cg|cs|lu|cv|wb|wt)"
    r"|--def-(load|store)-cache=(ca|cg|cs|lu|cv|wb|wt)|--(allow-expensive-optimizations)=(true|false)"
)
_TAKES_VALUE: Final = re.compile(r"-[DU]|-O|--?(optimize|std|maxrregcount|diag-suppress)|--?(" + _BOOLEAN + r")")
_PTXAS_OPTION: Final = re.compile(r"(?:-Xptxas|--ptxas-options)(?:=(.*))?", re.DOTALL)
_HELP: Final = (
    "Allowed are -O0..-O3, -use_fast_math, -std=c++17|c++20, -maxrregcount=N, -DNAME[=VALUE] (VALUE of letters, digits, `_.+-`), "
    "-UNAME, --expt-relaxed-constexpr, --extended-lambda, --extra-device-vectorization, --restrict, -lineinfo, "
    "--fmad|--ftz|--prec-div|--prec-sqrt=true|false, -diag-suppress=N, and with -Xptxas: -O0..-O3, -v, -dlcm=ca|cg|cs|cv, "
    "-warn-spills, -warn-lmem-usage, -warn-double-usage. The architecture is an option of its own (`arch`)."
)


def checked_flags(flags: Sequence[str]) -> tuple[str, ...]:
    """The flags in a canonical form, one argument each, without repetitions.

    A value may follow its flag in the next element (`-maxrregcount`, `64`), as on a command line.

    Raises:
        BadRequest: A flag is not on the allow-list; the text names it.
    """
    if len(flags) > MAX_FLAGS:
        raise BadRequest(f"{len(flags)} flags are too many; pass at most {MAX_FLAGS}")
    kept: dict[str, None] = {}
    rest = list(flags)
    while rest:
        flag = rest.pop(0)
        ptxas = _PTXAS_OPTION.fullmatch(flag)
        if ptxas:
            value = ptxas[1] if ptxas[1] is not None else (rest.pop(0) if rest else "")
            _check_ptxas(value)
            kept["-Xptxas=" + value] = None
            continue
        if _TAKES_VALUE.fullmatch(flag) and rest:
            value = rest.pop(0)
            flag += value if flag in {"-D", "-U", "-O"} else "=" + value
        if not any(pattern.fullmatch(flag) for pattern in _ALLOWED):
            raise BadRequest(f"flag {flag[:120]!r} is not allowed. {_HELP}")
        kept[flag] = None
    return tuple(kept)


def _check_ptxas(value: str) -> None:
    for part in value.split(","):
        if not _PTXAS.fullmatch(part):
            raise BadRequest(f"flag {('-Xptxas ' + part)[:120]!r} is not allowed. {_HELP}")
