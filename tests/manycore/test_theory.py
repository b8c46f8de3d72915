# SPDX-License-Identifier: MIT
"""A machine in virtual time against what theory knows of it, on real kernels."""

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean

import pytest

from lockscale.kernels.build import Kernel
from lockscale.machines.machine import must, must_all
from lockscale.machines.qemu import QemuMachine
from lockscale.machines.virtual_time import refuse_broken
from lockscale.study.target_file import HALF_QUANTUM
from manycore.machine import Theory, booted, creates_per_s, described, with_files

pytestmark = pytest.mark.guest
LONG = pytest.mark.long
CPUS = 64
PROCESSES, OPERATIONS, LOADS = 8, 3200, 4
"""Of more processes a rate is a storm's, and no load is like the one before it."""


@pytest.fixture(scope="module")
def machine(kernels: dict[str, Kernel]) -> Iterator[QemuMachine]:
    """64 CPUs in two sockets, the kernel of S1's fix."""
    with booted(kernels["search-locked"], CPUS) as guest:
        yield guest


@pytest.fixture
def theory(machine: QemuMachine) -> Theory:
    return Theory(machine)


def price(name: str) -> float:
    return float(getattr(described().prices, name).ns)


@LONG
def test_what_shares_nothing_scales_with_the_cpus(theory: Theory):
    times, rounds = 100, 100_000
    alone = theory.ns_per_operation("private", [0], times, rounds)
    assert alone == pytest.approx(2 * rounds * price("instruction"), rel=0.01)
    for cpus in (2, 16, CPUS):
        each = theory.ns_per_operation("private", list(range(cpus)), times, rounds)
        assert alone / each >= 0.97 * cpus


def test_a_critical_section_saturates_at_one_over_its_length(theory: Theory):
    rounds = 33_333
    hold_ns = 2 * rounds * price("instruction")
    for cpus in (2, 8, 32):
        each = theory.ns_per_operation("section", list(range(cpus)), 40, rounds)
        assert each == pytest.approx(hold_ns, rel=0.03)


@pytest.mark.parametrize("cpus", [pytest.param(4, marks=LONG), 16, pytest.param(32, marks=LONG)])
def test_a_contended_counter_runs_at_one_over_the_price_of_its_line(theory: Theory, cpus: int):
    each = theory.ns_per_operation("counter", list(range(cpus)), 4000)
    assert each == pytest.approx(price("near_line") + price("atomic"), rel=0.05)


def test_the_line_of_a_contended_counter_is_the_one_that_moves_most(machine: QemuMachine, theory: Theory):
    known, cpus, times = len(machine.sections()), 16, 4000
    theory.ns_per_operation("counter", list(range(cpus)), times)
    (section, *_) = machine.sections(known)
    hottest = section.lines[0]
    assert hottest.moves == pytest.approx(cpus * times, rel=0.05)
    assert hottest.occupied_ns == pytest.approx(section.virtual_ns, rel=0.05)  # it is the limit
    assert hottest.site == 0  # a user's code moves it


@pytest.mark.parametrize(
    ("other", "line"), [pytest.param(1, "near_line", marks=LONG), (CPUS // 2, "far_line")]
)
def test_a_line_that_goes_to_and_fro_costs_what_its_way_costs(theory: Theory, other: int, line: str):
    alone = theory.ns_per_operation("ping-pong", [0], 12_000)  # the same instructions, and no way
    each = theory.ns_per_operation("ping-pong", [0, other], 12_000)
    # a read takes the line from its writer, and a write takes it from the reader
    assert (each - alone) / 2 == pytest.approx(price(line), rel=0.05)


@LONG
def test_a_second_is_a_second_idle_and_loaded(machine: QemuMachine):
    timed = ["sh", "-c", "read a b < /proc/uptime; sleep 1; read c d < /proc/uptime; echo $a $c"]
    began, ended = map(float, must(machine, timed).split())
    assert ended - began == pytest.approx(1, abs=0.021)  # /proc/uptime has hundredths
    must_all(machine, [["sh", "-c", "for k in 1 2 3; do (while :; do :; done) & echo $! >> /run/busy; done"]])
    began, ended = map(float, must(machine, timed, timeout_s=300).split())
    must(machine, ["sh", "-c", "kill $(cat /run/busy)"])
    assert ended - began == pytest.approx(1, abs=0.021)


def rates(guest: QemuMachine, setting: str = "") -> dict[str, float]:
    """Means of LOADS loads: one alone scatters by 1%, by how its processes start."""
    known = len(guest.sections())
    loads = [creates_per_s(guest, PROCESSES, OPERATIONS, setting) for _ in range(LOADS)]
    for section in guest.sections(known):
        refuse_broken(section, "a test's load")
    return {test: fmean(load[test] for load in loads) for test in loads[0]}


@pytest.fixture(scope="module")
def usual(machine: QemuMachine) -> dict[str, float]:
    """The rates that the others are compared with, on a small file system that one load has warmed."""
    with_files(machine)
    creates_per_s(machine, PROCESSES, OPERATIONS)
    return rates(machine)


def agree(ones: dict[str, float], others: dict[str, float], within: float) -> None:
    for test, rate in ones.items():
        assert others[test] == pytest.approx(rate, rel=within), test


@LONG
def test_a_busy_host_and_one_core_change_no_rate(machine: QemuMachine, usual: dict[str, float]):
    """Four processes that spin beside it, all kept on one core, against the host as it is."""
    assert machine.process
    spinning = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(4)]
    group = os.getpgid(machine.process.pid)
    allowed = os.sched_getaffinity(0)
    try:
        _keep_on([*_threads_of(group), *(one.pid for one in spinning)], {min(allowed)})
        time.sleep(0.5)
        agree(usual, rates(machine), 0.03)
    finally:
        _keep_on(_threads_of(group), allowed)
        for process in spinning:
            process.kill()
            process.wait()


def _threads_of(group: int) -> list[int]:
    """Of every process of a group; one that ends meanwhile is left out."""
    found = []
    for name in (path.name for path in Path("/proc").iterdir()):
        with contextlib.suppress(ProcessLookupError, FileNotFoundError):
            if name.isdigit() and os.getpgid(int(name)) == group:
                found += [int(thread.name) for thread in Path(f"/proc/{name}/task").iterdir()]
    return found


def _keep_on(threads: list[int], processors: set[int]) -> None:
    for thread in threads:
        with contextlib.suppress(ProcessLookupError):  # QEMU's own workers come and go
            os.sched_setaffinity(thread, processors)


@LONG
def test_half_the_quantum_changes_no_rate(machine: QemuMachine, usual: dict[str, float]):
    agree(usual, rates(machine, HALF_QUANTUM), 0.03)


@LONG
def test_the_same_load_twice_gives_the_same_rates(machine: QemuMachine, usual: dict[str, float]):
    agree(usual, rates(machine), 0.02)
