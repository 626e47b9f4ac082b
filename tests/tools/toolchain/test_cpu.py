import dataclasses

import pytest

from cudanalyst.tools.source import Source
from cudanalyst.tools.toolchain.cpu import CpuToolchain
from cudanalyst.tools.toolchain.default import default_toolchain
from cudanalyst.tools.toolchain.execution import check_failure
from cudanalyst.tools.toolchain.protocol import Execution, ProgramRequest, Toolchain

pytestmark = pytest.mark.anyio

RETURNED = Execution(
    how="returned", exit_status=0, signal=None, stdout="", stderr="", stdout_bytes=0, stderr_bytes=0,
    report=({"type": "engine"}, {"type": "end"}), downloads=(), duration_s=0.1, sandbox="full",
)  # fmt: skip


@pytest.fixture(autouse=True)
def no_other_toolkits(monkeypatch):
    monkeypatch.setattr("cudanalyst.tools.toolchain.discovery.sysconfig.get_path", lambda _name: "/nonexistent")
    monkeypatch.setattr("cudanalyst.tools.toolchain.discovery.LOCAL_TOOLKITS", "/nonexistent")


async def test_a_missing_nvcc_is_unavailable_with_the_remedy(tmp_path):
    cpu: Toolchain = CpuToolchain(cache=tmp_path, environment={"PATH": "/nonexistent"})
    built = await cpu.build(Source(text="int main() {}"))
    assert built.status == "unavailable"
    assert "pip install 'cudanalyst[cuda]'" in (built.reason or "")
    can = await cpu.capabilities()
    assert (can.build, can.execute, can.sanitize, can.profile) == (False, False, (), False)
    assert set(can.reasons) == {"build", "execute", "sanitize", "profile"}
    execution = await cpu.execute(built, ProgramRequest())
    assert execution.how == "unavailable"
    assert execution.reason


async def test_a_missing_host_compiler_is_unavailable_with_the_remedy(tmp_path):
    nvcc = tmp_path / "cuda" / "bin" / "nvcc"
    nvcc.parent.mkdir(parents=True)
    nvcc.write_text(
        f'#!/bin/sh\ncase "$1" in --version) echo V13.0.88;; *) echo "#$ TOP={nvcc.parent.parent}" >&2;; esac\n'
    )
    nvcc.chmod(0o755)
    cpu = CpuToolchain(cache=tmp_path, environment={"CUDA_HOME": str(tmp_path / "cuda"), "PATH": "/nonexistent"})
    built = await cpu.build(Source(text="int main() {}"))
    assert built.status == "unavailable"
    assert "Install g++" in (built.reason or "")


def test_the_default_is_the_cpu_engine():
    assert default_toolchain().name == "cpu"


def test_a_check_that_ended_well_did_not_fail():
    assert check_failure(RETURNED) is None


@pytest.mark.parametrize("last", ["error", "watchdog"])
def test_a_check_that_says_why_it_stopped_did_not_fail(last):
    execution = dataclasses.replace(
        RETURNED, how="signalled", reason="ended by SIGABRT", report=({"type": "engine"}, {"type": last})
    )
    assert check_failure(execution) is None


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        (
            {"report": ({"type": "engine"},), "how": "signalled", "reason": "ended by SIGSEGV"},
            "ended by SIGSEGV before the check was complete",
        ),
        ({"report": ({"type": "engine"},), "how": "timed_out", "reason": "stopped after 3 s"}, "stopped after 3 s"),
        ({"report": (), "reason": None}, "did not start"),
        ({"extra": {"report_problem": "line 2 of the report is malformed"}}, "malformed"),
        (
            {
                "report": (
                    {"type": "engine"},
                    {"type": "unsupported", "what": "instruction", "name": "wgmma"},
                    {"type": "end"},
                )
            },
            "wgmma",
        ),
        ({"how": "unavailable", "reason": "no binary"}, "no binary"),
    ],
)
def test_a_check_that_proves_nothing_failed(changes, says):
    failure = check_failure(dataclasses.replace(RETURNED, **changes))
    assert says in (failure or "")
