# SPDX-License-Identifier: MIT
"""What papermill and `-p name=value` may change of a study, and the names that this had in older runs."""

from collections import Counter
from typing import Annotated, Any, Literal

import pydantic

from lockscale.kernels.source import refuse_address
from lockscale.study.target_file import Count, Name
from lockscale.tools.registry import PROFILERS
from lockscale.yaml_text import OneOrMore, Strict, spelt

# It reaches a command line as no path, no second option and no control character.
Function = Annotated[
    str, spelt(r"[A-Za-z0-9_.*?\[\]-]+", "write a kernel function's name, or a pattern of names with * and ?")
]

RENAMED = {"creates_per_point": "operations_per_point", "creates_at": "operations_at"}
"""Parameters by their name in runs of earlier versions."""
ROLES = {
    "before": "unpatched",
    "upstream": "patched",
    "other": "variant",
    "ours": "proposed",
    "floor": "bound",
}
"""Roles of arms by their name in files and runs of earlier versions."""


def with_current_names(study: dict[str, Any]) -> dict[str, Any]:
    """A study as a run of an earlier version wrote it, with the roles and parameters of this one."""
    found = dict(study)
    if isinstance(arms := study.get("arms"), list):
        found["arms"] = [
            {**arm, "role": ROLES.get(str(arm["role"]), arm["role"])}
            if isinstance(arm, dict) and "role" in arm
            else arm
            for arm in arms
        ]
    if isinstance(parameters := study.get("parameters"), dict):
        found["parameters"] = _renamed(parameters)
    return found


def _renamed(value: Any) -> Any:
    """The same with the parameters of RENAMED under their present names, however deep they lie."""
    if isinstance(value, dict):
        return {RENAMED.get(name, name): _renamed(one) for name, one in value.items()}
    return [_renamed(one) for one in value] if isinstance(value, list) else value


def _once(numbers: list[int]) -> list[int]:
    """`numbers`, none of them twice; ValueError is pydantic's."""
    for number, times in Counter(numbers).items():
        if times > 1:
            raise ValueError(f"{number} is given {times} times: give each once, iterations repeat it")
    return numbers


Counts = Annotated[OneOrMore[Count], pydantic.AfterValidator(_once)]
# What the simulator takes (sim/replicate.py).
Seed = Annotated[int, pydantic.Field(ge=0, le=2**63 - 1, strict=True)]
Threads = Annotated[int, pydantic.Field(gt=0, le=4096, strict=True)]
SimulatedThreads = Annotated[OneOrMore[Threads], pydantic.AfterValidator(_once)]


def _key(said: object) -> object:
    """A number as JSON writes it before a colon, as the number that it is."""
    return int(said) if isinstance(said, str) and said.isdecimal() else said


def _no_key_twice(said: object) -> object:
    """`said`, in which no number is a key twice, as 16 and as "16"; ValueError is pydantic's."""
    if isinstance(said, dict) and len({_key(key) for key in said}) < len(said):
        raise ValueError("a number of processes is given twice, with and without quotes: keep one")
    return said


Processes = Annotated[Count, pydantic.BeforeValidator(_key)]
OncePerPoint = pydantic.BeforeValidator(_no_key_twice)


def _path(source: str) -> str:
    """`source`, which must be a path of this machine, or nothing; ValueError is pydantic's."""
    if why := refuse_address(source):
        raise ValueError(why)
    return source


class GuestPoints(Strict):
    """One boot of an iteration: the CPUs that run and the numbers of processes measured on them."""

    cpus: Annotated[int, pydantic.Field(gt=0, le=8192, strict=True)]  # what x86 kernels know
    processes: Counts
    # Those of `processes` that are profiled too, and those that `--short` measures; by default all.
    profiled: list[Count] | None = None
    short: OneOrMore[Count] | None = None
    # Of these points' rates, in place of the study's own number; counts and profiles need no more than that.
    operations_per_point: Count | None = None
    # Of some of them, by their number of processes, in place of that.
    operations_at: Annotated[dict[Processes, Count], OncePerPoint] = {}
    # Loads one after another that give one rate, at some numbers of processes; at others one load does. The
    # order in which many processes start decides the rate of a load for as long as it lasts.
    loads_at: Annotated[
        dict[Processes, Annotated[int, pydantic.Field(gt=0, le=1000, strict=True)]], OncePerPoint
    ] = {}
    # Each process is a container: it runs in a cgroup v2 of its own, which fsload makes.
    containers: pydantic.StrictBool = False

    @pydantic.model_validator(mode="after")
    def _of_its_processes(self) -> "GuestPoints":
        for name in ("profiled", "short", "operations_at", "loads_at"):
            if unknown := set(getattr(self, name) or ()) - set(self.processes):
                raise ValueError(
                    f"{name} names {min(unknown)} processes, which are not measured: add them to processes"
                )
        return self

    def shortened(self) -> "GuestPoints":
        """Only the numbers of processes of `short`, where that is given, and one load of each."""
        if self.short is None:
            return self
        kept = [n for n in self.processes if n in self.short]
        profiled = None if self.profiled is None else [n for n in self.profiled if n in kept]
        operations_at = {n: operations for n, operations in self.operations_at.items() if n in kept}
        fewer = {"processes": kept, "profiled": profiled, "short": None, "operations_at": operations_at}
        return self.model_copy(update={**fewer, "loads_at": {}})


def _no_point_twice(guests: list[GuestPoints]) -> list[GuestPoints]:
    """`guests`, no point of them twice: it would pass for an iteration; ValueError is pydantic's."""
    points = Counter((guest.cpus, n) for guest in guests for n in guest.processes)
    for (cpus, n), times in points.items():
        if times > 1:
            raise ValueError(
                f"{n} processes on {cpus} CPUs are given {times} times: give each once, iterations repeat it"
            )
    return guests


Guests = Annotated[OneOrMore[GuestPoints], pydantic.AfterValidator(_no_point_twice)]


def _profiler(name: str) -> str:
    if name not in PROFILERS:
        raise ValueError(f"{name!r} is not a profiler: use {', '.join(PROFILERS)}")
    return name


ProfilerName = Annotated[str, pydantic.AfterValidator(_profiler)]


class Parameters(Strict):
    """What papermill and `-p name=value` may change."""

    guests: Guests
    # In place of `guests` on a machine in virtual time, whose CPUs cost the host no more than they do.
    manycore: Guests = [GuestPoints(cpus=64, processes=[1, 2, 4, 8, 16, 32, 48, 64])]
    # In virtual time: numbers of processes at which the first boot of each arm is also measured with every
    # price at both ends of its range.
    price_ends: list[Count] = []
    # Operations of a point, whatever they are, shared out over its processes.
    operations_per_point: Count
    # The arms to take; none named: all. An unsafe one is left out so for a target that is not disposable.
    arms: list[Name] = []
    iterations: Annotated[int, pydantic.Field(ge=2, le=1000, strict=True)]
    profiled_functions: OneOrMore[Function]
    profilers: OneOrMore[ProfilerName] = ["ftrace_cost"]
    tool: Literal["auto", "fsload", "mdtest"]
    accel: Literal["auto", "kvm", "tcg"]
    seed: Seed
    simulated_threads: SimulatedThreads
    replications: Annotated[int, pydantic.Field(ge=2, le=1000, strict=True)]
    # Blocks before the A/A pair whose rows are compared with nothing.
    warm_up_blocks: Annotated[int, pydantic.Field(ge=0, le=100, strict=True)] = 0
    # Unmeasured loads that age each new file system; S1 did one, which loads the inodes.
    ageing_loads: Annotated[int, pydantic.Field(ge=1, le=1000, strict=True)] = 1
    latency: pydantic.StrictBool = False  # costs each operation two clock reads
    # The line of the base that the arms are built from, as in kernel-patches/base.toml; empty: its first.
    kernel_base: Annotated[str, pydantic.Field(strict=True)] = ""
    kernel_source: Annotated[
        str, pydantic.Field(strict=True, max_length=4096), pydantic.AfterValidator(_path)
    ]

    @pydantic.model_validator(mode="after")
    def _with_a_tool_that_can(self) -> "Parameters":
        if self.tool == "mdtest" and any(guest.containers for guest in self.guests):
            raise ValueError("mdtest has no containers: give tool=fsload, or leave the tool out")
        return self

    @pydantic.model_validator(mode="after")
    def _price_ends_of_its_points(self) -> "Parameters":
        measured = {n for guest in (*self.guests, *self.manycore) for n in guest.processes}
        if unknown := {*self.price_ends} - measured:
            raise ValueError(
                f"price_ends names {min(unknown)} processes, which are not measured: add them to manycore"
            )
        return self

    def operations(self, guest: GuestPoints, processes: int) -> int:
        """How many operations so many processes share where that guest measures a rate."""
        return guest.operations_at.get(processes, guest.operations_per_point or self.operations_per_point)

    def counted_each(self, processes: int) -> int:
        """How many operations each of them does where calls and events are counted: fewer than for a rate."""
        return max(1, self.operations_per_point // processes)

    def items_each(self, guest: GuestPoints, processes: int) -> int:
        """How many operations each of them does."""
        return max(1, self.operations(guest, processes) // processes)
