# SPDX-License-Identifier: MIT
"""Target kind manycore: a guest of many CPUs in virtual time, booted anew for each step."""

import contextlib
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lockscale import paths
from lockscale.kernels.build import Kernel
from lockscale.machines.guest_disks import InMemory
from lockscale.machines.machine import assert_runs
from lockscale.machines.qemu import Attached, Guest, QemuMachine, qemu_line
from lockscale.machines.qemu_backport import find_qemu
from lockscale.machines.run_delay import Times, times_of
from lockscale.machines.virtual_time import VirtualTime, build_library, build_mpi_marks, build_section
from lockscale.measure.build_arms import build_arms
from lockscale.measure.file_system import MOUNT_POINT
from lockscale.measure.target import Booted, HeldTarget, InVirtualTime
from lockscale.measure.target_qemu import guest_of
from lockscale.study.file import ManycoreTarget, Study, Target
from lockscale.study.target_file import with_disk
from lockscale.tools import fsload

QEMU_MIB = 1536  # beside the guest's memory: translated code, and what is known of each line


def machine_in_virtual_time(target: ManycoreTarget) -> VirtualTime:
    """The machine of a target file: QEMU found or fetched, the plugin compiled."""
    return VirtualTime(find_qemu(), build_library(), target.plugin_options, target.settings)


def guest_in_virtual_time(target: ManycoreTarget, image: Any, cpus: int, machine: VirtualTime) -> Guest:
    """A kernel `image` on `cpus` CPUs of that machine, with its disk."""
    disk = InMemory(target.disk.size_mib, target.disk.completion_ns, min(cpus, target.disk.queues))
    return Guest(
        image, cpus, target.memory_mib, "tcg", target.boot_timeout_s, disk, disk.kernel_arguments, machine
    )


def guest_on(target: Target, kernel: Kernel, cpus: int, disk: Attached | None = None) -> Guest:
    """`kernel` as a guest of any target that boots guests; disk: for one in real time, which has none."""
    if isinstance(target, ManycoreTarget):
        return guest_in_virtual_time(target, kernel.image, cpus, machine_in_virtual_time(target))
    return guest_of(target, kernel, cpus, disk=disk)


def guests_at_once(target: ManycoreTarget, root: Path = Path("/")) -> int:
    """As many as this machine, or the container that we are in, has processors and memory for: each runs on
    one, and no rate changes. root: a test's own /proc and /sys."""
    said = dict(line.split(":", 1) for line in (root / "proc/meminfo").read_text().splitlines())
    memory_mib = [int(said["MemAvailable"].split()[0]) // 1024]
    cpus = [len(os.sched_getaffinity(0))]
    for folder in _cgroups(root):
        memory_mib += _memory_left_mib(folder)
        cpus += _cpus(folder)
    return max(1, min(*cpus, min(memory_mib) // (target.memory_mib + QEMU_MIB)))


def _cgroups(root: Path) -> Iterator[Path]:
    """Our cgroup and those above it, of version 2 (Documentation/admin-guide/cgroup-v2.rst)."""
    top = root / "sys/fs/cgroup"
    said = root / "proc/self/cgroup"
    lines = said.read_text().splitlines() if said.exists() else []
    ours = top / next((line[3:].strip("/") for line in lines if line.startswith("0::")), "")
    yield from (one for one in (ours, *ours.parents) if one.is_relative_to(top))


def _memory_left_mib(cgroup: Path) -> list[int]:
    """What may still be taken there, page cache given back; nothing where there is no limit."""
    with contextlib.suppress(OSError, ValueError, KeyError):
        most = int((cgroup / "memory.max").read_text())  # or the word max
        stat = dict(line.split() for line in (cgroup / "memory.stat").read_text().splitlines())
        used = int((cgroup / "memory.current").read_text()) - int(stat["inactive_file"])
        return [max(0, most - used) >> 20]
    return []


def _cpus(cgroup: Path) -> list[int]:
    """How many CPUs' time is to be had there; nothing where there is no limit."""
    with contextlib.suppress(OSError, ValueError):
        quota, period = map(int, (cgroup / "cpu.max").read_text().split())
        return [max(1, quota // period)]
    return []


class HeldManycore(HeldTarget):
    """The guests of one run in virtual time: their machine and their kernels."""

    origin = "virtual"
    kernels: dict[str, Kernel]

    def __init__(self, study: Study, target: ManycoreTarget, kind: str) -> None:
        self.target, self.kernels = with_disk(target, study.disk_mib), build_arms(study, kind)
        self.machine = machine_in_virtual_time(target)
        self.at_once = guests_at_once(target)
        self.running = set[QemuMachine]()
        self.ended = False
        self.changing = threading.Lock()
        self.label = f"{target.name} (virtual time)"

    def _guest(self, arm: str, cpus: int) -> Guest:
        return guest_in_virtual_time(self.target, self.kernels[arm].image, cpus, self.machine)

    def machine_facts(self) -> dict[str, str]:
        return {"QEMU": self.machine.qemu.version, "the plugin": self.machine.library.name}

    def describe(self) -> dict[str, Any]:
        line = qemu_line(self._guest(self.arms[0], self.target.most_cpus))
        return {**super().describe(), "qemu_line": line, "qemu_version": self.machine.qemu.version}

    @contextmanager
    def boot(self, arm: str, cpus: int) -> Iterator[Booted]:
        guest = self._guest(arm, cpus)
        machine = QemuMachine(guest)
        with self.changing:
            self.running.add(machine)
            machine.abandoned = self.ended
        try:
            with machine:
                yield self._booted(machine, guest, self.kernels[arm])
        finally:
            with self.changing:
                self.running.discard(machine)

    def _booted(self, machine: QemuMachine, guest: Guest, kernel: Kernel) -> Booted:
        build_id = assert_runs(machine, kernel)
        program = str(fsload.build(paths.CACHE / "bin"))
        assert isinstance(guest.disk, InMemory)
        marks = str(build_section()), str(build_mpi_marks())
        symbols = kernel.image.with_name("System.map")
        virtual_time = InVirtualTime(*marks, tuple(self.machine.settings), machine.sections, symbols)
        return Booted(
            machine, kernel.release, build_id, MOUNT_POINT, program, guest.disk, virtual_time=virtual_time
        )

    def threads(self) -> Times:
        with self.changing:
            groups = {one.process.pid for one in self.running if one.process}
        return times_of(groups)

    def end_guests(self) -> None:
        with self.changing:
            self.ended = True
            left = list(self.running)
        for machine in left:
            machine.abandon()
