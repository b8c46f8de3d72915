# SPDX-License-Identifier: MIT
"""Which waits of a profile a patch of one lock leaves alone, and at which gain they would end it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from lockscale.predict.lock_data import UnpatchedData
from lockscale.predict.lock_verdict import is_of_many_locks, names_no_lock
from lockscale.predict.one_lock import from_wait_share
from lockscale.predict.patch_language import Change
from lockscale.tools.lock_functions import function_of, kind_of, may_be_one_lock
from lockscale.tools.lock_match import Match
from lockscale.tools.lock_profile import LockProfile
from lockscale.tools.profile_entry import Entry, inside

LEAST_NEXT = 0.0005  # of the time: what is shown as 0.0% limits nothing
HELD_MEANWHILE = (
    "whoever waits for the patch's lock may hold that one meanwhile, so its queue shrinks too, and the gain "
    "may exceed its promise"
)
MANY_OF_A_CLASS = "it was held longer than the load ran: several locks of one class, none of which may limit"
WHICH = "without call graphs it may be several locks"
OF_EACH = re.compile(r"->|\[|#\d")
"""In the name of a lock class: a structure's or an array's lock, or a name that several classes have, as
sb_writers#3 of a file system type (lockdep.c, count_matching_names()): each object of its kind has one."""


@dataclass(frozen=True)
class NextLimit:
    """Who waits second longest, and the gain at which that alone would end a patch of the first.

    none_because: why its waits are no limit, although it is another lock; empty where they are one.
    may_be_several: whether its waits may be for several locks, of which none limits so early, or none at all.
    """

    name: str
    wait_pct: float
    gain_ends_at: float
    is_another_lock: bool
    none_because: str = ""
    may_be_several: bool = False

    @property
    def limits(self) -> bool:
        """Whether it is known to stay."""
        return self.is_another_lock and not self.none_because


def next_limits(
    measured: UnpatchedData, asked: Sequence[tuple[Change, Match]], over: Sequence[str]
) -> list[NextLimit]:
    """The waits that a patch of these leaves alone, the longest first, up to a limit that is of one lock.

    over: who may hold a lock while these are waited for. No wait has more time than the others leave.
    """
    profile, found = measured.profile, list[NextLimit]()
    if profile is None or measured.waits_unseen:
        return found
    ours = [match for _, match in asked]
    may_hold_it = any(not match.waits and _without_callers(match) for match in ours)
    for wait in profile.waits:
        share = min(_share(measured, wait, ours), 1 - (measured.wait_share or 0.0))
        if share < LEAST_NEXT or _goes_with(wait, asked) or (may_hold_it and _without_callers(wait)):
            continue
        limit = _limit(measured, profile, wait, share, ours)
        found.append(replace(limit, none_because=HELD_MEANWHILE) if limit.name in over else limit)
        if found[-1].limits and not found[-1].may_be_several:
            break
    return found


def ends_at(others: Sequence[NextLimit]) -> tuple[float, float]:
    """The gain at which the first of these limits, and at which if those that may be several locks are.

    Several may limit nothing, so that is the first of one lock. Infinite where there is none.
    """
    limits = [one for one in others if one.limits]
    return _first(limits), _first([one for one in limits if not one.may_be_several])


def _first(limits: Sequence[NextLimit]) -> float:
    return limits[0].gain_ends_at if limits else float("inf")


def _share(measured: UnpatchedData, wait: Match, ours: Sequence[Match]) -> float:
    """Of the threads' time; of waits timed for as long as nobody says, against somebody's share of ours."""
    share = measured.share(wait, waits=True)
    if share is None and measured.wait_share and (ours_ns := sum(one.wait_ns or 0.0 for one in ours)):
        share = measured.wait_share * (wait.wait_ns or 0.0) / ours_ns
    return share or 0.0


def _goes_with(wait: Match, asked: Sequence[tuple[Change, Match]]) -> bool:
    """Whether these waits, or some of them, are among those that the patch is of."""
    rows = (*wait.entries, *wait.waits)
    for change, match in asked:
        taken = (*match.waits, *(match.entries if change.of_work or not match.waits else ()))
        if {*taken} & {*rows} or any(inside(row, whole) for row in wait.waits for whole in taken):
            return True
        # every lock of a kind is waited for there, as far as nobody says who called
        if _without_callers(match) and may_be_one_lock(wait.kinds, filter(None, [kind_of(match.name)])):
            return True
        if any(_is_its_futex(row, match) for row in wait.waits):
            return True
    return False


def _is_its_futex(row: Entry, match: Match) -> bool:
    """Whether it spins in the futex of the lock that the named function takes: it is there for that alone."""
    name = function_of(match.name)
    return name in row.path and any(map(_FUTEX.fullmatch, row.path[: row.path.index(name)]))


_FUTEX = re.compile(r"do_futex|futex_w\w+")


def _limit(
    measured: UnpatchedData, profile: LockProfile, wait: Match, share: float, ours: Sequence[Match]
) -> NextLimit:
    """share: of the threads' time that waits there."""
    busy = from_wait_share(share, measured.most_threads).busy(measured.most_threads)
    if wait.hold_ns and measured.lasted_s:  # of all locks of its class: the most that one was held
        busy = min(busy, wait.hold_ns / (1e9 * measured.lasted_s))
    another = profile.names_locks or measured.distinct
    another = another or not any(may_be_one_lock(wait.kinds, match.kinds) for match in ours)
    another = another or measured.is_too_much(
        share + (measured.share_together(ours, [False] * len(ours)) or 0.0)
    )
    name = wait.name
    ours_of = {function_of(match.name.rpartition(":")[2]) for match in ours}
    if name in ours_of:  # it takes two kinds of lock
        name = f"{wait.entries[0].family}:{name}"
    several = MANY_OF_A_CLASS if is_of_many_locks(measured, wait.waits or wait.entries) else ""
    several = several or (WHICH if names_no_lock(wait) and not measured.distinct else "")
    many = not profile.names_locks or bool(OF_EACH.search(name))
    many = many and measured.most_threads > 2  # of two, the other one holds whatever one waits for
    return NextLimit(name, 100 * share, 1 / max(busy, 1e-6), another, several, may_be_several=many)


def _without_callers(match: Match) -> bool:
    """Whether all that is known is how often it was on the stack: who called whom is not."""
    return not any(one.callers for one in match.entries)
