# SPDX-License-Identifier: MIT
"""How long guests on this machine waited for a processor that others had: /proc/*/task/*/schedstat.

Documentation/scheduler/sched-stats.rst: nanoseconds on a processor, nanoseconds runnable without one.
"""

from collections.abc import Collection, Mapping
from pathlib import Path

Times = Mapping[int, tuple[int, int]]
"""Of each thread, by its number: ns that it ran, and ns that it waited for a processor."""


def times_of(groups: Collection[int]) -> dict[int, tuple[int, int]]:
    """Of every thread of the process groups; none where the kernel does not say."""
    found = {}
    for stat in Path("/proc").glob("[0-9]*/stat") if groups else ():
        try:
            group = int(stat.read_text().rpartition(")")[2].split()[2])
            if group in groups:
                for task in stat.parent.glob("task/*/schedstat"):
                    ran_ns, waited_ns, _ = map(int, task.read_text().split())
                    found[int(task.parent.name)] = (ran_ns, waited_ns)
        except (OSError, ValueError, IndexError):  # it has ended meanwhile
            continue
    return found


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
