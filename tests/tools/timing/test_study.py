"""The benchmark that counts errors of timing, on a simulated clock: which comparisons it makes, and how it ends."""

import argparse
import json

import pytest

from benchmarks import gpu_timing
from benchmarks.gpu_timing import measure, take_turns
from benchmarks.timing.cases import STUDY, Case, Running
from benchmarks.timing.rig import Work
from cudanalyst.tools.timing.models import Uncompared

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Bench:
    """Notes whose turn it is; a comparison moves the clock by as many seconds as its work has vectors."""

    def __init__(self) -> None:
        self.now = 0.0
        self.turns: list[int] = []

    async def compare(self, a, b, mode, seed, *, looked):
        self.turns.append(a.vectors)
        self.now += a.vectors
        return Uncompared(reason="nothing is compared here"), float(a.vectors)


def cases(*counts: int) -> list[Running]:
    return [
        Running(Case(5, "warm", 0.0, count), Work(index + 1, 1), Work(index + 1, 1), None)
        for index, count in enumerate(counts)
    ]


async def turns(monkeypatch, running, ends_at) -> Bench:
    bench = Bench()
    monkeypatch.setattr(gpu_timing.time, "monotonic", lambda: bench.now)
    await take_turns(bench, running, ends_at, lambda: None)
    return bench


async def test_cases_take_turns_until_each_has_its_count(monkeypatch) -> None:
    running = cases(2, 3)
    bench = await turns(monkeypatch, running, 1e9)
    assert bench.turns == [1, 2, 1, 2, 2]
    assert [len(one.results) for one in running] == [2, 3]


@pytest.mark.parametrize("ends_at", [7.0, 20.0, 29.5, 60.0])
async def test_a_time_limit_is_never_passed_and_leaves_equal_counts(monkeypatch, ends_at) -> None:
    running = cases(1000, 1000, 1000)
    bench = await turns(monkeypatch, running, ends_at)
    counts = [len(one.results) for one in running]
    assert max(counts) - min(counts) <= 1
    assert ends_at - 5 < bench.now <= ends_at


def test_the_study_has_what_the_figures_ask_for() -> None:
    assert {(one.us, one.mode, one.difference): one.count for one in STUDY} == {
        **{(us, "warm", difference): 200 for us in (5, 200, 5000) for difference in (0.0, 0.02)},
        **{(us, "cold", difference): 60 for us in (5, 50) for difference in (0.0, 0.05)},
    }


async def test_a_whole_study_is_right_on_known_kernels_and_keeps_every_comparison(machine, tmp_path) -> None:
    options = argparse.Namespace(
        study=True, comparisons=2, total=100.0, cases=["warm_5us", "cold_50us_equal"], device=0,
        json=tmp_path / "study.json", copy=False, driver=machine.driver, kernels=machine.own_kernels(),
        image=machine.image("work", ["kernel work 0 0.001 8,8,8,8,4 stream"]),
    )  # fmt: skip
    report = await measure(options)
    assert json.loads(options.json.read_text())["cases"] == json.loads(json.dumps(report["cases"]))
    assert report["cut_off"] is False
    assert [(row["case"], row["comparisons"], row["right"]) for row in report["cases"]] == [
        ("warm_5us_equal", 2, 2), ("warm_5us_2%", 2, 2), ("cold_50us_equal", 2, 2),
    ]  # fmt: skip
    row = report["cases"][1]
    assert {name: len(column) for name, column in row["each"].items()} == dict.fromkeys(row["each"], 2)
    assert row["each"]["verdict"] == ["faster", "slower"]
    assert row["each"]["more_work"] == ["B", "A"]
    assert row["true_ratio"] == pytest.approx(1.02, abs=0.003)
    assert row["second_clock_disagrees"] == 0
    assert len(json.dumps(row["each"])) / 2 * 1440 < 1_000_000


async def test_a_study_without_time_says_that_it_was_cut_off(machine, tmp_path) -> None:
    options = argparse.Namespace(
        study=True, comparisons=None, total=0.0, cases=[], device=0, json=tmp_path / "study.json", copy=False,
        driver=machine.driver, kernels=machine.own_kernels(), image=machine.image("work", []),
    )  # fmt: skip
    report = await measure(options)
    assert report["cut_off"] is True
    assert json.loads(options.json.read_text())["cases"] == []
