# SPDX-License-Identifier: MIT
"""Target kind local: this machine under the kernel that it runs: workloads only, without root.

No arm is booted, so there is one, AS_FOUND; nothing is formatted, mounted or profiled. Its rows say
what this machine does, and compare no kernels.
"""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lockscale import paths
from lockscale.errors import BadInput
from lockscale.files import full_disk_is_one_sentence
from lockscale.kernels.identity import build_id_from_notes
from lockscale.machines.machine import NOTES, LocalMachine
from lockscale.measure.load import choose_load
from lockscale.measure.rows import Origin
from lockscale.measure.run_folder import Run
from lockscale.measure.target import Booted, HeldTarget, processors
from lockscale.programs import find
from lockscale.scratch import ScratchFolder
from lockscale.study.file import LocalTarget, Study
from lockscale.tools import fsload

AS_FOUND = "as-found"


class HeldMachine(HeldTarget):
    """Loads in a folder of each step's own, gone after it; a killed controller's goes with the next step."""

    @property
    def arms(self) -> list[str]:
        return [AS_FOUND]

    def __init__(self, run: Run, study: Study, target: LocalTarget) -> None:
        choose_load(LocalMachine(), study.parameters.tool, "", workload=study.workload)  # or a sentence
        self.label = target.name
        self.origin: Origin = "vm" if _is_virtual() else "hardware"
        self.home = target.room or run.folder

    def machine_facts(self) -> dict[str, str]:
        return processors()

    @contextmanager
    def boot(self, arm: str, cpus: int) -> Iterator[Booted]:
        machine, allowed = LocalMachine(), os.sched_getaffinity(0)
        with full_disk_is_one_sentence(self.home):
            self.home.mkdir(parents=True, exist_ok=True)
            folder = ScratchFolder("load", self.home)
        os.sched_setaffinity(0, sorted(allowed)[:cpus])
        try:
            release = os.uname().release
            program = str(fsload.build(paths.CACHE / "bin"))
            yield Booted(machine, release, _build_id(), str(folder.path), program, None)
        finally:
            os.sched_setaffinity(0, allowed)
            folder.remove()


def _build_id() -> str:
    try:
        return build_id_from_notes(Path(NOTES).read_bytes())
    except OSError as error:
        raise BadInput(
            f"{NOTES} cannot be read ({error.strerror}): rows need the kernel's build-id"
        ) from None


def _is_virtual() -> bool:
    """Whether systemd knows of a virtual machine here; without it, the CPU's own flag."""
    tool = find("systemd-detect-virt")
    if tool:
        return subprocess.run([tool, "--quiet", "--vm"], check=False).returncode == 0
    try:
        return " hypervisor" in Path("/proc/cpuinfo").read_text()
    except OSError:
        return True
