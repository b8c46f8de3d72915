# SPDX-License-Identifier: MIT
"""The user's own xfstests on an arm and on the base, each booted in turn, and what the arm alone fails."""

import os
from dataclasses import replace

from lockscale.errors import BadInput
from lockscale.filesystems import Options, fs_type
from lockscale.kernels.build import build
from lockscale.kernels.series import Series, refuse_unsafe
from lockscale.machines.disk_guard import device_to_format
from lockscale.machines.guest_disks import Disks, Scratch
from lockscale.machines.machine import Machine, Write, assert_runs, must, must_all
from lockscale.machines.qemu import QemuMachine
from lockscale.measure.file_system import make
from lockscale.measure.target_qemu import guest_of, named_disk
from lockscale.progress import progress
from lockscale.scratch import scratch_folder
from lockscale.study.file import Target, load_whole_study
from lockscale.tools import xfstests
from lockscale.tools.xfstests import CheckComparison, CheckRun, compare, parse

CPUS, SIZE_MIB = 4, 4096
TIMEOUT_S = 12 * 3600
TEST, SCRATCH, RESULTS = "/run/lockscale-test", "/run/lockscale-scratch", "/run/lockscale-results"
CONFIG = f"{RESULTS}/local.config"


def compare_with_base(series: Series, target: Target, group: str) -> CheckComparison:
    """`check -g group` on the base and on `series`, with the arm's mkfs and mount on both."""
    refuse_unsafe(series, disposable=target.disposable, target=target.name)
    options = load_whole_study(series.study).options_of(series.arm)
    if not fs_type(options.filesystem).on_disk:
        raise BadInput(f"{options.filesystem} does not use a disk, but xfstests needs two: name another arm")
    base = replace(series, arm="base", patches=(), unsafe="")
    with progress(f"xfstests -g {group}", 2) as shown:
        found = []
        for done, one in enumerate((base, series)):
            shown.update(done, one.name)
            found.append(run(one, options, target, group))
        shown.update(2)
    return compare(*found)


def run(series: Series, options: Options, target: Target, group: str) -> CheckRun:
    """One run on a booted guest; BadInput when the guest, which sees the host's files, has no xfstests."""
    kernel = build(series)
    with scratch_folder("xfstests") as folder:
        disks = tuple(Scratch(folder / f"{n}.img", SIZE_MIB, f"XFSTESTS{n}") for n in (0, 1))
        for disk in disks:
            disk.make()
        guest = guest_of(target, kernel, CPUS, disk=Disks(disks))
        with QemuMachine(guest) as machine:
            assert_runs(machine, kernel)
            home = must(machine, ["env", *_told(), *xfstests.find_command()]).strip()
            if not home:
                raise xfstests.missing(target.name)
            _prepare(machine, options, disks)
            done = machine.run(xfstests.command(home, CONFIG, group), timeout_s=TIMEOUT_S)
    return parse(done.stdout)


def _told() -> list[str]:
    """The user's XFSTESTS and HOME: the guest sees this machine's files, not this shell's environment."""
    return [f"{name}={os.environ[name]}" for name in ("XFSTESTS", "HOME") if name in os.environ]


def _prepare(machine: Machine, options: Options, disks: tuple[Scratch, ...]) -> None:
    """The arm's file system on the test disk, an empty scratch disk, our configuration for the user's."""
    made = make(machine, options, named_disk(disks[0]))
    scratch = device_to_format(machine, named_disk(disks[1]))
    text = xfstests.local_config(
        made.device, scratch, RESULTS, filesystem=options.filesystem, mkfs=options.mkfs,
        mount=options.mount, test_dir=TEST, scratch_dir=SCRATCH,
    )  # fmt: skip
    must_all(
        machine,
        [["umount", made.device], ["mkdir", "-p", TEST, SCRATCH, RESULTS], Write(CONFIG, text)],
    )
