# SPDX-License-Identifier: MIT
"""Waits and holds of each lock class, as the kernel's /proc/lock_stat (version 0.4) prints them.

Read in the kernel: kernel/locking/lockdep_proc.c (seq_stats) and lockdep.c. Needs CONFIG_LOCK_STAT,
which makes every lock larger and slower: counts come from such a kernel, rates never. Times are
microseconds, rounded to 0.01. A contention is a wait that ended, an acquisition a hold that ended.
Names are cut to 37 characters and versions of a class (`#12`) to one digit.
"""

import re
from dataclasses import dataclass, replace
from typing import Literal

from lockscale.errors import BadInput
from lockscale.tools.lock_profile import LockProfile
from lockscale.tools.lock_stat_row import (
    COLUMNS,
    CUT_NAME,
    FILE,
    PLACE,
    LockClassUse,
    Times,
    is_part,
    part_of,
    use_of,
)
from lockscale.tools.parsed_rows import NOT_STATED, Number, Parsed, ParsedRow, rows_of
from lockscale.tools.profile_entry import Entry
from lockscale.tools.seal import UNSEALED, unseal
from lockscale.tools.target_tools import Part, TargetTool, kernel_file, printed

TOOL = "lock_stat"
START = [("/proc/sys/kernel/lock_stat", "1\n"), (FILE, "0\n")]
"""(file, value) to write in order: on, and from zero."""
# The file has no end of its own: the number of lines tells a whole reading from a cut one.
READ = ("awk", '{ print } END { print "lines", NR }', FILE)
ON_TARGET = TargetTool(
    name=TOOL,
    ask=kernel_file(FILE, "head", "-n", "1", FILE),
    version=printed(r"lock_stat version (\S+)"),
    without="waits are counted with perf lock and lock events; only observe kernels have lock_stat",
    get="boot an observe kernel",
    parts=[
        Part(
            "lock debugging",
            ["sh", "-c", '! grep -q "lock debugging disabled" "$1"', "sh", FILE],
            "its counts are not used: boot again",
        )
    ],
)

_PLACES = 4  # LOCKSTAT_POINTS
_COMMAND = re.compile(r".*[$#] .*/proc/lock_stat\b.*")
"""What may stand above a terminal's copy of the file."""


@dataclass(frozen=True)
class LockSite:
    """A call site of a class, with its waits: where waiters were, or where the holder took the lock.

    The kernel notes the first four of each kind only.
    """

    name: str
    role: Literal["waiter", "holder"]
    symbol: str
    count: int


class _Table:
    """The table under the header, fed line by line.

    A class has a row for each mode it was held in. If it was waited for, a separator and the
    waiters' places follow, another one and the holders', and a dotted line.
    """

    def __init__(self) -> None:
        self.uses: dict[tuple[str, str], LockClassUse] = {}
        self.places: list[LockSite] = []
        self.section = 0  # separators since the last row or dotted line
        self._in_section: list[LockSite] = []

    def add(self, line: str) -> None:
        if use := use_of(line):
            self._refuse_unless(self.section < 2, line)
            self.close()
            self.add_use(use)
        elif place := PLACE.fullmatch(line):
            self._refuse_unless(self.section > 0 and len(self._in_section) < _PLACES, line)
            role: Literal["waiter", "holder"] = "waiter" if self.section == 1 else "holder"
            self._in_section.append(LockSite(place[1], role, place[3], int(place[2])))
        elif re.fullmatch(" *-+", line):
            self._refuse_unless(self.section == 0 or (self.section == 1 and bool(self._in_section)), line)
            self.close(self.section + 1)
        elif re.fullmatch(r"\.+", line):
            self._refuse_unless(self.section == 2 and bool(self._in_section), line)
            self.close()
        else:
            self._refuse_unless(not line, line)

    def close(self, next_section: int = 0) -> None:
        """A section is over, or the text is, be it within a class."""
        if len({(place.name, place.symbol) for place in self._in_section}) < len(self._in_section):
            raise BadInput(
                f"lock_stat lists a call site of {self._in_section[0].name} twice: it is "
                f"damaged, read it again"
            )
        self.places += self._in_section
        self._in_section, self.section = [], next_section

    def add_use(self, use: LockClassUse) -> None:
        for times in (use.waits, use.holds):
            if not times.adds_up:
                raise BadInput(
                    f"lock_stat says of {use.name} a total of {times.total_us:g} us, but {times.count} times "
                    f"{times.avg_us:g} us: it is damaged, read it again"
                )
        same = self.uses.get((use.name, use.mode))
        if same == use and not CUT_NAME.fullmatch(use.name):
            raise BadInput(
                f"lock_stat has identical lines for {use.name}: reset the counts and read it again"
            )
        self.uses[use.name, use.mode] = _sum(same, use) if same else use

    def _refuse_unless(self, expected: bool, line: str) -> None:
        if not expected:
            after = f" (the last class before it is {next(reversed(self.uses))[0]})" if self.uses else ""
            raise BadInput(
                f"lock_stat has a line that does not belong to its table: {line.strip()[:60]!r}{after}"
            )


def _sum(a: LockClassUse, b: LockClassUse) -> LockClassUse:
    """Two classes of one printed name, added as the kernel adds the CPUs' (lock_time_add)."""
    return replace(
        a,
        con_bounces=a.con_bounces + b.con_bounces,
        waits=_sum_times(a.waits, b.waits),
        acq_bounces=a.acq_bounces + b.acq_bounces,
        holds=_sum_times(a.holds, b.holds),
        ambiguous=True,
    )


def _sum_times(a: Times, b: Times) -> Times:
    if not (a.count and b.count):
        return a if a.count else b
    total_us, count = round(a.total_us + b.total_us, 2), a.count + b.count
    return Times(count, min(a.min_us, b.min_us), max(a.max_us, b.max_us), total_us, total_us / count)


@dataclass(frozen=True)
class LockStat:
    """One reading; `warnings` say what may be missing from it, and what a part leaves open."""

    uses: tuple[LockClassUse, ...]
    places: tuple[LockSite, ...]
    warnings: tuple[str, ...]
    version: str = "0.4"


def recognise(text: str) -> bool:
    """Whether it begins as the file does, in any version, or is rows of it; the command may stand above."""
    body = text[_begins(text) :]
    return body.startswith("lock_stat version ") or is_part(body)


def _begins(text: str) -> int:
    """Where the file begins: below the command, where a terminal's copy has it."""
    first = text.find("\n") + 1
    return first if _COMMAND.fullmatch(text[: max(first - 1, 0)]) else 0


def parse(text: str) -> LockStat:
    """What READ prints; the plain file too, with a warning unless it is sealed: nothing in it says that it is
    whole.

    Rows alone are read in the kernel's order, which a warning says. BadInput when it is not lock_stat 0.4,
    lock debugging was disabled, or a line is not one of its table.
    """
    body, is_sealed = unseal(text)
    lines, warnings = _whole_lines(body[_begins(body) :])
    table = _Table()
    if is_part("\n".join(lines)):
        uses, said = part_of(lines)
        for use in uses:
            table.add_use(use)
        warnings = said if is_sealed else (*said, *warnings)
        return LockStat(tuple(table.uses.values()), (), warnings, NOT_STATED)
    _check_header(lines)
    for line in lines[5:]:
        table.add(line)
    if table.section:  # its row, or both of them, are above the first separator
        if not table.uses:
            raise BadInput("lock_stat ends before its first lock class: it was cut off, read it again")
        last = next(reversed(table.uses))[0]
        warnings += (
            f"lock_stat ends inside the class {last}: call sites of it, and later classes, may be missing",
        )
        table.close()
    return LockStat(tuple(table.uses.values()), tuple(table.places), () if is_sealed else warnings)


def _whole_lines(text: str) -> tuple[list[str], tuple[str, ...]]:
    lines = text.split("\n")
    if lines.pop():
        raise BadInput("lock_stat ends in the middle of a line: it was cut off, read it again")
    counted = re.fullmatch(r"lines ([0-9]{1,9})", lines[-1]) if lines else None
    if counted is None:
        return lines, (UNSEALED,)
    if int(counted[1]) != len(lines) - 1:
        raise BadInput(f"lock_stat has only {len(lines) - 1} of its {counted[1]} lines: read it again")
    return lines[:-1], ()


def _check_header(lines: list[str]) -> None:
    title = lines[0] if lines else ""
    if not title.startswith("lock_stat version ") and any(map(_name_of_row, lines)):
        raise BadInput(
            f"this is a part of {FILE}: its first line, lock_stat version 0.4, is missing, and not all lines "
            "are of its table: give the whole file, or rows alone"
        )
    if not title.startswith("lock_stat version "):
        raise BadInput(f"this is not {FILE}: the kernel needs CONFIG_LOCK_STAT, and only root reads it")
    if title != "lock_stat version 0.4":
        raise BadInput(f"{title[:40]} is not known: this reads version 0.4")
    if lines[1:] and lines[1].startswith("*WARNING*"):
        raise BadInput("lock_stat: lock debugging is disabled: see the kernel log and boot again")
    head = lines[1:5]
    if len(head) < 4 or head[1].split() != COLUMNS or head[3] or set(head[0] + head[2]) != {"-"}:
        raise BadInput("lock_stat does not have the columns of version 0.4: it was cut off or changed")


def rows(text: str) -> Parsed:
    """Waits and holds of each class and mode, `-R` and `-W` where some read, and the waits at each site."""
    found = parse(text)
    shared_by = {use.name for use in found.uses if use.mode == "read"}
    of_locks: list[ParsedRow] = []
    for use in found.uses:
        of_locks += rows_of(
            f"{use.name}-{use.mode[0].upper()}" if use.name in shared_by else use.name,
            Number("contentions", "total", "events", use.waits.count),
            Number("contention_bounces", "total", "events", use.con_bounces),
            *_numbers("wait", use.waits),
            Number("acquisitions", "total", "events", use.holds.count),
            Number("acquisition_bounces", "total", "events", use.acq_bounces),
            *_numbers("hold", use.holds),
        )
    for site in found.places:
        role = "waits at" if site.role == "waiter" else "is held from"
        of_locks += rows_of(
            f"{site.name} {role} {site.symbol}", Number("contentions", "total", "events", site.count)
        )
    shared = [
        f"{use.name} names several lock classes: their numbers are added up"
        for use in found.uses
        if use.ambiguous
    ]
    return Parsed(TOOL, found.version, tuple(of_locks), (*found.warnings, *shared))


def profiles(text: str) -> list[LockProfile]:
    """The classes, an Entry each and mode; `kind` is the mode where some read, the first caller unknown."""
    found = parse(text)
    lines = {name: number for number, line in enumerate(text.split("\n"), 1) if (name := _name_of_row(line))}
    shared = {(use.name, use.mode) for use in found.uses}
    entries = [
        Entry(
            use.name,
            lines.get((use.name, use.mode), 1),
            kind=use.mode if (use.name, "read") in shared else None,
            contentions=use.waits.count,
            wait_ns=use.waits.total_us * 1e3,
            mean_ns=use.waits.avg_us * 1e3,
            max_ns=use.waits.max_us * 1e3,
            acquisitions=use.holds.count,
            hold_ns=use.holds.total_us * 1e3,
        )
        for use in found.uses
    ]
    sites = tuple((one.symbol, one.name) for one in found.places if one.role == "waiter")
    return [
        LockProfile(
            TOOL, "lock waits", tuple(entries), TOOL, 1, None, found.warnings, sites=sites, of_locks=True
        )
    ]


def _name_of_row(line: str) -> tuple[str, str] | None:
    use = use_of(line)
    return (use.name, use.mode) if use else None


def _numbers(metric: str, times: Times) -> list[Number]:
    return [
        Number(metric, "total", "us", times.total_us),
        Number(metric, "mean", "us", times.avg_us),
        Number(metric, "max", "us", times.max_us),
        Number(metric, "min", "us", times.min_us),
    ]
