# SPDX-License-Identifier: MIT
"""Power cuts of many arms: which of them, what each cut left, and where it is kept.

After a cut it mounts, keeps what was promised, and e2fsck has nothing to mend.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from lockscale.errors import BadInput, FullDisk, RunFailed
from lockscale.files import full_disk_is_one_sentence, write_json
from lockscale.filesystems import Options, fs_type
from lockscale.kernels.base import base
from lockscale.kernels.build import Kernel, build
from lockscale.kernels.series import Series
from lockscale.machines.machine import Completed, Machine, assert_runs
from lockscale.machines.qemu import Attached, QemuMachine
from lockscale.measure.file_system import MOUNT_POINT, mount_command
from lockscale.measure.run_folder import new_run
from lockscale.measure.target_qemu import guest_of
from lockscale.progress import Progress, progress, tell
from lockscale.prove.powercut.cuts import Cut, Disk, WriteLog, disks
from lockscale.prove.powercut.load import (
    KERNEL_ARGUMENTS,
    LARGEST_BATCH,
    RECORDS_AT,
    SIZE_MIB,
    SMALL,
    CutDisks,
    LoggedDisk,
    Plan,
    flushes,
    fsynced,
    make_cuts,
    write_load,
)
from lockscale.prove.powercut.promises import broken, promises, read_files
from lockscale.prove.series_checks import refuse_bad_surroundings
from lockscale.study.file import DEFAULT_TARGET, Target, guest_target, load_target, load_whole_study
from lockscale.tools.kernel_reports import reports

CPUS = 4
CLEANED = re.compile(r"(\d+) (?:orphan inode|truncate)s? ")


def orphans(dmesg: str) -> int:
    """How many inodes a mount deleted or truncated because a power cut left them half gone."""
    return sum(int(number) for number in CLEANED.findall(dmesg))


def replayed(dmesg: str) -> bool:
    """Whether a mount replayed the journal."""
    return "recovery complete" in dmesg


@dataclass(frozen=True)
class CheckedCut:
    """What was found after one cut; ``faults`` empty: replayed, clean, and every promise kept."""

    cut: Cut
    promised_files: int
    orphans: int
    replayed: bool
    faults: tuple[str, ...]


def check_cut(machine: Machine, device: str, mount: Sequence[str], log: WriteLog, cut: Cut) -> CheckedCut:
    """Mount (journal replay, orphans), compare with what was promised, unmount, e2fsck."""
    steps = [
        ["mkdir", "-p", MOUNT_POINT],
        ["dmesg", "--clear"],
        mount_command(SMALL.filesystem, device, mount),
        [fsynced(), "read", MOUNT_POINT],
        ["umount", MOUNT_POINT],
        ["e2fsck", "-f", "-n", device],
        ["dmesg"],
    ]
    *done, dmesg = machine.run_all(steps, timeout_s=300)
    return judge(log, cut, done, dmesg.stdout)


def judge(log: WriteLog, cut: Cut, done: Sequence[Completed], dmesg: str) -> CheckedCut:
    """The steps' outcomes and the kernel's words against the promises in the log."""
    said = promises(log, RECORDS_AT, cut.at)
    faults = [_failed(step) for step in done if step.status]
    mount, read, fsck = done[2], done[3], done[5]
    if not fsck.status and (wrong := fs_type(SMALL.filesystem).fault(0, fsck.stdout)):
        faults.append(f"`{' '.join(fsck.argv)}`: {wrong}")
    if not (mount.status or read.status):
        faults += broken(said, read_files(read.stdout))
    faults += reports(dmesg)
    return CheckedCut(cut, len(said), orphans(dmesg), replayed(dmesg), tuple(faults))


def _failed(step: Completed) -> str:
    said = next((x for x in (*step.stderr.splitlines(), *step.stdout.splitlines()) if x.strip()), "")
    return f"`{' '.join(step.argv)}` exited with status {step.status}: {said}"


@dataclass(frozen=True)
class CutOutcome:
    """An arm after `cuts` power cuts.

    ``replayed``: cuts after which the journal was replayed. ``orphans``: inodes that the mounts cleaned
    up, over all cuts. ``promised_files``: files with a promise, over all cuts. ``flushes``: how many the
    kernel sent in the load. ``same_as``: the arm that was cut in this one's stead, being the same.
    ``images``: of the disks that cuts with faults left, by their names in the folder of all runs.
    """

    study: str
    arm: str
    cuts: int
    replayed: int = 0
    orphans: int = 0
    promised_files: int = 0
    flushes: int = 0
    faults: tuple[str, ...] = ()
    images: tuple[str, ...] = ()
    same_as: str = ""
    origin: str = "qemu"

    @property
    def ok(self) -> bool:
        return not self.faults

    def as_json(self) -> dict[str, Any]:
        return {"base": base().line, **asdict(self), "ok": self.ok}


@dataclass(frozen=True)
class PowerCuts:
    """The power cuts of one arm on a target; the images of cuts with faults stay in `folder`."""

    name: str
    kernel: Kernel
    options: Options
    target: Target
    plan: Plan
    folder: Path

    def run(self, shown: Progress, done: float = 0) -> CutOutcome:
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
        study, arm = self.name.split("/")
        faults = [f"cut {one.cut}: {fault}" for one in checked for fault in one.faults]
        return CutOutcome(
            study=study,
            arm=arm,
            cuts=len(checked),
            replayed=sum(one.replayed for one in checked),
            orphans=sum(one.orphans for one in checked),
            promised_files=sum(one.promised_files for one in checked),
            flushes=flushes(log),
            faults=(*faults, *_untested(checked)),
            images=tuple(self._named(self._image(one.cut)) for one in checked if one.faults),
        )

    def _load(self, disk: LoggedDisk) -> None:
        with self._guest(disk, KERNEL_ARGUMENTS) as machine:
            assert_runs(machine, self.kernel)
            write_load(machine, self.options, disk.named, self.plan)
            machine.cut()

    def _check(self, log: WriteLog, cuts: Sequence[Cut]) -> Iterator[CheckedCut]:
        left = disks(log, cuts)
        while True:
            with self._saved(islice(left, LARGEST_BATCH)) as images:
                if not images:
                    return
                yield from self._check_batch(log, images)

    def _check_batch(self, log: WriteLog, images: dict[Cut, Path]) -> Iterator[CheckedCut]:
        """One guest for all `images`; those of cuts with faults, and that on which it fails, are kept."""
        attached = CutDisks(list(images.values()))
        with self._guest(attached) as machine:
            assert_runs(machine, self.kernel)
            for number, cut in enumerate(list(images)):
                try:
                    one = check_cut(machine, attached.device(number), self.options.mount, log, cut)
                except RunFailed as failed:
                    disk = self._named(images.pop(cut))
                    raise RunFailed(f"cut {cut}, whose disk image is kept as {disk}: {failed}") from None
                if one.faults:
                    images.pop(cut)
                yield one

    @contextmanager
    def _saved(self, left: Iterator[tuple[Cut, Disk]]) -> Iterator[dict[Cut, Path]]:
        """The image of each disk by its cut; who takes one out keeps it, the others go."""
        images: dict[Cut, Path] = {}
        try:
            for cut, disk in left:
                images[cut] = self._image(cut)
                with full_disk_is_one_sentence(self.folder):
                    disk.save(images[cut], SIZE_MIB << 20)
            yield images
        finally:
            for image in images.values():
                image.unlink(missing_ok=True)

    def _image(self, cut: Cut) -> Path:
        return self.folder / f"{self.name.replace('/', '-')}-cut-{cut.seed}.img"

    def _named(self, image: Path) -> str:
        return f"{self.folder.name}/{image.name}"

    def _guest(self, disk: Attached, arguments: tuple[str, ...] = ()) -> QemuMachine:
        guest = guest_of(self.target, self.kernel, CPUS, disk=disk)
        return QemuMachine(replace(guest, kernel_arguments=arguments))


def _untested(checked: Sequence[CheckedCut]) -> Iterator[str]:
    """What no cut met that could have gone wrong: there its silence says nothing."""
    if not any(one.replayed for one in checked):
        yield "no cut needed a journal replay, so replay was not tested: give more --cuts"
    if not any(one.orphans for one in checked):
        yield "no cut left an orphan, so their cleanup was not tested: give more --cuts"


def cut_arms(safe: Sequence[Series], plan: Plan) -> list[CutOutcome]:
    """Cut the power of each arm on the default target; kept in runs/powercut-<time> after each of them.

    An arm that is another one in kernel, mkfs, mount and knobs is not loaded again. Arms on another file
    system than ext4 are left out. One that does not build has failed, and the others are cut all the same;
    BadInput when all are left out, or for a fault of what all arms need.
    """
    safe = _on_ext4(safe)
    refuse_bad_surroundings(build=True, boot=True)
    folder, target = new_run("powercut").folder, load_target(DEFAULT_TARGET)
    found: dict[tuple[str, str], CutOutcome] = {}
    outcomes: list[CutOutcome] = []
    with progress("power cuts", len(safe) * plan.cuts) as shown:
        for number, series in enumerate(safe):
            shown.update(number * plan.cuts, f"{series.name}: kernel")
            options = load_whole_study(series.study).options_of(series.arm)
            try:
                kernel = build(series)
            except FullDisk:  # no arm's fault
                raise
            except (BadInput, RunFailed) as error:
                same = _not_cut(series.name, error)
            else:
                identity = kernel.build_id, options.line
                if twin := found.get(identity):
                    same = replace(
                        twin, study=series.study, arm=series.arm, same_as=f"{twin.study}/{twin.arm}"
                    )
                else:
                    cuts = PowerCuts(series.name, kernel, options, target, plan, folder)
                    same = found[identity] = _cut(cuts, shown, number * plan.cuts)
            outcomes.append(same)
            write_json(folder / "powercut.json", [one.as_json() for one in outcomes])
    return outcomes


def _on_ext4(safe: Sequence[Series]) -> list[Series]:
    """What is left out is told."""
    others = [one for one in safe if load_whole_study(one.study).filesystem != SMALL.filesystem]
    said = f"is on another file system than {SMALL.filesystem}, which alone is loaded and checked here"
    if len(others) == len(safe):
        raise BadInput(f"{others[0].name} {said}: name another arm")
    for series in others:
        tell(f"{series.name} is left out: it {said}")
    return [series for series in safe if series not in others]


def _cut(cuts: PowerCuts, shown: Progress, done: float) -> CutOutcome:
    """An arm whose guest fails has failed, and the others are cut all the same."""
    try:
        return cuts.run(shown, done)
    except RunFailed as error:
        return _not_cut(cuts.name, error)


def _not_cut(name: str, error: Exception) -> CutOutcome:
    study, arm = name.split("/")
    return CutOutcome(study, arm, 0, faults=(str(error),))


def as_text(outcomes: Sequence[CutOutcome]) -> str:
    """One line an arm."""
    return "\n".join(f"{'ok ' if one.ok else 'NO '} {one.study}/{one.arm}: {_said(one)}" for one in outcomes)


def _said(one: CutOutcome) -> str:
    if one.same_as:
        return f"same as {one.same_as}"
    if one.faults:
        kept = f"; {len(one.images)} disk image(s) kept in runs, first: {one.images[0]}" if one.images else ""
        return f"{one.cuts} power cuts, {len(one.faults)} fault(s), first: {one.faults[0]}{kept}"
    return (
        f"{one.cuts} power cuts, {one.replayed} journals replayed, {one.orphans} orphans cleaned up, "
        f"{one.promised_files} promised files kept, {one.flushes} flushes ({one.origin})"
    )
