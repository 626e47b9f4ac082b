"""Whole evaluations in one executor, on the CPU engine in the place of NVIDIA's driver."""

import asyncio
import os
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
from cudanalyst.tools.toolchain.executor_session import Executor
from cudanalyst.tools.toolchain.gpu import GpuToolchain
from cudanalyst.tools.toolchain.protocol import Call, CandidateRequest, ComparisonRequest

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
    return await run(
        Source(text=text, problem=problem.id), problem, gpu, request, expected=PROBLEMS.expected, secret=b"secret"
    )


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


async def test_a_cancelled_evaluation_leaves_no_process_no_lease_and_no_folder(gpu):
    folder = Path(cache_directory()) / "work"
    await gpu.prepare()
    before = set(folder.iterdir())
    task = asyncio.create_task(evaluated(gpu, KERNEL % ("", 'for (;;) asm volatile("");')))
    while gpu.lease_totals["shared"].count == 0 or not set(folder.iterdir()) - before:
        await asyncio.sleep(0.005)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not set(folder.iterdir()) - before
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


async def test_comparisons_go_on_in_the_executor_that_verified_each_in_a_fresh_context(gpu, heard):
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
    assert (heard.count("start"), heard.count("open")) == (1, 4)
    parts = await gpu._ready()
    async with parts.leases.hold([gpu.devices[0].uuid], wait_s=0):
        pass


async def test_what_is_foreseen_is_begun_before_there_is_a_build_and_used_once(gpu, heard):
    problem = PROBLEMS.problem("vector_add")
    build = await gpu.build(Source(text=problem.baseline, problem=problem.id))
    call = Call({"a": (4, b"\0" * 4), "b": (4, b"\0" * 4), "out": (4, b"\0" * 4)}, {"n": 1}, ("out",))
    request = CandidateRequest(parameters_of(problem), {"n": 1}, (call,), guard_bytes=0)
    wanted = [ComparisonRequest(problem, {"n": n}, "warm", b"secret", PROBLEMS.expected) for n in (100, 1000)]
    async with gpu.evaluation() as session:
        session.foresee(wanted)
        await session._replays.settle()
        assert (heard.count("start"), heard.count("open"), heard.count("module")) == (1, 1, 0)
        assert (await session.execute(build, request)).how == "returned"
        assert heard.count("open") == 1
        await session.compare(build, build, wanted)
    assert (heard.count("start"), heard.count("open")) == (1, 3)
    assert not session._foreseen._begun


@pytest.mark.parametrize("opened", [True, False])
async def test_what_was_foreseen_in_vain_leaves_no_context_and_no_lease(gpu, heard, opened):
    problem = PROBLEMS.problem("vector_add")
    async with gpu.evaluation() as session:
        session.foresee([ComparisonRequest(problem, {"n": 100}, "warm", b"secret", PROBLEMS.expected)])
        if opened:
            await session._replays.settle()
    assert heard.count("open") == heard.count("close") == opened
    assert not session._foreseen._begun
    parts = await gpu._ready()
    async with parts.leases.hold([gpu.devices[0].uuid], wait_s=0):
        pass
