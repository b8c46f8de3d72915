# SPDX-License-Identifier: MIT
"""A guest on this machine, booted anew for each step, with a scratch disk made anew."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

from lockscale import paths
from lockscale.errors import BadInput
from lockscale.kernels.base import RATE
from lockscale.machines.assertions import assert_runs
from lockscale.machines.qemu import Guest, QemuMachine, qemu_line
from lockscale.measure.arms import build_arms
from lockscale.measure.file_system import MOUNT_POINT
from lockscale.measure.guests import guest_of, made, scratch_in
from lockscale.measure.holder import hold_this_machine
from lockscale.measure.layout import Run
from lockscale.measure.places import Booted
from lockscale.measure.rows import Origin
from lockscale.measure.this_machine import host
from lockscale.study.file import QemuTarget, Study
from lockscale.tools import fsload

EXAMPLE_CPUS = 4
MOST_CPUS = 64  # CONFIG_NR_CPUS of guest.config


def refuse_too_large(study: Study) -> None:
    """Raises BadInput where the study asks for more processors than a guest has."""
    most = max(guest.cpus for guest in study.parameters.guests)
    if most > MOST_CPUS:
        raise BadInput(f"the study asks for {most} CPUs and a guest has at most {MOST_CPUS}: ask for fewer")


@contextmanager
def hold_qemu(run: Run, study: Study, target: QemuTarget, kind: str = RATE) -> Iterator["QemuPlace"]:
    """This machine held, every arm built."""
    refuse_too_large(study)
    with hold_this_machine(run.id, target.name):
        yield QemuPlace(run, study, target, kind)


class QemuPlace:
    """The guests of one run: how they are accelerated, their kernels, their one scratch disk."""

    origin: Origin = "qemu"
    at_once = 1

    def __init__(self, run: Run, study: Study, target: QemuTarget, kind: str) -> None:
        self.target, self.kernels = target, build_arms(study, kind)
        self.arms = list(self.kernels)
        self.disk = scratch_in(run.folder, target)
        self.accel = self._guest(self.arms[0], 2, study.parameters.accel).accel
        self.label = f"{target.name} ({self.accel})"

    def _guest(self, arm: str, cpus: int, accel: str) -> Guest:
        return guest_of(self.target, self.kernels[arm], cpus, accel, self.disk)

    def describe(self) -> dict[str, Any]:
        return {
            "accel": self.accel,
            "qemu_line": qemu_line(self._guest(self.arms[0], EXAMPLE_CPUS, self.accel)),
            "host": host(),
            "kernels": {arm: asdict(kernel) for arm, kernel in self.kernels.items()},
        }

    @contextmanager
    def boot(self, arm: str, cpus: int) -> Iterator[Booted]:
        guest = self._guest(arm, cpus, self.accel)
        with made(self.disk) as disk, QemuMachine(guest) as machine:
            kernel = self.kernels[arm]
            build_id = assert_runs(machine, kernel)
            program = str(fsload.build(paths.CACHE / "bin"))  # the guest sees this machine's files
            yield Booted(machine, kernel.release, build_id, MOUNT_POINT, program, disk)

    def scrub(self, text: str) -> str:
        return text
