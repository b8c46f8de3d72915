# SPDX-License-Identifier: MIT
"""Paths that cannot be run are refused in one sentence that names step, lock and thread."""

import re
from collections.abc import Callable

import pytest

from lockscale.errors import BadInput
from lockscale.sim.builder import Builder
from lockscale.sim.delays import ns, us
from lockscale.sim.engine.op_codes import DONE, SPEND
from lockscale.sim.path import Path
from lockscale.sim.primitives import Bitmap, Lock
from lockscale.sim.program import Program
from lockscale.sim.replicate import replicate


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
    m = Builder(2)
    lock = m.queued_lock("group", hold=ns(1))
    with pytest.raises(BadInput, match=re.escape(message)):
        steps(m.path("create"), lock)


def test_a_path_must_end_without_locks() -> None:
    m = Builder(2)
    m.path("create").lock(m.queued_lock("group", hold=ns(1)))
    with pytest.raises(BadInput, match="ends holding \\['group'\\]"):
        m.compile()


def test_a_model_needs_steps_and_names_differ() -> None:
    m = Builder(2)
    with pytest.raises(BadInput, match="no steps"):
        m.compile()
    m.path("create")
    with pytest.raises(BadInput, match="path 'create' is defined twice"):
        m.path("create")
    m.queued_lock("group", hold=ns(1))
    with pytest.raises(BadInput, match="defined twice"):
        m.unfair_lock("group", hold=ns(1))


@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf"), 1e300])
def test_delays_are_finite_times(value: float) -> None:
    with pytest.raises(BadInput, match="cannot be simulated"):
        us(value)


def test_op_table_reads_like_the_path() -> None:
    m = Builder(2)
    m.path("create").spend(ns(5), "journal_start")
    program = m.compile()
    assert program.steps == ("journal_start", "done")
    assert program.ops["code"].tolist() == [SPEND, DONE]
    assert program.ops["mean_ps"].tolist() == [5_000, 0]


def run(program: Program) -> None:
    replicate(program, seed=1, replication=0, operations=100, warm_up=0)


def test_a_retry_loop_in_which_no_time_passes_is_named() -> None:
    m = Builder(2)
    bitmap: Bitmap = m.bitmap("bits")
    path = m.path("create")
    path.find_zero(bitmap)
    path.spend(ns(10))
    path.claim(bitmap)
    path.retry_if_lost(path.label("spin"))
    with pytest.raises(BadInput, match=r"thread 1 at step 'retry from spin': .*no time passes"):
        run(m.compile())


def test_operations_that_take_no_time_are_refused() -> None:
    m = Builder(2)
    m.path("create").spend(ns(0))
    with pytest.raises(BadInput, match="same instant"):
        run(m.compile())


def crossed_locks(paths: int) -> Program:
    """One class takes a then b, the other b then a."""
    m = Builder(2)
    a, b = m.queued_lock("a", hold=ns(5)), m.queued_lock("b", hold=ns(5))
    for k in range(paths):
        path = m.path(f"path {k}")
        for lock in (a, b) if k == 0 else (b, a):
            path.lock(lock)
        path.unlock(a)
        path.unlock(b)
    return m.compile()


def test_crossed_locks_name_thread_lock_and_step() -> None:
    said = "thread 1 at step 'lock a': waits for lock 'a', whose holder waits for a lock of this thread"
    with pytest.raises(BadInput, match=said):
        run(crossed_locks(2))
    run(crossed_locks(1))


def test_crossed_locks_are_found_while_other_threads_go_on() -> None:
    m = Builder(2)
    a, b = m.queued_lock("a", hold=ns(5)), m.queued_lock("b", hold=ns(5))
    for first, second in ((a, b), (b, a)):
        path = m.path(f"{first.name} first", threads=1)
        path.lock(first)
        path.lock(second)
        path.unlock(first)
        path.unlock(second)
    m.path("others").spend(ns(1))
    with pytest.raises(BadInput, match="deadlock; take the locks in one order"):
        run(m.compile())


def test_unlock_of_another_shard_than_was_locked_is_refused() -> None:
    m = Builder(2)
    groups, place = m.queued_lock("group", hold=ns(5), shards=4), m.place("goal", shards=4)
    path = m.path("create")
    path.lock(groups, place)
    with pytest.raises(BadInput, match="step 2 of path 'create' moves place 'goal', where 'group' is held"):
        path.pick_next(place)


def test_retries_that_never_end_are_found_though_time_passes() -> None:
    """The lock is taken for ever by a thread that tries to take another one that its owner holds."""
    m = Builder(1)
    slots = m.slots("slots", per_block=1)
    path = m.path("add")
    again = path.label("again")
    path.spend(ns(10))
    path.reserve(slots)
    path.retry_if_lost(again)
    with pytest.raises(BadInput, match="no operation is completed"):
        run(m.compile())


def test_a_gate_that_nobody_leaves_is_refused() -> None:
    m = Builder(2)
    gate = m.commit_gate("journal", commit=us(1), entries=2)
    path = m.path("handle")
    path.enter(gate)
    path.spend(ns(5))
    with pytest.raises(BadInput, match="ends holding \\['journal'\\]: unlock or leave it"):
        m.compile()


def test_simulated_time_has_an_end() -> None:
    m = Builder(4096)
    m.path("create").spend(us(10_000_000))
    with pytest.raises(BadInput, match="simulated time"):
        replicate(m.compile(), seed=1, replication=0, operations=10**6, warm_up=0)
