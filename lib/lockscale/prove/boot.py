# SPDX-License-Identifier: MIT
"""An arm in a guest: it boots, mounts, runs its load, unmounts, and e2fsck has nothing to mend."""

import tempfile
from pathlib import Path

from lockscale.kernels.arms import arms_file
from lockscale.kernels.build import build
from lockscale.kernels.series import Series, named_series, refuse_unsafe
from lockscale.machines.assertions import assert_runs
from lockscale.machines.machine import must
from lockscale.machines.qemu import QemuMachine, qemu_line
from lockscale.measure.file_system import make, unmount_and_check
from lockscale.measure.guests import booted, scratch_in
from lockscale.measure.load import LOAD_TIMEOUT_S, load_of
from lockscale.measure.place_manycore import guest_on
from lockscale.progress import progress
from lockscale.study.file import QemuTarget, Target, load_target
from lockscale.tools import fsload


def runs_its_load(series: Series, target: Target) -> str:
    """What the booted arm did; RunFailed when anything of it went wrong."""
    refuse_unsafe(series, disposable=target.disposable, target=target.name)
    kernel, file = build(series), arms_file(series.study)
    with booted(target, kernel, file.load.cpus) as (machine, disk):
        file_system = make(machine, file.checked_with(series.arm), disk)
        said = must(machine, load_of(file.load), timeout_s=LOAD_TIMEOUT_S)
        operations = file.load.processes * file.load.items_per_process
        assert fsload.parse(said).rows
        unmount_and_check(machine, file_system)
    return (
        f"{kernel.release} runs with build-id {kernel.build_id}; {operations} operations of "
        f"{file.load.testcase} by {file.load.processes} processes; unmounted, e2fsck -fn clean"
    )


def boot_once(target: str, which: str, cpus: int) -> dict[str, str]:
    """Boot an arm, assert uname and build-id from inside, power off."""
    said = load_target(target)  # a misspelt one is refused before a kernel is built
    series = named_series(which)
    refuse_unsafe(series, disposable=said.disposable, target=target)
    kernel = build(series)
    guest = guest_on(said, kernel, cpus)
    with progress(f"boot {which} on {target}") as shown:
        shown.update(0, guest.accel)
        with QemuMachine(guest) as machine:
            build_id = assert_runs(machine, kernel)
    return {"release": kernel.release, "build_id": build_id, "accel": guest.accel}


def example_line(target: str, which: str, cpus: int) -> str:
    """The exact qemu line that would boot an arm with a target's disk."""
    said = load_target(target)
    kernel = build(named_series(which))
    disk = scratch_in(Path(tempfile.gettempdir()), said) if isinstance(said, QemuTarget) else None
    return qemu_line(guest_on(said, kernel, cpus, disk))
