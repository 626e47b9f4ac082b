"""A source as it is handed in: its file's name, and what keeps a text from being compiled at all. Pure."""

from cudanalyst.errors import BadRequest
from cudanalyst.tools.compile import Diagnostic
from cudanalyst.tools.result import Place
from cudanalyst.tools.source import MAX_SOURCE_BYTES, Source


def own_file(source: Source) -> str:
    """The name under which a source is compiled and shown."""
    return f"{source.kind}.cu"


def unreadable(source: Source) -> Diagnostic | None:
    """What keeps a text from being compiled at all, or None.

    Raises:
        BadRequest: The source is longer than is taken.
    """
    data = source.text.encode("utf-8", "surrogatepass")
    if len(data) > MAX_SOURCE_BYTES:
        raise BadRequest(
            f"the source has {len(data)} bytes; at most {MAX_SOURCE_BYTES} are taken: leave out generated tables"
        )
    file = own_file(source)
    if not source.text.strip():
        return Diagnostic(severity="error", text="the source is empty: send CUDA C++ text", place=Place(file=file))
    for number, line in enumerate(source.text.split("\n"), 1):
        if "\0" in line:
            text = "the source holds a NUL byte: it is not text; remove the byte or send the file that was meant"
            return Diagnostic(
                severity="error", text=text, place=Place(file=file, line=number, column=line.index("\0") + 1)
            )
        if any("\ud800" <= character <= "\udfff" for character in line):
            text = "the source is not valid UTF-8 here: save it as UTF-8"
            return Diagnostic(severity="error", text=text, place=Place(file=file, line=number))
    return None
