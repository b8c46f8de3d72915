# SPDX-License-Identifier: MIT
"""The load of a point, mdtest for creates where the target has it, else fsload; and one number of it."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import fmean, harmonic_mean

from lockscale import paths
from lockscale.errors import BadInput, RunFailed
from lockscale.machines.machine import Machine
from lockscale.measure.file_system import MOUNT_POINT
from lockscale.study.file import Study
from lockscale.tools import fsload, mdtest, mdtest_command
from lockscale.tools.parsed_rows import Parsed

LOAD_TIMEOUT_S = 300
CREATES = "create_unlink"
"""What mdtest does too."""


@dataclass(frozen=True)
class Load:
    """A tool as the runner uses it: a command for (processes, items, phase) and its reader.

    phases: of the workload, each an operation whose rate is a result; "both" is all of them in turn.
    """

    tool: str
    command: Callable[[int, int, str], list[str]]
    parse: Callable[[str], Parsed]
    phases: tuple[str, ...] = fsload.PHASES[CREATES]

    @property
    def operation(self) -> str:
        """What is profiled; later phases clear up."""
        return self.phases[0]

    @property
    def together(self) -> str:
        """What rows call all phases in turn."""
        return "_".join(self.phases)


def choose_load(
    machine: Machine,
    asked: str,
    folder: str,
    program: str | None = None,
    *,
    workload: str = CREATES,
    latency: bool = False,
    pin: bool = False,
    containers: bool = False,
    mpi_marks: str = "",
) -> Load:
    """The load generator for a study that asks for `auto`, `fsload` or `mdtest`; files in `folder`.

    program: fsload's path on the machine, by default where a guest sees this machine's own. latency:
    fsload times every operation; mdtest does not. pin: fsload keeps each worker on one CPU.
    containers: fsload runs each process in a cgroup of its own. mpi_marks: a library that marks a section in
    mdtest's ranks, on a machine in virtual time.
    """
    lacks = workload if workload != CREATES else "containers" if containers else ""
    if lacks and asked == "mdtest":
        raise BadInput(f"mdtest has no {lacks}: give -p tool=fsload, or leave the tool out")
    look = ["sh", "-c", "command -v mdtest && command -v mpirun"]
    has_mdtest = not lacks and machine.run(look).status == 0
    if asked == "mdtest" and not has_mdtest:
        raise BadInput("the target has no mdtest with mpirun: install IOR >= 3.3, or give -p tool=fsload")
    if asked != "fsload" and has_mdtest:

        def ranks(n: int, items: int, phase: str) -> list[str]:
            return mdtest_command.command(n, items, folder, phase=phase, preload=mpi_marks)

        return Load(mdtest_command.TOOL, ranks, mdtest.parse)
    return fsload_load(workload, folder, program, latency=latency, pin=pin, containers=containers)


def fsload_load(
    workload: str,
    folder: str,
    program: str | None = None,
    *,
    latency: bool = False,
    pin: bool = False,
    containers: bool = False,
) -> Load:
    """`workload` by fsload, for whoever needs no other tool; arguments as for choose_load."""
    binary = Path(program) if program else fsload.build(paths.CACHE / "bin")

    def processes(n: int, items: int, phase: str) -> list[str]:
        boxed, plain = n if containers else None, partial(fsload.command, binary, folder, test=workload)
        return plain(processes=n, items=items, phase=phase, containers=boxed, latency=latency, pin=pin)

    return Load(fsload.TOOL, processes, fsload.parse, fsload.PHASES[workload])


def check_load(study: Study) -> list[str]:
    """argv of the load under which a study's arms are checked, in a guest."""
    check = study.check
    load = fsload_load(study.workload, MOUNT_POINT, containers=check.containers)
    return load.command(check.processes, check.items_per_process, "both")


@dataclass(frozen=True)
class Reading:
    """One number of one point: `profiled` ones are never rates."""

    tool: str
    test: str
    threads: int
    metric: str
    statistic: str
    unit: str
    value: float
    profiled: bool


@dataclass(frozen=True)
class Point:
    """A load at one number of processes, each doing `items` operations."""

    load: Load
    processes: int
    items: int
    raw: str = "rate"  # how the names of its raw output begin

    def command(self, phase: str) -> list[str]:
        """argv of one of the load's phases, or of all in turn."""
        return self.load.command(self.processes, self.items, phase)

    def reading(
        self, tool: str, test: str, metric: str, statistic: str, unit: str, value: float, profiled: bool
    ) -> Reading:
        """A number of this point."""
        return Reading(tool, test, self.processes, metric, statistic, unit, value, profiled)


def mean_of_loads(loads: Sequence[Sequence[Reading]]) -> Iterator[Reading]:
    """One reading in place of those that loads of one point, one after another, gave of the same number.

    Rates as if all were one load, operations over time; of anything else the mean: of a percentile of
    latency too, which is not the percentile of all operations. What only some of the loads gave is of those.
    """
    alike: dict[Reading, list[Reading]] = {}
    for one in itertools.chain.from_iterable(loads):
        alike.setdefault(replace(one, value=0.0), []).append(one)
    for same in alike.values():
        if same[0].metric == "rate" and len(same) != len(loads):
            raise RunFailed(
                f"{same[0].tool} printed no rate of {same[0].test} in {len(loads) - len(same)} of "
                f"{len(loads)} loads at {same[0].threads} processes: `lockscale study resume` measures the "
                "point again"
            )
        values = [one.value for one in same]
        mean = harmonic_mean(values) if same[0].metric == "rate" else fmean(values)
        yield replace(same[0], value=mean if len(values) > 1 else values[0])
