"""The records of a trace (engine/TRACE.md), and how each is written."""

from dataclasses import dataclass
from typing import Literal

Extents = tuple[int, int, int]


@dataclass(frozen=True)
class OwnStream:
    """A stream of the candidate's own; 0 is the `stream` of `solve`."""

    id: int
    priority: int

    def text(self) -> str:
        """As a trace has it."""
        return f"stream {self.id} {self.priority}"


@dataclass(frozen=True)
class FunctionAttribute:
    """What cuFuncSetAttribute sets."""

    symbol: str
    id: int
    value: int

    def text(self) -> str:
        """As a trace has it."""
        return f"attribute {self.symbol} {self.id} {self.value}"


@dataclass(frozen=True)
class Launch:
    """A kernel launch."""

    symbol: str
    grid: Extents
    block: Extents
    dynamic_shared_bytes: int
    stream: int
    attributes: tuple[tuple[int, bytes], ...]
    """CUlaunchAttributeID and the 64 bytes of its value."""
    arguments: tuple[bytes, ...]

    def text(self) -> str:
        """As a trace has it."""
        words = ["launch", self.symbol, *self.grid, *self.block, self.dynamic_shared_bytes, self.stream]
        words.append(len(self.attributes))
        for number, value in self.attributes:
            words += [number, value.hex()]
        words += [len(self.arguments), *(argument.hex() for argument in self.arguments)]
        return " ".join(map(str, words))


@dataclass(frozen=True)
class Copy:
    """From device to device: `rows` rows, each a pitch after the one before. Pitches of one row are 0."""

    to: int
    source: int
    row_bytes: int
    rows: int
    to_pitch: int
    source_pitch: int
    stream: int

    def text(self) -> str:
        """As a trace has it."""
        return (
            f"copy {self.to:x} {self.source:x} {self.row_bytes} {self.rows} {self.to_pitch} {self.source_pitch} "
            f"{self.stream}"
        )


@dataclass(frozen=True)
class Upload:
    """From host memory; `data` has the rows without gaps."""

    to: int
    row_bytes: int
    rows: int
    to_pitch: int
    stream: int
    data: bytes

    def text(self) -> str:
        """As a trace has it."""
        return f"upload {self.to:x} {self.row_bytes} {self.rows} {self.to_pitch} {self.stream} {self.data.hex()}"


@dataclass(frozen=True)
class Fill:
    """A pattern of 1, 2 or 4 bytes."""

    to: int
    pattern: int
    element_bytes: int
    row_elements: int
    rows: int
    pitch: int
    stream: int

    def text(self) -> str:
        """As a trace has it."""
        return (
            f"fill {self.to:x} {self.pattern} {self.element_bytes} {self.row_elements} {self.rows} {self.pitch} "
            f"{self.stream}"
        )


@dataclass(frozen=True)
class EventRecord:
    """cuEventRecord."""

    event: int
    stream: int

    def text(self) -> str:
        """As a trace has it."""
        return f"record {self.event} {self.stream}"


@dataclass(frozen=True)
class EventWait:
    """cuStreamWaitEvent."""

    event: int
    stream: int

    def text(self) -> str:
        """As a trace has it."""
        return f"wait {self.event} {self.stream}"


@dataclass(frozen=True)
class TensorMap:
    """cuTensorMapEncodeTiled. The token stands for the map in later arguments and uploads."""

    token: bytes
    type: int
    address: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    """In bytes, of all dimensions but the first."""
    box: tuple[int, ...]
    element_strides: tuple[int, ...]
    interleave: int
    swizzle: int
    promotion: int
    fill: int

    def text(self) -> str:
        """As a trace has it."""
        words: list[object] = ["tensor_map", self.token.hex(), self.type, len(self.sizes), f"{self.address:x}"]
        words += [*self.sizes, *self.strides, *self.box, *self.element_strides]
        words += [self.interleave, self.swizzle, self.promotion, self.fill]
        return " ".join(map(str, words))


Operation = OwnStream | FunctionAttribute | Launch | Copy | Upload | Fill | EventRecord | EventWait | TensorMap
"""What an executor replays."""

RefusalKind = Literal["contract", "unrecordable"]


@dataclass(frozen=True)
class Refusal:
    """A call that the recorder did not take. `contract`: forbidden, so that nothing runs it; `unrecordable`: only `native` can run it."""

    kind: RefusalKind
    call: str
    text: str

    @property
    def message(self) -> str:
        """One sentence for people: `text` goes on after the call's name."""
        return f"{self.call} {self.text}"


@dataclass(frozen=True)
class CallError:
    """A CUDA error that `solve` left behind, or what it threw (code 0)."""

    code: int
    text: str


@dataclass(frozen=True)
class Trace:
    """Everything that a trace says, in order, not yet compared with anything."""

    operations: tuple[Operation, ...]
    lines: tuple[int, ...]
    """Of each operation, from 1."""
    queries: tuple[str, ...]
    refusal: Refusal | None
    error: CallError | None
    status: int
    """What `solve` or `init` returned."""
