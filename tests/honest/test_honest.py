"""Honest candidates of many techniques, on the CPU engine: each passes, is replayed, and raises no alarm."""

import os
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from cudanalyst.tools.run import RunRequest
from cudanalyst.tools.toolchain.cpu import CpuToolchain
from tests.candidate_files import CATALOGUE, CandidateFile, build_ahead, candidate_files, evaluated, selected

pytestmark = pytest.mark.anyio
REQUEST = RunRequest(model=False, seeds=2, max_warp_instructions=20_000_000)
ALL = candidate_files(Path(__file__).parent)
HERE = [each for each in ALL if not each.gpu_only]
ELSEWHERE = [each for each in ALL if each.gpu_only]
LATER = () if os.environ.get("CUDANALYST_HEAVY") else pytest.mark.skip(reason="heavy headers: set CUDANALYST_HEAVY=1")


@pytest.fixture(scope="module")
async def cpu(request: pytest.FixtureRequest, anyio_backend) -> AsyncIterator[CpuToolchain]:
    """The toolchain, with everything being built in the background."""
    import asyncio

    toolchain = CpuToolchain()
    await toolchain.prepare()
    async with asyncio.TaskGroup() as group:
        builds = build_ahead(group, toolchain, [each.source() for each in selected(request)])
        yield toolchain
        for build in builds.values():
            build.cancel()


def test_there_are_honest_candidates_of_every_problem_and_no_technique_comes_twice() -> None:
    assert len([each for each in HERE if not each.heavy]) >= 60
    assert {each.problem_id for each in ALL} == set(CATALOGUE.ids)
    assert all(each.said("technique") for each in ALL)
    assert max(Counter(each.said("technique") for each in ALL).values()) == 1


@pytest.mark.parametrize("each", [pytest.param(each, marks=LATER if each.heavy else (), id=each.name) for each in HERE])
async def test_an_honest_candidate_raises_no_alarm(each: CandidateFile, cpu: CpuToolchain) -> None:
    result = await evaluated(each.source(), cpu, REQUEST)
    assert result.status == "passed", f"{result.summary} {result.reason or ''}"
    assert result.trust == "replayed", result.summary


@pytest.mark.parametrize("each", ELSEWHERE, ids=lambda each: each.name)
async def test_what_only_a_gpu_can_run_is_named_and_no_fault_of_the_candidate(
    each: CandidateFile, cpu: CpuToolchain
) -> None:
    result = await evaluated(each.source(), cpu, REQUEST)
    assert result.status == "unavailable", result.summary
    assert "engine" in (result.reason or "")
