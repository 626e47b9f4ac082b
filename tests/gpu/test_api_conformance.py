"""The questions of the API's conformance program, asked of a real GPU's runtime and driver.

With `CUDANALYST_RECORD` set, the answers are written to `api-conformance.json` there; as `tests/tools/engine/data/api-*.json.gz` they are what
the engine is held to.
"""

import asyncio
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cudanalyst.tools.toolchain.discovery import find_toolkit
from tests.tools.engine.conformance import cases

pytestmark = pytest.mark.gpu


def test_the_gpu_answers_as_it_did_when_it_was_recorded(tmp_path: Path, record: Callable[[str, Any], None]) -> None:
    toolkit = asyncio.run(find_toolkit())
    program = tmp_path / "conformance"
    subprocess.run(
        [toolkit.nvcc, "-std=c++17", "-gencode=arch=compute_90,code=[sm_90,compute_90]", *cases.FLAGS, cases.SOURCE, "-o", program],
        check=True,
    )  # fmt: skip
    seen = cases.all_answers(program, at_once=os.cpu_count() or 1)
    record("api-conformance", seen)
    if cases.RECORDED.exists():
        before = cases.recorded()
        assert {case: seen[case] for case in before} == before
