"""What a call hears of its turn on a GPU, and what the doctor says of one."""

import json

import anyio
import pytest
from typer.testing import CliRunner

from cudanalyst.cli import app
from cudanalyst.server.bench import Bench
from cudanalyst.server.call import Progress
from cudanalyst.server.examination import gpu_items
from cudanalyst.tools.gpu.abilities import Ability
from cudanalyst.tools.toolchain.gpu import GpuToolchain
from cudanalyst.tools.toolchain.waiting import heard_by, place_in_line, tell
from tests.server.fakes import FakeBench

pytestmark = pytest.mark.anyio
ABILITIES = (
    Ability(name="driver", status="ok", found="580.65.06, runs CUDA 13.0"),
    Ability(name="device", status="ok", found="NVIDIA H200, Hopper, 9.0, 150 GB"),
    Ability(name="timing", status="limited", reason="2 other processes on the GPU", remedy="times say so"),
    Ability(name="counters", status="unavailable", reason="refused (ERR_NVGPUCTRPERM)", remedy="run as root"),
)


class Found(GpuToolchain):
    async def abilities(self):
        return ABILITIES


async def test_the_progress_of_a_call_says_its_place_in_the_queue_and_then_goes_on(tmp_path):
    bench: Bench = FakeBench()
    progress = Progress()
    async with bench._turn(progress, "profiling"):
        assert progress.words == "profiling"
        tell(place_in_line(3))
        assert progress.words == "waiting for the GPU: 3 ahead"
        tell(place_in_line(1))
        assert progress.words == "waiting for the GPU: next in line"
        tell(None)
        assert progress.words == "profiling"
    tell("nobody hears this")
    assert progress.words == "profiling"


async def test_calls_side_by_side_hear_only_of_their_own_place():
    heard: dict[str, list[str | None]] = {"a": [], "b": []}

    async def call(name: str) -> None:
        with heard_by(heard[name].append):
            await anyio.lowlevel.checkpoint()
            tell(name)

    async with anyio.create_task_group() as group:
        group.start_soon(call, "a")
        group.start_soon(call, "b")
    assert heard == {"a": ["a"], "b": ["b"]}


async def test_the_doctor_shows_each_ability_of_a_gpu_with_its_remedy():
    items = {item.name: item for item in await gpu_items({"PATH": ""}, Found(), built=True)}
    assert items["GPU"].found == "NVIDIA H200, Hopper, 9.0, 150 GB"
    assert items["GPU timing"].status == "limited"
    assert items["GPU counters"].status == "optional_missing"
    assert items["GPU counters"].remedy == "refused (ERR_NVGPUCTRPERM); run as root"
    assert {item.group for item in items.values()} == {"gpu"}


async def test_before_the_engine_is_built_tools_are_looked_for_and_not_tried():
    items = await gpu_items({"PATH": ""}, Found(), built=False)
    assert [item.name for item in items] == ["GPU", "ncu", "compute-sanitizer"]


@pytest.mark.parametrize(
    "command", [["doctor", "--json"], ["compile", "-", "--toolchain", "cuda"], ["serve", "--toolchain", "replay:"]]
)
def test_the_command_line_knows_toolchains_by_name(command, tmp_path):
    done = CliRunner().invoke(app, command, input="int main() {}", env={"CUDANALYST_STORE": str(tmp_path)})
    if command[0] == "doctor":
        items = {item["name"]: item for item in json.loads(done.stdout)["items"]}
        assert items["toolchain"]["found"].startswith("--toolchain auto means ")
    else:
        assert done.exit_code == 2
        assert "--toolchain" in done.stderr
        assert "replay:FOLDER" in done.stderr
