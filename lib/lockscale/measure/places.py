# SPDX-License-Identifier: MIT
"""Where a plan is carried out: what the runner knows of a target, whatever kind it is."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol

from lockscale.kernels.base import RATE
from lockscale.kernels.build import Kernel
from lockscale.machines.disk import NamedDisk
from lockscale.machines.machine import Machine
from lockscale.machines.memory_disk import InMemory
from lockscale.machines.virtual_time import Section
from lockscale.measure.arms import build_arms
from lockscale.measure.layout import Run
from lockscale.measure.rows import Origin
from lockscale.study.file import LocalTarget, ManycoreTarget, QemuTarget, Study, Target


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
    virtual_time: "InVirtualTime | None" = None


class InVirtualTime(Protocol):
    """What a machine in virtual time offers besides.

    section: a program in the guest that marks a command as a section. mpi_marks: a library that marks one in
    the ranks that preload it. settings: names of what can be set otherwise for one command, in order.
    sections: see QemuMachine.
    """

    @property
    def section(self) -> str: ...

    @property
    def mpi_marks(self) -> str: ...

    @property
    def settings(self) -> Sequence[str]: ...

    def sections(self, skip: int = 0) -> list[Section]: ...


class Place(Protocol):
    """A target that is held for one run.

    origin, label: what rows say of where they were measured. arms: what can be told apart there, in
    the study's order. at_once: how many boots it can have at a time, none of which disturbs another.
    """

    @property
    def at_once(self) -> int: ...

    @property
    def origin(self) -> Origin: ...

    @property
    def label(self) -> str: ...

    @property
    def arms(self) -> Sequence[str]: ...

    def describe(self) -> dict[str, Any]:
        """What provenance says of it beside the target file; nothing private."""
        ...

    def boot(self, arm: str, cpus: int) -> AbstractContextManager[Booted]:
        """`arm` on `cpus` processors, from a boot that was asserted to the end of one step."""
        ...

    def scrub(self, text: str) -> str:
        """Tool output without the target's own names."""
        ...


def kernels_ahead(study: Study, target: Target) -> dict[str, Kernel]:
    """The kernels that can be built before the target is held: a guest's; a server's depend on the server."""
    return build_arms(study) if isinstance(target, QemuTarget | ManycoreTarget) else {}


def open_place(run: Run, study: Study, target: Target, kind: str = RATE) -> AbstractContextManager[Place]:
    """`target`, held for this run alone and left as it was found, with the arms' kernels of one kind.

    Raises BadInput where somebody else holds it or it cannot run the study.
    """
    if isinstance(target, QemuTarget):
        from lockscale.measure.place_qemu import hold_qemu

        return hold_qemu(run, study, target, kind)
    if isinstance(target, ManycoreTarget):
        from lockscale.measure.place_manycore import hold_manycore

        return hold_manycore(run, study, target, kind)
    if isinstance(target, LocalTarget):
        from lockscale.measure.place_local import hold_local

        return hold_local(run, study, target)
    from lockscale.measure.place_ssh import hold_server

    return hold_server(run, study, target, kind)
