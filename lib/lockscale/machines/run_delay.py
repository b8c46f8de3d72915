# SPDX-License-Identifier: MIT
"""What guests on this machine and others took of its processors from each other.

Documentation/scheduler/sched-stats.rst, /proc/*/task/*/schedstat: nanoseconds on a processor, nanoseconds
runnable without one. Documentation/filesystems/proc.rst, /proc/stat: ticks of all processors.
"""

import os
import time
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

Times = Mapping[int, tuple[int, int]]
"""Of each thread, by its number: ns that it ran, and ns that it waited for a processor."""


def times_of(groups: Collection[int]) -> dict[int, tuple[int, int]]:
    """Of every thread of the process groups; none where the kernel does not say."""
    found = {}
    for process, _ in _members(groups):
        try:
            for task in process.glob("task/*/schedstat"):
                ran_ns, waited_ns, _ = map(int, task.read_text().split())
                found[int(task.parent.name)] = (ran_ns, waited_ns)
        except (OSError, ValueError):  # it has ended meanwhile
            continue
    return found


def _members(groups: Collection[int]) -> Iterator[tuple[Path, list[str]]]:
    """Of each living process of the groups: its folder, and the fields of its stat from the state on."""
    for stat in Path("/proc").glob("[0-9]*/stat") if groups else ():
        try:
            fields = stat.read_text().rpartition(")")[2].split()
            if int(fields[2]) in groups:
                yield stat.parent, fields
        except (OSError, ValueError, IndexError):  # it has ended meanwhile
            continue


def share_waited(before: Times, after: Times) -> float:
    """Of the time that threads wanted a processor, the share without one; 0 where none wanted any."""
    both = before.keys() & after.keys()
    ran_ns, waited_ns = (sum(after[one][k] - before[one][k] for one in both) for k in (0, 1))
    return waited_ns / (ran_ns + waited_ns) if ran_ns + waited_ns > 0 else 0.0


class RunDelay:
    """How long a process group was kept from a processor since this was made."""

    def __init__(self, group: int) -> None:
        self.group, self.before = group, times_of([group])

    def seconds(self) -> float:
        """Of that of its threads that waited longest."""
        now = times_of([self.group])
        return (
            max((waited - self.before.get(one, (0, 0))[1] for one, (_, waited) in now.items()), default=0)
            / 1e9
        )


BUSY_FIELDS = (0, 1, 2, 5, 6, 7)  # user, nice, system, irq, softirq, steal; a guest's time is in user
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


class OthersOnCpus:
    """How many CPUs of this machine others had, on average since this was made.

    Others: all but a process group and this process; what a hypervisor gave to others (steal), too.
    """

    def __init__(self, group: int) -> None:
        self.group = group
        self.before_s, self.since_s = self._others_s(), time.monotonic()

    def cpus(self) -> float:
        """CPUs, such as 0.25 of one; never less than 0."""
        return max(0.0, (self._others_s() - self.before_s) / max(time.monotonic() - self.since_s, 1e-3))

    def _others_s(self) -> float:
        busy = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
        ticks = sum(int(busy[k]) for k in BUSY_FIELDS)
        # utime and stime have those of the threads that have ended, too
        ticks -= sum(int(fields[k]) for _, fields in _members([self.group]) for k in (11, 12))
        own = os.times()
        return ticks / TICKS_PER_S - own.user - own.system
