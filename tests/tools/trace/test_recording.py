"""Real candidates, built by nvcc and recorded by the runner."""

import pytest

from cudanalyst.tools.trace.read import Junk, Operations
from cudanalyst.tools.trace.records import (
    Copy,
    EventRecord,
    EventWait,
    Fill,
    FunctionAttribute,
    Launch,
    OwnStream,
    Refusal,
    TensorMap,
    Upload,
)
from cudanalyst.tools.trace.table import Region, Table
from tests.tools.trace.conftest import ARENA, STRIDE, WORKSPACE, N, X, Y

pytestmark = pytest.mark.anyio


def operations(reading) -> list:
    assert isinstance(reading, Operations), reading
    return list(reading.operations)


def refusal(reading) -> Refusal:
    assert isinstance(reading, Refusal), reading
    return reading


def address(data: bytes) -> int:
    return int.from_bytes(data, "little")


async def test_a_launch_is_recorded_with_its_arguments_for_each_set(recorder):
    recording = await recorder.record("plain", sets=3)
    assert recording.process.exit_status == 0, recording.process.stderr.text
    assert sorted(recording.files) == ["0.trace", "1.trace", "2.trace", "init.trace"]
    for index in range(3):
        (launch,) = operations(recording.reading(index))
        assert (launch.grid, launch.block, launch.stream) == ((4, 1, 1), (256, 1, 1), 0)
        assert [address(a) for a in launch.arguments] == [X + STRIDE * index, Y + STRIDE * index, N]


async def test_the_executor_is_given_operations_only(recorder):
    reading = (await recorder.record("queries")).reading()
    assert isinstance(reading, Operations)
    assert reading.status == 132
    assert reading.queries == ("attribute 16 = 132", "occupancy _Z4axpyPKfPfi 256 0 = 8")
    assert reading.canonical.decode().splitlines() == ["cudanalyst-trace 1", reading.operations[0].text(), "end 0"]


async def test_dynamic_shared_memory_is_allowed_in_each_trace(recorder):
    recording = await recorder.record("shared_memory")
    attribute, launch = operations(recording.reading())
    assert attribute == FunctionAttribute(launch.symbol, 8, 100000)
    assert launch.dynamic_shared_bytes == 100000
    assert operations(recording.reading(None)) == []


async def test_too_much_shared_memory_fails_as_on_a_device(recorder):
    reading = (await recorder.record("too_much_shared_memory")).reading()
    assert isinstance(reading, Operations)
    assert reading.operations == ()
    assert reading.error is not None
    assert reading.error.code == 1
    assert "cudaErrorInvalidValue" in reading.error.text
    assert "100000 B of dynamic shared memory" in reading.error.text


async def test_two_kernels_share_the_workspace(recorder):
    fill, part, last, copy = operations((await recorder.record("two_kernels")).reading())
    assert fill == Fill(WORKSPACE, 0, 1, 4 * N, 1, 0, 0)
    assert address(part.arguments[1]) == address(last.arguments[0]) == WORKSPACE
    assert copy == Copy(Y + 16, WORKSPACE, 16, 1, 0, 0, 0)


async def test_rows_keep_their_pitches(recorder):
    assert operations((await recorder.record("rows")).reading()) == [
        Copy(Y, X, 64, 5, 100, 200, 0),
        Fill(WORKSPACE, 7, 1, 16, 3, 32, 0),
    ]


@pytest.mark.parametrize("case", ["forked_streams", "cached_streams"])
async def test_own_streams_fork_and_join_wherever_they_were_made(recorder, case):
    recording = await recorder.record(case, sets=2)
    for index in range(2):
        record, stream, wait, main, own, joined, back = operations(recording.reading(index))
        assert [record, stream, wait] == [EventRecord(0, 0), OwnStream(1, -2), EventWait(0, 1)]
        assert (main.stream, own.stream) == (0, 1)
        assert [joined, back] == [EventRecord(1, 1), EventWait(1, 0)]


async def test_a_cooperative_launch_carries_its_attribute(recorder):
    (launch,) = operations((await recorder.record("cooperative")).reading())
    assert launch.attributes == ((2, b"\1" + bytes(63)),)


async def test_a_cooperative_launch_that_is_not_resident_fails(recorder):
    reading = (await recorder.record("cooperative_too_large")).reading()
    assert isinstance(reading, Operations)
    assert (reading.operations, reading.status) == ((), 720)


async def test_launch_attributes_are_written_without_what_lies_beside_their_value(recorder):
    (launch,) = operations((await recorder.record("attributes")).reading())
    assert launch.attributes == (
        (4, bytes.fromhex("020000000100000001000000") + bytes(52)),
        (6, b"\1" + bytes(63)),
        (8, b"\xff" * 4 + bytes(60)),
    )


@pytest.mark.parametrize(("case", "kernels"), [("reduce", 1), ("scan", 2)])
async def test_cub_is_recorded_with_the_workspace_that_it_asks_for(recorder, case, kernels):
    asked = await recorder.start("--workspace", await recorder.table(case, "cub.cu", sets=0))
    size = int(asked.files["workspace"])
    recording = await recorder.record(case, "cub.cu", workspace_bytes=size)
    reading = recording.reading()
    assert len([o for o in operations(reading) if isinstance(o, Launch)]) == kernels
    assert isinstance(reading, Operations)
    assert (reading.status, reading.error) == (0, None)


async def test_constants_are_uploaded_in_init_and_in_solve(recorder):
    recording = await recorder.record("constants")
    (upload,) = operations(recording.reading(None))
    assert upload.to == recording.table.symbols["factors"].address
    assert upload.data == bytes.fromhex("0000803f000000400000404000008040")
    later, launch = operations(recording.reading())
    assert later == Upload(upload.to + 8, 4, 1, 0, 0, bytes.fromhex("0000a040"))
    assert isinstance(launch, Launch)


async def test_init_works_in_memory_of_its_own_in_order(recorder):
    recording = await recorder.record("own_memory")
    fill, launch = operations(recording.reading(None))
    assert fill == Fill(ARENA + 512, 0, 1, 4 * N, 1, 0, 0)
    assert launch.stream == 0
    (later,) = operations(recording.reading())
    assert address(later.arguments[0]) == ARENA + 512


async def test_calls_follow_only_an_init_that_went_well(recorder):
    recording = await recorder.record("gives_up")
    reading = recording.reading(None)
    assert isinstance(reading, Operations)
    assert reading.status == 5
    assert list(recording.files) == ["init.trace"]


async def test_a_tensor_map_is_a_token_until_the_launch(recorder):
    tensor, launch = operations((await recorder.record("encoded", "tensor_map.cu")).reading())
    assert tensor == TensorMap(launch.arguments[0], 7, X, (16, 32), (64,), (16, 8), (1, 1), 0, 2, 2, 0)
    assert len(tensor.token) == 128


async def test_a_tensor_map_made_in_init_stands_in_the_calls_that_use_it(recorder):
    recording = await recorder.record("encoded_in_init", "tensor_map.cu", sets=2)
    tensor, first, second = operations(recording.reading(1))
    assert (tensor.address, tensor.token) == (ARENA, first.arguments[0])
    assert first == second


async def test_a_tensor_map_may_be_uploaded(recorder):
    tensor, upload, launch = operations((await recorder.record("uploaded", "tensor_map.cu")).reading())
    assert upload.data == tensor.token
    assert isinstance(launch, Launch)


async def test_a_tensor_map_with_another_address_is_another_map(recorder):
    tensor, launch = operations((await recorder.record("replaced", "tensor_map.cu")).reading())
    assert (tensor.address, tensor.token) == (Y, launch.arguments[0])


async def test_a_tensor_outside_the_buffers_is_refused_by_the_call(recorder):
    reading = (await recorder.record("outside", "tensor_map.cu")).reading()
    assert isinstance(reading, Operations)
    assert reading.status == 1


async def test_code_that_the_engine_cannot_run_is_recorded_all_the_same(recorder):
    (launch,) = operations((await recorder.record("matrix", "tensor_map.cu")).reading())
    assert launch.symbol == "_Z3mmaPf"


async def test_the_driver_api_goes_the_same_way(recorder):
    reading = (await recorder.record("driver")).reading()
    assert isinstance(reading, Operations)
    assert reading.status == 0
    kinds = [type(o) for o in reading.operations]
    assert kinds == [EventRecord, OwnStream, EventWait, Fill, EventRecord, EventWait, Copy, Upload, Launch, Launch]
    assert reading.operations[3] == Fill(Y, 0x3F800000, 4, N, 1, 0, 1)


@pytest.mark.parametrize(
    ("case", "kind", "call", "text"),
    [
        ("synchronises", "contract", "cudaDeviceSynchronize", "waits on the host"),
        ("waits_for_the_stream", "contract", "cudaStreamSynchronize", "waits on the host"),
        ("allocates", "contract", "cudaMalloc", "workspace_bytes"),
        ("allocates_managed", "contract", "cudaMallocManaged", "allocates"),
        ("legacy_stream", "contract", "a kernel launch", "default stream"),
        ("blocking_copy", "contract", "cudaMemcpy", "waits on the host"),
        ("copies_back", "contract", "cudaMemcpyAsync", "copies to the host"),
        ("callback", "contract", "cudaLaunchHostFunc", "not allowed"),
        ("graph", "unrecordable", "cudaGraphCreate", "not among what can be recorded"),
        ("asks_for_times", "unrecordable", "cudaEventElapsedTime", "nothing has run"),
        ("copies_into_input", "contract", "a copy", "input `x`"),
        ("fills_input", "contract", "a fill", "input `x`"),
        ("persisting_l2", "contract", "cudaDeviceSetLimit", "whatever runs after"),
        ("stream_window", "contract", "an access policy window", "whatever runs after"),
        ("access_policy", "contract", "an access policy window", "whatever runs after"),
        ("uploads_much", "contract", "cudaMemcpyAsync", "more than 64 KB"),
        ("unjoined", "contract", "work on an own stream", "not joined"),
        ("unforked", "contract", "a kernel launch", "fork it first"),
        ("loads_code", "unrecordable", "cudaLibraryLoadData", "not among what can be recorded"),
        ("launches_much", "unrecordable", "solve", "4096"),
        ("streams_many", "unrecordable", "a stream", "one more than the 63"),
        ("launches_much_then_calls_back", "contract", "cudaLaunchHostFunc", "not allowed"),
        ("captures_on_its_own_stream", "unrecordable", "cudaStreamBeginCapture", "not among what can be recorded"),
    ],
)
async def test_what_a_trace_cannot_hold_is_refused_by_name(recorder, case, kind, call, text):
    found = refusal((await recorder.record(case)).reading())
    assert (found.kind, found.call) == (kind, call)
    assert text in found.text


@pytest.mark.parametrize(
    ("case", "kind", "call"),
    [
        ("pinned", "contract", "pinned memory"),
        ("arena_full", "unrecordable", "an allocation"),
        ("reads_back", "unrecordable", "cudaMemcpyFromSymbol"),
    ],
)
async def test_what_init_cannot_have_is_refused_and_no_call_follows(recorder, case, kind, call):
    recording = await recorder.record(case)
    found = refusal(recording.reading(None))
    assert (found.kind, found.call) == (kind, call)
    assert "solve" not in found.text
    assert "0.trace" not in recording.files


async def test_a_copy_past_the_end_fails_and_says_of_what(recorder):
    reading = (await recorder.record("copies_past_the_end")).reading()
    assert isinstance(reading, Operations)
    assert (reading.operations, reading.status) == ((), 1)
    assert reading.error is not None
    assert "the destination needs 4004 B from y[4000 B] + 0 on" in reading.error.text


@pytest.mark.parametrize(("case", "words"), [("throws", ""), ("throws_with_words", ": this shape: not supported")])
async def test_an_exception_is_told_with_its_words(recorder, case, words):
    reading = (await recorder.record(case)).reading()
    assert isinstance(reading, Operations)
    assert reading.error is not None
    assert (reading.error.code, reading.error.text) == (0, f"solve threw an exception{words}")


async def test_a_setting_that_fails_is_named_with_the_limit(recorder):
    reading = (await recorder.record("allows_too_much_shared_memory")).reading()
    assert isinstance(reading, Operations)
    assert reading.error is not None
    assert reading.error.text.startswith("cudaFuncSetAttribute: cudaErrorInvalidValue (`big")
    assert "300000 B of dynamic shared memory: at most " in reading.error.text


async def test_a_trace_written_by_a_constructor_is_replaced(recorder):
    (launch,) = operations((await recorder.record("plain", files={"early": b"j"})).reading())
    assert isinstance(launch, Launch)


async def test_junk_left_by_a_constructor_that_exits_is_junk(recorder):
    reading = (await recorder.record("plain", files={"early": b"x"})).reading()
    assert isinstance(reading, Junk)
    assert "\x1b" not in reading.reason


async def test_a_forged_address_is_junk(recorder):
    assert (await recorder.record("forges")).reading() == Junk("a fill writes memory that is not given", 2)


async def test_leaving_the_process_leaves_no_trace(recorder):
    recording = await recorder.record("leaves", sets=2)
    assert list(recording.files) == ["init.trace"]
    assert isinstance(recording.reading(), Junk)


async def test_a_crash_is_seen_as_what_it_was(recorder):
    recording = await recorder.record("crashes")
    assert recording.process.signal == "SIGSEGV"
    assert "Host code dereferenced device memory at y[4000 B] + 0" in recording.process.stderr.text
    assert isinstance(recording.reading(), Junk)


async def test_an_endless_loop_meets_the_parents_limit(recorder):
    recording = await recorder.record("loops", timeout_s=1.5)
    assert recording.process.timed_out
    assert isinstance(recording.reading(), Junk)


async def test_state_does_not_pass_from_call_to_call(recorder):
    recording = await recorder.record("counts_calls", sets=3)
    assert [len(operations(recording.reading(index))) for index in range(3)] == [1, 1, 1]


async def test_the_workspace_and_the_variables_are_asked_for_first(recorder):
    asked = await recorder.start("--workspace", await recorder.table("plain", sets=0))
    assert asked.files["workspace"] == b"4000\n"
    assert asked.files["variables"] == b"factors\n"


async def test_the_workspace_is_asked_for_after_init(recorder):
    refused = await recorder.start("--workspace", await recorder.table("pinned", sets=0))
    assert "workspace" not in refused.files
    assert b"refused contract pinned memory" in refused.files["workspace.trace"]
    gave_up = await recorder.start("--workspace", await recorder.table("gives_up", sets=0))
    assert gave_up.files["workspace"] == b"0\n"


async def test_an_exception_of_init_is_told(recorder):
    recording = await recorder.record("throws_in_init")
    reading = recording.reading(None)
    assert isinstance(reading, Operations)
    assert reading.error is not None
    assert reading.error.code == 0
    assert list(recording.files) == ["init.trace"]


async def test_a_wrong_table_is_told(recorder):
    table = await recorder.table("plain")
    broken = await recorder.start("--record", Table(**{**vars(table), "attributes": {16: 132}}))
    assert broken.process.exit_status == 3
    assert "lacks attribute 1" in broken.process.stderr.text


async def test_buffers_where_the_process_has_something_are_told(recorder):
    table = await recorder.table("plain")
    program = Region(0x10000, (1 << 47) - 0x20000)  # all of the address space
    taken = await recorder.start("--record", Table(**{**vars(table), "arena": program}))
    assert taken.process.exit_status == 3
    assert "are taken in this process" in taken.process.stderr.text


async def test_misuse_of_the_api_is_reported_where_checks_are_on(recorder):
    table = await recorder.table("copies_past_the_end")
    settings = {"CUDANALYST_MODE": "check", "CUDANALYST_CHECKS": "memcheck", "CUDANALYST_REPORT": "out/report"}
    recording = await recorder.start("--record", table, settings=settings)
    (finding,) = [line for line in recording.files["report"].decode().splitlines() if '"finding"' in line]
    assert '"kind":"invalid_copy"' in finding
    assert '"address":"y[4000 B] + 0"' in finding
    assert isinstance(recording.reading(), Operations)
