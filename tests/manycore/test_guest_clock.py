# SPDX-License-Identifier: MIT
"""Whatever a guest measures with its own clock is in virtual time; its death is told as any guest's."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from lockscale import paths
from lockscale.errors import RunFailed
from lockscale.kernels.build import Kernel
from lockscale.machines.machine import must
from lockscale.machines.qemu import QemuMachine
from lockscale.machines.virtual_time import build_mpi_marks, build_section
from lockscale.measure import file_system
from lockscale.measure.load import LOAD_TIMEOUT_S, fsload_load
from lockscale.measure.profiling import ProfiledLoad, profile, profilers
from lockscale.tools import c_program
from manycore.machine import booted, with_files

pytestmark = pytest.mark.guest
CPUS, PROCESSES, EACH = 8, 8, 100


@pytest.fixture(scope="module")
def machine(kernels: dict[str, Kernel]) -> Iterator[QemuMachine]:
    with booted(kernels["steal-retry"], CPUS) as guest:
        with_files(guest)
        load = fsload_load("create_unlink", file_system.MOUNT_POINT, pin=True)
        must(guest, load.command(PROCESSES, EACH, "both"), timeout_s=LOAD_TIMEOUT_S)
        yield guest


def profiled(machine: QemuMachine, name: str) -> ProfiledLoad:
    load = fsload_load("create_unlink", file_system.MOUNT_POINT, pin=True)
    wanted = ["ext4_create", "_raw_spin_lock"]
    ((_, on_load),) = profilers(machine, [name], CPUS, wanted)  # type: ignore[list-item]
    create, remove = (load.command(PROCESSES, EACH, phase) for phase in load.phases)
    return profile(machine, CPUS, on_load, create, [remove], LOAD_TIMEOUT_S)


def test_latencies_are_of_the_rates(machine: QemuMachine):
    load = fsload_load("create_unlink", file_system.MOUNT_POINT, latency=True, pin=True)
    rows = load.parse(must(machine, load.command(PROCESSES, EACH, "both"), timeout_s=LOAD_TIMEOUT_S)).rows
    (rate,) = [row.value for row in rows if (row.test, row.statistic) == ("create", "total")]
    (p50,) = [row.value for row in rows if (row.test, row.statistic) == ("create", "total_p50")]
    assert 0.4 < p50 * rate / (1e9 * PROCESSES) < 1.3


def test_the_function_profiler_times_in_virtual_time(machine: QemuMachine):
    found = {number.metric: number.value for number in profiled(machine, "ftrace_cost").numbers}
    assert found["ext4_create.calls"] == PROCESSES * EACH
    each_us = found["ext4_create.time"] / found["ext4_create.calls"]
    assert 5 < each_us < 500  # a create alone takes 20 us there


def test_perf_sees_locks_and_where_the_processors_are(machine: QemuMachine):
    waits = {number.metric: number.value for number in profiled(machine, "perf_lock").numbers}
    assert waits["contentions"] > 0 and waits["wait"] > 0
    sampled = profiled(machine, "perf_record")
    assert sampled.numbers[0].value > 0 and "ext4_create" in sampled.raw


def test_a_command_without_marks_is_one_section(machine: QemuMachine):
    known = len(machine.sections())
    must(machine, [str(build_section()), "sh", "-c", "echo 1 > /run/lockscale/one; rm /run/lockscale/one"])
    (section,) = machine.sections(known)
    assert section.virtual_ns > 0 and section.shares["instructions"] > 0.3
    must(machine, [str(build_section()), "--unpriced", str(build_section()), "true"])
    assert len(machine.sections()) == known + 1


def test_ranks_of_mpi_are_one_section_from_their_first_barrier_to_the_end(machine: QemuMachine):
    here, out = Path(__file__).parent, paths.CACHE / "bin"
    library = c_program.build("libmpi.so", here / "mpi_library", out, ("-shared", "-fPIC"))
    linked = (f"-Wl,--no-as-needed,-rpath,{out}", str(library))
    rank = c_program.build("rank", here / "mpi_program", out, linked)
    known = len(machine.sections())
    said = must(machine, ["env", f"LD_PRELOAD={build_mpi_marks()}", str(rank)])
    (section,) = machine.sections(known)
    assert said == "0\n"  # both barriers and the end went on to the library behind the marks
    # To a quantum; by the rank's own CPU, ahead of QEMU's clock while it is alone.
    assert 19.9e6 <= section.virtual_ns < 25e6
    # The 100 ms before are no part of it, but what other CPUs do meanwhile is, such as the writeback of
    # the files of the tests above, which comes when it comes (9.5 ms of it on a busy host).
    assert 20e6 <= section.cpu_ns < 100e6


def test_processes_can_be_containers(machine: QemuMachine):
    load = fsload_load("fallocate2", file_system.MOUNT_POINT, pin=True, containers=True)
    rows = load.parse(must(machine, load.command(PROCESSES, EACH, "both"), timeout_s=LOAD_TIMEOUT_S)).rows
    found = {row.statistic: row for row in rows}
    assert found["per_container"].threads == PROCESSES
    assert found["per_container"].value * PROCESSES == pytest.approx(found["total"].value, rel=0.2)
    assert must(machine, ["find", "/sys/fs/cgroup", "-name", "fsload.*"]) == ""


def test_a_panic_is_told(machine: QemuMachine):
    """The last one: the machine that the others share ends with it."""
    with pytest.raises(RunFailed, match=r"panicked \(Kernel panic - not syncing: sysrq triggered crash\)"):
        machine.run(["sh", "-c", "echo c > /proc/sysrq-trigger"])
