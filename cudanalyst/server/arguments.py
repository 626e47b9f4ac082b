"""Arguments that several tools take, described once; and what a call's source is."""

from typing import Annotated, Final

from pydantic import Field

from cudanalyst.errors import BadRequest
from cudanalyst.tools.source import MAX_SOURCE_BYTES, BuildOptions, Source
from cudanalyst.tools.toolchain.arch import parse_arch
from cudanalyst.tools.toolchain.flags import checked_flags

SourceText = Annotated[str | None, Field(description="CUDA C++; this or candidate")]
CandidateHandle = Annotated[str | None, Field(description="From an earlier result")]
ProblemId = Annotated[str | None, Field(description="Problem it solves; none for a program with main")]
Arch = Annotated[str | None, Field(description="e.g. sm_90a; default sm_90")]
Flags = Annotated[list[str], Field(description="Extra nvcc flags", max_length=32)]
Arguments = Annotated[list[str], Field(description="Of a program", max_length=64)]
Stdin = Annotated[str | None, Field(description="Of a program", max_length=1_000_000)]
TimeoutS = Annotated[float, Field(description="Limit of each start", gt=0, le=600)]
CheckpointHandle = Annotated[str, Field(description="Handle from freeze")]
ExperimentHandle = Annotated[str, Field(description="Handle from experiment_start")]
Cites = Annotated[list[str], Field(description="Ids of evidence items, such as debugger.2", max_length=64)]
MAX_ARGUMENT_BYTES: Final = 16_384
WaitS = Annotated[float, Field(description="Seconds to wait, at most 40", ge=0, le=40)]


def given_source(text: str | None, problem: str | None, arch: str | None, flags: list[str]) -> Source:
    """The source that a call submits as text.

    Raises:
        BadRequest: The text or the target cannot be CUDA source; the message names the argument.
    """
    return Source(text=checked_text(text), problem=problem, options=options(arch, flags, BuildOptions()))


def options(arch: str | None, flags: list[str], base: BuildOptions) -> BuildOptions:
    """Build options of a call, over those that a candidate brings.

    Raises:
        BadRequest: `arch` is no target, or a flag is not on the allow-list.
    """
    chosen = base.arch if arch is None else parse_arch(arch).name
    return BuildOptions(arch=chosen, flags=checked_flags(flags) if flags else base.flags)


def checked_arguments(arguments: list[str]) -> tuple[str, ...]:
    """Arguments that a program can be started with.

    Raises:
        BadRequest: One is longer than the system passes on, or holds a NUL byte or half a character.
    """
    for number, argument in enumerate(arguments, 1):
        try:
            size = len(argument.encode())
        except UnicodeEncodeError as error:
            message = f"arguments: number {number} holds half of a surrogate pair; send valid UTF-8"
            raise BadRequest(message) from error
        if "\0" in argument:
            message = f"arguments: number {number} holds a NUL byte; remove it"
            raise BadRequest(message)
        if size > MAX_ARGUMENT_BYTES:
            message = f"arguments: number {number} has {size} bytes, over the limit of {MAX_ARGUMENT_BYTES}; use stdin"
            raise BadRequest(message)
    return tuple(arguments)


def checked_text(text: str | None) -> str:
    """Text that a compiler can be given.

    Raises:
        BadRequest: It is missing, empty, too long, or holds NUL bytes or half characters.
    """
    if text is None:
        message = "source: missing; give source (CUDA C++ text) or candidate (a handle from an earlier call)"
        raise BadRequest(message)
    if not text.strip():
        message = "source: empty; give the CUDA C++ text"
        raise BadRequest(message)
    if "\0" in text:
        message = f"source: NUL byte at character {text.index(chr(0))}; remove it"
        raise BadRequest(message)
    try:
        size = len(text.encode("utf-8"))
    except UnicodeEncodeError as error:
        message = f"source: character {error.start} is half of a surrogate pair; send valid UTF-8"
        raise BadRequest(message) from error
    if size > MAX_SOURCE_BYTES:
        message = f"source: {size} bytes, over the limit of {MAX_SOURCE_BYTES}; send only what is compiled"
        raise BadRequest(message)
    return text
