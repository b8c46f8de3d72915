# SPDX-License-Identifier: MIT
"""Waits and holds of each lock class, as the kernel's /proc/lock_stat (version 0.4) prints them.

Read in the kernel: kernel/locking/lockdep_proc.c (seq_stats) and lockdep.c. Needs CONFIG_LOCK_STAT,
which makes every lock larger and slower: counts come from such a kernel, rates never. Times are
microseconds, rounded to 0.01. A contention is a wait that ended, an acquisition a hold that ended.
Names are cut to 37 characters and versions of a class (`#12`) to one digit.
"""

import re
from dataclasses import dataclass

from lockscale.errors import BadInput
from lockscale.profilers.lock_stat_table import LockUse, Place, Table, Times
from lockscale.target_tools import Part, TargetTool, kernel_file, printed

__all__ = ["LockStat", "LockUse", "Place", "Times", "parse"]

TOOL = "lock_stat"
FILE = "/proc/lock_stat"
SWITCH = "/proc/sys/kernel/lock_stat"
# The file has no end of its own: the number of lines tells a whole reading from a cut one.
READ = ("awk", '{ print } END { print "lines", NR }', FILE)
ON_TARGET = TargetTool(
    name=TOOL,
    ask=kernel_file(FILE, "head", "-n", "1", FILE),
    version=printed(r"lock_stat version (\S+)"),
    without="waits are counted with perf lock and lock events; only observe builds have it, for counts",
    get="boot an observe build",
    parts=[
        Part(
            "lock debugging",
            ["sh", "-c", '! grep -q "lock debugging disabled" "$1"', "sh", FILE],
            "its counts are refused: boot again",
        )
    ],
)

_TIMES = "{0}-min {0}-max {0}-total {0}-avg"
_COLUMNS = (
    f"class name con-bounces contentions {_TIMES.format('waittime')} "
    f"acq-bounces acquisitions {_TIMES.format('holdtime')}"
).split()


@dataclass(frozen=True)
class LockStat:
    """One reading; `warnings` say what may be missing from it."""

    uses: tuple[LockUse, ...]
    places: tuple[Place, ...]
    warnings: tuple[str, ...]


def start() -> list[tuple[str, str]]:
    """(file, value) to write in order: on, and from zero."""
    return [(SWITCH, "1\n"), *reset()]


def reset() -> list[tuple[str, str]]:
    """(file, value) that sets every count to zero."""
    return [(FILE, "0\n")]


def stop() -> list[tuple[str, str]]:
    """(file, value) that ends the counting; the counts stay until the next reset()."""
    return [(SWITCH, "0\n")]


def recognise(text: str) -> bool:
    """Whether it begins as the file does, in any version."""
    return text.startswith("lock_stat version ")


def parse(text: str) -> LockStat:
    """What READ prints; the plain file too, with a warning, because nothing in it says that it is whole.

    BadInput when it is not lock_stat 0.4, lock debugging was disabled, a line is not one of its
    table, or an average is not its total by its count.
    """
    lines, warnings = _whole_lines(text)
    _check_header(lines)
    table = Table()
    for line in lines[5:]:
        table.add(line)
    if table.section:
        raise BadInput("lock_stat ends inside a lock class: it was cut, read it again")
    return LockStat(tuple(table.uses.values()), tuple(table.places), warnings)


def _whole_lines(text: str) -> tuple[list[str], tuple[str, ...]]:
    lines = text.split("\n")
    if lines.pop():
        raise BadInput("lock_stat ends in the middle of a line: it was cut, read it again")
    counted = re.fullmatch(r"lines ([0-9]{1,9})", lines[-1]) if lines else None
    if counted is None:
        return lines, ("lock_stat was not read with the command READ: classes may be missing",)
    if int(counted[1]) != len(lines) - 1:
        raise BadInput(f"lock_stat has {len(lines) - 1} lines of {counted[1]}: read it again")
    return lines[:-1], ()


def _check_header(lines: list[str]) -> None:
    title = lines[0] if lines else ""
    if not title.startswith("lock_stat version "):
        raise BadInput(f"this is not {FILE}: the kernel needs CONFIG_LOCK_STAT, and only root reads it")
    if title != "lock_stat version 0.4":
        raise BadInput(f"{title[:40]} is not known: this reads version 0.4")
    if lines[1:] and lines[1].startswith("*WARNING*"):
        raise BadInput("lock_stat: lock debugging is disabled, see the kernel's log and boot again")
    head = lines[1:5]
    if len(head) < 4 or head[1].split() != _COLUMNS or head[3] or set(head[0] + head[2]) != {"-"}:
        raise BadInput("lock_stat has not the columns of version 0.4: it was cut or changed")
