# SPDX-License-Identifier: MIT
"""What each access costs and whose turn it is in virtual time, by the machine's own code, without a guest."""

import ctypes
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from lockscale import paths
from lockscale.programs import need

SOURCES = ("schedule.c", "lines.c", "spin.c", "hottest.c")
NEAR, FAR, ATOMIC, PAUSE, IO, WAKE = 50, 120, 7, 3, 900, 40
PRICES = (ctypes.c_uint64 * 8)(1, PAUSE, ATOMIC, NEAR, FAR, IO, 5, WAKE)  # as struct prices has them
QUANTUM, SLACK, LIVE = 1000, 10, 200
QUEUE, TRANSFER, ATOMICS, NEARS, FARS, IDLE, YIELDS, PAUSES = range(8)
LONE_RUN = 1000 * 1_000_000
RUNS, SPINS, HALTED = 1, 2, 3
CALLS = ("now", "clock_now", "access_of", "device_of", "spent_of", "turn", "broken")


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    made = tmp_path_factory.mktemp("bin") / "without-qemu.so"
    sources = [
        Path(__file__).with_name("without_qemu") / "without_qemu.c",
        *(paths.MANYCORE / name for name in SOURCES),
    ]
    flags = ["-std=gnu11", "-O1", "-Wall", "-Werror", "-shared", "-fPIC", f"-I{paths.MANYCORE}"]
    subprocess.run([need("cc"), *flags, *map(str, sources), "-o", str(made)], check=True)
    return ctypes.CDLL(str(made))


@pytest.fixture
def m(library: ctypes.CDLL) -> SimpleNamespace:
    """Six CPUs in two sockets of three, all at time 0."""

    def call(name: str) -> Callable[..., int]:
        function = getattr(library, name)
        function.restype = ctypes.c_uint64 if name in CALLS else ctypes.c_int
        return lambda *given: function(*(ctypes.c_uint64(one) for one in given))

    library.begin(6, 3, PRICES, *map(ctypes.c_uint64, (QUANTUM, SLACK, LIVE)))
    names = (*CALLS, "timer_at", "state_of", "is_strict", "without_prices", "next_section", "pass")
    names = (*names, "pause_of", "halt_of")
    made = SimpleNamespace(**{name: call(name) for name in names})
    made.reads = lambda cpu, line: made.access_of(cpu, line, 0, 0)
    made.writes = lambda cpu, line: made.access_of(cpu, line, 1, 0)
    made.adds = lambda cpu, line: made.access_of(cpu, line, 1, 1)  # a locked operation
    made.passes = getattr(made, "pass")
    return made


# Lines


def test_the_first_touch_and_what_a_cpu_holds_cost_nothing(m: SimpleNamespace):
    assert [m.writes(0, 5), m.writes(0, 5), m.reads(0, 5), m.reads(1, 6), m.reads(1, 6)] == [0] * 5


@pytest.mark.parametrize(("other", "price"), [(1, NEAR), (2, NEAR), (3, FAR), (5, FAR)])
def test_a_line_that_another_wrote_costs_by_its_socket(m: SimpleNamespace, other: int, price: int):
    m.writes(0, 5)
    assert m.reads(other, 5) == price
    assert m.spent_of(other, NEARS if price == NEAR else FARS) == 1 and m.spent_of(other, TRANSFER) == price


def test_a_shared_line_is_read_from_the_nearest_and_written_once_the_farthest_let_go(m: SimpleNamespace):
    m.writes(0, 5)
    assert m.reads(3, 5) == FAR
    m.passes(4, 500)
    assert m.reads(4, 5) == NEAR, "3 has it, on the same socket"
    m.passes(1, 1000)
    assert m.writes(1, 5) == FAR, "3 and 4 have to let go of it"
    m.passes(0, 2000)
    assert m.reads(0, 5) == NEAR, "1 alone has it now"


def test_who_comes_while_a_line_is_on_its_way_waits(m: SimpleNamespace):
    m.writes(0, 5)
    assert m.writes(1, 5) == NEAR
    m.passes(2, 10)
    assert m.writes(2, 5) == (NEAR - 10) + NEAR
    assert (m.spent_of(2, QUEUE), m.spent_of(2, TRANSFER), m.now(2)) == (NEAR - 10, NEAR, 2 * NEAR)


def test_reading_what_nobody_wrote_holds_nobody_up(m: SimpleNamespace):
    m.reads(0, 5)
    assert m.reads(1, 5) == NEAR and m.reads(2, 5) == NEAR and m.spent_of(2, QUEUE) == 0


def test_a_line_is_not_had_before_its_holder_last_wrote_it(m: SimpleNamespace):
    m.writes(0, 5)
    for _ in range(2):  # once it has been still for LIVE its writes are not looked up any more
        m.passes(0, 300)
        m.writes(0, 5)
    m.passes(1, 450)
    assert m.writes(1, 5) == (600 - 450) + NEAR and m.spent_of(1, QUEUE) == 150


def test_a_locked_operation_costs_more_and_holds_others_up_for_it(m: SimpleNamespace):
    m.writes(0, 5)
    assert m.adds(1, 5) == NEAR + ATOMIC and m.spent_of(1, ATOMICS) == ATOMIC
    assert m.writes(2, 5) == (NEAR + ATOMIC) + NEAR


def test_a_locked_operation_takes_the_line_with_its_read(m: SimpleNamespace):
    """QEMU tells of its read first, and of its store, if any, after that."""
    m.writes(0, 5)
    assert m.access_of(1, 5, 0, 1) == NEAR and m.spent_of(1, ATOMICS) == 0
    m.passes(0, 1000)
    assert m.reads(0, 5) == NEAR, "1 alone has it now"


def test_who_touched_a_line_that_moves_is_held_to_the_order_of_times(m: SimpleNamespace):
    m.writes(0, 5)
    m.writes(1, 5)
    assert m.is_strict(1) and not m.is_strict(0)
    m.reads(2, 9)
    assert not m.is_strict(2)


def test_a_device_has_its_price_and_nothing_has_one_outside_of_sections(m: SimpleNamespace):
    assert m.device_of(0) == IO
    m.writes(0, 5)
    m.without_prices()
    assert m.writes(3, 5) == 0


# Turns


def test_a_cpu_runs_to_the_quantum_ahead_of_the_slowest_other(m: SimpleNamespace):
    for cpu in range(1, 6):
        m.passes(cpu, 300)
    assert m.turn(0, 1, 0) == 300 + QUANTUM
    assert m.clock_now() == 0


def test_one_that_is_ahead_by_more_than_the_quantum_is_refused(m: SimpleNamespace):
    m.passes(1, QUANTUM)
    assert m.turn(1, 1, 0) == 1, "at the quantum it may still go on"
    m.passes(2, QUANTUM + 1)
    assert m.turn(2, 1, 0) == 0 and m.spent_of(2, YIELDS) == 1
    assert m.now(2) == QUANTUM + 1


def test_the_price_of_a_block_that_is_not_executed_is_not_paid(m: SimpleNamespace):
    m.passes(2, QUANTUM + 1)
    before = m.now(2)
    assert m.turn(2, 1, 77) == 0 and m.now(2) == before


def test_one_that_shares_goes_on_only_in_the_order_of_times(m: SimpleNamespace):
    m.writes(0, 5)
    m.writes(1, 5)
    m.passes(1, 0)
    assert m.now(1) == NEAR > SLACK
    assert m.turn(1, 1, 0) == 0
    for cpu in (0, 2, 3, 4, 5):
        m.passes(cpu, NEAR - SLACK)
    assert m.turn(1, 1, 0) > 0 and not m.is_strict(1)


def test_the_clock_is_what_all_have_reached_and_never_goes_back(m: SimpleNamespace):
    for cpu, at in enumerate((500, 700, 400, 900, 800, 600)):
        m.passes(cpu, at)
    m.turn(0, 1, 0)
    assert m.clock_now() == 400
    m.passes(2, 1000)
    m.turn(1, 1, 0)
    assert m.clock_now() == 500


def test_a_lone_cpu_runs_to_the_next_timer(m: SimpleNamespace):
    for cpu in range(1, 6):
        m.halt_of(cpu)
    assert m.turn(0, 1, 0) == LONE_RUN
    m.timer_at(5000)
    assert m.turn(0, 1, 0) == 5000


def test_who_wakes_up_does_so_at_the_clock_and_a_wake_later(m: SimpleNamespace):
    m.halt_of(1)
    assert m.state_of(1) == HALTED
    for cpu in (0, 2, 3, 4, 5):
        m.passes(cpu, 600)
    m.turn(1, 1, 0)
    assert (m.state_of(1), m.now(1), m.spent_of(1, IDLE)) == (RUNS, 600 + WAKE, 600 + WAKE)


# Spinning


def goes_round(m: SimpleNamespace, cpu: int, line: int) -> None:
    """Once round a loop that reads a line and pauses, in 100 ps."""
    m.turn(cpu, 7, 0)
    m.reads(cpu, line)
    m.passes(cpu, 100)
    m.pause_of(cpu)


def spins(m: SimpleNamespace, cpu: int, line: int) -> None:
    """The CPU goes round such a loop until it is known to spin."""
    for _ in range(2):
        goes_round(m, cpu, line)


def test_a_loop_that_reads_the_same_is_not_executed_until_its_line_is_taken(m: SimpleNamespace):
    spins(m, 1, 5)
    assert m.state_of(1) == SPINS and m.now(1) == 200
    assert m.turn(1, 7, 0) == 0, "it is not executed"
    m.passes(0, 1010)
    m.writes(0, 5)
    assert m.state_of(1) == RUNS
    assert m.now(1) == 200 + 900, "the first whole turn after 1010 + NEAR, of 100 each"
    assert m.is_strict(1)


def test_a_loop_that_writes_or_reads_another_line_does_not_wait(m: SimpleNamespace):
    for line in (5, 6, 7):
        m.turn(1, 7, 0)
        m.reads(1, line)
        m.pause_of(1)
    assert m.state_of(1) == RUNS
    for _ in range(3):
        m.turn(2, 7, 0)
        m.reads(2, 9)
        m.writes(2, 9)
        m.pause_of(2)
    assert m.state_of(2) == RUNS


def test_each_pause_is_counted_and_none_outside_of_sections(m: SimpleNamespace):
    m.turn(1, 7, 0)
    m.pause_of(1)
    assert m.spent_of(1, PAUSES) == PAUSE
    m.without_prices()
    m.pause_of(1)
    assert m.spent_of(1, PAUSES) == PAUSE


def test_a_loop_that_goes_on_from_one_section_to_the_next_is_learnt_anew(m: SimpleNamespace):
    """Else the time between the sections would be one turn of it."""
    goes_round(m, 1, 5)
    m.without_prices()
    m.passes(1, 800)
    m.next_section()
    goes_round(m, 1, 5)
    assert m.state_of(1) == RUNS
    goes_round(m, 1, 5)
    assert (m.state_of(1), m.now(1)) == (SPINS, 1100)


def test_reading_what_another_wrote_holds_the_next_reader_up(m: SimpleNamespace):
    m.writes(0, 5)
    assert m.reads(1, 5) == NEAR
    m.passes(2, 10)
    assert m.reads(2, 5) == (NEAR - 10) + NEAR
