"""Whose contexts are on the device."""

import os
import subprocess
import sys

import pytest

from cudanalyst.tools.gpu.state import ComputeProcess, DeviceState
from cudanalyst.tools.timing.foreign import descends, foreign_contexts, parent_of

ME = 100
PARENTS = {100: 50, 101: 100, 102: 101, 200: 1, 50: 1, 1: 0}
"""A server (100), its executor, what a sandbox started below it, and a stranger."""


def foreign(*moments: tuple[int, ...] | None, own_contexts: int = 2) -> int:
    states = [
        DeviceState(processes=None if pids is None else tuple(ComputeProcess(pid=pid) for pid in pids))
        for pids in moments
    ]
    return foreign_contexts(states, own_contexts, me=ME, parent=PARENTS.get)


@pytest.mark.parametrize(
    ("pids", "others"),
    [((101,), 0), ((100, 101), 0), ((101, 102, 100), 0), ((101, 200), 1), ((200, 50, 101), 2), ((101, 101), 0)],
)
def test_this_process_and_what_it_started_are_not_foreign(pids, others) -> None:
    assert foreign(pids) == others


@pytest.mark.parametrize(("pids", "others"), [((90001, 90002), 0), ((90001,), 0), ((90001, 90002, 90003), 1), ((), 0)])
def test_numbers_of_another_namespace_are_only_counted(pids, others) -> None:
    assert foreign(pids) == others


def test_the_busiest_moment_counts_and_unknown_ones_do_not() -> None:
    assert foreign(None, (101,), (101, 200), None) == 1
    assert foreign(None) == 0


def test_a_ring_of_parents_ends() -> None:
    assert not descends(7, ME, {7: 8, 8: 7}.get)


def test_a_real_child_and_grandchild_descend_from_this_process_and_its_parent_does_not() -> None:
    """The grandchild says its number and waits."""
    script = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import os; print(os.getpid(), flush=True); input()'])"
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        grandchild = int(child.stdout.readline())
        assert parent_of(grandchild) == child.pid
        assert descends(grandchild, os.getpid())
        assert not descends(os.getppid(), os.getpid())
        child.communicate("\n")
    assert parent_of(grandchild) is None
