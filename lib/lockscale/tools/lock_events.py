# SPDX-License-Identifier: MIT
"""The kernel's lock event counters (CONFIG_LOCK_EVENT_COUNTS; kernel/locking/lock_events.c)."""

import re

from lockscale.errors import BadInput
from lockscale.tools.parsed_rows import NOT_STATED, Parsed, event_rows
from lockscale.tools.seal import unsealed
from lockscale.tools.target_tools import TargetTool, kernel_file, printed

TOOL = "lock_events"
DIRECTORY = "/sys/kernel/debug/lock_event_counts"
# .reset_counts in it can only be written
READ = ("grep", "-r", "--exclude=.*", "", DIRECTORY)
ON_TARGET = TargetTool(
    name="lock event counters",
    ask=kernel_file(DIRECTORY),
    version=printed(r"(\d\S*)"),
    without="",
    get="boot a kernel with CONFIG_LOCK_EVENT_COUNTS and mount debugfs on /sys/kernel/debug",
)

# Not counters: the kernel divides them by others when it prints them (qspinlock_stat.h).
_AVERAGES = {"pv_hash_hops", "pv_latency_kick", "pv_latency_wake"}
_LINE = re.compile(r"(?:.*/)?([a-z_0-9]+):(\d{1,20}(?:\.\d\d)?)", re.ASCII)


def recognise(text: str) -> bool:
    """Whether its first line is the count of a lock event, as READ prints it."""
    return re.match(r"(?:.*/)?(?:lock|rwsem|pv)_[a-z_0-9]+:\d", text) is not None


def parse(text: str) -> dict[str, int]:
    """Counters that the command READ prints: one `path/name:count` a line; averages are left out."""
    counts: dict[str, int] = {}
    if text and not text.endswith("\n"):
        raise BadInput("lock events end in the middle of a line: the output was cut off, read it again")
    for line in text.split("\n"):
        if not line.strip():
            continue
        match = _LINE.fullmatch(line.rstrip())
        name = match[1] if match else ""
        if match is None or name in counts or ("." in match[2] and name not in _AVERAGES):
            raise BadInput(f"lock events: {line[:60]!r} is not name:count, or appears twice")
        if name not in _AVERAGES:
            counts[name] = int(match[2])
    if not counts:
        raise BadInput(f"no lock events: mount debugfs and set CONFIG_LOCK_EVENT_COUNTS ({DIRECTORY})")
    return counts


def difference(before: dict[str, int], after: dict[str, int]) -> dict[str, int]:
    """Events between two readings; BadInput when they are of two kernels or counts went down."""
    if before.keys() != after.keys():
        raise BadInput("lock events: the two readings have different counters: take both in one boot")
    fallen = [name for name in after if after[name] < before[name]]
    if fallen:
        raise BadInput(
            f"lock events: {fallen[0]} went down: the counters were reset in between, read both again"
        )
    return {name: after[name] - before[name] for name in after}


def is_fifo(events: dict[str, int]) -> bool:
    """Whether spin locks queued their waiters in that time; only meaningful under contention.

    `lock_slowpath` counts lock operations through the MCS queue. An unfair virtual spin lock
    (virt_spin_lock) and a paravirtual one that is stolen never hand over first come, first served.
    """
    if "lock_slowpath" not in events:
        raise BadInput("lock events: no lock_slowpath: boot a kernel with CONFIG_QUEUED_SPINLOCKS")
    return events["lock_slowpath"] > 0


def rows(text: str) -> Parsed:
    """A row for each counter."""
    body, warnings = unsealed(text)
    return Parsed(TOOL, NOT_STATED, event_rows(parse(body).items()), tuple(warnings))
