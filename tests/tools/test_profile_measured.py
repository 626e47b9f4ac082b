"""`profile` with hardware counters: the same result model, measured."""

import gzip
import json
from dataclasses import replace
from pathlib import Path

import pytest

from cudanalyst.errors import BadRequest, Unavailable
from cudanalyst.tools.hardware import to_records
from cudanalyst.tools.profile import ProfileRequest, ProfileResult, profile
from cudanalyst.tools.sass import SassKernel
from cudanalyst.tools.selection import Selection
from cudanalyst.tools.toolchain.ncu.reduce import hardware_kernels
from cudanalyst.tools.toolchain.ncu.report import parse_report
from tests.tools.fakes import CANDIDATE, DOUBLE, PROGRAM, SECRET, FakeToolchain, ended, profile_record

pytestmark = pytest.mark.anyio
DATA = Path(__file__).parent / "toolchain/ncu/data/ncu-2025.3.1"


@pytest.fixture(scope="module")
def records():
    report = parse_report(json.loads(gzip.decompress((DATA / "standard.json.gz").read_bytes())))
    return to_records(hardware_kernels(report, passes=12))


@pytest.fixture
def toolchain(records):
    return FakeToolchain(profiles=records)


async def test_a_candidates_counters_give_a_measured_result(toolchain):
    result = await profile(CANDIDATE, DOUBLE, toolchain, ProfileRequest(kernels=3), secret=SECRET)
    assert (result.status, result.level, result.metrics) == ("profiled", "sass", "standard")
    assert result.modelled_us is None
    assert result.duration_us == pytest.approx(1071.0)
    assert len(result.insights) == 5
    assert (len(result.kernels), result.truncated.total) == (3, 9)
    first = result.kernels[0]
    assert first.name.startswith("histogram_atomics")
    assert (first.bound, first.duration_us, first.modelled_us, first.passes) == ("latency", 769.1, None, 12)
    assert first.share == pytest.approx(0.7181, abs=1e-3)
    assert "under the profiler" in result.summary
    assert "First: atomic_contention" in result.summary
    assert ProfileResult.model_validate_json(result.model_dump_json()) == result


async def test_fields_of_both_kinds_of_profile_are_filled(toolchain):
    result = await profile(PROGRAM, None, toolchain, ProfileRequest(kernels=9, lines=2))
    kernel = next(one for one in result.kernels if one.name.startswith("transpose_conflict"))
    assert kernel.bound == "shared_memory"
    assert kernel.sectors_per_request == 4.0
    assert kernel.shared_conflict_ratio == pytest.approx(13.35, rel=0.01)
    assert kernel.global_bytes == 2 * 16_777_216
    assert kernel.lane_efficiency == 1.0
    assert kernel.instruction_mix["load_shared"] == 131072
    assert next(iter(kernel.sol)) == "shared_memory"
    assert {row.path for row in kernel.memory} == {"global", "shared", "l1", "l2", "dram"}
    assert [line.line for line in kernel.lines] == [22, 25]
    assert kernel.lines[1].bank_conflicts == 4194304 - 131072
    assert kernel.lines[1].sample_share == pytest.approx(0.34, abs=0.01)
    assert "barrier" in kernel.lines[1].stalls


async def test_what_is_asked_for_reaches_the_toolchain(toolchain):
    request = ProfileRequest(metrics="full", kernel="add", launch=2)
    await profile(CANDIDATE, DOUBLE, toolchain, request, secret=SECRET)
    await profile(PROGRAM, None, toolchain, request)
    assert [one.selection for one in toolchain.requests] == [Selection("full", "add", 2)] * 2


async def test_the_number_of_insights_can_be_chosen(toolchain):
    result = await profile(PROGRAM, None, toolchain, ProfileRequest(insights=1))
    assert len(result.insights) == 1


async def test_a_crash_under_the_profiler_is_a_crash(records):
    toolchain = FakeToolchain(profiles=records, script=lambda _: ended("signalled", signal="SIGSEGV"))
    assert (await profile(PROGRAM, None, toolchain)).status == "crashed"


async def test_counters_that_are_refused_are_unavailable_with_the_reason():
    toolchain = FakeToolchain(
        profiles=[], script=lambda _: ended("unavailable", reason="the driver refuses performance counters")
    )
    result = await profile(PROGRAM, None, toolchain)
    assert (result.status, result.reason) == ("unavailable", "the driver refuses performance counters")


async def test_the_kernel_filter_is_the_same_on_the_cpu_engine():
    toolchain = FakeToolchain(
        profiles=[profile_record(kernel="a(float*)", symbol="a"), profile_record(kernel="b(float*)", symbol="b")]
    )
    chosen = await profile(PROGRAM, None, toolchain, ProfileRequest(kernel="b("))
    assert [kernel.name for kernel in chosen.kernels] == ["b(float*)"]
    none = await profile(PROGRAM, None, toolchain, ProfileRequest(kernel="gemm"))
    assert none.status == "unavailable"
    assert none.reason == "0 kernels matched `gemm`; these were launched: a(float*), b(float*)"
    with pytest.raises(BadRequest, match="no part of a kernel's name"):
        await profile(PROGRAM, None, toolchain, ProfileRequest(kernel="a;b"))


class Disassembling(FakeToolchain):
    """Builds that hold machine code, or say why not."""

    reason: str | None = None

    async def machine_code(self, build):
        if self.reason:
            raise Unavailable(self.reason)
        plain = {"instructions": 3, "instruction_mix": {"fp32": 3}, "opcodes": {"FADD": 3}, "access_bits": {}}
        return tuple(SassKernel(name=name, symbol=name, **plain) for name in ("a(float*)", "b(float*)"))


async def test_machine_code_comes_where_it_is_asked_for():
    toolchain = Disassembling()
    assert (await profile(PROGRAM, None, toolchain)).sass == ()
    shown = await profile(PROGRAM, None, toolchain, ProfileRequest(sass=True))
    assert [kernel.name for kernel in shown.sass] == ["a(float*)", "b(float*)"]
    assert shown.sass_reason is None


async def test_machine_code_that_cannot_be_shown_has_a_reason():
    toolchain = Disassembling()
    toolchain.reason = "nvdisasm was not found"
    result = await profile(PROGRAM, None, toolchain, ProfileRequest(sass=True))
    assert (result.status, result.sass, result.sass_reason) == ("profiled", (), "nvdisasm was not found")
    plain = await profile(PROGRAM, None, FakeToolchain(), ProfileRequest(sass=True))
    assert "keeps no machine code" in plain.sass_reason


async def test_one_kernel_is_spoken_of_in_the_singular(records):
    toolchain = FakeToolchain(profiles=[record for record in records if record["name"].startswith("stream_add")])
    result = await profile(CANDIDATE, DOUBLE, toolchain, ProfileRequest(sizes={"n": 128}), secret=SECRET)
    assert result.summary.startswith(
        "1 kernel, 44.4 us under the profiler on fake at n=128; bound by dram at 86% of its peak."
    )
    assert result.summary.endswith("No rule finds a change that is estimated to gain 3 %.")
    assert replace(toolchain.requests[0], selection=None).selection is None


async def test_on_a_gpu_the_sentence_says_why_the_largest_size_was_not_taken(records):
    class OnGpu(FakeToolchain):
        name = "gpu"

    problem = DOUBLE.model_copy(update={"sizes": {**DOUBLE.sizes, "eval": ({"n": 4096}, {"n": 8 << 20})}})
    result = await profile(CANDIDATE, problem, OnGpu(profiles=records), secret=SECRET)
    assert result.sizes == {"n": 4096}
    assert "at n=4096 (larger ones, above 32 MiB, take the host too long to prepare)" in result.summary
    result = await profile(CANDIDATE, problem, OnGpu(profiles=records), ProfileRequest(sizes={"n": 128}), secret=SECRET)
    assert "at n=128, " in result.summary or "at n=128;" in result.summary
