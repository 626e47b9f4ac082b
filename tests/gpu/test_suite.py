"""The suite's correct programs (`tests/tools/engine/suite`) on this GPU: they print what was recorded on an H200, which the engine is held to.

What the tools say of them is recorded apart, in minutes: `python3 -m tests.tools.engine.suite.record_correct FOLDER`.
"""

import asyncio
from pathlib import Path

import pytest

from tests.tools.engine.suite import table
from tests.tools.engine.suite.record import SUITE, cases_of, run
from tests.tools.engine.suite.record_correct import RUN_S, compiled

pytestmark = [pytest.mark.gpu, pytest.mark.anyio]


@pytest.mark.usefixtures("beside")
@pytest.mark.parametrize("source", sorted((SUITE / "correct").glob("*.cu")), ids=lambda path: path.stem)
async def test_correct_programs_print_what_was_recorded(source: Path, tmp_path: Path, record) -> None:
    binary = await asyncio.to_thread(compiled, source, tmp_path)
    printed = {case: await asyncio.to_thread(run, [str(binary), case], RUN_S) for case in cases_of(source)}
    record(f"suite/{source.stem}", printed)
    recorded = table.read(table.CORRECT)
    for case, (status, text) in printed.items():
        assert status == 0, text
        assert "WRONG" not in text
        assert text == recorded.get(case, {}).get("printed", text)
