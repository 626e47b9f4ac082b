"""Profiling with a stand-in for ncu: a script that starts what it is given and leaves recorded files."""

import asyncio
import contextlib
from pathlib import Path

import pytest

from cudanalyst.tools.hardware import from_records
from cudanalyst.tools.process import run_process
from cudanalyst.tools.selection import Selection
from cudanalyst.tools.toolchain.ncu import collect
from cudanalyst.tools.toolchain.ncu.argv import collect_prefix
from cudanalyst.tools.toolchain.ncu.collect import Collection, find_ncu, tool_environment, with_counters
from cudanalyst.tools.toolchain.paths import PathNames
from tests.tools.fakes import ended

pytestmark = pytest.mark.anyio
NAMES = PathNames("probe.cu", {})
SCRIPT = """#!/bin/sh
while [ "$1" != "--" ] && [ $# -gt 0 ]; do
  case "$1" in
    --export) report=$2; shift 2;;
    --log-file) log=$2; shift 2;;
    --launch-count) shift 2; break;;
    *) shift;;
  esac
done
WORDS
"$@"
"""


@pytest.fixture
def stand_in(tmp_path):
    def make(words: str) -> Path:
        path = tmp_path / "ncu"
        path.write_text(SCRIPT.replace("WORDS", words), "utf-8")
        path.chmod(0o755)
        return path

    return make


@pytest.fixture
def reads(monkeypatch, recorded):
    class Recorded:
        async def read(self, report, ncu, code):
            assert report.read_text("utf-8").strip() == "report"
            return recorded("standard")

    @contextlib.asynccontextmanager
    async def reading():
        yield Recorded()

    monkeypatch.setattr(collect, "reading", reading)


async def run_program(argv, collection, *, stdin=b"", timeout_s=10.0):
    prefix = collect_prefix(collection.ncu, collection.work, collection.selection, only_between=False)
    return await run_process([*prefix, *argv], cwd=collection.work, stdin=stdin, timeout_s=timeout_s)


def alive(mark: Path) -> bool:
    """Whether the process whose number was written is there and no zombie."""
    try:
        return (
            Path(f"/proc/{mark.read_text('utf-8').strip()}/stat").read_text("utf-8").rpartition(")")[2].split()[0]
            != "Z"
        )
    except FileNotFoundError:
        return False


GOOD = (
    """echo report > "$report"; echo '==PROF== Profiling "stream_add" - 0: 0%....50%....100% - 12 passes' > "$log" """
)


async def test_a_programs_input_and_output_are_its_own(stand_in, reads, tmp_path):
    collection = Collection(stand_in(GOOD), tmp_path, Selection())
    process = await run_program(["/bin/cat"], collection, stdin=b"42\n")
    assert process.stdout.text == "42\n"
    kernels = await collection.kernels(process, NAMES)
    assert len(kernels) == 9
    assert kernels[0].passes == 12


async def test_the_executors_execution_gets_the_records(stand_in, reads, tmp_path):
    collection = Collection(stand_in(GOOD), tmp_path, Selection(metrics="quick"))
    await run_program(["/bin/true"], collection)
    before = ({"type": "engine"}, {"type": "call", "index": 0}, {"type": "end"})
    execution = await with_counters(ended("returned", report=before), None, collection, NAMES)
    assert execution.report[-3:] == before  # a report ends with its end
    assert len(from_records(execution.report)) == 9


async def test_refused_counters_make_the_profile_unavailable_with_the_remedy(stand_in, tmp_path):
    collection = Collection(
        stand_in("""echo '==ERROR== ERR_NVGPUCTRPERM - no permission' > "$log" """), tmp_path, Selection()
    )
    process = await run_program(["/bin/true"], collection)
    execution = await with_counters(ended("returned"), process, collection, NAMES)
    assert execution.how == "unavailable"
    assert "NVreg_RestrictProfilingToAdminUsers" in execution.reason


async def test_where_no_kernel_matched_those_seen_are_named(stand_in, tmp_path, recorded):
    (tmp_path / "recorded.log").write_text(recorded("none_matched.txt"), "utf-8")
    collection = Collection(stand_in(f'cp {tmp_path}/recorded.log "$log"'), tmp_path, Selection(kernel="gemm"))
    process = await run_program(["/bin/true"], collection)
    execution = await with_counters(ended("returned"), process, collection, NAMES)
    assert execution.reason == "0 kernels matched `gemm`; these were launched: fma_bound, stream_add"


async def test_a_crash_of_the_candidate_stays_a_crash(stand_in, tmp_path):
    collection = Collection(stand_in(""), tmp_path, Selection())
    crashed = ended("signalled", signal="SIGSEGV")
    assert await with_counters(crashed, None, collection, NAMES) is crashed
    nowhere = ended("unavailable", reason="no device")
    assert await with_counters(nowhere, None, collection, NAMES) is nowhere


async def test_a_hang_is_ended_with_all_that_ncu_started(stand_in, tmp_path):
    mark = tmp_path / "pid"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\necho $$ > {mark}\nexec sleep 1000\n", "utf-8")
    program.chmod(0o755)
    collection = Collection(stand_in(""), tmp_path, Selection())
    process = await run_program([program], collection, timeout_s=0.5)
    assert process.timed_out
    assert not alive(mark)


async def test_ncu_is_looked_for_on_the_path_then_where_installers_put_it(tmp_path):
    for version in ("2024.1", "2025.3"):
        path = tmp_path / "opt/nvidia/nsight-compute" / version / "ncu"
        path.parent.mkdir(parents=True)
        path.touch()
    assert find_ncu({"PATH": "/nowhere"}, tmp_path) == tmp_path / "opt/nvidia/nsight-compute/2025.3/ncu"
    home = tmp_path / "toolkit"
    (home / "bin").mkdir(parents=True)
    (home / "bin/ncu").touch()
    assert find_ncu({"PATH": "/nowhere", "CUDA_HOME": str(home)}, tmp_path) == home / "bin/ncu"
    assert find_ncu({"PATH": "/nowhere"}, tmp_path / "opt/nvidia") is None


async def test_cancelling_kills_the_tool(stand_in, tmp_path):
    mark = tmp_path / "pid"
    collection = Collection(stand_in(f"echo $$ > {mark}; sleep 1000"), tmp_path, Selection())
    task = asyncio.create_task(run_program(["/bin/true"], collection, timeout_s=100))
    async with asyncio.timeout(20):
        while not (mark.exists() and mark.read_text("utf-8").strip()):
            await asyncio.sleep(0.01)
    task.cancel()
    await asyncio.wait([task])
    assert not alive(mark)


def test_the_tools_own_files_stay_in_the_work_directory(tmp_path):
    found = tool_environment(tmp_path)
    assert (found["TMPDIR"], found["HOME"]) == (str(tmp_path), str(tmp_path))


def test_section_files_are_not_copied_into_each_new_home(tmp_path):
    assert tool_environment(tmp_path)["NV_COMPUTE_PROFILER_DISABLE_STOCK_FILE_DEPLOYMENT"] == "1"
