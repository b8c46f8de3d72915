# SPDX-License-Identifier: MIT
"""One arm under power cuts: a load in one guest, its write log cut many times, checked in others."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from lockscale.kernels.arms import Options
from lockscale.kernels.build import Kernel
from lockscale.machines.assertions import assert_runs
from lockscale.machines.qemu import Attached, QemuMachine
from lockscale.measure.guests import guest_of
from lockscale.progress import Progress
from lockscale.prove.powercut.check import Checked, check_cut
from lockscale.prove.powercut.cuts import Cut, Disk, disks
from lockscale.prove.powercut.disks import LARGEST_BATCH, SIZE_MIB, CutDisks, LoggedDisk
from lockscale.prove.powercut.load import KERNEL_ARGUMENTS, Plan, flushes, make_cuts, write_load
from lockscale.prove.powercut.write_log import WriteLog
from lockscale.study.file import Target, guest_target

CPUS = 4


@dataclass(frozen=True)
class Outcome:
    """An arm after `cuts` power cuts.

    ``replayed``: cuts after which the journal was replayed. ``orphans``: inodes that the mounts cleaned
    up, over all cuts. ``promised_files``: files with a promise, over all cuts. ``flushes``: how many the
    kernel sent in the load. ``same_as``: the arm that was cut in this one's stead, being the same.
    """

    study: str
    arm: str
    cuts: int
    replayed: int = 0
    orphans: int = 0
    promised_files: int = 0
    flushes: int = 0
    faults: tuple[str, ...] = ()
    same_as: str = ""
    origin: str = "qemu"

    @property
    def ok(self) -> bool:
        return not self.faults

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "ok": self.ok}


@dataclass(frozen=True)
class PowerCuts:
    """The power cuts of one arm on a target; the images of cuts with faults stay in `folder`."""

    name: str
    kernel: Kernel
    options: Options
    target: Target
    plan: Plan
    folder: Path

    def run(self, shown: Progress, done: float = 0) -> Outcome:
        """Load, cut, check. `shown` counts cuts, from `done` on."""
        shown.update(done, f"{self.name}: load")
        disk = LoggedDisk(
            self.folder / "disk.img", self.folder / "disk.log", guest_target(self.target).disk.serial
        )
        disk.make()
        try:
            self._load(disk)
            log = WriteLog(disk.log)
            checked = []
            for one in self._check(log, make_cuts(log, self.plan)):
                checked.append(one)
                shown.update(done + len(checked), f"{self.name}: cut {len(checked)}")
        finally:
            disk.remove()
        return self._outcome(log, checked)

    def _load(self, disk: LoggedDisk) -> None:
        with self._guest(disk, KERNEL_ARGUMENTS) as machine:
            assert_runs(machine, self.kernel)
            write_load(machine, self.options, disk.named, self.plan)
            machine.cut()

    def _check(self, log: WriteLog, cuts: Sequence[Cut]) -> Iterator[Checked]:
        left = disks(log, cuts)
        while batch := list(self._saved(islice(left, LARGEST_BATCH))):
            attached = CutDisks([image for _, image in batch])
            with self._guest(attached) as machine:
                assert_runs(machine, self.kernel)
                for number, (cut, image) in enumerate(batch):
                    device = attached.device(number)
                    one = check_cut(machine, device, self.options.mount, log, cut)
                    if not one.faults:
                        image.unlink()
                    yield one

    def _saved(self, left: Iterator[tuple[Cut, Disk]]) -> Iterator[tuple[Cut, Path]]:
        for cut, disk in left:
            image = self.folder / f"{self.name.replace('/', '-')}-cut-{cut.seed}.img"
            disk.save(image, SIZE_MIB << 20)
            yield cut, image

    def _guest(self, disk: Attached, arguments: tuple[str, ...] = ()) -> QemuMachine:
        guest = guest_of(self.target, self.kernel, CPUS, disk=disk)
        return QemuMachine(replace(guest, kernel_arguments=arguments))

    def _outcome(self, log: WriteLog, checked: Sequence[Checked]) -> Outcome:
        study, arm = self.name.split("/")
        faults = [f"cut {one.cut}: {fault}" for one in checked for fault in one.faults]
        return Outcome(
            study=study,
            arm=arm,
            cuts=len(checked),
            replayed=sum(one.replayed for one in checked),
            orphans=sum(one.orphans for one in checked),
            promised_files=sum(one.promised_files for one in checked),
            flushes=flushes(log),
            faults=(*faults, *_untested(checked)),
        )


def _untested(checked: Sequence[Checked]) -> Iterator[str]:
    """What no cut met that could have gone wrong: there its silence says nothing."""
    if not any(one.replayed for one in checked):
        yield "no cut needed a journal replay: these cuts test none"
    if not any(one.orphans for one in checked):
        yield "no cut left an orphan: these cuts do not test their clean-up"
