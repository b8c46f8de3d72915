# SPDX-License-Identifier: MIT
"""A sharded variable is an array that threads share; if_differs compares two places."""

from collections.abc import Sequence

import pytest

from lockscale.errors import BadInput
from lockscale.sim.builder import Builder
from lockscale.sim.delays import ns
from lockscale.sim.program import Program
from lockscale.sim.replicate import Counts, replicate


def run(program: Program) -> Counts:
    return replicate(program, seed=1, replication=0, operations=4000)


def visits(program: Program, counts: Counts, step: str) -> int:
    return int(counts.world.ops["visits"][program.steps.index(step)])


def test_a_table_gives_each_thread_its_own_number() -> None:
    """Thread 0 finds 1, which differs from its own 0, and takes 15 ns; thread 1 finds its own, 5 ns."""
    m = Builder(2)
    table = m.variable("table", start=(1, 1))
    me, found = m.place("me", shards=2), m.place("found", shards=2)
    p = m.path("look up")
    p.load(found, table, me)
    p.spend(ns(5))
    with p.if_differs(me, found):
        p.spend(ns(10), "differs")
    program = m.compile()
    counts = run(program)
    assert visits(program, counts, "differs") == pytest.approx(counts.operations / 4, abs=2)


def test_a_shard_is_stored_without_touching_the_others() -> None:
    """Each writes its own shard with what nobody else has, and reads the same back a while later."""
    m = Builder(4)
    last = m.variable("last", start=(0, 0, 0, 0))
    me, then = m.place("me", shards=4), m.place("then", shards=4)
    p = m.path("store")
    p.store(me, last, me)
    p.spend(ns(7))
    p.load(then, last, me)
    with p.if_differs(me, then):
        p.spend(ns(1), "lost")
    program = m.compile()
    counts = run(program)
    assert visits(program, counts, "lost") == 0
    assert counts.world.shared.tolist() == [0, 1, 2, 3]


def test_variables_lie_behind_one_another_and_each_run_starts_anew() -> None:
    m = Builder(1)
    one, two = m.variable("one", start=(1, 2)), m.variable("two")
    place = m.place("place", shards=3)
    p = m.path("move")
    p.load(place, one)
    p.pick_next(place)
    p.store(place, two)
    p.spend(ns(1))
    program = m.compile()
    assert [run(program).world.shared.tolist() for _ in range(2)] == [[1, 2, 2]] * 2


@pytest.mark.parametrize(
    ("start", "said"),
    [
        ((), "shards of variable 'v' is 0"),
        ((-1,), "start of variable 'v'"),
        ((0.5,), "start of variable 'v'"),
    ],
)
def test_a_start_is_a_list_of_whole_numbers(start: Sequence[int], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        Builder(1).variable("v", start=start)


def test_a_table_names_only_shards_that_there_are() -> None:
    m = Builder(1)
    table, few, me = m.variable("table", start=(0, 5)), m.place("few", shards=5), m.place("me", shards=2)
    p = m.path("look up")
    with pytest.raises(BadInput, match="picks among 5 shards of 'table', which has 2"):
        p.load(few, table, few)
    p.load(few, table, me)
    p.spend(ns(1))
    with pytest.raises(BadInput, match="6 shards and loaded into place 'few' of 5"):
        m.compile()
