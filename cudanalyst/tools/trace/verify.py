"""A parsed trace compared with the table that its recorder was given: only what passes reaches a driver."""

from typing import Final

from cudanalyst.tools.trace.order import fork_and_join
from cudanalyst.tools.trace.records import (
    Copy,
    EventRecord,
    EventWait,
    Fill,
    FunctionAttribute,
    Launch,
    Operation,
    OwnStream,
    Refusal,
    TensorMap,
    Trace,
    Upload,
)
from cudanalyst.tools.trace.regions import places_of
from cudanalyst.tools.trace.table import Kernel, Table

MAX_STREAMS: Final = 63
MAX_EVENTS: Final = 4096
MAX_MAPS: Final = 256
MAX_UPLOAD: Final = 64 << 10
"""Bytes from the host in one call of `solve`."""
MAX_EXTENT: Final = 1 << 48

# CUfunction_attribute
MAX_DYNAMIC_SHARED: Final = 8
CARVEOUT: Final = 9
NON_PORTABLE_CLUSTER: Final = 14
# CUdevice_attribute
_MAX_THREADS, _MAX_BLOCK_X, _MAX_GRID_X, _SHARED, _SHARED_OPTIN = 1, 2, 5, 8, 97
# CUlaunchAttributeID: those that end with the launch, and hold numbers only.
COOPERATIVE: Final = 2
CLUSTER: Final = 4
PREFERRED_CLUSTER: Final = 11
_INTEGERS: Final = {
    COOPERATIVE: (0, 1),
    5: (0, 2),  # cluster scheduling policy
    6: (0, 1),  # programmatic stream serialization
    8: (-64, 64),  # priority
    10: (0, 1),  # memory synchronisation domain
    14: (-1, 100),  # shared memory carve-out
}
MAX_CLUSTER: Final = 16
_ELEMENT_BYTES: Final = (1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4)
"""By CUtensorMapDataType."""


class Unacceptable(Exception):
    """A record that no honest recorder would have written."""

    def __init__(self, line: int, text: str) -> None:
        """`line` counts from 1."""
        self.line = line
        self.text = text
        super().__init__(f"line {line}: {text}")


class _Bad(Exception):
    pass


class _Contract(Exception):
    def __init__(self, call: str, text: str) -> None:
        self.refusal = Refusal("contract", call, text)
        super().__init__(text)


class _Verifier:
    def __init__(self, table: Table, index: int | None) -> None:
        self._table = table
        self._in_init = index is None
        self._kernels = {kernel.symbol: kernel for kernel in table.kernels}
        self._places = places_of(table, index)
        self._streams = 0
        self._events: set[int] = set()
        self._maps: set[bytes] = set()
        self._dynamic: dict[str, int] = {}
        self._uploaded = 0

    def check(self, operation: Operation) -> None:
        match operation:
            case OwnStream():
                self._own_stream(operation)
            case FunctionAttribute():
                self._attribute(operation)
            case Launch():
                self._stream(operation.stream)
                self._launch(operation)
            case Copy():
                self._stream(operation.stream)
                self._range(
                    "copies from", operation.source, operation.row_bytes, operation.rows, operation.source_pitch
                )
                self._target("a copy", operation.to, operation.row_bytes, operation.rows, operation.to_pitch)
            case Upload():
                self._stream(operation.stream)
                self._upload(operation)
            case Fill():
                self._stream(operation.stream)
                if operation.to % operation.element_bytes:
                    raise _Bad("fills at an address that is not a multiple of the element's size")
                row_bytes = operation.row_elements * operation.element_bytes
                self._target("a fill", operation.to, row_bytes, operation.rows, operation.pitch)
            case EventRecord() | EventWait():
                self._event(operation)
            case TensorMap():
                self._tensor_map(operation)

    def _own_stream(self, stream: OwnStream) -> None:
        if self._in_init:
            raise _Bad("init has no streams of its own")
        if stream.id != self._streams + 1 or stream.id > MAX_STREAMS:
            raise _Bad(f"stream {stream.id} is not the next one, or more than {MAX_STREAMS} are used")
        self._streams = stream.id

    def _stream(self, stream: int) -> None:
        if stream > self._streams:
            raise _Bad(f"stream {stream} is not known")

    def _event(self, operation: EventRecord | EventWait) -> None:
        if self._in_init:
            raise _Bad("init has no events")
        self._stream(operation.stream)
        if operation.event >= MAX_EVENTS:
            raise _Bad(f"more than {MAX_EVENTS} events")
        if isinstance(operation, EventRecord):
            self._events.add(operation.event)
        elif operation.event not in self._events:
            raise _Bad(f"waits for event {operation.event}, which was not recorded")

    def _kernel(self, symbol: str) -> Kernel:
        if symbol not in self._kernels:
            raise _Bad("names a kernel that the module lacks")
        return self._kernels[symbol]

    def _attribute(self, attribute: FunctionAttribute) -> None:
        kernel = self._kernel(attribute.symbol)
        most = {
            MAX_DYNAMIC_SHARED: self._table.attributes.get(_SHARED_OPTIN, 0) - kernel.static_shared_bytes,
            CARVEOUT: 100,
            NON_PORTABLE_CLUSTER: 1,
        }
        if attribute.id not in most:
            raise _Bad(f"function attribute {attribute.id} is not one that a trace may set")
        if not (-1 if attribute.id == CARVEOUT else 0) <= attribute.value <= most[attribute.id]:
            raise _Bad(f"function attribute {attribute.id} cannot be {attribute.value}")
        if attribute.id == MAX_DYNAMIC_SHARED:
            self._dynamic[attribute.symbol] = attribute.value

    def _launch(self, launch: Launch) -> None:
        kernel = self._kernel(launch.symbol)
        limits = self._table.attributes
        grid = [limits.get(_MAX_GRID_X + axis, 0) for axis in range(3)]
        block = [limits.get(_MAX_BLOCK_X + axis, 0) for axis in range(3)]
        if any(size > most for size, most in zip(launch.grid, grid, strict=True)):
            raise _Bad(f"a grid of {launch.grid} is larger than the device takes")
        threads = launch.block[0] * launch.block[1] * launch.block[2]
        if any(size > most for size, most in zip(launch.block, block, strict=True)) or threads > min(
            kernel.max_threads, limits.get(_MAX_THREADS, 0)
        ):
            raise _Bad(f"a block of {launch.block} is larger than the kernel takes")
        default = max(0, limits.get(_SHARED, 0) - kernel.static_shared_bytes)
        if launch.dynamic_shared_bytes > self._dynamic.get(launch.symbol, default):
            raise _Bad(f"{launch.dynamic_shared_bytes} bytes of dynamic shared memory were not allowed before")
        if len(launch.arguments) != len(kernel.parameters):
            raise _Bad(f"{len(launch.arguments)} arguments for a kernel of {len(kernel.parameters)}")
        for number, (argument, (_, size)) in enumerate(zip(launch.arguments, kernel.parameters, strict=True)):
            if len(argument) != size:
                raise _Bad(f"argument {number} has {len(argument)} bytes and the parameter {size}")
        seen = [number for number, _ in launch.attributes]
        if len(set(seen)) != len(seen):
            raise _Bad("a launch attribute is given twice")
        for number, value in launch.attributes:
            _launch_attribute(number, value, launch)

    def _range(
        self, what: str, address: int, row_bytes: int, rows: int, pitch: int, size_limit: int = MAX_EXTENT
    ) -> str:
        """The name of the region that holds all of it."""
        if (pitch if rows == 1 else pitch < row_bytes) or max(row_bytes, rows, pitch) > size_limit:
            raise _Bad(f"{what} rows whose pitch does not fit their length")
        place = self._places.find(address, (rows - 1) * pitch + row_bytes)
        if place is None:
            raise _Bad(f"{what} memory that is not given")
        return place.name if place.where == "input" else ""

    def _target(self, call: str, address: int, row_bytes: int, rows: int, pitch: int) -> None:
        if name := self._range(f"{call} writes", address, row_bytes, rows, pitch):
            raise _Contract(
                call, f"writes the input `{name}`: inputs are read-only, write outputs and the workspace only"
            )

    def _upload(self, upload: Upload) -> None:
        self._target("a copy from the host", upload.to, upload.row_bytes, upload.rows, upload.to_pitch)
        self._uploaded += len(upload.data)
        if self._uploaded > MAX_UPLOAD and not self._in_init:
            text = "more than 64 KB come from the host in one call of solve: compute on the device, or upload tables in `init`"
            raise _Contract("a copy from the host", text)

    def _tensor_map(self, tensor: TensorMap) -> None:
        if tensor.token in self._maps or len(self._maps) >= MAX_MAPS:
            raise _Bad(f"a token is used twice, or there are more than {MAX_MAPS}")
        self._maps.add(tensor.token)
        element = _ELEMENT_BYTES[tensor.type]
        unit = 32 if tensor.interleave == 2 else 16
        if tensor.address % unit or any(stride % unit for stride in tensor.strides):
            raise _Bad(f"a tensor's address and strides are not multiples of {unit}")
        rows = zip(tensor.sizes[1:], tensor.strides, strict=True)
        extent = tensor.sizes[0] * element + sum((size - 1) * stride for size, stride in rows)
        if self._places.find(tensor.address, extent) is None:
            raise _Bad("describes a tensor that is not wholly in memory that is given")


def _launch_attribute(number: int, value: bytes, launch: Launch) -> None:
    words = [int.from_bytes(value[at : at + 4], "little", signed=True) for at in range(0, 12, 4)]
    used = 12 if number in {CLUSTER, PREFERRED_CLUSTER} else 4
    if any(value[used:]):
        raise _Bad(f"launch attribute {number} has more in it than its value")
    if used == 12:
        blocks = words[0] * words[1] * words[2]
        if min(words) < 1 or max(words) > MAX_CLUSTER or blocks > MAX_CLUSTER:
            raise _Bad(f"a cluster of {words} is none that a device has")
        if any(size % side for size, side in zip(launch.grid, words, strict=True)):
            raise _Bad(f"a grid of {launch.grid} is not made of clusters of {words}")
    elif number not in _INTEGERS:
        raise _Bad(f"launch attribute {number} is not one that a trace may hold")
    elif not _INTEGERS[number][0] <= words[0] <= _INTEGERS[number][1]:
        raise _Bad(f"launch attribute {number} cannot be {words[0]}")


def verify(trace: Trace, table: Table, index: int | None) -> Refusal | None:
    """What the candidate must change, or None: every record may be replayed.

    Args:
        trace: As parsed.
        table: What the recorder was given.
        index: Of the buffer set; None for `init`.

    Raises:
        Unacceptable: An address, a handle, a kernel or a size is not one that the recorder was given.
    """
    verifier = _Verifier(table, index)
    for line, operation in zip(trace.lines, trace.operations, strict=True):
        try:
            verifier.check(operation)
        except _Bad as bad:
            raise Unacceptable(line, str(bad)) from None
        except _Contract as contract:
            return contract.refusal
    if (problem := fork_and_join(trace.operations)) is not None:
        return Refusal("contract", "solve", problem)
    return None
