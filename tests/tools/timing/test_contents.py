"""Contents of timed calls: what is written to buffers, what is begun beforehand, and who takes it."""

from pathlib import Path

import numpy as np
import pytest

from cudanalyst.kernels.catalogue import Catalogue
from cudanalyst.kernels.extent import is_large
from cudanalyst.kernels.inputs import make_inputs
from cudanalyst.tools.cases import GUARD_BYTES, schedule_timed
from cudanalyst.tools.timing.contents import Access, HostContents
from cudanalyst.tools.timing.foreseen import AHEAD, NUMBERS, Foreseen, host_contents
from cudanalyst.tools.toolchain.protocol import ComparisonRequest

pytestmark = pytest.mark.anyio
CATALOGUE = Catalogue()
PROBLEM = CATALOGUE.problem("vector_add")
SECRET = b"a secret"
N = 100_003
"""More bytes than one piece of poison has."""
BUFFERS = {"a": "a@0", "b": "b@0", "out": "out@0"}


class Memory:
    """Keeps what is uploaded."""

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}

    async def upload(self, name: str, path: Path) -> None:
        self.kept[name] = path.read_bytes()

    async def command(self, word: str, name: str, path: Path, offset: int) -> None:
        assert (word, offset) == ("download", 0)
        path.write_bytes(self.kept[name])


def contents(n: int = N) -> HostContents:
    return HostContents(PROBLEM, {"n": n}, SECRET, CATALOGUE.expected)


def request(n: int, secret: bytes = SECRET) -> ComparisonRequest:
    return ComparisonRequest(PROBLEM, {"n": n}, "warm", secret, CATALOGUE.expected)


@pytest.mark.parametrize(("pattern", "byte"), [(0, 0x7F), (1, 0xFE)])
async def test_buffers_hold_inputs_and_poison_between_guards(tmp_path, pattern, byte) -> None:
    memory = Memory()
    await contents().put(Access(memory, tmp_path), BUFFERS, 3, pattern)
    scheduled = schedule_timed(SECRET, 3, pattern)
    inputs = make_inputs(PROBLEM, {"n": N}, scheduled.inputs_key, 3)
    bodies = {**{name: inputs.arrays[name].tobytes() for name in "ab"}, "out": bytes([byte]) * (4 * N)}
    for name, body in bodies.items():
        assert memory.kept[f"{name}@0"] == scheduled.guard_zone + body + scheduled.guard_zone


async def test_a_file_that_was_longer_before_is_not_longer_now(tmp_path) -> None:
    memory = Memory()
    for n in (N, 10):
        await contents(n).put(Access(memory, tmp_path), BUFFERS, 0, 0)
    assert len(memory.kept["out@0"]) == 40 + 2 * GUARD_BYTES


@pytest.mark.parametrize(
    ("buffer", "at", "fault", "said"),
    [
        ("out@0", GUARD_BYTES + 400_000, "wrong", "out[100000]"),
        ("a@0", GUARD_BYTES + 5, "contract_violation", "input `a` was changed"),
        ("b@0", 17, "contract_violation", "beyond the start of buffer `b`"),
        ("out@0", GUARD_BYTES + 4 * N, "contract_violation", "beyond the end of buffer `out`"),
    ],
)
async def test_what_calls_left_is_compared_to_the_last_byte(tmp_path, buffer, at, fault, said) -> None:
    made, memory = contents(), Memory()
    access = Access(memory, tmp_path)
    await made.put(access, BUFFERS, 0, 0)
    assert "never written" in (await (await made.collect(access, BUFFERS, 0, 0))).message
    _, reference = await made._inputs(0)
    guard = schedule_timed(SECRET, 0, 0).guard_zone
    memory.kept["out@0"] = guard + reference["out"].astype(np.float32).tobytes() + guard
    assert await (await made.collect(access, BUFFERS, 0, 0)) is None
    held = bytearray(memory.kept[buffer])
    held[at + 3] ^= 0x40
    memory.kept[buffer] = bytes(held)
    flaw = await (await made.collect(access, BUFFERS, 0, 0))
    assert flaw.fault == fault
    assert said in flaw.message


async def test_files_with_inputs_are_removed_when_asked(tmp_path) -> None:
    access = Access(Memory(), tmp_path)
    await contents(10).put(access, BUFFERS, 0, 0)
    assert list(tmp_path.iterdir())
    access.clear()
    assert not list(tmp_path.iterdir())


async def test_what_was_begun_is_taken_once_by_the_request_it_is_for() -> None:
    foreseen = Foreseen()
    wanted = [request(10, bytes([number])) for number in range(AHEAD + 1)]
    foreseen.begin(wanted)
    taken = foreseen.take(wanted[0])
    assert sorted(taken._drawn) == list(range(NUMBERS))
    assert foreseen.take(wanted[0]) is None
    assert foreseen.take(request(11, wanted[1].secret)) is None
    assert foreseen.take(wanted[AHEAD]) is None
    await foreseen.close()
    assert foreseen.take(wanted[1]) is None
    await taken.forget()


async def test_large_sizes_are_not_made_by_this_process() -> None:
    large = next(size for size in PROBLEM.sizes["eval"] if is_large(PROBLEM, size))
    assert host_contents(request(large["n"])) is None
