"""Reads what nvcc and the programs behind it print into diagnostics. Pure.

None of them has a machine format that nvcc passes on, so the forms are told apart by their first line: the CUDA front end
(`file(line): error #N-D: text`), the host compiler and the assembler (`file:line:column: error: text`), ptxas with and without a
line of PTX, the linker, and drivers (`nvcc fatal : text`). Excerpts of source are dropped, and nothing is quoted from a
file that is neither the submitted source nor a header of the toolkit or the system.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, Literal

from cudanalyst.tools.compile import Diagnostic
from cudanalyst.tools.result import Place
from cudanalyst.tools.text import clean
from cudanalyst.tools.toolchain.paths import PathNames
from cudanalyst.tools.toolchain.ptxas import PtxMap

Severity = Literal["error", "warning", "note"]
Origin = Literal["nvcc", "host", "ptxas", "linker"]
MAX_TEXT: Final = 1500
MAX_LINE: Final = 20_000
FOREIGN: Final = (
    "a file outside the submitted source is included that is no header of the toolkit or the system; include only those, "
    "and put everything else into the one source"
)
DOUBLE: Final = (
    "double-precision arithmetic here; most GPUs do it far slower than float. If it is not meant: write literals as 2.0f and call "
    "sqrtf, expf and the like"
)
_SEVERITIES: Final[dict[str, Severity]] = {"warning": "warning", "remark": "note", "note": "note", "info": "note"}

_EDG: Final = re.compile(
    r"(?P<file>[^\s(][^()]*)\((?P<line>\d+)\): (?P<severity>(?:catastrophic |internal |fatal )?error|warning|remark|note)"
    r"(?: #(?P<code>\d+(?:-D)?))?: (?P<text>.*)"
)
_HOST: Final = re.compile(
    r"(?P<file>[^\s:][^:]*):(?P<line>\d+):(?:(?P<column>\d+):)? "
    r"(?P<severity>(?:fatal |internal compiler )?[Ee]rror|sorry, unimplemented|[Ww]arning|note): (?P<text>.*)"
)
_PTXAS: Final = re.compile(
    r"ptxas (?P<file>\S.*), line (?P<line>\d+); (?P<severity>error|warning|fatal|info)\s*: (?P<text>.*)"
)
_DRIVER: Final = re.compile(
    r"(?P<tool>nvcc|ptxas|nvlink|fatbinary|cudafe\+\+|cicc)\s+(?P<severity>fatal|error|warning|info)\s*: (?P<text>.*)"
)
_LINKER: Final = re.compile(
    r"(?:(?P<where>.*?):\s?)?(?P<text>undefined reference to .*|cannot find -l.*|multiple definition of .*"
    r"|required symbol .* not defined|relocation .* can not be used .*)"
)
_GCC_CODE: Final = re.compile(r" \[(-W[\w=+-]+)\]$")
_NOISE: Final = re.compile(
    r"Remark: The warnings can be suppressed|\d+ errors? detected in the compilation|\d+ catastrophic errors?|compilation (?:terminated|aborted)"
    r"|In file included from|\s+from .*:\d+|.*Assembler messages:|collect2: error: ld returned|.*: in function [`'\u2018]|Error limit reached|\s*$"
)
_QUOTED_SYMBOL: Final = re.compile(r"'([\w$.]+)'")
_CARET: Final = re.compile(r"\s*\^\s*")
_SUFFIXES: Final = (".cu", ".c", ".cpp", ".h", ".hpp", ".cuh", ".inl")


@dataclass
class _Pending:
    """A diagnostic whose following lines are still being read."""

    severity: Severity
    origin: Origin
    text: str
    file: str | None = None
    line: int | None = None
    column: int | None = None
    code: str | None = None
    continuation: list[str] = field(default_factory=list)


def parse_diagnostics(output: str, names: PathNames, source: str, ptx: PtxMap | None = None) -> tuple[Diagnostic, ...]:
    """Diagnostics of one nvcc run, in order, each once.

    Args:
        output: What nvcc wrote, standard error before standard output.
        names: How to show files.
        source: The submitted text, from which columns are mended: the front end counts them after preprocessing.
        ptx: Of the same run where it got that far, to place what ptxas says.
    """
    lines = source.splitlines()
    found: dict[Diagnostic, None] = {}
    for pending in _pending(output):
        diagnostic = _finish(pending, names, lines, ptx)
        if diagnostic is not None:
            found[diagnostic] = None
    return _without_echoes(list(found))


def _pending(output: str) -> Iterator[_Pending]:
    current: _Pending | None = None
    for raw in output.splitlines():
        line = clean(raw[:MAX_LINE], MAX_LINE)
        start = _first_line(line)
        if start is not None:
            if current is not None:
                yield current
            current = start
        elif _NOISE.match(line):
            continue
        elif current is not None and line.startswith("  "):
            current.continuation.append(line)
    if current is not None:
        yield current


def _first_line(line: str) -> _Pending | None:
    if line.startswith((" ", "\t")):
        return None
    if match := _PTXAS.match(line):
        return _Pending(_severity(match["severity"]), "ptxas", match["text"], match["file"], int(match["line"]))
    if match := _DRIVER.match(line):
        origin: Origin = {"ptxas": "ptxas", "nvlink": "linker"}.get(match["tool"], "nvcc")  # type: ignore[assignment]
        return None if match["severity"] == "info" else _Pending(_severity(match["severity"]), origin, match["text"])
    if match := _EDG.match(line):
        return _Pending(
            _severity(match["severity"]), "nvcc", match["text"], match["file"], int(match["line"]), code=match["code"]
        )
    if match := _HOST.match(line):
        text, code = match["text"], _GCC_CODE.search(match["text"])
        column = int(match["column"]) if match["column"] else None
        pending = _Pending(_severity(match["severity"]), "host", text, match["file"], int(match["line"]), column)
        if code:
            pending.text, pending.code = text[: code.start()], code[1]
        return pending
    if "undefined reference" in line or "ld:" in line or line.startswith("/"):
        match = _LINKER.fullmatch(line)
        return _Pending("error", "linker", match["text"]) if match else None
    return None


def _severity(word: str) -> Severity:
    return _SEVERITIES.get(word.lower(), "error")


def _finish(pending: _Pending, names: PathNames, source: list[str], ptx: PtxMap | None) -> Diagnostic | None:
    if pending.origin == "ptxas":
        return _finish_ptxas(pending, names, ptx)
    text, file, line = pending.text, None, None
    if pending.file is not None:
        file = names.name(pending.file)
        if file is None:
            # Its text may quote the file, whatever that is.
            return Diagnostic(severity=pending.severity, text=FOREIGN, origin=pending.origin)
        if file.endswith(_SUFFIXES) or file.startswith("<"):
            line = pending.line
        if "cudafe1" in file or file.endswith((".ii", ".gpu", ".s")) or file.startswith("tmpxft_"):
            file, line = None, None
    if pending.origin == "nvcc" and pending.file is not None:
        own_line = source[line - 1] if line is not None and line <= len(source) and file == names.own_file else None
        more, column = _front_end_lines(pending.continuation, own_line)
        text = "\n".join([text, *more])
        pending.column = column
    return Diagnostic(
        severity=pending.severity,
        text=clean(names.scrub(text), MAX_TEXT),
        place=Place(file=file, line=line, column=pending.column if line is not None else None),
        code=pending.code,
        origin=pending.origin,
    )


def _front_end_lines(lines: list[str], source_line: str | None) -> tuple[list[str], int | None]:
    """Keeps explanations (`argument types are`), drops the excerpt, and finds the column where the caret stands."""
    kept: list[str] = []
    column = None
    for index, line in enumerate(lines):
        if _CARET.fullmatch(line):
            if kept and index:
                kept.pop()
                column = _column(lines[index - 1], line.index("^"), source_line) if source_line is not None else None
            continue
        kept.append(line)
    return [line.strip() for line in kept], column


def _column(excerpt: str, caret: int, source_line: str) -> int | None:
    """The column in the submitted line that ends with what the excerpt shows from the caret on; None where macros are behind it."""
    rest = excerpt[caret:].rstrip()
    own = source_line.rstrip()
    return len(own) - len(rest) + 1 if rest and own.endswith(rest) else None


def _finish_ptxas(pending: _Pending, names: PathNames, ptx: PtxMap | None) -> Diagnostic | None:
    if pending.text.startswith("Ptx assembly aborted"):
        return None
    found = None
    if ptx is not None:
        symbol = _QUOTED_SYMBOL.search(pending.text)
        if pending.line is not None:
            found = ptx.source_of(pending.line)
        elif symbol is not None:
            found = ptx.start_of(symbol[1])
    file = names.name(found[0]) if found is not None else None
    place = Place(file=file, line=found[1]) if found is not None and file is not None else Place()
    text = DOUBLE if "double precision" in pending.text else pending.text
    return Diagnostic(severity=pending.severity, text=clean(names.scrub(text), MAX_TEXT), place=place, origin="ptxas")


def _without_echoes(diagnostics: list[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Without messages that only say that there were others."""
    return tuple(d for d in diagnostics if d.text.strip() and not d.text.startswith("recipe for target"))


def mangled_symbols(diagnostics: Iterable[Diagnostic]) -> list[str]:
    """Symbols that messages name, each once."""
    return list(
        dict.fromkeys(name for d in diagnostics for name in _QUOTED_SYMBOL.findall(d.text) if name.startswith("_Z"))
    )


def double_users(output: str, ptx: PtxMap) -> set[str]:
    """Symbols of the functions in which ptxas saw double-precision arithmetic."""
    users = set()
    for line in output.splitlines():
        match = _PTXAS.match(line)
        if match and "double precision" in match["text"] and (symbol := ptx.entry_of(int(match["line"]))):
            users.add(symbol)
    return users
