# SPDX-License-Identifier: MIT
"""What every profile becomes for the predictor: entries, and which of them a name is of.

`registry.profiles_of(text, tool=None)` gives the profiles of a text, in its order;
`registry.profile_of(text, table=None, tool=None)` the one, chosen by number (from 1) or title where there
are several, never the first by chance. `profile.match(name)` says which entries a lock or function is of.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cached_property
from typing import Literal, Protocol, TypeVar

from lockscale.errors import BadInput, printable
from lockscale.tools.lock_functions import IDLE, INNERMOST, function_of, kind_of
from lockscale.tools.lock_match import Match, by_lock, match_of, not_of, pct_of
from lockscale.tools.profile_entry import Entry, caller_of, once

Of = Literal["on-CPU samples", "off-CPU time", "lock waits"]

SAMPLES: Of = "on-CPU samples"
SLEEP: Of = "off-CPU time"
LOCK_WAITS: Of = "lock waits"
_MOST_NEAR = 5
READ_OR_WRITE = re.compile(r"-([RW])$")
_SUBCLASS = re.compile(r"/\d$")
_SPINLOCK = re.compile(r"^spinlock:")  # as perf lock has it in its column of types


@dataclass(frozen=True)
class LockProfile:
    """One table of one tool.

    title: what stands above it, or what it is of; unique among the profiles of a text as far as it says so.
    line: where it begins, from 1. samples: how many in all, where said. warnings: what may be missing.
    disjoint: the entries are whole stacks, so that no sample is in two of them. threads, seconds: of the
    load, where the text says them. sites: functions that wait, each with the lock, where only locks have
    entries. of_locks: an entry is a lock, not a function that takes one. commit: whose profile it is, where
    the text is of two; also: the other one's, which has to be asked for. lost_line: where an entry could
    not be read that may be the largest.
    """

    tool: str
    of: Of
    entries: tuple[Entry, ...]
    title: str = ""
    line: int = 1
    samples: int | None = None
    warnings: tuple[str, ...] = ()
    disjoint: bool = False
    threads: int | None = None
    seconds: float | None = None
    sites: tuple[tuple[str, str], ...] = ()
    commit: str = ""
    of_locks: bool = False
    also: "LockProfile | None" = field(default=None, compare=False)
    lost_line: int | None = None

    @property
    def names_locks(self) -> bool:
        """Whether two of its entries are two locks: two functions may take the same."""
        return self.of == LOCK_WAITS and self.of_locks

    @cached_property
    def idle_pct(self) -> float | None:
        """Percent of the samples of CPUs with nothing to do; None where no idle function is listed."""
        found = [one for one in self.entries if any(map(IDLE.fullmatch, one.path))]
        return pct_of(self._once([one for one in found if one.counts == "children"] or found))

    @cached_property
    def waits(self) -> tuple[Match, ...]:
        """Who waits, the longest first: of samples one Match for each function that called for a lock, or for
        each kind of lock where no callers are known, as its functions call each other; of lock waits one for
        each lock, or for each function and kind of lock that it takes."""
        if self.of == LOCK_WAITS:
            of_whom: dict[tuple[str, str], list[Entry]] = {}
            for one in self.entries:
                # the name may be of every such lock: then who asked for it
                of_whom.setdefault((caller_of(one.path) or one.name, one.family), []).append(one)
            found = [match_of(name, of, of, []) for (name, _), of in of_whom.items()]
            return tuple(sorted(found, key=lambda one: (-(one.wait_ns or 0.0), -(one.contentions or 0))))
        by_caller: dict[str, list[Entry]] = {}
        for one in self.entries:
            if one.kind and (caller := caller_of(one.path)):
                by_caller.setdefault(caller, []).append(one)
        known = {name for of in by_caller.values() for one in of for name in one.path}
        flat = [one for one in self.entries if one.kind and not one.callers and one.path[0] not in known]
        found = [
            match_of(name, of, self._once(of), [])
            for name, waiting in by_caller.items()
            for of in by_lock(waiting)
        ]
        for family in dict.fromkeys(one.family for one in flat):
            of = [one for one in flat if one.family == family]
            longest = max(of, key=lambda one: one.share_pct or 0.0)
            shares = [longest] if longest.counts == "children" else self._once(of)
            found.append(match_of(longest.name, of, shares, shares))
        return tuple(sorted(found, key=lambda one: -(one.wait_pct or 0.0)))

    def _once(self, entries: Sequence[Entry]) -> list[Entry]:
        return list(entries) if self.disjoint else once(entries)

    def match(self, name: str) -> Match:
        """The entries that carry `name`, a lock or function, exactly; BadInput with near names where none do.

        `a < b` asks for `a` where `b` called it, whether at once or not. Of lock waits in a function that
        takes locks of several kinds, those of the longest; `mutex:function` asks for others. Of samples,
        waits for locks that the function takes itself, if there are any, else those below it; there too
        `mutex:function` asks for one kind of those that it takes itself. `lock` is both
        rows that lock_stat has of it; `lock-R` is the row of its readers, `lock-W` that of its writers.
        """
        bare, _, side = READ_OR_WRITE.sub(r"\0\1", name.strip()).partition("\0")
        name = _SPINLOCK.sub("spin:", bare)
        if name == "LOCK":
            raise BadInput(f"LOCK stands for a lock's name: write one of this profile{self._longest()}")
        parts = [name] if name in self._places else re.split(r" *< *", name)  # a template's name has a <
        first, *above = (function_of(one) or one for one in parts)
        places = sorted({*self._places.get(first, ()), *self._places.get(name, ())})
        if not places:  # `&` as lock_stat writes it, 0x as others write an address
            places = self._places.get(f"&{name}", self._places.get(name.removeprefix("0x"), []))
        found = [self.entries[place] for place in places]
        if not found and (of_one_kind := self._taken_by(*name.partition(":")[::2])):
            found, first = of_one_kind, name.partition(":")[2]
        if side:
            found = [one for one in found if (one.kind == "read") == (side == "R")]
        if above:
            found = [one for one in found if one.callers and _calls(one.path, (first, *above))]
        if not found:
            raise BadInput(
                f"{printable(name)} is not in the profile ({self._shown()})"
                f"{self._waits_there(first) or self._near(first)}"
            )
        if self.names_locks:
            whole = [one for one in found if first in (one.name, one.path[0])]
            asked_for = any(first in one.path for one in found)  # by whoever takes them
            found = whole or (found if asked_for else _of_one_lock(name, found))
        if self.of == LOCK_WAITS:
            exact = [one for one in found if one.at == name]  # with its offset, as the tool prints it
            family = max(exact or found, key=lambda one: one.wait_ns or 0.0).family
            of_one_kind = [one for one in found if not family or one.family in ("", family)]
            others = dict.fromkeys(f"{one.family}:{first}" for one in found if one not in of_one_kind)
            return replace(match_of(name, of_one_kind, of_one_kind, []), others=tuple(others))
        own = [one for one in found if one.path[0] == first]
        shares = self._on_stack(own, found)
        if kind_of(first) and own:
            return self._of_kind(name, first, found, shares)
        waiting = [one for one in found if one.kind]
        taken_here = by_lock([one for one in waiting if caller_of(one.path) == first])
        waits = max(map(self._once, taken_here or [waiting]), key=lambda of: pct_of(of) or 0.0)
        return replace(match_of(name, found, waits, shares), others=not_of(first, waits, waiting))

    def _taken_by(self, family: str, function: str) -> list[Entry]:
        """Samples in which the function waits for a lock of that kind that it takes itself."""
        there = [self.entries[place] for place in self._places.get(function, ())]
        if self.of != SAMPLES:
            return []
        return [one for one in there if one.kind and one.family == family and caller_of(one.path) == function]

    @cached_property
    def has_callers(self) -> bool:
        """Whether any entry says who called; of a flat list nobody knows for which lock a function waits."""
        return any(one.callers for one in self.entries)

    @cached_property
    def unassigned_pct(self) -> float:
        """Percent of the samples in which functions wait for locks and nothing says who called them."""
        if self.of != SAMPLES or not self.has_callers or self.disjoint:
            return 0.0
        waiting = [one for one in self.entries if one.kind]
        own = [one for one in waiting if one.callers is None and one.counts == "self"]
        called = self._once([one for one in waiting if caller_of(one.path)])
        return max((pct_of(own) or 0.0) - (pct_of(called) or 0.0), 0.0)

    def _of_kind(self, name: str, function: str, found: Sequence[Entry], shares: Sequence[Entry]) -> Match:
        """Of a function where every lock of a kind is waited for. In a flat list of their own samples those
        that it calls to wait have the rest."""
        flat = not self.has_callers and all(one.counts == "self" for one in found)
        if flat and not INNERMOST.fullmatch(function):
            kind = kind_of(function)
            shares = self._once([one for one in self.entries if one.kind == kind]) or shares
        return match_of(name, found, shares, shares)

    @cached_property
    def _places(self) -> dict[str, list[int]]:
        """Of each name the entries that carry it."""
        places: dict[str, list[int]] = {}
        for place, one in enumerate(self.entries):
            for name in one.names:
                places.setdefault(name, []).append(place)
        return places

    def _on_stack(self, own: Sequence[Entry], found: Sequence[Entry]) -> list[Entry]:
        """The entries that say most of the samples with a name on the stack; the rest is below the print."""
        if self.disjoint or not own:
            return self._once(found)
        rows = [[one for one in own if one.counts == counts] for counts in ("children", "self")]
        rows.append([one for one in found if one.counts == "self"])
        return max(map(self._once, rows), key=lambda of: pct_of(of) or 0.0)

    def _shown(self) -> str:
        where = self.tool if self.title in ("", self.tool) else f"{self.tool}, {self.title}"
        n = len(self.entries)
        return f"{printable(where)}, {n} entr{'y' if n == 1 else 'ies'}"

    def _waits_there(self, function: str) -> str:
        of_site = (lock for site, lock in self.sites if function_of(site) == function)
        locks = [printable(lock) for lock in dict.fromkeys(of_site)]
        if not locks:
            return ""
        return f" as a lock, but waits for {' and '.join(locks)}: name {'it' if len(locks) == 1 else 'one'}"

    def _near(self, name: str) -> str:
        known = sorted({one for entry in self.entries for one in entry.names})
        inner = [one for one in known if name and name in one]
        near = list(dict.fromkeys([*get_close_matches(name, known, _MOST_NEAR), *inner]))[:_MOST_NEAR]
        return f": did you mean {', '.join(map(printable, near))}?" if near else self._longest()

    def _longest(self) -> str:
        waits = [one for one in self.waits if one.contentions != 0][:_MOST_NEAR]
        names = [printable(one.name) for one in waits]
        if names:
            return f", in which threads wait for {', '.join(names)}"
        lost = self.warnings[0] if self.warnings and not self.entries else ""
        unread = f", as far as it can be read ({lost})" if lost else ""
        return f": nobody waits there{unread}"


def _of_one_lock(member: str, found: Sequence[Entry]) -> list[Entry]:
    """Of the class that has this member, its subclasses included; refused where several classes have one."""
    locks = [printable(one) for one in dict.fromkeys(_SUBCLASS.sub("", one.path[0]) for one in found)]
    if len(locks) > 1:
        named = ", ".join(locks[:_MOST_NEAR]) + (", ..." if locks[_MOST_NEAR:] else "")
        raise BadInput(
            f"{printable(member)} is in the names of {len(locks)} locks of the profile: name one of {named}"
        )
    return [*found]


def _calls(path: Sequence[str], wanted: Sequence[str]) -> bool:
    """Whether all of `wanted` are in the path, in this order."""
    rest = iter(path)
    return all(name in rest for name in wanted)


class Titled(Protocol):
    """One of several tables in a text: its title, and the line where it begins."""

    @property
    def title(self) -> str: ...
    @property
    def line(self) -> int: ...


Table = TypeVar("Table", bound=Titled)


def chosen(tables: Sequence[Table], table: str | int | None) -> Table:
    """The table of this number, from 1, or of this title; BadInput that lists them where it is not one."""
    listed = ", ".join(
        f"{n} ({printable(one.title, 50)}, line {one.line})" for n, one in enumerate(tables, 1)
    )
    if table is None:
        if len(tables) == 1:
            return tables[0]
        raise BadInput(f"the text contains {len(tables)} tables: choose one with --table: {listed}")
    by_title = [one for one in tables if one.title.casefold() == str(table).strip().casefold()]
    if len(by_title) == 1:
        return by_title[0]
    if str(table).isdecimal() and 1 <= int(table) <= len(tables):
        return tables[int(table) - 1]
    if by_title:
        raise BadInput(f"{len(by_title)} tables are called {printable(table)}: give its number: {listed}")
    raise BadInput(f"the text has no table {printable(table)}, only these {len(tables)}: {listed}")
