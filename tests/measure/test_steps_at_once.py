# SPDX-License-Identifier: MIT
"""Steps that run side by side: all are done, and after an error none begins."""

import threading
from dataclasses import replace

import pytest

from lockscale.errors import RunFailed
from lockscale.measure.plan import plan
from lockscale.measure.run import run_steps
from lockscale.study.file import load_study

STEPS = plan(load_study("inode-claim"))


@pytest.mark.parametrize("at_once", [1, 2, 5])
def test_each_step_is_done_once(at_once: int):
    done = dict(run_steps(STEPS, lambda step: step.sequence, at_once))
    assert done == {step: step.sequence for step in STEPS}


def test_nothing_begins_after_an_error():
    """Not even by the thread that failed, which is free before anybody hears of it."""
    begun, waits = [], threading.Event()

    def work(step):
        begun.append(step.sequence)
        if step.sequence == 1:
            raise RunFailed("the first")
        waits.wait(5)

    for _ in range(200):
        begun.clear()
        waits.clear()
        with pytest.raises(RunFailed, match="the first"):
            list(run_steps([*STEPS, *(replace(one, sequence=99) for one in STEPS)], work, 2))
        waits.set()
        assert set(begun) <= {1, 2}
