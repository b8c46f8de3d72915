# SPDX-License-Identifier: MIT
"""Whether a patch of a lock is worth writing, and why that may not be known."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from lockscale.errors import BadInput
from lockscale.predict.lock_data import MOST_BUSY, UnpatchedData
from lockscale.predict.patch_language import Change, Patch
from lockscale.predict.published_gains import ROOM
from lockscale.tools.lock_functions import IDLE, is_for_any_work, kind_of, may_be_one_lock
from lockscale.tools.lock_match import Match
from lockscale.tools.lock_profile import LOCK_WAITS, SAMPLES, SLEEP
from lockscale.tools.profile_entry import Entry, caller_of

SURE, UNLIKELY = 0.9, 0.5
IF_IT_LIMITS, NOT_KNOWN = "if it limits", "not known"
CONTRADICTION = "the data contradict each other"
UNEXPLAINED = "the waits do not explain the rates"
WHICH_LOCK = "the profile does not say which lock it is"
LEAST_UNASSIGNED = 0.05  # of the time
MUCH_UNASSIGNED = 0.1  # perf report leaves out callers below half a percent each, of which there may be many
LEAST_IDLE_PCT = 5.0
MOST_AVOIDED = 0.9  # of the time: what a patch may avoid
FEWEST_SAMPLES = 100
"""Of 100 samples a share of a half is known to 10 points either way at 95%."""
FOR_IO = re.compile(r"io_schedule\w*|folio_wait_bit\w*|wait_on_page_bit\w*|submit_bio_wait|blk_mq_get_tag")
SPINS = {"spin", "rwlock:R", "rwlock:W", "user spin"}


@dataclass(frozen=True)
class MatchedPatch:
    """A patch, its changes as the data take them, and what the profile says of each; none without one."""

    patch: Patch
    changes: tuple[Change, ...]
    matches: tuple[Match, ...]

    @property
    def matched(self) -> list[tuple[Change, Match]]:
        return list(zip(self.changes, self.matches, strict=False))

    @property
    def pairs(self) -> list[tuple[Change, Match | None]]:
        """As `matched`; without a profile each change with None."""
        return list(zip(self.changes, self.matches or [None] * len(self.changes), strict=True))

    @property
    def of_locks(self) -> list[Match]:
        """Of the changes that are of waiting for a lock, not of all that a function does."""
        return [match for change, match in self.matched if not change.of_work]


def match_patch(measured: UnpatchedData, patch: Patch) -> MatchedPatch:
    """Raises BadInput for a name that is not in the profile, and for one of an idle CPU."""
    if measured.profile is None:
        return MatchedPatch(patch, patch.of_each_lock(), ())
    changes = patch.of_each_lock()
    matches = tuple(measured.profile.match(change.lock) for change in changes)
    if idle := next((one.name for one in matches if IDLE.fullmatch(one.name)), None):
        raise BadInput(f"{idle} is where CPUs idle, and no patch of a lock removes that: name a lock")
    return MatchedPatch(patch, changes, tuple(map(_spared, changes, matches)))


def _spared(change: Change, match: Match) -> Match:
    """With RCU readers take no lock any more, and writers still wait for one another."""
    spared = match.of_readers() if change.word == "rcu" else match
    if spared is None:
        who = f"only writers wait for {match.name}, and rcu leaves them their lock"
        raise BadInput(f"{who}: ask for lockless {match.name}")
    return spared


def worth_by_chance(measured: UnpatchedData, chance: float, why_not_known: str) -> str:
    """By how likely it is that the gain pays for the patch's own code; of rates alone a yes has a condition.

    why_not_known: of why_open().
    """
    if why_not_known:
        return NOT_KNOWN
    if chance < UNLIKELY:
        return "no"
    return IF_IT_LIMITS if _of_rates(measured) else "yes"


def why_open(
    measured: UnpatchedData,
    chance: float,
    next_ends_at: float | None,
    shares: Sequence[float | None],
    asked: MatchedPatch,
    over: Sequence[str],
    several: tuple[str, float] = ("", 0.0),
) -> str:
    """Why it is not known whether a patch is worth writing; empty where it is.

    over: of held_over(). several: whose waits limit, but may be for several locks, and the chance then. Work
    that is no wait is taken for waiting, so it can say no, but not yes.
    """
    if measured.impossible:
        return CONTRADICTION if measured.off_scale or measured.overfull else UNEXPLAINED
    if _of_rates(measured) and measured.of_no_lock:
        return "the rates are not those of one lock"
    if measured.profile and measured.profile.lost_line and measured.wait_share is None:
        return f"line {measured.profile.lost_line} of the profile cannot be read, and may be the longest wait"
    if said := _too_many(measured, shares, asked) or _of_everything(measured, asked):
        return said
    if None in shares and not _of_rates(measured):
        return "the share of the time spent waiting is not known"
    if for_whom := for_whom_unknown(measured, asked):
        return for_whom
    if chance < UNLIKELY and (kind := sleeps_unseen(measured, asked)):
        return f"who sleeps for a {kind} is not in a CPU profile"
    if chance < SURE and over:
        return f"{over[0]} may hold a lock while this one is waited for"
    if chance < UNLIKELY:
        name, otherwise = several
        return f"{name} may be one lock or several" if otherwise >= UNLIKELY else ""
    if said := _many_locks(asked) or few_samples(measured):
        return said
    if _sleeps_longer_for_io(measured):
        return "the threads sleep longer for I/O"
    if any(map(names_no_lock, asked.of_locks)):
        return WHICH_LOCK
    if measured.unassigned >= MUCH_UNASSIGNED and not asked.patch.of_work:
        return f"{measured.unassigned:.0%} of the time waits for locks whose callers are not in the profile"
    if of_sleep(measured) and any(is_for_any_work(row.path) for one in asked.of_locks for row in one.waits):
        return "who sleeps in futex_wait() may have no work"
    if chance < SURE:
        return f"the chance is between {UNLIKELY:.0%} and {SURE:.0%}"
    if unfounded(measured, asked):
        return "no wait for that lock is in the profile"
    if next_ends_at is not None and next_ends_at < ROOM:
        return f"another wait may limit the gain to {next_ends_at:.2f}"
    return "one rate shows no limit" if _of_rates(measured) and len(measured.ladder) < 2 else ""


def few_samples(measured: UnpatchedData) -> str:
    n = measured.profile.samples if measured.profile and measured.wait_share is None else None
    return f"the profile has only {n} samples" if n is not None and n < FEWEST_SAMPLES else ""


def _sleeps_longer_for_io(measured: UnpatchedData) -> bool:
    """Than for the lock that is waited for longest. Who sleeps otherwise may be no thread of the load."""
    profile = measured.profile
    if profile is None or not of_sleep(measured) or not profile.waits:
        return False
    for_io = sum(
        one.share_pct or 0.0
        for one in profile.entries
        if not one.kind and any(map(FOR_IO.fullmatch, one.path))
    )
    return for_io > (profile.waits[0].wait_pct or 0.0)


def _too_many(measured: UnpatchedData, shares: Sequence[float | None], asked: MatchedPatch) -> str:
    """That more of the threads wait than can while one holds the lock; of nothing that is work."""
    n, locks = measured.threads_said, [change for change in asked.changes if not change.of_work]
    most = max((share for share in shares if share), default=0.0)
    if len(locks) < len(asked.changes) or not measured.is_too_much(most):
        return ""
    return f"{n} threads cannot wait for one lock for {most:.0%} of their time: correct --threads"


def _of_everything(measured: UnpatchedData, asked: MatchedPatch) -> str:
    """That what is avoided is what everything is below; empty where it is less."""
    for change, match in asked.matched:
        share = measured.share(match, waits=False) or 0.0
        if change.word == "avoid" and share * (1 - change.visits) > MOST_AVOIDED:
            return f"{share:.0%} of the time is below {match.name}, and no patch avoids nearly everything"
    return ""


def of_sleep(measured: UnpatchedData) -> bool:
    return measured.profile is not None and measured.profile.of == SLEEP


def _of_rates(measured: UnpatchedData) -> bool:
    """Whether rates are all there is."""
    return measured.profile is None and measured.wait_share is None


def all_seen(measured: UnpatchedData, asked: MatchedPatch) -> bool:
    """Whether the data show all who wait: samples on CPUs have those that spin, none that sleep."""
    if measured.wait_share is not None or (measured.profile and measured.profile.of == LOCK_WAITS):
        return True
    spin = [
        change.word == "avoid" or (bool(match.kinds) and {*match.kinds} <= SPINS)
        for change, match in asked.matched
    ]
    return bool(spin) and all(spin)


def unfounded(measured: UnpatchedData, asked: MatchedPatch) -> list[str]:
    """Names for which no sample waits, though the patch is of a lock: their own work counts as waiting."""
    profile = measured.profile
    if profile is None or profile.of != SAMPLES or measured.wait_share is not None:
        return []
    return [match.name for match in asked.of_locks if not match.waits]


def for_whom_unknown(measured: UnpatchedData, asked: MatchedPatch) -> str:
    """That a flat profile has waits, and nothing says whether they are for the patch's lock."""
    profile = measured.profile
    if not unfounded(measured, asked) or profile is None or profile.has_callers or not profile.waits:
        return ""
    first = profile.waits[0]
    if (share := measured.share(first, waits=True) or 0.0) < LEAST_UNASSIGNED:
        return ""
    return f"{first.name} has {share:.0%} of the time, and without call graphs its lock is not known"


def sleeps_unseen(measured: UnpatchedData, asked: MatchedPatch) -> str:
    """The kind of lock for which threads may sleep, unseen by a CPU profile; empty where none do.

    Where CPUs hardly ever idle nobody sleeps for long, but for threads above the number of CPUs.
    """
    profile = measured.profile
    if profile is None or profile.of != SAMPLES or measured.wait_share is not None:
        return ""
    if profile.idle_pct is not None and profile.idle_pct < LEAST_IDLE_PCT:
        return ""
    kinds = [kind for match in asked.of_locks for kind in match.kinds if kind not in SPINS]
    return kinds[0].partition(":")[0] if kinds else ""


def held_over(measured: UnpatchedData, asked: MatchedPatch) -> list[str]:
    """Functions that wait for a lock of their own and call whoever waits for the patch's.

    A lock that they hold meanwhile is held the shorter, the less is waited below: its queue goes too.
    """
    if measured.profile is None or not any(match.waits for match in asked.matches):
        return []
    ours = [one for match in asked.matches for one in match.waits]
    above = {
        name for one in ours if (who := caller_of(one.path)) for name in one.path[one.path.index(who) + 1 :]
    }
    meant = set(map(id, ours))
    waits = measured.profile.waits
    return [one.name for one in waits if one.name in above and id(one.waits[0]) not in meant]


def _many_locks(asked: MatchedPatch) -> str:
    """That a name is of a function in which several others wait for their locks; empty where it is of one."""
    for match in asked.of_locks:
        of_every_lock = bool(kind_of(match.name))
        rows = match.entries if of_every_lock else match.waits  # the row above its callers has none
        callers = list(dict.fromkeys(who for one in rows if (who := caller_of(one.path))))
        alike = all(may_be_one_lock((one,), (other,)) for one, other in combinations(match.kinds, 2))
        if len(callers) < 2 or (alike and not of_every_lock):
            continue
        both = " and ".join(callers[:2])
        if not of_every_lock:
            return f"below {match.name}, {both} wait for locks of different kinds: name one"
        more = f" and {len(callers) - 2} more" if len(callers) > 2 else ""
        return f"{match.name} is called for {both}{more}: name one of them"
    return ""


def is_of_many_locks(measured: UnpatchedData, rows: Sequence[Entry]) -> bool:
    """Whether one of these was held for longer than the load ran, as no lock is but by its readers."""
    return bool(measured.lasted_s) and longest_held_s(rows) > MOST_BUSY * (measured.lasted_s or 0.0)


def longest_held_s(rows: Sequence[Entry]) -> float:
    return max((row.hold_ns or 0.0 for row in rows if row.kind != "read"), default=0.0) / 1e9


def names_no_lock(match: Match) -> bool:
    """Whether it is a function where every lock of its kind waits, and nothing says who called it."""
    return kind_of(match.name) in match.kinds and not any(one.callers for one in match.entries)
