"""Candidates that try to look better than they are, through `run` on the CPU engine: caught with the reason, or powerless.

The head of each file says what kind it is, what it tries, and what must come of it at trust `replayed`: `STATUS | words of the
reason`, several statuses where chance or the machine decides. `passed` means powerless: the right answer came back, so nothing was gained.
`gpu` is the same for a real GPU where that is another one, and `because` says why an ending is right that is not plain.
"""

import asyncio
import contextlib
import hashlib
import re
import secrets
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

import cudanalyst
from cudanalyst.tools.run import RunRequest, RunResult
from cudanalyst.tools.toolchain.cpu import CpuToolchain
from tests.candidate_files import DECOY, CandidateFile, build_ahead, candidate_files, evaluated, selected

pytestmark = pytest.mark.anyio
FOLDER = Path(__file__).parent
QUICK = RunRequest(model=False, seeds=2, timeout_s=5, max_warp_instructions=2_000_000)
LARGE = QUICK.model_copy(update={"groups": ("eval",), "max_warp_instructions": 20_000_000})
ALL = candidate_files(FOLDER)
KINDS = {
    "work on other streams", "work left pending", "patched timers", "forged result channels", "warm-up detection",
    "all work in the first call", "cached outputs by pointer", "cached outputs by shape", "cached outputs by value", "persisting L2",
    "stale captured graphs", "one size driven to zero", "slowing the baseline",
    "answer left in the output buffer", "inputs overwritten", "constant outputs", "visible shapes and seeds special-cased",
    "silent launch failure", "uninitialised reads", "out-of-range writes", "lower precision than asked", "library instead of kernel",
    "printing the harness's words", "reading or changing the harness's files",
    "host code: constructors", "host code: destructors", "host code: threads that outlive solve", "host code: signals",
    "host code: GOT patching", "host code: memory of the recorder", "host code: descriptor hunting", "host code: /proc/PID/mem",
    "host code: ptrace", "host code: LD_PRELOAD-like tricks", "host code: exhausting the machine", "host code: the sandbox",
    "host code: control that depends on device data", "hang", "contract",
}  # fmt: skip


def expectation(each: CandidateFile) -> tuple[set[str], str]:
    statuses, _, words = each.said("replayed").partition("|")
    return set(statuses.strip().split("/")), words.strip()


def left_behind() -> list[str]:
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):  # gone by now, or no process
            if (entry / "comm").read_text().strip() == "left-behind":
                found.append(entry.name)
    return found


def state_of_the_judge() -> str:
    """A digest of all that decides a verdict."""
    digest = hashlib.sha256()
    package = Path(cudanalyst.__file__).parent
    for path in sorted([*package.rglob("*.py"), *package.rglob("*.toml"), *FOLDER.glob("*.cu")]):
        digest.update(path.read_bytes())
    return digest.hexdigest()


@pytest.fixture(scope="module")
def decoy(tmp_path_factory) -> Path:
    """A file of the harness that no candidate may read or change."""
    path = tmp_path_factory.mktemp("harness") / "secret.txt"
    path.write_text(f"token {secrets.token_hex(16)}\n")
    path.chmod(0o644)
    return path


@pytest.fixture(scope="module")
async def cpu(request: pytest.FixtureRequest, anyio_backend, decoy: Path) -> AsyncIterator[CpuToolchain]:
    """The toolchain, with everything being built in the background; the judge is what it was at the end."""
    toolchain = CpuToolchain()
    await toolchain.prepare()
    before = state_of_the_judge()
    async with asyncio.TaskGroup() as group:
        builds = build_ahead(group, toolchain, [each.source(decoy) for each in selected(request)])
        yield toolchain
        for build in builds.values():
            build.cancel()
    assert state_of_the_judge() == before


async def judged(each: CandidateFile, toolchain: CpuToolchain, decoy: Path) -> RunResult:
    """What `run` says, once the decoy and the processes of the machine were looked at."""
    content, state = decoy.read_bytes(), decoy.stat()
    request = LARGE if each.said("sizes") == "eval" else QUICK
    if seeds := each.said("seeds"):
        request = request.model_copy(update={"seeds": int(seeds)})
    if limit_s := each.said("limit_s"):
        request = request.model_copy(update={"timeout_s": float(limit_s)})
    result = await evaluated(each.source(decoy), toolchain, request)
    after = decoy.stat()
    assert decoy.read_bytes() == content
    assert (after.st_ino, after.st_mode, after.st_mtime_ns) == (state.st_ino, state.st_mode, state.st_mtime_ns)
    assert content.split()[1].decode() not in result.model_dump_json()
    assert left_behind() == []
    return result


def test_every_kind_that_is_known_has_candidates_and_most_have_several() -> None:
    kinds = Counter(each.said("kind") for each in ALL)
    assert set(kinds) == KINDS | {"control"}
    assert sum(kinds.values()) >= 100
    assert sum(count > 1 for count in kinds.values()) > len(KINDS) * 2 / 3
    assert all(each.said("tries") and expectation(each)[0] for each in ALL)


def test_a_source_that_names_the_decoy_takes_its_path() -> None:
    assert sum(DECOY in each.text for each in ALL) >= 3


@pytest.mark.parametrize("each", ALL, ids=lambda each: each.name)
async def test_each_adversary_is_caught_with_the_reason_or_powerless(
    each: CandidateFile, cpu: CpuToolchain, decoy: Path
) -> None:
    statuses, words = expectation(each)
    result = await judged(each, cpu, decoy)
    told = f"{result.summary} {result.reason or ''}"
    assert result.status in statuses, told
    assert words in told
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", result.model_dump_json())
    if result.trust is not None:
        assert result.trust == each.said("trust", "replayed"), told


@pytest.mark.parametrize("each", [each.twin for each in ALL if each.twin], ids=lambda each: each.name)
async def test_the_honest_twin_of_an_exploit_of_timed_calls_is_right(
    each: CandidateFile, cpu: CpuToolchain, decoy: Path
) -> None:
    """Timings of exploits on a GPU are compared with these."""
    assert (await judged(each, cpu, decoy)).status == "passed"


async def test_after_all_of_them_an_honest_candidate_still_passes(cpu: CpuToolchain, decoy: Path) -> None:
    honest = next(each for each in ALL if each.name == "honest")
    assert (await judged(honest, cpu, decoy)).status == "passed"
