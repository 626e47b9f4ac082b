"""The process that reads reports with NVIDIA's package, here with a stand-in of the same interface."""

import asyncio
import json
from pathlib import Path
from textwrap import dedent

import pytest

from cudanalyst.errors import Unavailable
from cudanalyst.tools.sass import Decoded
from cudanalyst.tools.toolchain.ncu import reading as reading_module
from cudanalyst.tools.toolchain.ncu.reading import read_report, reading

pytestmark = pytest.mark.anyio

PACKAGE = dedent("""
    import math

    class Metric:
        def __init__(self, value, instances=None):
            self._value, self._instances = value, instances or {}
        def has_value(self): return True
        def value(self): return self._value
        def as_string(self): return str(self._value)
        def num_instances(self): return len(self._instances)
        def has_correlation_ids(self): return bool(self._instances)
        def correlation_ids(self): return Ids(list(self._instances))
        def as_double(self, index): return float(list(self._instances.values())[index])

    class Ids:
        def __init__(self, ids): self._ids = ids
        def as_uint64(self, index): return self._ids[index]

    class Place:
        def __init__(self, line): self._line = line
        def file_name(self): return "/src/candidate.cu"
        def line(self): return self._line

    class Action:
        NameBase_DEMANGLED, NameBase_MANGLED = 1, 2
        metrics = {
            "gpu__time_duration.sum": Metric(1500.0), "smsp__inst_executed.sum": Metric(float("nan")), "launch__grid_dim_x": Metric(4),
            "launch__grid_dim_y": Metric(1), "launch__grid_dim_z": Metric(1), "launch__block_dim_x": Metric(64), "launch__block_dim_y": Metric(1),
            "launch__block_dim_z": Metric(1), "launch__func_cache_config": Metric("PreferNone"), "device__attribute_display_name": Metric("A GPU"),
            "sm__cycles_active.max": Metric(7.0),
            "inst_executed": Metric(5, {4096: 2, 4112: 3}),
            "smsp__pcsamp_warps_issue_stalled_barrier": Metric(9, {4112: 9}),
        }
        def name(self, base): return {1: "k(float *)", 2: "_Z1kPf"}[base]
        def metric_names(self): return list(self.metrics)
        def metric_by_name(self, name): return self.metrics.get(name)
        def source_info(self, pc): return Place(3) if pc == 4096 else None
        def sass_by_pc(self, pc):
            TEXTS
            return "      FADD R1,   R2, R3"
        def rule_results_as_dicts(self):
            return [{"rule_identifier": "R", "name": "N", "rule_message": {"title": "T", "message": "M"}, "speedup_estimation": {"type": 2, "speedup": 12.5}},
                    {"rule_identifier": "Empty", "rule_message": {"message": ""}}]

    class Range:
        def num_actions(self): return 1
        def action_by_idx(self, index): return Action()

    class Context:
        def num_ranges(self): return 1
        def range_by_idx(self, index): return Range()
        def get_version(self): return "9.9"

    def load_report(path):
        BEHAVIOUR
        return Context()
""")


@pytest.fixture
def package(tmp_path):
    def make(behaviour: str = "pass", texts: str = "pass", loading: str = "pass") -> tuple[Path, ...]:
        (tmp_path / "site" / "ncu_report").mkdir(parents=True, exist_ok=True)
        text = f"{PACKAGE.replace('BEHAVIOUR', behaviour).replace('TEXTS', texts)}\n{loading}\n"
        (tmp_path / "site" / "ncu_report" / "__init__.py").write_text(text, "utf-8")
        return (tmp_path / "site",)

    return make


@pytest.fixture
def report(tmp_path):
    path = tmp_path / "r.ncu-rep"
    path.write_bytes(b"NVR")
    return path


async def test_values_and_instructions_are_read_and_nan_is_left_out(report, package):
    read = await read_report(report, None, package_folders=package())
    (action,) = read.actions
    assert (read.reader, read.device) == ("ncu_report 9.9", "A GPU")
    assert (action.name, action.symbol, action.grid, action.block) == ("k(float *)", "_Z1kPf", (4, 1, 1), (64, 1, 1))
    assert action.metrics["gpu__time_duration.sum"] == 1500.0
    assert not {"smsp__inst_executed.sum", "launch__func_cache_config", "sm__cycles_active.max"} & set(action.metrics)
    first, second = action.instructions
    assert (first.offset, first.text, first.file, first.line, first.values) == (
        0,
        "FADD R1, R2, R3",
        "/src/candidate.cu",
        3,
        {"executed": 2.0},
    )
    assert (second.offset, second.line, second.stalls) == (16, None, {"barrier": 9})
    assert [(rule.rule, rule.speedup, rule.scope) for rule in action.rules] == [("R", 12.5, "kernel")]


FADD, STORE = Decoded(0, "FADD", (), "candidate.cu", 7), Decoded(16, "STG", ("E",), "candidate.cu", 8)
PADDING = (Decoded(32, "BRA", (), None, None), Decoded(48, "NOP", (), None, None))


@pytest.mark.parametrize("code", [(FADD, STORE, *PADDING), (FADD, STORE)])
async def test_texts_are_left_to_a_disassembly_of_the_same_code(report, package, code):
    slow = package(texts="raise RuntimeError('asked for a text')")
    async with reading(package_folders=slow) as reader:
        (action,) = (await reader.read(report, None, {"_Z1kPf": code})).actions
    assert [(one.offset, one.text, one.line) for one in action.instructions] == [(0, None, None), (16, None, None)]
    assert [one.values for one in action.instructions] == [{"executed": 2.0}, {"executed": 3.0}]
    assert action.instructions[1].stalls == {"barrier": 9}


@pytest.mark.parametrize(
    "code",
    [
        {"_Z1kPf": (FADD, STORE, Decoded(32, "EXIT", (), None, None))},
        {"_Z1kPf": (FADD, *PADDING)},
        {"_Z1kPf": ()},
        {"_Z5otherPf": (FADD, STORE)},
    ],
    ids=["longer", "shorter", "empty", "another kernel"],
)
async def test_texts_of_other_code_than_the_disassembled_are_read(report, package, code):
    async with reading(package_folders=package()) as reader:
        (action,) = (await reader.read(report, None, code)).actions
    assert [one.text for one in action.instructions] == ["FADD R1, R2, R3"] * 2
    assert action.instructions[0].line == 3


async def test_the_reader_loads_the_package_before_there_is_a_report(report, package, tmp_path):
    mark = tmp_path / "loaded"
    folders = package(loading=marks(mark))
    report.rename(tmp_path / "later")
    async with reading(package_folders=folders) as reader:
        await written(mark)
        (tmp_path / "later").rename(report)
        assert (await reader.read(report, None)).reader == "ncu_report 9.9"
    assert len(mark.read_text("utf-8").split()) == 1


async def test_a_reader_of_which_nothing_is_asked_ends_with_its_context(package, tmp_path):
    mark = tmp_path / "loaded"
    async with reading(package_folders=package(loading=marks(mark))):
        pid = await written(mark)
        assert Path(f"/proc/{pid}").exists()
    assert not Path(f"/proc/{pid}").exists()


async def test_a_reader_whose_package_does_not_load_says_so_when_it_is_asked(report, package):
    async with reading(package_folders=package(loading="raise ImportError('no such symbol')")) as reader:
        with pytest.raises(Unavailable, match=r"does not load \(no such symbol\).*pip install"):
            await reader.read(report, None)


def marks(mark: Path) -> str:
    """What writes a process's number when it loads the package."""
    return f"import os; open({str(mark)!r}, 'w').write(f'{{os.getpid()}} ')"


async def written(mark: Path) -> int:
    """The number in a file that another process writes."""
    async with asyncio.timeout(20):
        while not (mark.exists() and mark.read_text("utf-8").endswith(" ")):
            await asyncio.sleep(0.01)
    return int(mark.read_text("utf-8"))


async def test_a_package_that_crashes_costs_no_more_than_its_own_process(report, package):
    with pytest.raises(Unavailable, match=r"SIGABRT.*pip install"):
        await read_report(report, None, package_folders=package("import os; os.abort()"))


async def test_a_package_that_hangs_is_given_up_and_ended(report, package, tmp_path, monkeypatch):
    monkeypatch.setattr(reading_module, "_TIMEOUT_S", 0.5)
    mark = tmp_path / "loaded"
    hangs = package("import time; time.sleep(1000)", loading=marks(mark))
    with pytest.raises(Unavailable, match="time-out"):
        await read_report(report, None, package_folders=hangs)
    assert not Path(f"/proc/{await written(mark)}").exists()


async def test_a_package_that_raises_is_quoted(report, package):
    with pytest.raises(Unavailable, match="unsupported version"):
        await read_report(report, None, package_folders=package("raise RuntimeError('unsupported version')"))


async def test_without_the_package_the_pages_are_read(report, tmp_path, recorded):
    for name in ("gemm_raw.csv", "gemm_source.csv"):
        (tmp_path / name).write_text(recorded(name), "utf-8")
    ncu = tmp_path / "ncu"
    ncu.write_text(
        f'#!/bin/sh\ncase "$*" in *raw*) cat {tmp_path}/gemm_raw.csv;; *) cat {tmp_path}/gemm_source.csv;; esac\n',
        "utf-8",
    )
    ncu.chmod(0o755)
    read = await read_report(report, ncu, package_folders=())
    assert read.reader == "csv"
    assert len(read.actions) == 2
    assert read.actions[1].instructions


async def test_where_neither_way_works_the_text_says_what_to_install(report, tmp_path):
    with pytest.raises(Unavailable, match=r"not installed; pip install 'cudanalyst\[gpu\]'"):
        await read_report(report, None, package_folders=())
    ncu = tmp_path / "ncu"
    ncu.write_text("#!/bin/sh\necho '==ERROR== Failed to open the report' >&2; exit 1\n", "utf-8")
    ncu.chmod(0o755)
    with pytest.raises(Unavailable, match="Failed to open the report"):
        await read_report(report, ncu, package_folders=())


async def test_a_missing_report_is_told_of(tmp_path):
    with pytest.raises(Unavailable, match="wrote no report"):
        await read_report(tmp_path / "none.ncu-rep", None, package_folders=())


def test_the_recorded_reports_were_written_by_this_process(recorded):
    assert recorded("standard").reader.startswith("ncu_report")
    assert json.loads(recorded("standard").model_dump_json())["device"] == "NVIDIA H200"
