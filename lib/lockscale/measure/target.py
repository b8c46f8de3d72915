# SPDX-License-Identifier: MIT
"""A target as the runner knows it, whatever its kind: held by one run at a time, it boots arms."""

import json
import os
import platform
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from lockscale import paths
from lockscale.errors import BadInput, printable
from lockscale.files import hold_lock, now_utc, user_name
from lockscale.kernels.base import RATE
from lockscale.kernels.build import Kernel
from lockscale.kernels.package import ServerKernel
from lockscale.machines.disk_guard import NamedDisk
from lockscale.machines.guest_disks import InMemory
from lockscale.machines.machine import Machine
from lockscale.machines.run_delay import Times
from lockscale.machines.virtual_time import Section
from lockscale.measure.build_arms import build_arms
from lockscale.measure.load import CREATES
from lockscale.measure.rows import Origin
from lockscale.measure.run_folder import Run
from lockscale.study.file import (
    GuestPoints,
    LocalTarget,
    ManycoreTarget,
    QemuTarget,
    SshTarget,
    Study,
    Target,
)
from lockscale.study.target_file import ServerDisk, with_disk


def host() -> dict[str, Any]:
    """CPU model, cores, memory, kernel; what is unknown is null."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    return {
        "cpu_model": next((x.split(":", 1)[1].strip() for x in lines if x.startswith("model name")), None),
        "cpus": os.cpu_count(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "kernel": platform.release(),
        "python": platform.python_version(),
    }


def processors() -> dict[str, str]:
    """This machine's, for machine_facts() of a target whose numbers depend on them."""
    here = host()
    return {"the processor": f"{here['cpus']} x {here['cpu_model']}"}


def holder_of(run: str) -> str:
    """What a second controller reads: who holds a target from now on and for which run, never a machine."""
    return json.dumps({"who": user_name(), "run": run, "since_utc": now_utc()})


def in_use(what: str, held: str) -> str:
    """For somebody else who asks for `what`, the name of a target or of this machine.

    held: what holder_of() wrote; a text that is none of it, as after a crash, is somebody unknown.
    """
    try:
        said = json.loads(held)
        who, run, since = (printable(said[name]) for name in ("who", "run", "since_utc"))
    except (ValueError, KeyError, TypeError):
        who, run, since = "somebody", "unknown", "an unknown time"
    return f"{what} is in use by {who} since {since} (run {run}): wait until it ends"


def hold_this_machine(run: str, target: str) -> AbstractContextManager[None]:
    """Hold this machine while the context lasts: guests and local loads would disturb one another."""
    refusal = partial(in_use, f"target {target} needs this machine, which")
    return hold_lock(paths.MACHINE_LOCK, holder_of(run), refusal, for_all=True)


@dataclass(frozen=True)
class InVirtualTime:
    """What a machine in virtual time offers besides.

    section: a program in the guest that marks a command as a section. mpi_marks: a library that marks one in
    the ranks that preload it. settings: names of what can be set otherwise for one command, in order.
    sections: see QemuMachine. symbols: System.map of the kernel that runs.
    """

    section: str
    mpi_marks: str
    settings: tuple[str, ...]
    sections: Callable[..., list[Section]]
    symbols: Path


@dataclass(frozen=True)
class Booted:
    """An arm that runs, asserted: `release` and `build_id` are what the machine itself says.

    disk: the one that may be formatted; None: nothing is formatted, mounted or profiled, loads run in
    `folder`. fsload: the program's path on the machine. found: what provenance says of this boot beside
    what every machine is asked.
    """

    machine: Machine
    release: str
    build_id: str
    folder: str
    fsload: str
    disk: NamedDisk | InMemory | None
    found: dict[str, Any] = field(default_factory=dict)
    virtual_time: InVirtualTime | None = None


class HeldTarget(ABC):
    """A target that is held for one run.

    origin, label: what rows say of where they were measured. kernels: of each arm, in the study's order; none
    where the machine runs its own. at_once: how many boots it can have at a time, none of which disturbs
    another.
    """

    origin: Origin
    label: str
    kernels: Mapping[str, Kernel | ServerKernel] = MappingProxyType({})
    at_once = 1

    @property
    def arms(self) -> list[str]:
        """What can be distinguished there."""
        return list(self.kernels)

    def threads(self) -> Times:
        """Of guests in virtual time, whose every processor is one of this machine's; else none."""
        return {}

    def machine_facts(self) -> dict[str, str]:
        """What the machine is known by beside the target's file: what -> which, the same for all of a run."""
        return {}

    def describe(self) -> dict[str, Any]:
        """What provenance says of it beside the target file; nothing private."""
        kernels = {arm: asdict(kernel) for arm, kernel in self.kernels.items()}
        return {"accel": None, "qemu_line": None, "host": host(), "kernels": kernels}

    @abstractmethod
    def boot(self, arm: str, cpus: int) -> AbstractContextManager[Booted]:
        """`arm` on `cpus` processors, from a boot that was asserted to the end of one step."""

    def end_guests(self) -> None:  # noqa: B027  # most have none then
        """Those that still run, as after an error of another one."""

    def scrub(self, text: str) -> str:
        """Tool output without the target's own names."""
        return text


GUEST_CPUS = 64  # CONFIG_NR_CPUS of guest.config
MOST_PROCESSES, MOST_ITEMS = 4096, 100_000_000
"""Of one load: what fsload takes (lib/fsload/fsload.c), operations of each process."""
LEAST_FILE_BYTES = 512
"""An inode has at least 256 bytes, and its name is in a directory besides."""


def refuse_too_large(study: Study, target: Target) -> None:
    """Raises BadInput where the study's plan asks for more than `target` can do, and says what that is."""
    has, disk_bytes = most_cpus(target), _disk_bytes(with_disk(target, study.disk_mib))
    creates = study.workload == CREATES
    for guest in study.parameters.guests:
        if has is not None and guest.cpus > has:
            raise BadInput(
                f"the study asks for {guest.cpus} CPUs and target {target.name} has {has}: ask for fewer"
            )
    for asked, operations in _loads_of(study, study.parameters.guests):
        if creates and disk_bytes is not None and operations > disk_bytes // LEAST_FILE_BYTES:
            raise BadInput(
                f"{asked}, and the disk of target {target.name} has {disk_bytes >> 20} MiB, room for at "
                f"most {disk_bytes // LEAST_FILE_BYTES} files: ask for fewer"
            )


def refuse_beyond_fsload(study: Study) -> None:
    """Raises BadInput where a load of the study is larger than any target can carry out."""
    list(_loads_of(study, [*study.parameters.guests, *study.parameters.manycore]))


def _loads_of(study: Study, guests: Sequence[GuestPoints]) -> Iterator[tuple[str, int]]:
    """How a sentence about each load begins, and its operations; BadInput for more than fsload takes."""
    for guest in guests:
        for processes in guest.processes:
            each = study.parameters.items_each(guest, processes)
            asked = f"the study asks for {processes * each} operations by {processes} processes"
            if processes > MOST_PROCESSES:
                raise BadInput(
                    f"the study asks for {processes} processes, but a load has at most {MOST_PROCESSES}: ask "
                    "for fewer"
                )
            if each > MOST_ITEMS:
                raise BadInput(
                    f"{asked}, but a process does at most {MOST_ITEMS} operations of a load: ask for fewer"
                )
            yield asked, processes * each


def most_cpus(target: Target) -> int | None:
    """Of a guest, of the machine in virtual time, or of this machine; None: only the server itself knows."""
    if isinstance(target, QemuTarget):
        return GUEST_CPUS
    if isinstance(target, ManycoreTarget):
        return target.most_cpus
    return len(os.sched_getaffinity(0)) if isinstance(target, LocalTarget) else None


def _disk_bytes(target: Target) -> int | None:
    """The disk that loads run on; None: a folder of this machine's own."""
    if isinstance(target, LocalTarget):
        return None
    disk = target.disk
    return disk.size_bytes if isinstance(disk, ServerDisk) else disk.size_mib << 20


def kernels_ahead(study: Study, target: Target) -> dict[str, Kernel]:
    """The kernels that can be built before the target is held: a guest's; a server's depend on the server."""
    return build_arms(study) if isinstance(target, QemuTarget | ManycoreTarget) else {}


@contextmanager
def hold_target(run: Run, study: Study, target: Target, kind: str = RATE) -> Iterator[HeldTarget]:
    """`target`, held for this run alone and left as it was found, with the arms' kernels of one kind.

    Raises BadInput where somebody else holds it or it cannot run the study.
    """
    if isinstance(target, SshTarget):
        from lockscale.measure.target_ssh import hold_server

        with hold_server(run, study, target, kind) as server:
            yield server
        return
    refuse_too_large(study, target)
    with hold_this_machine(run.id, target.name):
        held = _on_this_machine(run, study, target, kind)
        try:
            yield held
        finally:
            held.end_guests()


def _on_this_machine(
    run: Run, study: Study, target: QemuTarget | ManycoreTarget | LocalTarget, kind: str
) -> HeldTarget:
    if isinstance(target, QemuTarget):
        from lockscale.measure.target_qemu import HeldQemu

        return HeldQemu(run, study, target, kind)
    if isinstance(target, ManycoreTarget):
        from lockscale.measure.target_manycore import HeldManycore

        return HeldManycore(study, target, kind)
    from lockscale.measure.target_local import HeldMachine

    return HeldMachine(run, study, target)
