# SPDX-License-Identifier: MIT
"""Paths that cannot be run are refused in one sentence that names step, lock and thread."""

import re
from collections.abc import Callable

import numpy as np
import pytest

from lockscale.errors import BadInput
from lockscale.sim.path import DONE, LOCK, SPEND, Builder, Path, Program
from lockscale.sim.primitives import Bitmap, Lock, ns, us
from lockscale.sim.simulation import replicate


def locks_twice(path: Path, lock: Lock) -> None:
    path.lock(lock)
    path.lock(lock)


def unlocks_what_it_does_not_hold(path: Path, lock: Lock) -> None:
    path.spend(ns(1))
    path.unlock(lock)


def goes_back_holding(path: Path, lock: Lock) -> None:
    label = path.label("again")
    path.lock(lock)
    path.retry_if_lost(label)


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        (locks_twice, "step 2 of path 'create' locks 'group', which the path already holds"),
        (unlocks_what_it_does_not_hold, "step 2 of path 'create' unlocks 'group'"),
        (goes_back_holding, "step 2 of path 'create' goes back to 'again' with other locks held"),
    ],
)
def test_wrong_locking_is_refused_when_written(steps: Callable[[Path, Lock], None], message: str) -> None:
    m = Builder()
    lock = m.queued_lock("group", hold=ns(1))
    with pytest.raises(BadInput, match=re.escape(message)):
        steps(m.path("create"), lock)


def test_a_path_must_end_without_locks() -> None:
    m = Builder()
    m.path("create").lock(m.queued_lock("group", hold=ns(1)))
    with pytest.raises(BadInput, match="ends holding \\['group'\\]"):
        m.compile()


def test_a_model_needs_one_path_with_steps_and_lock_names_differ() -> None:
    m = Builder()
    with pytest.raises(BadInput, match="no steps"):
        m.compile()
    m.path("create")
    with pytest.raises(BadInput, match="second path"):
        m.path("remove")
    m.queued_lock("group", hold=ns(1))
    with pytest.raises(BadInput, match="defined twice"):
        m.unfair_lock("group", hold=ns(1))


@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf"), 1e300])
def test_delays_are_finite_times(value: float) -> None:
    with pytest.raises(BadInput, match="cannot be simulated"):
        us(value)


def test_op_table_reads_like_the_path() -> None:
    m = Builder()
    m.path("create").spend(ns(5), "journal_start")
    program = m.compile()
    assert program.steps == ("journal_start", "done")
    assert program.ops.tolist() == [[SPEND, 5_000, 0], [DONE, 0, 0]]


def run(program: Program, threads: int = 2) -> None:
    replicate(program, threads, seed=1, replication=0, operations=100, warm_up=0)


def test_a_retry_loop_in_which_no_time_passes_is_named() -> None:
    m = Builder()
    bitmap: Bitmap = m.bitmap("bits")
    path = m.path("create")
    path.find_zero(bitmap)
    path.spend(ns(10))
    path.claim(bitmap)
    path.retry_if_lost(path.label("spin"))
    with pytest.raises(BadInput, match=r"thread 1 at step 'retry from spin': .*no time passes"):
        run(m.compile())


def test_operations_that_take_no_time_are_refused() -> None:
    m = Builder()
    m.path("create").spend(ns(0))
    with pytest.raises(BadInput, match="one instant"):
        run(m.compile())


def test_deadlock_is_named() -> None:
    """The builder refuses such a path, so its op table is written by hand."""
    ops = np.array([[LOCK, 0, 0], [LOCK, 0, 0], [DONE, 0, 0]], dtype=np.int64)
    locks = np.zeros((1, 4), np.int64)
    steps = ("lock group", "lock group again", "done")
    program = Program(ops, locks, np.zeros((0, 1), np.int64), steps, ("group",))
    with pytest.raises(BadInput, match="thread 0 at step 'lock group again': every thread waits"):
        run(program)


def test_simulated_time_has_an_end() -> None:
    m = Builder()
    m.path("create").spend(us(10_000_000))
    with pytest.raises(BadInput, match="simulated time"):
        replicate(m.compile(), 4096, seed=1, replication=0, operations=10**6, warm_up=0)
