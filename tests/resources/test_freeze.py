"""Freezing: evidence once, identity by content, and owners apart."""

import pytest

from cudanalyst.errors import BadRequest, NotFound, Unavailable
from cudanalyst.resources.events import CheckpointFrozen, CheckpointRestored
from cudanalyst.resources.freeze import Moment, checkpoint_of, commit, freeze, restore
from cudanalyst.tools.source import Source


class Bench:
    """Counts how often the tools were run."""

    def __init__(self, results, **options) -> None:
        self.results, self.options, self.calls = results, options, 0

    async def __call__(self, source: Source):
        self.calls += 1
        return self.results(**self.options, duration=float(self.calls))


@pytest.mark.anyio
async def test_evidence_is_gathered_once_and_freezing_again_gives_the_same_id(lab, results) -> None:
    bench = Bench(results)
    moment = Moment(source=lab.source())
    first = await freeze(lab.store, lab.scope, moment, bench)
    again = await freeze(lab.store, lab.context("another"), moment, bench)
    assert first == again
    assert first.id == again.id
    assert bench.calls == 1
    assert lab.store.checkpoint(lab.owner, first.id) == first


@pytest.mark.anyio
async def test_refreezing_on_purpose_gathers_anew_and_equal_evidence_has_an_equal_id(lab, results) -> None:
    bench = Bench(results)
    first = await freeze(lab.store, lab.scope, Moment(source=lab.source()), bench)
    again = await freeze(lab.store, lab.scope, Moment(source=lab.source(), refreeze=1), bench)
    assert bench.calls == 2
    assert first.id == again.id


def test_durations_leave_no_trace_in_a_checkpoint(lab, results) -> None:
    moment = Moment(source=lab.source())
    quick, slow = checkpoint_of(moment, results(duration=0.001)), checkpoint_of(moment, results(duration=44.5))
    assert quick.id == slow.id


def test_of_two_that_freeze_one_moment_at_once_both_get_the_first(lab, results) -> None:
    moment = Moment(source=lab.source())
    first = commit(lab.store, lab.scope, moment, checkpoint_of(moment, results("wrong")))
    second = commit(lab.store, lab.scope, moment, checkpoint_of(moment, results("crashed")))
    assert second == first


@pytest.mark.parametrize(
    ("status", "speedup", "fast"),
    [("compile_failed", 1.0, False), ("wrong", 2.0, False), ("passed", 1.0, False), ("passed", 1.3, True)],
)
def test_a_checkpoint_holds_base_status_speed_and_evidence_of_all_components(lab, status, speedup, fast) -> None:
    checkpoint = lab.freeze(status=status, speedup=speedup)
    assert (checkpoint.base_status, checkpoint.fast) == (status, fast)
    assert checkpoint.modelled_speedup == (speedup if status == "passed" else None)
    assert set(checkpoint.evidence) == {"analyzer", "compiler", "debugger", "profiler"}
    structural = {component for component, evidence in checkpoint.evidence.items() if evidence.structural}
    assert structural == ({"debugger", "profiler"} if status == "compile_failed" else set())
    assert checkpoint.toolchain == {"nvcc": "13.0.88"}


def test_restoring_gives_the_very_state_and_says_so(lab) -> None:
    checkpoint = lab.freeze()
    assert restore(lab.store, lab.context("later"), checkpoint.id) == checkpoint
    kinds = [
        type(recorded.event)
        for recorded in lab.store.events(lab.owner, kinds=("checkpoint_frozen", "checkpoint_restored"))
    ]
    assert kinds == [CheckpointFrozen, CheckpointRestored]


def test_a_checkpoint_of_another_owner_is_unknown(lab) -> None:
    checkpoint = lab.freeze()
    theirs = lab.store.scope("bob", lab.store.start_session("bob"))
    with pytest.raises(NotFound, match="Unknown checkpoint"):
        restore(lab.store, theirs, checkpoint.id)


@pytest.mark.anyio
async def test_a_program_cannot_be_frozen(lab, results) -> None:
    with pytest.raises(BadRequest, match="program"):
        await freeze(lab.store, lab.scope, Moment(source=Source(text="int main() {}")), Bench(results))


@pytest.mark.anyio
@pytest.mark.parametrize("field", ["lineage", "references"])
async def test_ancestors_and_references_must_be_ones_own(lab, results, field: str) -> None:
    moment = Moment(source=lab.source(), **{field: ("cand_" + "0" * 32,)})
    bench = Bench(results)
    with pytest.raises(BadRequest, match=field):
        await freeze(lab.store, lab.scope, moment, bench)
    assert bench.calls == 0


@pytest.mark.anyio
async def test_tools_that_could_not_work_freeze_nothing(lab, results) -> None:
    async def broken(source: Source):
        gathered = results()
        run = gathered.run.model_copy(update={"status": "unavailable"})
        return gathered.model_copy(update={"run": run})

    with pytest.raises(Unavailable):
        await freeze(lab.store, lab.scope, Moment(source=lab.source()), broken)
    assert lab.store.events(lab.owner, kinds=("checkpoint_frozen",)) == []


def test_a_tool_still_at_work_freezes_nothing(lab, results) -> None:
    gathered = results()
    working = gathered.profiled.model_copy(update={"status": "running"})
    with pytest.raises(Unavailable, match="still at work"):
        checkpoint_of(Moment(source=lab.source()), gathered.model_copy(update={"profiled": working}))
