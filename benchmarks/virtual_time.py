# SPDX-License-Identifier: MIT
"""How fast a machine in virtual time runs: guest instructions a second, real time a virtual one."""

import time
from collections.abc import Iterator

from benchmarks.rows import Amount, BenchRow, Done
from lockscale.errors import BadInput, RunFailed
from lockscale.filesystems import Options
from lockscale.kernels.base import RATE
from lockscale.kernels.build import Kernel, cached_kernels, newest
from lockscale.machines.guest_disks import InMemory
from lockscale.machines.machine import must
from lockscale.machines.qemu import QemuMachine
from lockscale.machines.qemu_backport import known_qemu
from lockscale.machines.virtual_time import Section, build_section
from lockscale.measure import file_system
from lockscale.measure.load import Load, fsload_load
from lockscale.measure.target_manycore import guest_in_virtual_time, machine_in_virtual_time
from lockscale.study.file import RATES_TARGET, ManycoreTarget, load_target

CPUS = 64
FILES = Options(filesystem="ext4", mkfs=["-b", "4096", "-J", "size=64"], mount=["noatime"])


def virtual_time_rows(amount: Amount, done: Done) -> list[BenchRow]:
    """Creates by 1 and by 64 processes on 64 CPUs; none without a built kernel and a QEMU for it."""
    kernels = cached_kernels(RATE)
    if not amount.virtual_operations or not kernels or known_qemu() is None:
        return []
    try:
        rows = list(_rows(newest(kernels), amount))
    except (BadInput, RunFailed) as error:
        rows = [BenchRow("virtual_time", "manycore", 0.0, note=f"not measured: {error}")]
    done("a machine in virtual time")
    return rows


def _rows(kernel: Kernel, amount: Amount) -> Iterator[BenchRow]:
    target = load_target(RATES_TARGET)
    assert isinstance(target, ManycoreTarget), "studies are run in virtual time by default"
    guest = guest_in_virtual_time(target, kernel.image, CPUS, machine_in_virtual_time(target))
    load = fsload_load("create_unlink", file_system.MOUNT_POINT, pin=True)
    with QemuMachine(guest) as machine:
        assert isinstance(guest.disk, InMemory), "its disk is in its memory"
        file_system.make(machine, FILES, guest.disk)
        _run(machine, load, CPUS, amount)
        for processes in (1, CPUS):
            known = len(machine.sections())
            _run(machine, load, processes, amount)
            yield _priced(processes, machine.sections(known), target)
        priced = machine.sections()[-4:-2]  # of one process
        yield _unpriced(machine, load, amount, sum(_instructions(one, target) for one in priced))


def _run(machine: QemuMachine, load: Load, processes: int, amount: Amount, *before: str) -> float:
    command = load.command(processes, max(1, amount.virtual_operations // processes), "both")
    began_s = time.perf_counter()
    must(machine, [*before, *command], timeout_s=600)
    return time.perf_counter() - began_s


def _instructions(section: Section, target: ManycoreTarget) -> float:
    return section.shares["instructions"] * section.cpu_ns / target.prices.instruction.ns


def _priced(processes: int, sections: list[Section], target: ManycoreTarget) -> BenchRow:
    real_s = sum(one.real_ns for one in sections) / 1e9
    virtual_ms = sum(one.virtual_ns for one in sections) / 1e6
    return BenchRow(
        case=f"virtual_time_{processes}_of_{CPUS}_cpus",
        engine="manycore",
        seconds=real_s,
        events_per_s=sum(_instructions(one, target) for one in sections) / real_s,
        note=f"memory priced; events are guest instructions; {real_s / virtual_ms:.3f} real s a virtual ms",
    )


def _unpriced(machine: QemuMachine, load: Load, amount: Amount, instructions: float) -> BenchRow:
    real_s = _run(machine, load, 1, amount, str(build_section()), "--unpriced")
    return BenchRow(
        case=f"virtual_time_1_of_{CPUS}_cpus",
        engine="manycore, unpriced",
        seconds=real_s,
        events_per_s=instructions / real_s,
        note="memory not priced, the load's start included; instructions as many as priced",
    )
