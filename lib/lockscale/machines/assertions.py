# SPDX-License-Identifier: MIT
"""What is asserted from inside before any number is taken: uname and build-id."""

from typing import Protocol

from lockscale.errors import RunFailed
from lockscale.kernels.identity import build_id_from_notes
from lockscale.machines.machine import Machine, must_all

NOTES = "/sys/kernel/notes"


class Built(Protocol):
    """A kernel as its build knows it: what `uname -r` and the GNU build-id note have to say."""

    @property
    def release(self) -> str: ...

    @property
    def build_id(self) -> str: ...


def assert_runs(machine: Machine, kernel: Built) -> str:
    """The running kernel's build-id, after comparing it and uname -r with what was built."""
    uname, notes = must_all(machine, [["uname", "-r"], ["od", "-A", "n", "-v", "-t", "x1", NOTES]])
    release = uname.stdout.strip()
    build_id = build_id_from_notes(bytes.fromhex("".join(notes.stdout.split())))
    if release != kernel.release:
        raise RunFailed(
            f"the target runs Linux {release}, not the built {kernel.release}: no number is taken"
        )
    if build_id != kernel.build_id:
        raise RunFailed(
            f"the target runs build-id {build_id}, not the built {kernel.build_id}: no number is taken"
        )
    return build_id
