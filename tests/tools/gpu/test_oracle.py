"""The oracle's process, with NumPy for arrays and files for buffers: the code is the same on a GPU."""

import asyncio
import os
import signal
from pathlib import Path

import numpy as np
import pytest

from cudanalyst.errors import BadProblem
from cudanalyst.kernels.inputs import make_inputs, poison
from cudanalyst.tools.cases import GUARD_BYTES
from cudanalyst.tools.ending import Verdict
from cudanalyst.tools.gpu.oracle import Server
from cudanalyst.tools.gpu.oracle_client import GpuOracle, OracleFailed
from cudanalyst.tools.gpu.oracle_messages import Failed
from cudanalyst.tools.gpu.oracle_verify import verify_large
from cudanalyst.tools.oracle import examine
from tests.tools.gpu.oracle_fakes import CATALOGUE, OnFiles, schedule_of

ADD = {"n": 997}


@pytest.fixture(scope="module")
async def oracle(anyio_backend):
    async with GpuOracle(arrays="numpy", budget_bytes=1 << 22) as running:
        yield running


def add(arrays):
    arrays["out"][:] = arrays["a"] + arrays["b"]


async def verified(oracle, tmp_path, solve, *, problem="vector_add", sizes=ADD, group="test", **options):
    replayed = OnFiles(problem, sizes, tmp_path, solve, **options)
    schedule = schedule_of(problem, sizes, group=group)
    return await verify_large(oracle, replayed, replayed.folder, group, sizes, schedule), replayed


@pytest.mark.anyio
@pytest.mark.parametrize("problem_id", CATALOGUE.ids)
async def test_buffers_hold_the_inputs_of_the_other_path_with_poison_and_guards_around(oracle, tmp_path, problem_id):
    problem = CATALOGUE.problem(problem_id)
    sizes = problem.sizes["test"][1]
    replayed = OnFiles(problem_id, sizes, tmp_path, None)
    for call in schedule_of(problem_id, sizes):
        prepared = await oracle.prepare(replayed.folder, sizes, call, replayed.at())
        inputs = make_inputs(problem, sizes, call.inputs_key, call.seed_index)

        assert prepared.transport == "file"
        for item in replayed.parameters:
            wanted = poison(item, sizes, call.poison) if item.role == "out" else inputs.arrays[item.name]
            whole = replayed.whole(item.name).tobytes()
            assert whole == call.guard_zone + wanted.tobytes() + call.guard_zone, item.name


@pytest.mark.anyio
async def test_a_right_candidate_passes_every_seed_and_is_deterministic(oracle, tmp_path):
    judgement, replayed = await verified(oracle, tmp_path, add)

    assert [case.status for case in judgement.cases] == ["passed", "passed"]
    assert all(0.0 <= case.error_ratio < 1.0 for case in judgement.cases)
    assert judgement.deterministic is True
    assert replayed.calls == 3


@pytest.mark.anyio
async def test_a_wrong_element_is_named_with_both_values(oracle, tmp_path):
    def solve(arrays):
        add(arrays)
        arrays["out"][500] += 1.0

    judgement, _ = await verified(oracle, tmp_path, solve)

    mismatch = judgement.cases[0].mismatch
    assert (mismatch.output, mismatch.index, mismatch.wrong_elements) == ("out", (500,), 1)
    assert mismatch.got == pytest.approx(mismatch.expected + 1.0)
    assert judgement.cases[0].message.startswith("out[500] is ")


@pytest.mark.anyio
@pytest.mark.parametrize("fault", [0.0, 1e-3])
async def test_mismatch_and_error_ratio_are_those_of_the_other_path(oracle, tmp_path, fault):
    problem, sizes = CATALOGUE.problem("matmul"), {"m": 65, "n": 47, "k": 33}
    replayed = OnFiles("matmul", sizes, tmp_path, None)
    call = schedule_of("matmul", sizes)[0]
    await oracle.prepare(replayed.folder, sizes, call, replayed.at())
    bodies = replayed.bodies()
    bodies["c"][:] = bodies["a"] @ bodies["b"]
    bodies["c"][5] += np.float32(fault)

    (seen,) = (await oracle.examine(replayed.folder, sizes, call, replayed.at())).outputs

    inputs = make_inputs(problem, sizes, call.inputs_key, call.seed_index)
    expected = CATALOGUE.expected("matmul", inputs, sizes)["c"]
    other = examine(problem.parameters[2], problem, sizes, bodies["c"].tobytes(), expected)
    assert (seen.mismatch is None) == (fault == 0.0)
    assert seen.error_ratio == pytest.approx(other.error_ratio, rel=1e-9)
    if seen.mismatch is not None:
        changes = {"max_error": None, "expected": 0.0}
        assert seen.mismatch.model_copy(update=changes) == other.mismatch.model_copy(update=changes)
        assert seen.mismatch.expected == pytest.approx(other.mismatch.expected, rel=1e-12)


@pytest.mark.anyio
async def test_an_element_that_keeps_its_poison_was_never_written(oracle, tmp_path):
    def solve(arrays):
        arrays["out"][:-1] = arrays["a"][:-1] + arrays["b"][:-1]

    judgement, _ = await verified(oracle, tmp_path, solve)

    assert "out[996] was never written" in judgement.cases[0].message


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("place", "says"),
    [
        (GUARD_BYTES + 4 * 997, "beyond the end of buffer `out`; first changed byte is 0"),
        (GUARD_BYTES - 3, "the start"),
    ],
)
async def test_a_write_into_a_guard_zone_is_a_violation(oracle, tmp_path, place, says):
    holder = []

    def solve(arrays):
        add(arrays)
        holder[0].whole("out")[place] ^= 0xFF

    replayed = OnFiles("vector_add", ADD, tmp_path, solve)
    holder.append(replayed)
    judgement = await verify_large(oracle, replayed, replayed.folder, "test", ADD, schedule_of("vector_add", ADD))

    assert judgement.cases[0].status == "contract_violation"
    assert says in judgement.cases[0].message


@pytest.mark.anyio
async def test_an_input_that_was_changed_is_a_violation_though_the_output_is_right(oracle, tmp_path):
    def solve(arrays):
        add(arrays)
        arrays["b"][996] = 0.0

    judgement, _ = await verified(oracle, tmp_path, solve)

    assert judgement.cases[0].message == "input `b` was changed; inputs are read-only"
    assert judgement.deterministic is None


@pytest.mark.anyio
async def test_results_that_differ_from_run_to_run_are_reported_with_both_values(oracle, tmp_path):
    runs = []

    def solve(arrays):
        add(arrays)
        runs.append(1)
        arrays["out"][7] = np.nextafter(arrays["out"][7], np.float32(np.inf * (-1) ** len(runs)))

    judgement, _ = await verified(oracle, tmp_path, solve)

    assert {case.status for case in judgement.cases} == {"passed"}
    assert judgement.deterministic is False
    seen = judgement.difference
    assert (seen.output, seen.index, seen.differing_elements, seen.total_elements) == ("out", (7,), 1, 997)
    assert seen.first != seen.second
    assert seen.first_text != seen.second_text
    assert (seen.sizes, seen.seed_index) == (ADD, 0)


@pytest.mark.anyio
async def test_of_a_held_out_size_only_the_verdict_is_told(oracle, tmp_path):
    judgement, _ = await verified(oracle, tmp_path, lambda _: None, sizes={"n": 33}, group="held_out")

    assert {case.status for case in judgement.cases} == {"wrong"}
    assert all(case.sizes is None and case.mismatch is None and case.error_ratio is None for case in judgement.cases)
    assert judgement.difference is None


@pytest.mark.anyio
async def test_a_call_that_does_not_return_ends_the_size(oracle, tmp_path):
    judgement, replayed = await verified(oracle, tmp_path, lambda _: Verdict("crashed", "left cudaErrorIllegalAddress"))

    assert replayed.calls == 1
    assert {case.status for case in judgement.cases} <= {"crashed", "not_run"}
    assert judgement.deterministic is None


@pytest.mark.anyio
async def test_memory_that_cannot_be_shared_goes_through_files(oracle, tmp_path):
    judgement, replayed = await verified(oracle, tmp_path, add, refuse_handles=True)

    assert replayed.asked == [False, True]
    assert {case.status for case in judgement.cases} == {"passed"}


@pytest.mark.anyio
async def test_a_reference_that_fails_is_the_problems_fault(oracle, tmp_path):
    folder = tmp_path / "vector_add"
    folder.mkdir()
    for name in ("problem.toml", "baseline.cu"):
        (folder / name).write_text((CATALOGUE.entry("vector_add").folder / name).read_text())
    (folder / "reference.py").write_text("def reference(inputs, sizes):\n    return {}\n")
    replayed = OnFiles("vector_add", ADD, tmp_path, add)

    with pytest.raises(BadProblem, match="exactly the outputs: out"):
        await verify_large(oracle, replayed, folder, "test", ADD, schedule_of("vector_add", ADD))


@pytest.mark.anyio
async def test_a_verification_that_is_cancelled_leaves_no_process(tmp_path):
    reached = asyncio.Event()

    class Hanging(OnFiles):
        async def call(self, call):
            reached.set()
            await asyncio.Event().wait()

    replayed = Hanging("vector_add", ADD, tmp_path, None)
    async with GpuOracle(arrays="numpy") as oracle:
        await oracle.start()
        worker = oracle._worker
        verifying = asyncio.create_task(
            verify_large(oracle, replayed, replayed.folder, "test", ADD, schedule_of("vector_add", ADD))
        )
        await reached.wait()
        verifying.cancel()
        with pytest.raises(asyncio.CancelledError):
            await verifying
        await asyncio.wait({worker._task}, timeout=10)

        assert own_children(worker._folder.name) == []


@pytest.mark.anyio
async def test_a_process_that_was_killed_is_reported_and_the_next_request_starts_another(tmp_path):
    replayed = OnFiles("vector_add", ADD, tmp_path, add)
    call = schedule_of("vector_add", ADD)[0]
    async with GpuOracle(arrays="numpy") as oracle:
        await oracle.prepare(replayed.folder, ADD, call, replayed.at())
        (pid,) = own_children(str(oracle._worker._folder.name))
        os.kill(pid, signal.SIGSTOP)
        asking = asyncio.create_task(oracle.prepare(replayed.folder, ADD, call, replayed.at()))
        await asyncio.sleep(0)
        os.kill(pid, signal.SIGKILL)

        with pytest.raises(OracleFailed, match="SIGKILL"):
            await asking
        assert (await oracle.prepare(replayed.folder, ADD, call, replayed.at())).filled_bytes > 0


@pytest.mark.anyio
async def test_a_process_that_does_not_answer_in_time_is_ended(tmp_path):
    replayed = OnFiles("vector_add", ADD, tmp_path, add)
    call = schedule_of("vector_add", ADD)[0]
    async with GpuOracle(arrays="numpy", timeout_s=0.2) as oracle:
        await oracle.start()
        folder = str(oracle._worker._folder.name)
        (pid,) = own_children(folder)
        os.kill(pid, signal.SIGSTOP)

        with pytest.raises(OracleFailed, match=r"no answer within 0\.2 s"):
            await oracle.prepare(replayed.folder, ADD, call, replayed.at())
        assert own_children(folder) == []


@pytest.mark.anyio
async def test_closing_ends_the_process():
    oracle = GpuOracle(arrays="numpy")
    opened = await oracle.start()
    folder = str(oracle._worker._folder.name)
    assert len(own_children(folder)) == 1

    await oracle.close()

    assert opened.device == "host"
    assert own_children(folder) == []
    assert not Path(folder).exists()


@pytest.mark.anyio
async def test_an_idle_process_ends_by_itself_and_the_next_request_starts_another():
    async with GpuOracle(arrays="numpy", idle_s=0.05) as oracle:
        await oracle.start()
        first = oracle._worker
        await asyncio.wait_for(asyncio.shield(first._task), 20)
        await oracle.start()

        assert oracle._worker is not first


@pytest.mark.anyio
async def test_a_process_that_was_launched_takes_its_device_with_the_first_request():
    async with GpuOracle(arrays="numpy") as oracle:
        await oracle.launch()
        first = oracle._worker
        assert first.alive
        assert oracle.opened is None
        await oracle.launch()
        opened = await oracle.start()
        assert oracle._worker is first
    assert opened.device == "host"


@pytest.mark.anyio
async def test_an_array_module_that_is_missing_says_what_to_install():
    async with GpuOracle(arrays="cupy", environment={"PYTHONPATH": without_cupy()}) as oracle:
        with pytest.raises(OracleFailed, match=r"pip install 'cudanalyst\[gpu\]'"):
            await oracle.start()


@pytest.mark.parametrize(
    ("line", "kind", "says"),
    [
        (b"{}", "request", "do"),
        (b"nonsense", "request", "JSON"),
        (b'{"do":"forget"}', "request", "first request must be `open`"),
        (b'{"do":"open","arrays":"torch"}', "request", "cupy"),
    ],
)
def test_a_bad_request_is_an_answer(line, kind, says):
    answer = Server().answer(line)

    assert isinstance(answer, Failed)
    assert answer.failed == kind
    assert says in answer.message


def without_cupy():
    """A folder whose `cupy` cannot be imported, in front of all others: machines with CuPy run these tests too."""
    import tempfile

    folder = Path(tempfile.mkdtemp())
    (folder / "cupy.py").write_text("raise ImportError('no cupy here')\n")
    return os.pathsep.join([str(folder), str(Path(__file__).parents[3]), os.environ.get("PYTHONPATH", "")])


def own_children(folder):
    """Processes whose arguments name a folder."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                arguments = (entry / "cmdline").read_bytes()
                state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
            except OSError:
                continue
            if folder.encode() in arguments and state != "Z":
                found.append(int(entry.name))
    return found


@pytest.mark.anyio
async def test_a_problem_that_was_met_is_known_until_the_process_ends() -> None:
    problem, folder = CATALOGUE.problem("histogram"), CATALOGUE.entry("histogram").folder
    async with GpuOracle(arrays="numpy") as oracle:
        assert not oracle.has_met("histogram")
        await oracle.meet(problem, folder)
        assert oracle.has_met("histogram")
        assert not oracle.has_met("matmul")
        await oracle.close()
        assert not oracle.has_met("histogram")
