"""What the oracle's process does: it fills the buffers of a call, and compares what the call left, with bounded memory.

Inputs, poison and reference are those of the NumPy path (kernels/inputs.py, kernels/compare.py, tools/oracle.py), run with another
array module. Inputs are never kept: they are drawn anew, in chunks, to see that the candidate left them alone, and the reference
reads them where they lie.
"""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

from cudanalyst.kernels.arrays import ArrayModule, load_arrays, to_host
from cudanalyst.kernels.compare import compare
from cudanalyst.kernels.dtypes import NUMPY, Array
from cudanalyst.kernels.inputs import POISON_BYTES, Inputs, InputStream, nbytes_of, scalar_of, shape_of
from cudanalyst.kernels.loader import ProblemFolder, load_problem
from cudanalyst.kernels.problem import Parameter
from cudanalyst.kernels.reference import Reference, expected_outputs, load_reference
from cudanalyst.kernels.slices import sliced_outputs
from cudanalyst.tools.gpu.oracle_buffers import SharedMemory, spans
from cudanalyst.tools.gpu.oracle_call import DeviceCall, buffers_of, inputs_key, outputs_of, transport_of
from cudanalyst.tools.gpu.oracle_messages import (
    CallContents,
    Examine,
    Examined,
    Forget,
    Forgotten,
    Open,
    Opened,
    OutputSeen,
    Prepare,
    Prepared,
)
from cudanalyst.tools.oracle import changed_input, difference, found, guard_damage
from cudanalyst.tools.verdicts import Difference

DEFAULT_BUDGET: Final = 8 << 30
FREE_SHARE: Final = 0.4
BYTES_PER_ELEMENT: Final = 128
"""Temporaries of one element while inputs are drawn or outputs compared, generously."""
CHUNK_SHARE: Final = 8
"""A chunk takes this part of the budget at most."""
MOST_CHUNK: Final = 1 << 24
LEAST_CHUNK: Final = 1 << 12


class Work:
    """The state of the process: array module, shared memory, one reference and the outputs that are kept."""

    def __init__(self, request: Open) -> None:
        """Loads the array module and takes the device.

        Raises:
            Unavailable: The module is not installed.
        """
        started = time.monotonic()
        arrays = load_arrays(request.arrays)
        self._arrays: ArrayModule = arrays
        self._device = arrays is not np
        name, free = "host", None
        if self._device:
            arrays.cuda.Device(request.device).use()
            given = arrays.cuda.runtime.getDeviceProperties(request.device)["name"]
            name = given.decode(errors="replace") if isinstance(given, bytes) else str(given)
            free = int(arrays.cuda.runtime.memGetInfo()[0])
        most = DEFAULT_BUDGET if free is None else min(DEFAULT_BUDGET, int(free * FREE_SHARE))
        self._budget = request.budget_bytes or most
        if self._device:
            arrays.get_default_memory_pool().set_limit(size=self._budget)
        self._chunk = min(max(self._budget // (CHUNK_SHARE * BYTES_PER_ELEMENT), LEAST_CHUNK), MOST_CHUNK)
        self._shared = SharedMemory(arrays)
        self._problems: dict[str, tuple[ProblemFolder, Reference]] = {}
        self._expected: tuple[Any, dict[str, Array]] | None = None
        self._kept: tuple[Any, CallContents, dict[str, Array]] | None = None
        self.opened = Opened(
            arrays=request.arrays,
            version=str(arrays.__version__),
            device=name,
            budget_bytes=self._budget,
            duration_s=time.monotonic() - started,
        )

    def prepare(self, request: Prepare) -> Prepared:
        """Fills the buffers of a call."""
        started = time.monotonic()
        call = self._call(request.call)
        contents, filled = call.contents, 0
        guard = self._guard_zone(contents)
        for parameter in buffers_of(call.problem):
            buffer, size = call.buffers[parameter.name], nbytes_of(parameter, contents.sizes)
            buffer.store(0, guard)
            buffer.store(contents.guard_bytes + size, guard)
            if parameter.role == "out":
                for start, stop in spans(size, self._chunk * 8):
                    poison = self._arrays.full(stop - start, POISON_BYTES[contents.poison], dtype=np.uint8)
                    buffer.store(contents.guard_bytes + start, poison)
            else:
                width = NUMPY[parameter.dtype].itemsize
                for start, part in self._input_parts(call, parameter):
                    buffer.store(contents.guard_bytes + start * width, part.view(np.uint8))
            filled += size + 2 * contents.guard_bytes
        self._wait()
        return Prepared(transport=transport_of(call), filled_bytes=filled, duration_s=time.monotonic() - started)

    def examine(self, request: Examine) -> Examined:
        """Guards, then inputs, then outputs up to the first wrong one; then what was kept."""
        started = time.monotonic()
        call = self._call(request.call)
        violation = self._violation(call)
        if violation is not None:
            seconds = time.monotonic() - started
            return Examined(transport=transport_of(call), violation=violation, duration_s=seconds)
        bodies = {item.name: call.body(item) for item in outputs_of(call.problem)}
        seen = self._compare(call, bodies)
        same, differs = self._against_kept(call, bodies) if request.against_kept else (None, None)
        if request.keep:
            self._keep(call, bodies)
        return Examined(
            transport=transport_of(call),
            outputs=seen,
            same_as_kept=same,
            difference=differs,
            duration_s=time.monotonic() - started,
        )

    def forget(self, _: Forget) -> Forgotten:
        """Lets go of everything that belongs to one candidate."""
        started = time.monotonic()
        self._expected = self._kept = None
        self._shared.close()
        self.free()
        return Forgotten(duration_s=time.monotonic() - started)

    def free(self) -> None:
        """Gives unused device memory back."""
        if self._device:
            self._wait()
            self._arrays.get_default_memory_pool().free_all_blocks()

    def _wait(self) -> None:
        if self._device:
            self._arrays.cuda.Device().synchronize()

    def _call(self, contents: CallContents) -> DeviceCall:
        if contents.folder not in self._problems:
            entry = load_problem(Path(contents.folder))
            self._problems[contents.folder] = entry, load_reference(entry)
        entry, _ = self._problems[contents.folder]
        wanted = [item.name for item in buffers_of(entry.problem)]
        if sorted(wanted) != sorted(contents.buffers) or set(contents.sizes) != set(entry.problem.size_names):
            message = f"problem {entry.problem.id} has buffers {wanted} and sizes {list(entry.problem.size_names)}"
            raise ValueError(message)
        buffers = {
            item.name: self._shared.buffer(
                contents.buffers[item.name], contents.guard_bytes, nbytes_of(item, contents.sizes)
            )
            for item in buffers_of(entry.problem)
        }
        return DeviceCall(entry=entry, contents=contents, buffers=buffers)

    def _guard_zone(self, contents: CallContents) -> Array:
        pattern = np.frombuffer(bytes.fromhex(contents.guard), dtype=np.uint8)
        zone: Array = self._arrays.asarray(np.resize(pattern, contents.guard_bytes))
        return zone

    def _stream(self, call: DeviceCall, parameter: Parameter) -> InputStream:
        contents = call.contents
        seed = bytes.fromhex(contents.seed)
        return InputStream(call.problem, contents.sizes, seed, contents.index, parameter, arrays=self._arrays)

    def _input_parts(self, call: DeviceCall, parameter: Parameter) -> Any:
        stream = self._stream(call, parameter)
        chunk = self._chunk if stream.in_parts else stream.elements
        for start, stop in spans(stream.elements, chunk):
            yield start, stream.part(start, stop)

    def _violation(self, call: DeviceCall) -> str | None:
        contents = call.contents
        guard = to_host(self._guard_zone(contents)).tobytes()
        for parameter in buffers_of(call.problem):
            buffer, size = call.buffers[parameter.name], nbytes_of(parameter, contents.sizes)
            before = to_host(buffer.view(0, contents.guard_bytes)).tobytes()
            end = contents.guard_bytes + size
            after = to_host(buffer.view(end, end + contents.guard_bytes)).tobytes()
            damage = guard_damage(parameter.name, before, after, guard)
            if damage is not None:
                return damage
            if parameter.role == "in" and not self._unchanged(call, parameter):
                return changed_input(parameter.name)
        return None

    def _unchanged(self, call: DeviceCall, parameter: Parameter) -> bool:
        word = f"<u{NUMPY[parameter.dtype].itemsize}"
        held = call.body(parameter).reshape(-1).view(word)
        return not any(
            bool((held[start : start + part.size] != part.view(word)).any())
            for start, part in self._input_parts(call, parameter)
        )

    def _compare(self, call: DeviceCall, bodies: Mapping[str, Array]) -> tuple[OutputSeen, ...]:
        problem, sizes = call.problem, call.contents.sizes
        expected = self._reference(call)
        seen: list[OutputSeen] = []
        for parameter in outputs_of(problem):
            body = bodies[parameter.name]
            result = compare(
                body,
                expected[parameter.name],
                parameter.dtype,
                problem.tolerance,
                sizes,
                chunk_elements=self._chunk,
            )
            verdict = found(parameter, problem, sizes, result)
            held = body.reshape(-1)[verdict.first : verdict.first + 1].view(np.uint8)
            poisoned = parameter.role == "out" and bool((held == POISON_BYTES[call.contents.poison]).all())
            seen.append(
                OutputSeen(
                    output=parameter.name,
                    mismatch=verdict.mismatch,
                    error_ratio=verdict.error_ratio,
                    never_written=verdict.mismatch is not None and poisoned,
                )
            )
            if verdict.mismatch is not None:
                break
        return tuple(seen)

    def _reference(self, call: DeviceCall) -> dict[str, Array]:
        key = inputs_key(call.contents)
        if self._expected is None or self._expected[0] != key:
            self._expected = None
            self.free()
            entry, reference = self._problems[call.contents.folder]
            problem, sizes = entry.problem, call.contents.sizes
            arrays: dict[str, Array] = {}
            for item in problem.parameters:
                if item.role == "in":
                    arrays[item.name] = call.body(item)
                elif item.role == "inout":
                    stream = self._stream(call, item)
                    arrays[item.name] = stream.part(0, stream.elements).reshape(shape_of(item, sizes))
            scalars = {item.name: scalar_of(item, sizes) for item in problem.parameters if item.role == "scalar"}

            def compute(inputs: Inputs, own: Mapping[str, int]) -> dict[str, Array]:
                return expected_outputs(problem, entry.reference_file, reference, inputs, own)

            inputs = Inputs(arrays=arrays, scalars=scalars, distributions={})
            self._expected = key, sliced_outputs(problem, compute, inputs, sizes, self._budget // 4)
        return self._expected[1]

    def _keep(self, call: DeviceCall, bodies: Mapping[str, Array]) -> None:
        kept: dict[str, Array] = {}
        for name, body in bodies.items():
            fits = not self._device or body.nbytes <= self._budget // 4
            kept[name] = body.copy() if fits else to_host(body)
        self._kept = inputs_key(call.contents), call.contents, kept

    def _against_kept(self, call: DeviceCall, bodies: Mapping[str, Array]) -> tuple[bool, Difference | None]:
        if self._kept is None or self._kept[0] != inputs_key(call.contents):
            raise ValueError("nothing was kept of a call on the same inputs")
        _, before, kept = self._kept
        same, first = True, None
        for parameter in outputs_of(call.problem):
            body, other = bodies[parameter.name].reshape(-1), kept[parameter.name].reshape(-1)
            for start, stop in spans(body.size, self._chunk):
                part = self._arrays.asarray(other[start:stop])
                same = same and not bool((part.view(np.uint8) != body[start:stop].view(np.uint8)).any())
            if not same:
                whole = self._arrays.asarray(kept[parameter.name])
                poisons = (before.poison, call.contents.poison)
                first = difference(parameter, whole, bodies[parameter.name], poisons, chunk_elements=self._chunk)
                break
        extra = {"sizes": call.contents.sizes, "seed_index": call.contents.index}
        return same, first and first.model_copy(update=extra)
