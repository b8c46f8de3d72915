# SPDX-License-Identifier: MIT
"""A loop that is written for one op table gives the general loop's bits, for every model and every step."""

import ast
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path as Folder
from typing import Any

import numpy as np
import pytest

from lockscale.sim import list_models, load_model
from lockscale.sim.builder import Builder
from lockscale.sim.delays import empirical, exponential, gamma, jitter, ms, ns, us
from lockscale.sim.engine import loops, op_codes, run_ops
from lockscale.sim.engine.specialise import Writer
from lockscale.sim.path import Path
from lockscale.sim.program import Program
from lockscale.sim.replicate import BATCHES, replicate

QUEUES = {"spin_queue", "sleep_queue", "gate_queue", "ready_queue"}  # rings, of which not all is ever written
CODES = {code for name, code in vars(op_codes).items() if name.isupper()}


def every_step(m: Builder) -> None:
    """A path of every op, with locks of every kind."""
    place, other = m.place("place", shards=3), m.place("other", shards=3, stride=2)
    locks = [
        m.queued_lock("queued", hold=exponential(us(1)), handover=ns(20), remote=ns(50)),
        m.ticket_lock("ticket", hold=ns(300), per_waiter=ns(10)),
        m.unfair_lock("unfair", hold=jitter(us(1), ns(300))),
        m.test_and_set_lock("free", hold=ns(200), handover=ns(30)),
        m.sleeping_lock("barging", hold=ns(700), wake=us(1), wake_cost=ns(90)),
        m.sleeping_lock("in turn", hold=ns(700), wake=us(1), barging=False),
        m.mutex("mutex", hold=gamma(us(1), 2.0), wake=us(2), spin=us(1)),
    ]
    sharded = m.queued_lock("sharded", hold=ns(100), shards=3)
    shared = m.rwsem("rwsem", hold=ns(400), wake=us(1), spin=us(2))
    line, bitmap = m.cache_line("line", own=ns(5), socket=ns(50), remote=ns(90)), m.bitmap("bitmap")
    slots = m.slots("slots", per_block=40, shards=3)
    gate = m.commit_gate("gate", commit=us(5), entries=50)
    last = m.variable("last", start=[0, 1, 2])

    p = m.path("writer", share=2.0, start=exponential(us(3)))
    p.spend(exponential(us(4)), "elsewhere")
    p.sleep(empirical([us(1), us(2)]))
    p.enter(gate)
    for lock in locks:
        p.lock(lock)
        p.unlock(lock)
    p.lock(locks[0])
    p.lock(locks[1])
    p.unlock(locks[1])
    p.unlock(locks[0])
    p.leave(gate)
    for pick in (p.pick_own, p.pick_cpu, p.pick_random):
        pick(place)
    p.load(other, last, place)
    busy = p.label("busy")
    p.pick_next(place)
    p.spend(ns(10), "try")
    p.trylock(sharded, busy, place, tries=2)
    p.unlock(sharded, place)
    p.store(place, last, other)
    with p.if_differs(place, other):
        p.atomic(line)
    compare_and_claim(p, line, bitmap)
    p.reserve(slots, place)
    p.find_slot(slots, ns(1), place)
    p.take_slot(slots, place)
    with p.if_lost():
        p.spend(ns(1), "lost")
    p.retry_if_lost(busy)
    p.free_slot(slots, place)
    p.lock(shared)
    p.unlock(shared)

    reader = m.path("reader", counted=False)
    reader.spend(exponential(us(2)), "elsewhere")
    with reader.repeat(2), reader.sometimes(0.5):
        reader.read_lock(shared)
        reader.read_unlock(shared)


def compare_and_claim(p: Path, line: Any, bitmap: Any) -> None:
    """A cmpxchg and a bit, each tried until it is won."""
    again = p.label("again")
    p.read(line)
    p.cmpxchg(line)
    p.retry_if_lost(again)
    search = p.label("search")
    p.find_zero(bitmap)
    p.spend(ns(100), "look")
    p.claim(bitmap)
    p.retry_if_lost(search)


def batches_and_references() -> Program:
    """The steps that the other program lacks, which takes long enough to compile."""
    m = Builder(7)
    m.machine(sockets=2)
    near = m.cna_lock("near", hold=ns(300), remote=ns(90), in_a_row=2)
    ref = m.lockref("ref", hold=ns(30), own=ns(5), remote=ns(90))
    place, bucket = m.place("place", shards=6), m.place("bucket", shards=3)
    p = m.path("walk")
    p.spend(exponential(us(1)))
    p.pick_random(place)
    p.pick_hash(bucket, place)
    with p.every(3, m.counter("counter", shards=3), bucket):
        p.lock(near)
        p.unlock(near)
    p.get_ref(ref)
    p.lock(ref.lock)
    p.unlock(ref.lock)
    return m.compile()


def every_step_on(threads: int, **machine: Any) -> Program:
    m = Builder(threads)
    m.machine(**machine)
    every_step(m)
    return m.compile()


def arms(name: str) -> Iterator[dict[str, object]]:
    """The defaults, and each switch thrown."""
    yield {}
    yield from ({p.name: not p.default} for p in load_model(name).parameters if isinstance(p.default, bool))


PROGRAMS = {
    "every step": lambda: every_step_on(7, sockets=2),
    "every step, shared CPUs": lambda: every_step_on(7, cpus=3, time_slice=ms(0.01), switch=ns(100)),
    "batches and references": batches_and_references,
    **{name: lambda name=name: load_model(name).program({}, 7) for name in list_models()},
}
OF_MULTI_GOAL = {"fold", "apart", "cpu_goals"}  # which these change
SWITCHED = [(name, arm) for name in list_models() for arm in arms(name) if arm]


@pytest.fixture(autouse=True)
def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    """No loop is at hand, and none worth making, but for what a test makes."""
    monkeypatch.setattr(loops, "_loops", {})
    monkeypatch.setattr(loops, "_steps", Counter())


def test_a_written_loop_is_on_disk_before_it_has_its_name(
    tmp_path: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A power cut would leave a file of no length under it, and every process from then on would take it."""
    structure, synced = load_model("machine_repairman").program({}, 2).structure, list[str]()
    monkeypatch.setattr(loops, "cache_folder", lambda: tmp_path)
    monkeypatch.setattr(
        os, "fsync", lambda opened: synced.append(Folder(f"/proc/self/fd/{opened}").read_text())
    )
    loops._write(structure)
    assert synced == [loops._file(loops._name(structure)).read_text()] != [""]


def same_bits(program: Program) -> None:
    arguments = (12345, 3, np.arange(len(program.classes())), 200, 20_000)
    worlds = [program.world(batches=BATCHES) for _ in range(2)]
    assert loops.kept(program.structure) or loops.prepare(program.structure, worlds[0], *arguments)
    ends = [run_ops.run(worlds[0], *arguments), loops.run(program.structure, worlds[1], *arguments)]
    assert loops.kept(program.structure) is not run_ops.run
    assert ends[0] == ends[1]
    for name in set(worlds[0]._fields) - QUEUES:
        assert np.array_equal(getattr(worlds[0], name), getattr(worlds[1], name)), name


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_loop_of_its_own_gives_the_same_bits(name: str) -> None:
    same_bits(PROGRAMS[name]())


@pytest.mark.long
@pytest.mark.parametrize(("name", "arm"), SWITCHED, ids=str)
def test_so_it_does_with_each_switch_thrown(name: str, arm: dict[str, object]) -> None:
    beside = {"multi_goal": True} if OF_MULTI_GOAL & {*arm} else {}
    same_bits(load_model(name).program({**beside, **arm}, 16))


def test_the_programs_above_have_every_op() -> None:
    programs = (every_step_on(7), batches_and_references())
    assert {code for one in programs for code in one.ops["code"].tolist()} == CODES


def test_parameters_and_threads_need_no_other_loop() -> None:
    repairman = load_model("machine_repairman")
    one, other = repairman.program({}, 2), repairman.program({"think_us": 3.0}, 300)
    assert one.structure == other.structure
    locked = load_model("inode_claim").program({"search_locked": True}, 8)
    assert locked.structure != load_model("inode_claim").program({}, 8).structure


def test_of_the_steps_only_those_of_the_program_are_written() -> None:
    text = Writer(load_model("machine_repairman").program({}, 8).structure).text()
    tree = ast.parse(text)
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    names |= {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    assert {"spinners", "histograms"} <= names
    assert not {"sleep_queue", "bitmaps", "slots", "gates", "lines", "shared", "per_block"} & names


def test_a_loop_is_made_when_so_many_steps_are_run_and_no_earlier(monkeypatch: pytest.MonkeyPatch) -> None:
    program = every_step_on(5)
    asked: list[Any] = []
    monkeypatch.setattr(loops, "prepare", lambda of, *rest: asked.append(of))
    monkeypatch.setattr(loops, "WORTH", 3 * 110 * len(program.ops))
    for run in range(4):
        replicate(program, seed=1, replication=run, operations=100, warm_up=10)
        assert len(asked) == max(0, run - 1)
    assert asked[0] == program.structure


def test_a_trace_is_the_general_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    program = every_step_on(5)
    monkeypatch.setattr(loops, "WORTH", 0)
    monkeypatch.setattr(loops, "prepare", None)  # a call would fail
    counts = replicate(program, seed=1, replication=0, operations=10, trace_events=50, trace_ps=(0, 10**9))
    assert len(counts.events) == 50


def test_where_nothing_can_be_kept_the_general_loop_goes_on(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    program = every_step_on(5)
    (tmp_path / "file").touch()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "file"))
    monkeypatch.setattr(loops, "WORTH", 0)
    assert replicate(program, seed=1, replication=0, operations=10).operations == 10
