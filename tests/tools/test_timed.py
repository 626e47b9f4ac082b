"""What `run` says of measured time: which candidates are timed, what counts as fast, and what is said."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from pydantic import ValidationError

from cudanalyst.tools.run import RunRequest, RunResult, run
from cudanalyst.tools.timed import Timed
from cudanalyst.tools.timing.models import Comparison, SizeTiming, Uncompared
from cudanalyst.tools.toolchain.protocol import Build, CandidateRequest, ComparisonRequest, Execution, ExecutionRequest
from tests.tools.fakes import (
    CANDIDATE,
    DOUBLE,
    MEASURED_ON,
    SECRET,
    FakeToolchain,
    double_expected,
    ended,
    run_calls,
)

pytestmark = pytest.mark.anyio


def comparison(speedup: float, **fields: Any) -> Comparison:
    plain = {
        "mode": "warm", "verdict": "faster" if speedup > 1.01 else "slower" if speedup < 0.99 else "same", "speedup": speedup,
        "speedup_low": speedup * 0.999, "speedup_high": speedup * 1.001, "candidate_us": 10.0, "baseline_us": 10.0 * speedup,
        "groups": 8, "looks": 1, "resolvable": 0.001,
    }  # fmt: skip
    return Comparison(**{**plain, **fields})


@dataclass
class TimingToolchain(FakeToolchain):
    """Answers comparisons by the size's n; executions are said to be replayed."""

    answers: dict[int, Comparison | Uncompared] = field(default_factory=dict)
    trust: str = "replayed"
    compared: list[ComparisonRequest] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.offered = {"time": True, **self.offered}
        if self.script is None:
            self.script = self._replayed

    def _replayed(self, request: ExecutionRequest) -> Execution:
        if not isinstance(request, CandidateRequest):
            return ended("returned")
        plain = run_calls(self.solve, request)
        plain.extra["trust"] = self.trust  # type: ignore[index]
        return plain

    async def compare(
        self, candidate: Build, baseline: Build, requests: Sequence[ComparisonRequest]
    ) -> tuple[Comparison | Uncompared, ...]:
        assert candidate.source_id == CANDIDATE.id
        assert str(baseline.binary) == DOUBLE.baseline
        answers: list[Comparison | Uncompared] = []
        for request in requests:
            self.compared.append(request)
            answers.append(self.answers[request.sizes["n"]])
            if isinstance(answers[-1], Comparison) and answers[-1].fault:
                break
        return tuple(answers)


async def timed(
    answers: dict[int, Any], request: RunRequest | None = None, **fields: Any
) -> tuple[RunResult, TimingToolchain]:
    toolchain = TimingToolchain(answers=answers, **fields)
    result = await run(
        CANDIDATE, DOUBLE, toolchain, request or RunRequest(model=False), expected=double_expected, secret=SECRET
    )
    return result, toolchain


async def test_a_passing_candidate_is_compared_at_every_eval_size_the_smallest_first() -> None:
    result, toolchain = await timed({4096: comparison(2.0), 16384: comparison(1.5)})
    assert [one.sizes for one in toolchain.compared] == [{"n": 4096}, {"n": 16384}]
    assert {one.mode for one in toolchain.compared} == {"warm"}
    assert len({one.secret for one in toolchain.compared}) == 2
    assert [one.sizes["n"] for one in result.timings] == [4096, 16384]
    assert result.speedup == pytest.approx(math.sqrt(3.0))
    assert result.speedup_min == 1.5
    assert result.fast is True
    assert (result.measured_us, result.baseline_measured_us) == (10.0, 15.0)
    assert (
        "1.73 times the baseline's speed (geometric mean of 2 sizes, least 1.50); it counts as fast" in result.summary
    )


@pytest.mark.parametrize(("least", "fast"), [(1.12, True), (1.1199, False), (0.5, False)])
async def test_one_slow_size_keeps_a_candidate_from_being_fast(least, fast) -> None:
    result, _ = await timed({4096: comparison(least), 16384: comparison(30.0)})
    assert result.fast is fast
    assert result.speedup_min == least


async def test_a_suspicious_size_counts_against_the_candidate_and_is_said() -> None:
    odd = comparison(30.0, verdict="suspicious", notes=("below what the device can do",))
    result, _ = await timed({4096: odd, 16384: comparison(2.0)})
    assert result.status == "passed"
    assert result.fast is False
    assert result.speedup is None
    assert "suspicious" in result.summary
    assert "below what the device can do" in result.summary


@pytest.mark.parametrize("fault", ["wrong", "contract_violation", "crashed", "timed_out"])
async def test_what_goes_wrong_in_a_timed_call_decides_the_status(fault) -> None:
    bad = comparison(2.0, verdict="suspicious", fault=fault, notes=("in a timed call: y[3] was never written",))
    result, toolchain = await timed({4096: bad, 16384: comparison(2.0)})
    assert result.status == fault
    assert result.fast is None
    assert result.speedup is None
    assert len(toolchain.compared) == 1
    assert result.cases[-1].group == "eval"
    assert "in a timed call" in result.summary


async def test_a_size_that_could_not_be_compared_leaves_fast_open_and_says_why() -> None:
    result, _ = await timed(
        {4096: comparison(2.0), 16384: Uncompared(reason="clients of an MPS server share this GPU")}
    )
    assert result.fast is None
    assert result.speedup is None
    assert result.timings[1].reason == "clients of an MPS server share this GPU"
    assert "Not timed against the baseline at n=16384: clients of an MPS server" in result.summary


async def test_what_ran_natively_is_never_timed() -> None:
    result, toolchain = await timed({}, trust="native")
    assert toolchain.compared == []
    assert result.fast is None
    assert "natively" in result.timings[0].reason


async def test_inconclusive_sizes_say_what_they_could_have_resolved() -> None:
    vague = comparison(1.3, verdict="inconclusive", resolvable=0.04)
    result, _ = await timed({4096: vague, 16384: comparison(1.3)})
    assert "inconclusive at n=4096, where differences below 4 % do not show" in result.summary


@pytest.mark.parametrize("fields", [{"offered": {"time": False}}, {"solve": lambda _: None}])
async def test_nothing_is_timed_where_the_toolchain_cannot_or_the_candidate_is_wrong(fields) -> None:
    result, toolchain = await timed({}, **fields)
    assert toolchain.compared == []
    assert result.timings == ()
    assert result.fast is None


async def test_a_device_that_cannot_be_timed_on_is_the_reason_in_the_summary() -> None:
    result, _ = await timed({}, offered={"time": False, "reasons": {"time": "MPS shares the GPU"}})
    assert result.status == "passed"
    assert result.summary.endswith("Not timed: MPS shares the GPU.")


async def test_timing_can_be_left_out_and_other_modes_be_asked_for() -> None:
    _, none = await timed({}, RunRequest(model=False, timing=()))
    assert none.compared == []
    answers = {4096: comparison(2.0), 16384: comparison(2.0)}
    result, both = await timed(answers, RunRequest(model=False, timing=("warm", "cold")))
    assert [one.mode for one in both.compared] == ["warm", "warm", "cold", "cold"]
    assert len(result.timings) == 4


async def test_a_baseline_that_does_not_build_is_the_reason() -> None:
    @dataclass
    class BadBaseline(TimingToolchain):
        async def build(self, source) -> Build:
            built = await super().build(source)
            return (
                built
                if source.text == CANDIDATE.text
                else built.model_copy(update={"status": "failed", "binary": None})
            )

    result = await run(
        CANDIDATE, DOUBLE, BadBaseline(), RunRequest(model=False), expected=double_expected, secret=SECRET
    )
    assert "does not compile" in result.timings[0].reason


def test_nothing_compared_is_not_fast_and_not_slow() -> None:
    assert Timed().fast is None
    assert Timed().speedup is None
    assert Timed((SizeTiming(sizes={"n": 1}, mode="warm", reason="no"),)).fast is None


def test_results_that_contradict_themselves_are_refused() -> None:
    plain = {"summary": "", "measured_on": MEASURED_ON, "cases": ()}
    with pytest.raises(ValidationError):
        RunResult(status="wrong", speedup=2.0, **plain)
    case = {"group": "test", "sizes": {"n": 1}, "seed_index": 0, "status": "passed"}
    with pytest.raises(ValidationError, match="natively"):
        RunResult(status="passed", fast=True, trust="native", **{**plain, "cases": (case,)})
