# SPDX-License-Identifier: MIT
"""One row of a profile, or one branch of its call graphs, and which rows count the same samples.

Three kinds of profile (`LockProfile.of`) fill different fields of an Entry:

- `on-CPU samples` (perf report, perf top, perf script, a robot's perf-profile rows): `share_pct` in percent
  of all samples, and `counts`, in which of them: `self`, the function itself ran; `children`, it was
  anywhere on the stack.
- `off-CPU time` (offcputime): the same fields, in percent of the time that threads slept, and `wait_ns`.
- `lock waits` (perf lock, lock_stat, klockstat, a histogram of waits): `contentions`, `wait_ns`,
  `mean_ns`, `max_ns`, and where the tool says them `acquisitions`, `hold_ns`.

Entries of samples overlap: a row's children hold its self, a branch of a call graph is part of its row, and
the caller's row holds both. So shares are never to be summed by hand: a Match counts each sample once (see
inside()).
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from lockscale.tools.lock_functions import function_of, waits_at

Counts = Literal["self", "children"]

_OF_TIME = re.compile(r"cycles|clock|clk_unhalted|not_halted_cyc|^ibs_", re.IGNORECASE)
_MOST_SHOWN = 6  # functions of a stack, for a person


@dataclass(frozen=True)
class Entry:
    """One row, or one branch of a call graph; a field is None where the tool does not say it.

    name: the function that ran or slept; of lock waits the lock, or where the tool knows no lock, the caller.
    callers: who called it, the nearest first, as far up as the tool printed; None: the tool does not say.
    kind: of the lock, `spin`, `mutex`, `rwsem:R`, `rwlock:W`, `percpu-rwsem:R`, ... (a key of WAITS, or the
    tool's own word); of samples None where the function is no wait for a lock.
    line: in the text, from 1. at: of a wait that was timed, the function with its offset, as it is printed.
    """

    name: str
    line: int
    callers: tuple[str, ...] | None = None
    kind: str | None = None
    process: str | None = None
    counts: Counts | None = None
    share_pct: float | None = None
    contentions: int | None = None
    wait_ns: float | None = None
    mean_ns: float | None = None
    max_ns: float | None = None
    acquisitions: int | None = None
    hold_ns: float | None = None
    at: str = ""

    @cached_property
    def path(self) -> tuple[str, ...]:
        """The function and its callers, without what gcc appends."""
        return tuple(function_of(one) for one in (self.name, *(self.callers or ())))

    @cached_property
    def names(self) -> frozenset[str]:
        """What this entry can be called: functions; `wb_lock` of `&(&bdi->wb_lock)->rlock`."""
        own = {member} if self.counts is None and (member := _member(self.name)) else set()
        of_kind = {f"{self.family}:{self.path[0]}"} if self.of_kind and self.family else set()
        at = {self.at} if self.at else set()
        return frozenset({self.name, *(self.callers or ()), *self.path, *own, *of_kind, *at})

    @property
    def of_kind(self) -> str:
        """What is said before the line of a wait that was timed."""
        return f"{self.kind}, " if self.kind and self.counts is None else ""

    @property
    def side(self) -> str:
        """R or W of a lock that readers and writers take; empty of any other, and where it is not said."""
        if self.kind in ("read", "write"):
            return self.kind[0].upper()
        return (self.kind or "").partition(":")[2]

    @property
    def family(self) -> str:
        """The kind of lock, whether taken to read or to write; empty where the tool does not say it."""
        return "" if self.kind in ("read", "write") else (self.kind or "").partition(":")[0]


def _member(lock: str) -> str | None:
    """`wb_lock` of `&(&bdi->wb_lock)->rlock`."""
    name = re.sub(r"\)?->wait_lock$", "", lock.removesuffix("->rlock").rstrip(")").rstrip())
    found = re.search(r"(\w+)(?:\[\w+\])?(?:#\d+)?(?:/\d)?$", name)
    return found[1] if found else None


def stack_text(path: Sequence[str]) -> str:
    """A function and its callers, the nearest first, for a person: not more than fit a line."""
    return " < ".join(path[:_MOST_SHOWN]) + (" < ..." if len(path) > _MOST_SHOWN else "")


def inside(part: Entry, whole: Entry) -> bool:
    """Whether the samples of `part` are among those of `whole`, as far as the two printed paths tell.

    Of `self` entries: the same function, with callers that begin alike. Of `children`: the path of `whole`
    begins somewhere in the path of `part` and they agree as far as both go.
    """
    if part is whole or (whole.process and part.process != whole.process):
        return False
    mine, theirs = part.path, whole.path
    if whole.counts == "self":
        return part.counts == "self" and len(mine) > len(theirs) and mine[: len(theirs)] == theirs
    if mine == theirs and part.counts != "self":  # f may call f.part.0
        share, more = part.share_pct or 0.0, whole.share_pct or 0.0
        return ".part." in part.name and ".part." not in whole.name and share <= more
    if mine == theirs:
        return True
    starts = (at for at, name in enumerate(mine) if name == theirs[0])
    return any(
        all(a == b for a, b in zip(mine[at:], theirs, strict=False))
        for at in starts
        if at or len(mine) > len(theirs)
    )


def once(entries: Sequence[Entry]) -> list[Entry]:
    """The entries that are inside no other one: their shares can be summed."""
    by_name: dict[str, list[Entry]] = {}
    for one in entries:
        by_name.setdefault(one.path[0], []).append(one)
    return [
        one
        for one in entries
        if not any(inside(one, other) for name in set(one.path) for other in by_name.get(name, ()))
    ]


def caller_of(path: Sequence[str]) -> str | None:
    """Who called for the outermost lock of a stack, the nearest first."""
    at = waits_at(path)
    return None if at is None else next(iter(path[at + 1 :]), None)


def no_time(event: str) -> list[str]:
    """A warning where the samples are of an event that does not come as often as time passes."""
    if not event or (_OF_TIME.search(event) and "stall" not in event.casefold()):
        return []
    return [f"samples of {event} are no shares of the time: record cycles"]


def repeats(entries: Sequence[Entry]) -> list[str]:
    """A warning for each row that is there twice, to the last digit: one of the two may be a copy."""
    flat = [one for one in entries if one.callers is None]
    seen = Counter((one.name, one.process, one.counts, one.share_pct) for one in flat)
    return [
        f"{name} appears {n} times with {share}%: if a line was repeated, it counts twice"
        for (name, _, _, share), n in seen.items()
        if n > 1 and share
    ]
