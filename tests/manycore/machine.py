# SPDX-License-Identifier: MIT
"""A booted machine in virtual time, as its tests want it: any kernel, any prices, a file system by hand."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from lockscale import paths
from lockscale.filesystems import Options
from lockscale.kernels.build import Kernel
from lockscale.machines.guest_disks import InMemory
from lockscale.machines.machine import must
from lockscale.machines.qemu import QemuMachine
from lockscale.machines.virtual_time import MARKS, with_setting
from lockscale.measure import file_system
from lockscale.measure.load import fsload_load
from lockscale.measure.target_manycore import guest_in_virtual_time, machine_in_virtual_time
from lockscale.study.file import ManycoreTarget, load_target
from lockscale.tools import c_program

TRIES = 3
SMALL = Options(
    filesystem="ext4", mkfs=["-b", "4096", "-J", "size=64", "-O", "^orphan_file"], mount=["noatime"]
)


def described() -> ManycoreTarget:
    """The machine of notebooks/targets/manycore.yaml."""
    found = load_target("manycore")
    assert isinstance(found, ManycoreTarget)
    return found


@contextmanager
def booted(
    kernel: Kernel, cpus: int, target: ManycoreTarget | None = None, **options: int
) -> Iterator[QemuMachine]:
    """`kernel` on `cpus` CPUs; `options` are the plugin's, in place of the target's."""
    target = target or described()
    machine = machine_in_virtual_time(target)
    machine = replace(machine, options={**machine.options, **options})
    with QemuMachine(guest_in_virtual_time(target, kernel.image, cpus, machine)) as guest:
        yield guest


@dataclass(frozen=True)
class Theory:
    """tests/manycore/theory.c on a booted machine."""

    machine: QemuMachine

    def ns_per_operation(self, kind: str, cpus: list[int], times: int, rounds: int = 0) -> float:
        folder = Path(__file__).parent
        program = c_program.build("theory", folder, paths.CACHE / "bin", headers=[MARKS])
        numbers = ",".join(map(str, cpus))
        argv = [str(program), kind, numbers, str(times), str(rounds)]
        must(self.machine, ["sh", "-c", "sync; sleep 6"])  # until no commit or kworker of a load is left
        # the kernel's own threads only add to it
        return min(float(must(self.machine, argv, timeout_s=300)) for _ in range(TRIES))


def with_files(machine: QemuMachine) -> None:
    """A small ext4 on the guest's own disk, where loads run."""
    disk = machine.guest.disk
    assert isinstance(disk, InMemory)
    file_system.make(machine, SMALL, disk)


def creates_per_s(
    machine: QemuMachine, processes: int, operations: int, setting: str = ""
) -> dict[str, float]:
    """Rates of creates and removes by `processes`, pinned; the file system is warm after a first load.

    setting: of the target, for this load alone.
    """
    load = fsload_load("create_unlink", file_system.MOUNT_POINT, pin=True)
    command = load.command(processes, operations // processes, "both")
    if setting:
        command = with_setting([*described().settings].index(setting) + 1, command)
    said = must(machine, command, timeout_s=300)
    return {row.test: row.value for row in load.parse(said).rows if row.statistic == "total"}
