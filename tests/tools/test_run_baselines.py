"""Baselines and defects on the CPU engine, by the real tools; candidates that cheat have tests of their own (`tests/adversarial`)."""

from pathlib import Path

import pytest

from cudanalyst.kernels.catalogue import Catalogue
from cudanalyst.tools.debug import DebugRequest, debug
from cudanalyst.tools.profile import profile
from cudanalyst.tools.run import run
from cudanalyst.tools.source import Source
from cudanalyst.tools.toolchain.default import default_toolchain

pytestmark = pytest.mark.anyio
FOLDER = Path(__file__).parent.parent / "adversarial"
SECRET = b"a secret of the tests"
CATALOGUE = Catalogue()
TOOLCHAIN = default_toolchain()


@pytest.mark.parametrize("problem_id", CATALOGUE.ids)
async def test_the_baseline_of_each_problem_passes_and_is_modelled(problem_id: str) -> None:
    problem = CATALOGUE.problem(problem_id)
    source = Source(text=problem.baseline, problem=problem_id)
    result = await run(source, problem, TOOLCHAIN, expected=CATALOGUE.expected, secret=SECRET)
    assert result.status == "passed", result.summary
    assert result.modelled_us is not None
    assert result.modelled_speedup == pytest.approx(1.0)


@pytest.mark.parametrize("problem_id", CATALOGUE.ids)
async def test_the_baseline_of_each_problem_is_clean_and_profiled(problem_id: str) -> None:
    problem = CATALOGUE.problem(problem_id)
    source = Source(text=problem.baseline, problem=problem_id)
    assert (await debug(source, problem, TOOLCHAIN, secret=SECRET)).status == "clean"
    profiled = await profile(source, problem, TOOLCHAIN, secret=SECRET)
    assert profiled.status == "profiled", profiled.summary
    assert all(line.file == "candidate.cu" for kernel in profiled.kernels for line in kernel.lines)


async def debugged(name: str) -> list[tuple[str, str]]:
    source = Source(text=(FOLDER / f"{name}.cu").read_text(), problem="vector_add")
    request = DebugRequest(timeout_s=10, max_warp_instructions=2_000_000)
    result = await debug(source, CATALOGUE.problem("vector_add"), TOOLCHAIN, request, secret=SECRET)
    return [(finding.kind, str(finding.file)) for finding in result.findings]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("writes_after_end", "invalid_global_"),
        ("writes_before_start", "invalid_global_write"),
        ("infinite_kernel", "endless_loop"),
    ],
)
async def test_debug_finds_the_defect_in_the_submitted_file(name: str, kind: str) -> None:
    found = await debugged(name)
    assert any(each.startswith(kind) and file == "candidate.cu" for each, file in found), found


async def test_a_crash_of_host_code_is_no_finding_and_not_clean() -> None:
    source = Source(text=(FOLDER / "null_dereference.cu").read_text(), problem="vector_add")
    result = await debug(source, CATALOGUE.problem("vector_add"), TOOLCHAIN, secret=SECRET)
    assert result.status == "tool_failed"
    assert "host code crashed: SIGSEGV" in (result.reason or "")
