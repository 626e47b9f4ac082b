"""Whole evaluations in one executor, on the CPU engine in the place of NVIDIA's driver."""

import asyncio
import contextlib
import os
from dataclasses import replace
from pathlib import Path

import pytest

from cudanalyst.kernels.catalogue import Catalogue
from cudanalyst.tools.cases import parameters_of
from cudanalyst.tools.engine.build import cache_directory, install_engine
from cudanalyst.tools.gpu.lease import Leases
from cudanalyst.tools.gpu.state import UnknownMonitor
from cudanalyst.tools.run import RunRequest, RunResult, run
from cudanalyst.tools.source import Source
from cudanalyst.tools.timing.models import Uncompared
from cudanalyst.tools.toolchain import replay_session
from cudanalyst.tools.toolchain.discovery import Toolkit
from cudanalyst.tools.toolchain.executor_session import Executor, ExecutorFailed
from cudanalyst.tools.toolchain.gpu import GpuToolchain
from cudanalyst.tools.toolchain.protocol import Call, CandidateRequest, ComparisonRequest
from cudanalyst.tools.toolchain.replay_session import PAGEABLE_MEMORY_ACCESS

pytestmark = pytest.mark.anyio
PROBLEMS = Catalogue.from_environment({})
REQUEST = RunRequest(groups=("test",), seeds=2, model=False, timeout_s=30)
KERNEL = """
__device__ int seen;
__global__ void k(const float* a, const float* b, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = a[i] + b[i] %s;
}
extern "C" int solve(const float* a, const float* b, float* out, int n, cudaStream_t s) {
  %s
  k<<<(n + 255) / 256, 256, 0, s>>>(a, b, out, n);
  return 0;
}
"""


@pytest.fixture(scope="module")
async def gpu(anyio_backend, toolkit: Toolkit, tmp_path_factory) -> GpuToolchain:
    engine = await install_engine(cuda_include=toolkit.include, cache=cache_directory())
    environment = {**os.environ, "CUDANALYST_LEASES": str(tmp_path_factory.mktemp("leases"))}
    gpu = GpuToolchain(
        driver=engine.library_dir / "libcuda.so.1", monitor=lambda: (UnknownMonitor(), None), environment=environment
    )
    await gpu.prepare()
    return gpu


@pytest.fixture
def heard(monkeypatch) -> list[str]:
    """The first words of all commands to executors, and their starts."""
    words: list[str] = []
    commands, start = Executor.commands, replay_session.start_executor

    async def listen(self, lines, **options):
        words.extend(str(line[0]) for line in lines)
        return await commands(self, lines, **options)

    def starting(*arguments, **options):
        words.append("start")
        return start(*arguments, **options)

    monkeypatch.setattr(Executor, "commands", listen)
    monkeypatch.setattr(replay_session, "start_executor", starting)
    return words


async def evaluated(gpu: GpuToolchain, text: str, request: RunRequest = REQUEST) -> RunResult:
    problem = PROBLEMS.problem("vector_add")
    try:
        return await run(
            Source(text=text, problem=problem.id), problem, gpu, request, expected=PROBLEMS.expected, secret=b"secret"
        )
    finally:
        await gpu.at_rest()


def statuses(result: RunResult) -> list[str]:
    return [case.status for case in result.cases]


async def test_all_sizes_are_verified_by_one_executor_in_one_context_that_is_given_back_empty(gpu, heard):
    result = await evaluated(gpu, PROBLEMS.problem("vector_add").baseline)
    sizes = len(PROBLEMS.problem("vector_add").sizes["test"])
    assert result.status == "passed", result.summary
    assert statuses(result) == ["passed"] * 2 * sizes
    assert [heard.count(word) for word in ("start", "init", "open", "module", "close", "quit")] == [1] * 6
    assert heard.count("buffer") == heard.count("free") > 0
    assert heard.count("trace") == heard.count("forget") > 0


async def test_variables_of_a_module_are_new_at_every_size(gpu, heard):
    counts = KERNEL % ("+ (atomicAdd(&seen, 1) >= 6 * 20000000 ? 1.f : 0.f)", "")
    result = await evaluated(gpu, counts)
    sizes = len(PROBLEMS.problem("vector_add").sizes["test"])
    assert result.status == "passed", result.summary
    assert heard.count("module") == sizes
    assert heard.count("unload") == sizes - 1


async def test_a_wrong_answer_at_one_size_does_not_keep_the_others_from_running(gpu):
    result = await evaluated(gpu, KERNEL % ("+ 1", ""))
    assert result.status == "wrong"
    assert set(statuses(result)) == {"wrong"}


@pytest.mark.parametrize(
    ("fault", "status"),
    [("a = nullptr;", "crashed"), ("volatile int* p = nullptr; *p = 1;", "crashed"), ("return 7;", "crashed")],
)
async def test_after_a_crash_the_other_sizes_are_not_run_and_the_next_evaluation_is_right(gpu, heard, fault, status):
    result = await evaluated(gpu, KERNEL % ("", fault))
    assert result.status == status
    assert set(statuses(result)[2:]) == {"not_run"}
    assert heard.count("open") == 1
    assert (await evaluated(gpu, PROBLEMS.problem("vector_add").baseline)).status == "passed"


async def test_a_kernel_that_hangs_costs_its_executor_and_the_lease_is_free_again(gpu, heard):
    hangs = (KERNEL % ("", "")).replace(
        "if (i < n) out", "while (*(volatile const float*)a != 12345.f) {}\n  if (i < n) out"
    )
    result = await evaluated(gpu, hangs, REQUEST.model_copy(update={"timeout_s": 1.0}))
    assert result.status == "timed_out"
    assert "quit" not in heard
    parts = await gpu._ready()
    async with parts.leases.hold([gpu.devices[0].uuid], wait_s=0):
        pass


async def test_what_is_broken_in_between_is_found_though_the_next_size_has_begun(gpu):
    writes_past = KERNEL.replace("if (i < n) out", "if (i == 0) out[n] = 1;\n  if (i < n) out") % ("", "")
    result = await evaluated(gpu, writes_past)
    assert result.status == "contract_violation"
    assert set(statuses(result)[2:]) == {"not_run"}


async def test_evaluations_at_once_give_what_they_give_alone_and_others_wait_only_for_turns(gpu):
    texts = [KERNEL % ("", f"/* {number} */") for number in range(3)] + [KERNEL % ("+ 1", "")]
    results = await asyncio.gather(*(evaluated(gpu, text) for text in texts))
    assert [result.status for result in results] == ["passed"] * 3 + ["wrong"]
    assert gpu.lease_totals["shared"].count >= 4
    assert gpu.lease_totals["exclusive"].count <= 1


async def test_a_cancelled_evaluation_leaves_no_process_no_lease_and_no_folder(gpu, folders):
    await gpu.prepare()
    task = asyncio.create_task(evaluated(gpu, KERNEL % ("", 'for (;;) asm volatile("");')))
    while gpu.lease_totals["shared"].count == 0 or not folders:
        await asyncio.sleep(0.005)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert folders
    assert not any(folder.exists() for folder in folders)
    leases = Leases(Path(gpu._where.environment["CUDANALYST_LEASES"]))
    async with leases.hold([gpu.devices[0].uuid], wait_s=0):
        pass


async def test_the_device_is_left_to_others_while_host_code_is_recorded(gpu):
    session_done = asyncio.create_task(
        evaluated(gpu, KERNEL % ("", 'for (;;) asm volatile("");'), REQUEST.model_copy(update={"timeout_s": 3.0}))
    )
    await gpu.prepare()
    parts = await gpu._ready()
    used = parts.leases.totals["shared"].count
    while parts.leases.totals["shared"].count == used:
        await asyncio.sleep(0.005)
    async with parts.leases.hold([gpu.devices[0].uuid], wait_s=20):
        assert not session_done.done()
    assert (await session_done).status == "timed_out"


async def test_comparisons_go_on_in_the_emptied_context_that_verified_and_after_a_failure_in_a_fresh_one(gpu, heard):
    problem = PROBLEMS.problem("vector_add")
    build = await gpu.build(Source(text=problem.baseline, problem=problem.id))
    call = Call({"a": (4, b"\0" * 4), "b": (4, b"\0" * 4), "out": (4, b"\0" * 4)}, {"n": 1}, ("out",))
    request = CandidateRequest(parameters_of(problem), {"n": 1}, (call,), guard_bytes=0)
    wanted = [ComparisonRequest(problem, {"n": n}, "warm", b"secret", PROBLEMS.expected) for n in (100, 1000)]
    async with gpu.evaluation() as session:
        assert (await session.execute(build, request)).how == "returned"
        found = await session.compare(build, build, wanted)
        assert (await session.execute(build, request)).how == "returned"
    assert [type(one) for one in found] == [Uncompared] * 2  # the CPU engine has no clock of a GPU
    await gpu.at_rest()
    assert (heard.count("start"), heard.count("quit")) == (1, 1)
    assert [word for word in heard if word in {"open", "empty", "close"}] == [
        "open",
        "empty",
        *["close", "open"] * 2,
        "close",
    ]
    parts = await gpu._ready()
    async with parts.leases.hold([gpu.devices[0].uuid], wait_s=0):
        pass


async def test_what_a_context_is_emptied_of_is_gone_and_what_is_new_has_its_names(gpu, heard, vector_add):
    source, request, _ = vector_add
    build = await gpu.build(source)
    async with gpu.evaluation() as session:
        assert (await session.execute(build, request)).how == "returned"
        for _ in range(3):
            async with session._replays.lend() as executor, session._turns.shared():
                device = await executor.open_emptied(0)
                assert device.uuid == gpu.devices[0].uuid
                await executor.module("m", build.image)
                await executor.buffer("x", 4096, 64)
                await executor.fill("x", 7)
        async with session._turns.shared():
            await executor.open_emptied(0)
            with pytest.raises(ExecutorFailed, match="no buffer"):
                await executor.free("x")
    await gpu.at_rest()
    assert (heard.count("open"), heard.count("empty"), heard.count("close")) == (1, 4, 1)


async def test_where_device_code_reaches_host_memory_each_comparison_has_a_process_that_ran_no_candidate(
    gpu, heard, vector_add, monkeypatch
):
    source, request, wanted = vector_add
    build = await gpu.build(source)
    opened: list[Executor] = []
    own = Executor.open

    async def opens(self, index=0):
        device = await own(self, index)
        opened.append(self)
        self._device = replace(device, attributes={**device.attributes, PAGEABLE_MEMORY_ACCESS: 1})
        return self._device

    monkeypatch.setattr(Executor, "open", opens)
    async with gpu.evaluation() as session:
        assert (await session.execute(build, request)).how == "returned"
        found = await session.compare(build, build, wanted)
    assert [type(one) for one in found] == [Uncompared] * 2
    await gpu.at_rest()
    assert len({id(one) for one in opened}) == len(opened) == 3
    assert heard.count("empty") == 0
    assert heard.count("quit") == 3
    parts = await gpu._ready()
    async with parts.leases.hold([gpu.devices[0].uuid], wait_s=0):
        pass


@pytest.fixture
def vector_add(gpu):
    """A build, a request to verify, and two comparisons."""
    problem = PROBLEMS.problem("vector_add")
    call = Call({"a": (4, b"\0" * 4), "b": (4, b"\0" * 4), "out": (4, b"\0" * 4)}, {"n": 1}, ("out",))
    request = CandidateRequest(parameters_of(problem), {"n": 1}, (call,), guard_bytes=0)
    wanted = [ComparisonRequest(problem, {"n": n}, "warm", b"secret", PROBLEMS.expected) for n in (100, 1000)]
    return Source(text=problem.baseline, problem=problem.id), request, wanted


async def made_ready(session) -> None:
    """Waits until everything that `foresee` has begun is done."""
    await session._replays.settle()
    await session._spares.made()
    await asyncio.wait([spare._task for spare in session._spares._unused])


async def test_what_is_foreseen_is_begun_before_there_is_a_build_and_used_once(gpu, heard, vector_add):
    source, request, wanted = vector_add
    build = await gpu.build(source)
    async with gpu.evaluation() as session:
        session.foresee(wanted)
        await made_ready(session)
        assert (heard.count("start"), heard.count("open"), heard.count("module")) == (1, 3, 0)
        assert (await session.execute(build, request)).how == "returned"
        assert heard.count("open") == 3
        await session.compare(build, build, wanted)
        assert heard.count("open") == 3
        # A spare that was used is not used again: a comparison more is made in the candidate's own context.
        assert heard.count("empty") == 0
        await session.compare(build, build, wanted[:1])
        assert (heard.count("open"), heard.count("empty")) == (3, 1)
    await gpu.at_rest()
    assert heard.count("quit") == 3
    assert not session._foreseen._begun


async def test_an_executor_that_is_lent_was_never_touched(gpu, heard, vector_add, monkeypatch):
    """Whatever was sent to it before: nothing but its start and its context; and it is another one each time."""
    source, request, wanted = vector_add
    build = await gpu.build(source)
    lent: list[tuple[int, list[str]]] = []
    sent: dict[int, list[str]] = {}
    commands = Executor.commands

    async def listen(self, lines, **options):
        sent.setdefault(id(self), []).extend(str(line[0]) for line in lines)
        return await commands(self, lines, **options)

    monkeypatch.setattr(Executor, "commands", listen)
    async with gpu.evaluation() as session:
        session.foresee(wanted)
        await made_ready(session)
        assert (await session.execute(build, request)).how == "returned"
        for _ in wanted:
            async with session._spares.lend() as executor:
                lent.append((id(executor), list(sent[id(executor)])))
                await executor.open(0)
                await executor.buffer("x", 4)
        async with session._spares.lend() as executor:
            assert executor is None
    assert [words for _, words in lent] == [["init", "open"]] * 2
    assert len({which for which, _ in lent}) == 2
    await gpu.at_rest()


async def test_a_spare_that_is_taken_before_its_turn_opens_its_context_in_the_borrowers(gpu, heard):
    parts, uuid = await gpu._ready(), gpu.devices[0].uuid
    async with asyncio.timeout(30), gpu.evaluation() as session:
        async with parts.leases.hold([uuid], wait_s=0):
            session._spares.begin(session._replays.context_opened, 1, lambda: gpu.rooms.take_spare(uuid))
            await session._spares.made()
            async with session._spares.lend() as executor:
                assert not executor.opened
                assert heard.count("open") == 0
        async with session._turns.shared():
            await executor.open(0)
        assert executor.opened
    await gpu.at_rest()
    assert heard.count("open") == heard.count("close") == 1


async def test_where_others_are_evaluated_no_executor_is_made_ready_beforehand(gpu, vector_add):
    _, _, wanted = vector_add
    async with gpu.evaluation() as first, gpu.evaluation() as second:
        second.foresee(wanted)
        await second._spares.made()
        assert not second._spares._unused
        assert first is not second
    async with gpu.evaluation() as third:
        third.foresee(wanted)
        await third._spares.made()
        assert len(third._spares._unused) == 2
    await gpu.at_rest()
    assert gpu.rooms.contexts(gpu.devices[0].uuid) == 0


async def test_a_hang_in_a_spare_costs_that_spare_and_the_turn_lasts_until_it_is_gone(gpu, vector_add):
    _, _, wanted = vector_add
    parts = await gpu._ready()
    async with gpu.evaluation() as session:
        session.foresee(wanted)
        await made_ready(session)
        async with session._turns.away():
            (first, _) = session._spares._unused

            async def hangs() -> None:
                async with session._spares.lend() as executor, session._turns.exclusive():
                    await executor.open(0)
                    await executor.command("memory", limit_s=0.0)

            with pytest.raises(ExecutorFailed):
                await hangs()
            assert session._turns.mode == "exclusive"
            assert first._executor.process is not None  # it has ended
        async with parts.leases.hold([gpu.devices[0].uuid], wait_s=0):
            pass
        async with session._spares.lend() as another:
            await another.open(0)
    await gpu.at_rest()


@pytest.mark.parametrize("opened", [True, False])
async def test_what_was_foreseen_in_vain_leaves_no_context_and_no_lease(gpu, heard, vector_add, opened):
    _, _, wanted = vector_add
    async with gpu.evaluation() as session:
        session.foresee(wanted)
        if opened:
            await made_ready(session)
    await gpu.at_rest()
    assert gpu.rooms.contexts(gpu.devices[0].uuid) == 0
    if opened:  # else it may have begun to open one, which then went with its process
        assert heard.count("open") == heard.count("close") == 3
    assert not session._foreseen._begun
    assert gpu.rooms.contexts(gpu.devices[0].uuid) == 0
    parts = await gpu._ready()
    async with parts.leases.hold([gpu.devices[0].uuid], wait_s=0):
        pass


@pytest.mark.parametrize("ready", [True, False])
async def test_a_cancelled_evaluation_ends_its_spares_at_once(gpu, vector_add, folders, ready):
    _, _, wanted = vector_add

    async def evaluates(begun: asyncio.Event) -> None:
        async with gpu.evaluation() as session:
            session.foresee(wanted)
            if ready:
                await made_ready(session)
            begun.set()
            await asyncio.Event().wait()

    begun = asyncio.Event()
    task = asyncio.create_task(evaluates(begun))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert folders
    assert not any(folder.exists() for folder in folders)
    assert gpu.rooms.contexts(gpu.devices[0].uuid) == 0
    parts = await gpu._ready()
    async with parts.leases.hold([gpu.devices[0].uuid], wait_s=0):
        pass


async def test_what_an_evaluation_has_left_to_end_is_ended_at_once_where_that_is_cancelled(gpu, vector_add, folders):
    _, _, wanted = vector_add
    parts = await gpu._ready()
    async with gpu.evaluation() as session:
        session.foresee(wanted)
        await made_ready(session)
        assert gpu.rooms.contexts(gpu.devices[0].uuid) == 3
        holding = contextlib.AsyncExitStack()
        await holding.enter_async_context(parts.leases.hold([gpu.devices[0].uuid], wait_s=0))
    (ending,) = gpu._endings  # it waits for a turn to give the contexts back in
    ending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await ending
    assert gpu.rooms.contexts(gpu.devices[0].uuid) == 0
    assert folders
    assert not any(folder.exists() for folder in folders)
    await holding.aclose()
    await gpu.at_rest()
