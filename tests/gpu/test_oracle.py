"""The oracle on a real GPU: CuPy against NumPy for every problem and size, shared device memory, and bounded memory.

What it measures is recorded as `oracle`.
"""

import time

import numpy as np
import pytest

from cudanalyst.kernels.catalogue import Catalogue
from cudanalyst.kernels.compare import compare
from cudanalyst.kernels.draws import Draws
from cudanalyst.kernels.dtypes import NUMPY, from_reference
from cudanalyst.kernels.extent import buffer_bytes, is_large
from cudanalyst.kernels.generators import NAMES, generate
from cudanalyst.kernels.inputs import InputStream, distribution_count, make_inputs, nbytes_of, scalar_of, shape_of
from cudanalyst.kernels.philox import words_on_device, words_on_host
from cudanalyst.kernels.problem import Tolerance
from cudanalyst.kernels.reference import expected_outputs, load_reference
from cudanalyst.tools.cases import GUARD_BYTES, schedule_verification
from cudanalyst.tools.gpu.oracle_client import GpuOracle
from cudanalyst.tools.gpu.oracle_messages import BufferAt
from cudanalyst.tools.gpu.oracle_verify import verdict_of, verify_large

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("beside")]
CATALOGUE = Catalogue()
SECRET = b"a secret of the GPU tests"
ARGUMENTS = {"constant": "(3)", "integers": "(-5, 9)", "skewed_integers": "(0, 40)", "offsets": "(77)"}
BUDGET = 6 << 30
"""Beside 5 GiB of buffers it leaves room on a card of 24 GB."""
SMALL = [
    (name, sizes)
    for name in CATALOGUE.ids
    for group in ("test", "eval", "held_out")
    for sizes in CATALOGUE.problem(name).sizes[group]
    if not is_large(CATALOGUE.problem(name), sizes)
]
LARGE = [
    (name, sizes)
    for name in CATALOGUE.ids
    for group in ("eval", "held_out")
    for sizes in CATALOGUE.problem(name).sizes[group]
    if is_large(CATALOGUE.problem(name), sizes)
]
MEASURED: dict[str, object] = {}


@pytest.fixture(scope="module")
def cupy():
    module = pytest.importorskip("cupy")
    yield module
    module.get_default_memory_pool().free_all_blocks()


@pytest.fixture(scope="module", autouse=True)
def measured(record):
    yield
    record("oracle", MEASURED)


@pytest.fixture(scope="module")
async def oracle(anyio_backend, cupy):
    started = time.monotonic()
    async with GpuOracle(budget_bytes=BUDGET) as running:
        opened = await running.start()
        MEASURED["start"] = {**opened.model_dump(), "with_process_s": round(time.monotonic() - started, 3)}
        yield running


def schedule_of(name, sizes, seeds=2):
    problem = CATALOGUE.problem(name)
    return schedule_verification(problem, "eval", sizes, labels=("c1",), seeds=seeds, secret=SECRET)


class OnDevice:
    """Buffers in device memory of this process, each an allocation of its own, and `solve` in CuPy."""

    def __init__(self, cupy, name, sizes, folder, solve=None):
        self.cupy, self.name, self.sizes, self.solve, self.directory = cupy, name, sizes, solve, folder
        self.problem, self.folder = CATALOGUE.problem(name), CATALOGUE.entry(name).folder
        self.parameters = [item for item in self.problem.parameters if item.role != "scalar"]
        self.memory = {
            item.name: cupy.cuda.Memory(nbytes_of(item, sizes) + 2 * GUARD_BYTES) for item in self.parameters
        }
        self.files = False

    def whole(self, name):
        memory = self.memory[name]
        pointer = self.cupy.cuda.MemoryPointer(memory, 0)
        return self.cupy.ndarray((memory.size,), dtype=np.uint8, memptr=pointer)

    def bodies(self):
        return {
            item.name: self.whole(item.name)[GUARD_BYTES : GUARD_BYTES + nbytes_of(item, self.sizes)]
            .view(NUMPY[item.dtype])
            .reshape(shape_of(item, self.sizes))
            for item in self.parameters
        }

    def path(self, name):
        return self.directory / f"{name}.bin"

    async def shared(self, *, files):
        self.files = files
        if files:
            return {name: BufferAt(path=str(self.path(name))) for name in self.memory}
        handle = self.cupy.cuda.runtime.ipcGetMemHandle
        return {
            name: BufferAt(handle=bytes(handle(memory.ptr)).hex(), offset=GUARD_BYTES)
            for name, memory in self.memory.items()
        }

    async def load(self):
        for name in self.memory if self.files else ():
            self.whole(name)[:] = self.cupy.asarray(np.fromfile(self.path(name), np.uint8))

    async def call(self, call):
        self.solve(self.bodies())
        self.cupy.cuda.Device().synchronize()

    async def store(self):
        for name in self.memory if self.files else ():
            self.whole(name).get().tofile(self.path(name))


def right(name, cupy):
    """A solution in CuPy, from the problem's own reference."""
    entry = CATALOGUE.entry(name)
    reference = load_reference(entry)

    def solve(sizes, arrays):
        problem = entry.problem
        given = {item.name: arrays[item.name] for item in problem.parameters if item.role == "in"}
        widened = {key: value.astype(np.float64) if value.dtype.kind == "f" else value for key, value in given.items()}
        scalars = {item.name: scalar_of(item, sizes) for item in problem.parameters if item.role == "scalar"}
        for key, value in reference({**widened, **scalars}, dict(sizes)).items():
            arrays[key][...] = value
        cupy.get_default_memory_pool().free_all_blocks()

    return solve


@pytest.mark.parametrize(("first", "count"), [(0, 1), (0, 4099), (3, 5), (2**33 + 1, 100_003)])
def test_words_on_the_device_are_numpys(cupy, first, count):
    key = 2**127 + 987654321

    assert words_on_device(cupy, key, first, count).get().tolist() == words_on_host(key, first, count).tolist()


@pytest.mark.parametrize("name", NAMES)
def test_every_generator_draws_the_same_on_the_device(cupy, name):
    alternative = name + ARGUMENTS.get(name, "")

    drawn = generate(alternative, Draws("key", arrays=cupy), (257, 31), {})

    assert drawn.get().tobytes() == generate(alternative, Draws("key"), (257, 31), {}).tobytes()


@pytest.mark.parametrize("dtype", sorted(NUMPY))
def test_rounding_to_an_element_type_is_the_same_on_the_device(cupy, dtype):
    values = np.concatenate([Draws("round").normal(4096) * 30, [0.0, -0.0]])
    values = np.abs(values).round() if dtype not in {"f16", "bf16", "f32", "f64"} else values

    there = from_reference(cupy.asarray(values), dtype).get()

    here = from_reference(values, dtype)
    if dtype == "f16":  # by way of float32: the last bit may differ where that rounds twice
        assert np.abs(there.view(np.int16).astype(int) - here.view(np.int16)).max() <= 1
    else:
        assert there.tobytes() == here.tobytes()


@pytest.mark.parametrize(("name", "sizes"), SMALL)
def test_inputs_and_reference_of_a_problem_are_the_same_on_the_device(cupy, name, sizes):
    entry = CATALOGUE.entry(name)
    reference = load_reference(entry)
    for index in range(distribution_count(entry.problem)):
        inputs = make_inputs(entry.problem, sizes, SECRET, index)
        arrays = {}
        for item in entry.problem.parameters:
            if item.role == "in":
                stream = InputStream(entry.problem, sizes, SECRET, index, item, arrays=cupy)
                arrays[item.name] = stream.part(0, stream.elements).reshape(shape_of(item, sizes))
                assert arrays[item.name].get().tobytes() == inputs.arrays[item.name].tobytes()
        there = type(inputs)(arrays=arrays, scalars=inputs.scalars, distributions={})
        found = expected_outputs(entry.problem, entry.reference_file, reference, there, sizes)
        for output, wanted in CATALOGUE.expected(name, inputs, sizes).items():
            parameter = next(item for item in entry.problem.parameters if item.name == output)
            scale = max(float(np.abs(wanted).max()), 1e-300)
            np.testing.assert_allclose(found[output].get(), wanted, rtol=1e-11, atol=1e-12 * scale)
            got = from_reference(wanted, parameter.dtype)
            host = compare(got, wanted, parameter.dtype, entry.problem.tolerance, sizes)
            device = compare(
                cupy.asarray(got),
                cupy.asarray(wanted),
                parameter.dtype,
                entry.problem.tolerance,
                sizes,
                chunk_elements=999,
            )
            assert device.passed == host.passed
            assert device.error_ratio == pytest.approx(host.error_ratio, rel=1e-9)


def test_a_comparison_on_the_device_names_the_element_of_the_host(cupy):
    expected = Draws("expected").normal(100_003)
    got = expected.astype(np.float32)
    got[[70_001, 99_999]] = [np.nan, 9.0]

    host = compare(got, expected, "f32", Tolerance(), {})
    device = compare(cupy.asarray(got), cupy.asarray(expected), "f32", Tolerance(), {}, chunk_elements=4096)

    assert (
        (device.index, device.wrong_elements, device.expected)
        == (host.index, 2, host.expected)
        == ((70_001,), 2, device.expected)
    )


@pytest.mark.anyio
@pytest.mark.parametrize(("name", "sizes"), LARGE)
async def test_a_large_size_is_made_and_verified_in_shared_memory_quickly(cupy, oracle, tmp_path, name, sizes):
    solve = right(name, cupy)
    replayed = OnDevice(cupy, name, sizes, tmp_path, lambda arrays: solve(sizes, arrays))
    call = schedule_of(name, sizes)[0]
    buffers = await replayed.shared(files=False)
    prepared = await oracle.prepare(replayed.folder, sizes, call, buffers)
    assert prepared.transport == "ipc"
    await replayed.call(call)
    examined = await oracle.examine(replayed.folder, sizes, call, buffers, keep=True)
    again = await oracle.examine(replayed.folder, sizes, call, buffers, against_kept=True)
    output = next(item for item in replayed.parameters if item.role == "out")
    body = replayed.bodies()[output.name].reshape(-1)
    body[-1] = body[-1] + 1 + abs(body[-1])
    cupy.cuda.Device().synchronize()
    spoiled = await oracle.examine(replayed.folder, sizes, call, buffers, against_kept=True)
    await oracle.forget()

    assert verdict_of(examined).status == "passed", verdict_of(examined)
    assert again.same_as_kept is True
    assert spoiled.same_as_kept is False
    assert spoiled.difference.differing_elements == 1
    mismatch = spoiled.outputs[-1].mismatch
    assert mismatch.wrong_elements == 1
    assert mismatch.index == tuple(extent - 1 for extent in shape_of(output, sizes))
    MEASURED[f"{name} {sizes}"] = {
        "buffer_mb": round(buffer_bytes(replayed.problem, sizes) / 1e6),
        "prepare_s": round(prepared.duration_s, 4),
        "examine_s": round(examined.duration_s, 4),
        "examine_again_s": round(again.duration_s, 4),
        "error_ratio": verdict_of(examined).error_ratio,
    }


@pytest.mark.anyio
async def test_a_candidate_is_verified_at_a_large_size_and_its_faults_are_named(cupy, oracle, tmp_path):
    name, sizes = "vector_add", {"n": 33554467}
    solve = right(name, cupy)
    replayed = OnDevice(cupy, name, sizes, tmp_path, lambda arrays: solve(sizes, arrays))
    schedule = schedule_of(name, sizes)
    started = time.monotonic()
    judgement = await verify_large(oracle, replayed, replayed.folder, "eval", sizes, schedule)
    MEASURED["verify vector_add 33554467, 3 calls"] = {"seconds": round(time.monotonic() - started, 3)}
    assert [case.status for case in judgement.cases] == ["passed", "passed"]
    assert judgement.deterministic is True

    def greedy(arrays):
        solve(sizes, arrays)
        arrays["b"][-1] = 0

    replayed.solve = greedy
    judgement = await verify_large(oracle, replayed, replayed.folder, "eval", sizes, schedule)
    assert judgement.cases[0].message == "input `b` was changed; inputs are read-only"

    def outside(arrays):
        solve(sizes, arrays)
        replayed.whole("out")[-GUARD_BYTES] ^= 255

    replayed.solve = outside
    judgement = await verify_large(oracle, replayed, replayed.folder, "eval", sizes, schedule)
    assert "beyond the end of buffer `out`; first changed byte is 0" in judgement.cases[0].message


@pytest.mark.anyio
async def test_files_do_where_memory_is_not_shared(cupy, oracle, tmp_path):
    name, sizes = "matmul", {"m": 1031, "n": 2053, "k": 1021}
    solve = right(name, cupy)
    replayed = OnDevice(cupy, name, sizes, tmp_path, lambda arrays: solve(sizes, arrays))
    shared = replayed.shared

    async def refused(*, files):
        found = await shared(files=files)
        return found if files else {key: BufferAt(handle="ab" * 64, offset=GUARD_BYTES) for key in found}

    replayed.shared = refused
    judgement = await verify_large(oracle, replayed, replayed.folder, "eval", sizes, schedule_of(name, sizes))

    assert replayed.files
    assert judgement.unavailable is None
    assert {case.status for case in judgement.cases} == {"passed"}


@pytest.mark.anyio
async def test_too_small_a_budget_is_said_and_the_process_goes_on(cupy, tmp_path):
    name, sizes = "stencil2d", {"rows": 8191, "cols": 8209}
    replayed = OnDevice(cupy, name, sizes, tmp_path)
    call = schedule_of(name, sizes)[0]
    async with GpuOracle(budget_bytes=1 << 28) as small:
        buffers = await replayed.shared(files=False)
        await small.prepare(replayed.folder, sizes, call, buffers)
        with pytest.raises(Exception, match="the budget is 268435456 bytes"):
            await small.examine(replayed.folder, sizes, call, buffers)
        assert (await small.prepare(replayed.folder, sizes, call, buffers)).filled_bytes > 0
        await small.forget()
