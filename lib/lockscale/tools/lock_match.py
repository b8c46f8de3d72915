# SPDX-License-Identifier: MIT
"""What a profile says of one lock or function: which rows carry its name, and which of them wait."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from lockscale.tools.lock_functions import function_of, may_be_one_lock
from lockscale.tools.profile_entry import Entry, caller_of, stack_text


@dataclass(frozen=True)
class Match:
    """What a profile says of one lock or function; a number is None where nothing says it.

    entries: all that carry the name, whether as function, as lock or as caller.
    as_caller: the name occurs only as a caller.
    share_pct: of the samples, those with the name on the stack, each counted once.
    wait_pct: of them, those in which a lock was waited for: all, when the name is a lock's function; else
    the lock functions that the name called (None when the profile has no callers). At most share_pct.
    waits: the entries that wait_pct or the sums of lock waits are made of; on_stack: those of share_pct.
    others: names of locks of another kind that the same function takes.
    contentions, wait_ns, acquisitions, hold_ns: sums of lock waits; mean_ns is wait_ns / contentions, or as
    printed where there is one entry; max_ns the longest.
    """

    name: str
    entries: tuple[Entry, ...]
    as_caller: bool
    share_pct: float | None
    wait_pct: float | None
    waits: tuple[Entry, ...]
    contentions: int | None = None
    wait_ns: float | None = None
    mean_ns: float | None = None
    max_ns: float | None = None
    acquisitions: int | None = None
    hold_ns: float | None = None
    others: tuple[str, ...] = ()
    on_stack: tuple[Entry, ...] = ()

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of lock among the waits."""
        return tuple(dict.fromkeys(one.kind for one in self.waits if one.kind))

    def of_readers(self) -> "Match | None":
        """What readers wait for; None where readers and writers are known, and only writers wait.

        Itself where nothing says who reads.
        """
        reads = [one for one in self.waits if one.side == "R"]
        if not reads and not any(one.side for one in self.waits):
            return self
        return replace(match_of(self.name, self.entries, reads, reads), others=self.others) if reads else None

    def said(self, *, whole: bool = False) -> str:
        """What was matched, for a person: names with their lines.

        whole: all that has the name on its stack, not the waits alone.
        """
        shown = self.entries if whole else self.waits or self.entries
        of = list(
            dict.fromkeys(
                f"{stack_text((one.name, *(one.callers or ())))} ({one.of_kind}line {one.line})"
                for one in shown
            )
        )
        more = f"; and {len(of) - 4} more" if len(of) > 4 else ""
        left_out = f"; not {', '.join(self.others)}" if self.others and not whole else ""
        return "; ".join(of[:4]) + more + left_out


def pct_of(entries: Sequence[Entry]) -> float | None:
    return _sum(one.share_pct for one in entries)


def match_of(name: str, found: Sequence[Entry], waits: Sequence[Entry], shares: Sequence[Entry]) -> Match:
    contentions, wait_ns = _sum(one.contentions for one in waits), _sum(one.wait_ns for one in waits)
    acquisitions = _sum(one.acquisitions for one in waits)
    mean_ns = waits[0].mean_ns if len(waits) == 1 else None
    if mean_ns is None and wait_ns is not None and contentions:
        mean_ns = wait_ns / contentions
    whole, part = pct_of(shares), pct_of(waits)
    return Match(
        name,
        tuple(found),
        all(one.path[0] != function_of(name) and one.callers for one in found),
        whole,
        part if part is None or whole is None else min(part, whole),
        tuple(waits),
        contentions=None if contentions is None else int(contentions),
        wait_ns=wait_ns,
        mean_ns=mean_ns,
        max_ns=max((one.max_ns for one in waits if one.max_ns is not None), default=None),
        acquisitions=None if acquisitions is None else int(acquisitions),
        hold_ns=_sum(one.hold_ns for one in waits),
        on_stack=tuple(shares),
    )


def _sum(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def by_lock(waits: Sequence[Entry]) -> list[list[Entry]]:
    """Waits that can be for one lock together, those of other kinds apart."""
    found: list[list[Entry]] = []
    for one in waits:
        same = next((of for of in found if may_be_one_lock((one.kind or "",), (of[0].kind or "",))), None)
        if same is None:
            found.append([one])
        else:
            same.append(one)
    return found


def not_of(function: str, waits: Sequence[Entry], waiting: Sequence[Entry]) -> tuple[str, ...]:
    """What else is waited for below a function: who takes it, or of the function itself by what."""
    meant = set(map(id, waits))  # a profile has many stacks: not each against each
    left_out = [one for one in waiting if id(one) not in meant]
    taken, steps = {caller_of(one.path) for one in waits}, {_step_below(one.path, function) for one in waits}
    names = []
    for one in left_out:
        who = caller_of(one.path)
        if who == function and (step := _step_below(one.path, who)) not in steps:
            names.append(f"{step} < {who}")
        elif who and who not in taken:
            names.append(who)
    return tuple(dict.fromkeys(names))


def _step_below(path: Sequence[str], function: str) -> str:
    """What the function called to wait."""
    at = path.index(function) if function in path else 0
    return path[at - 1] if at else ""
