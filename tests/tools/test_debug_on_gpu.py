"""`debug` where checks run side by side, and where the CPU engine checks the same source meanwhile."""

import asyncio
from dataclasses import dataclass, replace

import pytest

from cudanalyst.tools.debug import ALL_CHECKS, DebugRequest, DebugResult, Finding, debug
from cudanalyst.tools.toolchain.protocol import ChecksTogether, Sanitization
from tests.tools.fakes import CANDIDATE, DOUBLE, SECRET, FakeToolchain, ended

pytestmark = pytest.mark.anyio
WRITE = Finding(check="memcheck", kind="invalid_global_write", message="past the end", file="candidate.cu", line=7)
GLOBAL_RACE = Finding(check="racecheck", kind="global_race_waw", message="two writes", file="candidate.cu", line=9)
HANG = {"type": "watchdog", "kernel": "k", "warps": [], "message": "k did not end"}


@dataclass
class Together(FakeToolchain):
    """Runs its checks side by side, as a GPU's toolchain does."""

    at_once: int = 0
    most_at_once: int = 0
    note: str | None = None
    broken: str | None = None

    async def sanitize_together(self, build, request, checks) -> tuple[Sanitization, ...]:
        async def one(check):
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
            await asyncio.sleep(0)
            result = await self.sanitize(build, request, check)
            self.at_once -= 1
            return replace(result, note=self.note, broken=self.broken, wall_s=0.5)

        return tuple(await asyncio.gather(*(one(check) for check in checks)))


async def debugged(gpu: FakeToolchain, engine: FakeToolchain | None = None, **fields) -> DebugResult:
    return await debug(CANDIDATE, DOUBLE, gpu, DebugRequest(**fields), secret=SECRET, engine=engine)


async def test_the_four_checks_run_at_once_where_the_toolchain_can() -> None:
    gpu = Together()
    result = await debugged(gpu)
    assert isinstance(gpu, ChecksTogether)
    assert gpu.most_at_once == len(ALL_CHECKS)
    assert [report.check for report in result.checks] == list(ALL_CHECKS)
    assert [report.duration_s for report in result.checks] == [1.0] * 4  # two sizes


async def test_a_check_whose_run_hung_is_not_run_at_the_next_size() -> None:
    gpu = Together(script=lambda _: ended("timed_out", report=(HANG,)))
    result = await debugged(gpu)
    assert len(gpu.requests) == len(ALL_CHECKS)
    assert [finding.kind for finding in result.findings] == ["endless_loop"]


async def test_a_check_that_is_not_offered_is_no_clean_result() -> None:
    result = await debugged(Together(offered={"sanitize": ("memcheck",)}))
    assert result.status == "tool_failed"
    assert "racecheck is not offered" in (result.reason or "")


async def test_a_tool_that_broke_down_is_said_even_beside_findings() -> None:
    result = await debugged(Together(findings={"memcheck": (WRITE,)}, broken="its file is truncated"))
    assert result.status == "findings"
    assert {report.reason for report in result.checks} == {"its file is truncated"}
    assert "Not all was checked" in result.summary


async def test_what_was_left_out_is_noted_on_the_check() -> None:
    result = await debugged(Together(note="118 more errors were met"))
    assert {report.note for report in result.checks} == {"118 more errors were met"}


async def test_a_fault_that_a_finding_explains_is_not_told_a_second_time() -> None:
    fault = {"type": "error", "code": 719, "name": "cudaErrorLaunchFailure", "kernel": None, "message": "stopped"}
    result = await debugged(
        Together(findings={"memcheck": (WRITE,)}, script=lambda _: ended("returned", report=(fault,)))
    )
    assert [finding.kind for finding in result.findings] == ["invalid_global_write"]
    reasons = {report.check: report.reason for report in result.checks}
    assert "stopped by cudaErrorLaunchFailure" in (reasons["racecheck"] or "")


async def test_the_engines_report_stands_beside_the_gpus_and_does_not_change_it() -> None:
    result = await debugged(Together(), FakeToolchain(findings={"racecheck": (GLOBAL_RACE,)}))
    assert (result.status, result.findings) == ("clean", ())
    assert result.engine is not None
    assert (result.engine.status, [one.kind for one in result.engine.findings]) == ("findings", ["global_race_waw"])
    (item,) = result.engine.disagreements
    assert item.why == "only the engine sees races in global memory"
    assert "only the CPU engine reports global_race_waw at candidate.cu:9" in result.summary


async def test_where_both_find_the_same_nothing_is_remarked() -> None:
    both = {"memcheck": (WRITE,)}
    result = await debugged(Together(findings=both), FakeToolchain(findings=both))
    assert result.engine is not None
    assert result.engine.disagreements == ()
    assert "Besides" not in result.summary


async def test_an_engine_that_is_not_available_says_so_and_changes_nothing() -> None:
    engine = FakeToolchain(offered={"sanitize": (), "reasons": {"sanitize": "nvcc is missing"}})
    result = await debugged(Together(findings={"memcheck": (WRITE,)}), engine)
    assert result.status == "findings"
    assert result.engine is not None
    assert (result.engine.status, result.engine.reason) == ("unavailable", "nvcc is missing")
    assert result.engine.disagreements == ()


async def test_the_findings_shown_are_bounded_on_both_sides() -> None:
    many = tuple(WRITE.model_copy(update={"line": line}) for line in range(1, 60))
    result = await debugged(Together(findings={"memcheck": many}), FakeToolchain(findings={"memcheck": many}))
    assert result.engine is not None
    assert (len(result.findings), len(result.engine.findings)) == (20, 20)
    assert result.engine.truncated is not None
    assert result.engine.truncated.total == len(many)


async def test_results_survive_a_round_trip_as_json() -> None:
    result = await debugged(Together(), FakeToolchain(findings={"racecheck": (GLOBAL_RACE,)}))
    assert DebugResult.model_validate_json(result.model_dump_json()) == result
