# SPDX-License-Identifier: MIT
"""Whether a patch of a lock is worth writing, and what the data about it lack or assume."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from lockscale.errors import BadInput
from lockscale.predict.lock_data import ASSUMED_THREADS, FAR_SHARE, MOST_BUSY, UnpatchedData
from lockscale.predict.patch_language import Change, Patch
from lockscale.predict.published_gains import LEAST_BUSY, ROOM, promise_of
from lockscale.tools.lock_functions import IDLE, function_of, is_for_any_work, kind_of, may_be_one_lock
from lockscale.tools.lock_profile import LOCK_WAITS, SAMPLES, SLEEP, Match
from lockscale.tools.profile_entry import Entry, caller_of

SURE, UNLIKELY = 0.9, 0.5
IF_IT_LIMITS, NOT_KNOWN = "if it limits", "not known"
CONTRADICTION = "the data contradict each other"
UNEXPLAINED = "the waits do not explain the rates"
WHICH_LOCK = "the profile does not say which lock it is"
SLEEPS = re.compile(r"(?:io_|__)?schedule(?:_\w+)?|finish_task_switch|__cond_resched|wait_for_completion\w*")
ROUNDED_PCT = 1.0
SPINS = {"spin", "rwlock:R", "rwlock:W", "user spin"}
NOBODY_WAITS = promise_of(0.02)
LEAST_IDLE_PCT = 5.0
LEAST_SHARE = 0.01  # who gives less may mean a fraction of 1


@dataclass(frozen=True)
class MatchedPatch:
    """A patch, its changes as the data take them, and what the profile says of each; none without one."""

    patch: Patch
    changes: tuple[Change, ...]
    matches: tuple[Match, ...]

    @property
    def matched(self) -> list[tuple[Change, Match]]:
        return list(zip(self.changes, self.matches, strict=False))


def match_patch(measured: UnpatchedData, patch: Patch) -> MatchedPatch:
    """Raises BadInput for a name that is not in the profile, and for one of an idle CPU."""
    if measured.profile is None:
        return MatchedPatch(patch, patch.of_each_lock(), ())
    matches = tuple(measured.profile.match(change.lock) for change in patch.changes)
    if idle := next((one.name for one in matches if IDLE.fullmatch(one.name)), None):
        raise BadInput(f"{idle} is where CPUs idle, and no patch of a lock removes that: name a lock")
    return MatchedPatch(patch, patch.changes, matches)


def worth_writing(measured: UnpatchedData, chance: float, why_not_known: str) -> str:
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
) -> str:
    """Why it is not known whether a patch is worth writing; empty where it is.

    over: of held_over(). Work that is no wait is taken for waiting, so it can say no, but not yes.
    """
    if measured.impossible:
        return CONTRADICTION if measured.off_scale or measured.overfull else UNEXPLAINED
    if measured.profile and measured.profile.lost_line and measured.wait_share is None:
        return f"line {measured.profile.lost_line} of the profile cannot be read, and may be the longest wait"
    if too_many := _too_many(measured, shares, asked):
        return too_many
    if None in shares and not _of_rates(measured):
        return "the share of the time spent waiting is not known"
    if chance < SURE and over:
        return f"{over[0]} may hold a lock while this one is waited for"
    if chance < UNLIKELY:
        return ""
    if many := _many_locks(asked):
        return many
    if any(_names_no_lock(match) for change, match in asked.matched if not change.of_work):
        return WHICH_LOCK
    if _any_work(measured, asked):
        return "who sleeps in futex_wait() may have no work"
    if chance < SURE:
        return f"the chance is between {UNLIKELY:.0%} and {SURE:.0%}"
    if _unfounded(measured, asked):
        return "no wait for that lock is in the profile"
    if next_ends_at is not None and next_ends_at < ROOM:
        return f"another wait may limit the gain to {next_ends_at:.2f}"
    return "one rate shows no limit" if _of_rates(measured) and len(measured.ladder) < 2 else ""


def _too_many(measured: UnpatchedData, shares: Sequence[float | None], asked: MatchedPatch) -> str:
    """That more of the threads wait than can while one holds the lock; of nothing that is work."""
    n, locks = measured.threads_said, [change for change in asked.changes if not change.of_work]
    most = max((share for share in shares if share), default=0.0)
    if not n or len(locks) < len(asked.changes) or most <= (1 - 1 / n) * MOST_BUSY:
        return ""
    return f"{n} threads cannot wait for one lock for {most:.0%} of their time: correct --threads"


def _of_sleep(measured: UnpatchedData) -> bool:
    return measured.profile is not None and measured.profile.of == SLEEP


def _of_rates(measured: UnpatchedData) -> bool:
    """Whether rates are all there is."""
    return measured.profile is None and measured.wait_share is None


def all_seen(measured: UnpatchedData, asked: MatchedPatch) -> bool:
    """Whether the data show all who wait: samples on CPUs have those that spin, none that sleep."""
    spin = [
        change.word == "avoid" or (bool(match.kinds) and {*match.kinds} <= SPINS)
        for change, match in asked.matched
    ]
    return measured.waits_timed or (bool(spin) and all(spin))


def _unfounded(measured: UnpatchedData, asked: MatchedPatch) -> list[str]:
    """Names for which no sample waits, though the patch is of a lock: their own work counts as waiting."""
    return [
        match.name
        for change, match in asked.matched
        if measured.profile is not None
        and measured.profile.of == SAMPLES
        and measured.wait_share is None
        and not change.of_work
        and not match.waits
    ]


def held_over(measured: UnpatchedData, asked: MatchedPatch) -> list[str]:
    """Functions that wait for a lock of their own and call whoever waits for the patch's.

    A lock that they hold meanwhile is held the shorter, the less is waited below: its queue goes too.
    """
    if measured.profile is None or all(change.of_work for change in asked.changes):
        return []
    ours = [one for match in asked.matches for one in match.waits]
    above = {
        name for one in ours if (who := caller_of(one.path)) for name in one.path[one.path.index(who) + 1 :]
    }
    meant = set(map(id, ours))
    waits = measured.profile.waits
    return [one.name for one in waits if one.name in above and id(one.waits[0]) not in meant]


def _any_work(measured: UnpatchedData, asked: MatchedPatch) -> bool:
    """Whether threads sleep in futex_wait() and nothing says that it is for a lock."""
    return any(
        is_for_any_work(one.path)
        for change, match in asked.matched
        if _of_sleep(measured) and not change.of_work
        for one in match.waits
    )


def _many_locks(asked: MatchedPatch) -> str:
    """That a name is of a function in which several others wait for their locks; empty where it is of one."""
    for change, match in asked.matched:
        callers = list(dict.fromkeys(who for one in match.waits if (who := caller_of(one.path))))
        of_every_lock = bool(kind_of(match.name))
        if change.of_work or (not of_every_lock and _may_all_be_one(match.kinds)):
            continue
        if len(callers) > 1:
            if not of_every_lock:
                both = " and ".join(callers[:2])
                return f"below {match.name}, {both} wait for locks of different kinds: name one"
            more = f" and {len(callers) - 2} more" if len(callers) > 2 else ""
            return f"{match.name} is called for {' and '.join(callers[:2])}{more}: name one of them"
    return ""


def _may_all_be_one(kinds: Sequence[str]) -> bool:
    """Whether waits of all these kinds can be for one lock."""
    return all(may_be_one_lock((one,), (other,)) for one in kinds for other in kinds)


def rows_taken_together(measured: UnpatchedData, asked: Sequence[MatchedPatch]) -> list[str]:
    """Names with an offset, which is not looked at, and classes of locks held longer than one can be."""
    found = []
    for one in asked:
        for change, match in one.matched:
            rows = match.waits or match.entries
            if function_of(change.lock) != change.lock and len(rows) > 1:
                lines = ", ".join(str(row.line) for row in rows[:4]) + (", ..." if len(rows) > 4 else "")
                found.append(
                    f"offsets are not compared: {change.lock} is all rows of its function (lines {lines})"
                )
            if is_of_many_locks(measured, rows):
                held = _seconds(_longest_held_s(rows))
                found.append(
                    f"{match.name} was held for {held}, and the load ran {measured.lasted_s:g} s: "
                    "these are several locks of one class, or --seconds is wrong"
                )
    return list(dict.fromkeys(found))


def is_of_many_locks(measured: UnpatchedData, rows: Sequence[Entry]) -> bool:
    """Whether one of these was held for longer than the load ran, as no lock is but by its readers."""
    return bool(measured.lasted_s) and _longest_held_s(rows) > MOST_BUSY * (measured.lasted_s or 0.0)


def _seconds(duration_s: float) -> str:
    return f"{duration_s:,.0f} s" if duration_s >= 100 else f"{duration_s:.3g} s"


def _longest_held_s(rows: Sequence[Entry]) -> float:
    return max((row.hold_ns or 0.0 for row in rows if row.kind != "read"), default=0.0) / 1e9


def _names_no_lock(match: Match) -> bool:
    """Whether it is a function where every lock of its kind waits, and nothing says who called it."""
    return kind_of(match.name) in match.kinds and not any(one.callers for one in match.entries)


def _which(measured: UnpatchedData) -> str:
    """What would tell the lock; perf report leaves out callers below its percent limit."""
    if measured.profile and measured.profile.of == LOCK_WAITS:
        return "this row does not say who asked for it"
    if measured.profile and any(entry.callers for entry in measured.profile.entries):
        return "its callers are below perf report's limit: print it again with --percent-limit 0"
    return "without call graphs the profile cannot tell which one it is: record it with -g"


def warnings_of(measured: UnpatchedData) -> list[str]:
    found = list(measured.profile.warnings) if measured.profile else []
    if measured.rates_doubt:
        found.append(measured.rates_doubt)
    if (self_pct := _self_pct(measured)) > 100 + ROUNDED_PCT:
        found.append(f"the rows' own shares add up to {self_pct:.0f}%: is it one profile, each row once?")
    if measured.overfull:
        found.append(f"{measured.overfull}: correct --seconds or --threads, or others waited too")
    if measured.off_scale:
        found.append(f"{measured.off_scale}: is a suffix such as k missing?")
    if measured.contradiction or measured.waits_unseen:
        found.append(f"{UNEXPLAINED}, so whether a patch is worth writing is not known")
    return found


def _self_pct(measured: UnpatchedData) -> float:
    """What the rows without callers say of the functions' own samples, in all; 0 where there are none."""
    profile = measured.profile
    if profile is None or profile.of != SAMPLES:
        return 0.0
    rows = [one for one in profile.entries if one.counts == "self" and one.callers is None]
    return sum(one.share_pct or 0.0 for one in rows)


def other_sleep(measured: UnpatchedData) -> str:
    """The longest sleep that is for no lock, of off-CPU time; empty where lock waits are longer."""
    profile = measured.profile
    if profile is None or not _of_sleep(measured) or not profile.waits:
        return ""
    sleeps: dict[str, float] = {}
    for one in profile.entries:
        if not one.kind:
            where = next((name for name in one.path if not SLEEPS.fullmatch(name)), one.path[0])
            sleeps[where] = sleeps.get(where, 0.0) + (one.share_pct or 0.0)
    name = max(sleeps, key=lambda one: sleeps[one], default="")
    if not name or sleeps[name] <= (profile.waits[0].wait_pct or 0.0):
        return ""
    if name.startswith("0x"):
        return (
            f"{name} has {sleeps[name]:.0f}% of the off-CPU time and no symbol, so it may be a lock: print "
            "the stacks again with the symbols of its module"
        )
    return (
        f"{name} sleeps for {sleeps[name]:.0f}% of the off-CPU time, and for no lock: where these are the "
        "load's threads, that limits the gain"
    )


def _other_share(measured: UnpatchedData, asked: Sequence[MatchedPatch]) -> str:
    """That somebody's share of one lock is far from that of the profile, which is not used then."""
    if not measured.wait_share or not measured.profile or measured.waits_unseen:
        return ""
    seen = replace(measured, wait_share=None)
    for match in (match for one in asked for change, match in one.matched if not change.of_work):
        share = seen.share(match, waits=True) or measured.wait_share
        if not 1 / FAR_SHARE < share / measured.wait_share < FAR_SHARE:
            return (
                f"the profile has {share:.0%} of the time waiting at {match.name}; --share "
                f"{100 * measured.wait_share:g}% is taken instead"
            )
    return ""


def no_waits(measured: UnpatchedData, asked: Sequence[MatchedPatch]) -> list[str]:
    """Of patches of a lock whose name is that of no wait."""
    names = dict.fromkeys(name for one in asked for name in _unfounded(measured, one))
    return [
        f"no wait for a lock is below {name} in the profile: all time in it and below it is taken for "
        f'waiting. If it is no lock, ask for --patch "avoid {name} 80%"'
        for name in names
    ]


def notes_of(
    measured: UnpatchedData, asked: Sequence[MatchedPatch], promises: Sequence[float | None]
) -> list[str]:
    notes = []
    known = [one for one in promises if one is not None]
    if known and max(known) < NOBODY_WAITS:
        of_work = all(change.of_work for one in asked for change in one.changes)
        said = "hardly any time is spent here" if of_work else "hardly anybody waits here"
        if not of_work and not all(all_seen(measured, one) for one in asked):
            seen, unseen = ("asleep", "spins") if _of_sleep(measured) else ("on a CPU", "sleeps")
            said += (
                f" {seen}, and who {unseen} is not in this profile. The gains are those of published "
                f"patches, and too high unless many {unseen.removesuffix('s')}"
            )
        notes.append(said)
    if measured.wait_share and measured.wait_share < LEAST_SHARE:
        share_pct = 100 * measured.wait_share
        notes.append(
            f"--share {share_pct:g} is {share_pct:g}%: for {100 * share_pct:g}% write {100 * share_pct:g}"
        )
    if other := _other_share(measured, asked):
        notes.append(other)
    if sleep := other_sleep(measured):
        notes.append(sleep)
    if not measured.threads_said:
        notes.append(f"{ASSUMED_THREADS} threads are assumed: give --threads or rates")
    if measured.most_gain < 1:
        notes.append(
            "one thread alone is slower than its share of the total, so its rate is not a bound here"
        )
    if measured.profile is None and measured.wait_share is None:
        notes.append(
            "without a profile these are the gains of published patches that leave as much of the lock"
            + (", bounded by the rates" if len(measured.ladder) > 1 else "")
            + "; patches that gain nothing are seldom published"
        )
    if measured.profile:
        waits = measured.profile.waits
        if (
            waits
            and _names_no_lock(waits[0])
            and any(waits[0].name == change.lock for one in asked for change in one.changes)
        ):
            notes.append(f"{waits[0].name} is where every lock of its kind waits, and {_which(measured)}")
        timed = any(one.wait_ns is not None for one in waits)
        if timed and measured.profile.of != SAMPLES and not measured.lasted_s and measured.wait_share is None:
            notes.append(
                "the duration of the load is unknown, so its waits are not used, and no verdict is given: "
                "give --seconds"
            )
        if (idle_pct := measured.profile.idle_pct or 0.0) >= LEAST_IDLE_PCT:
            idle = (
                f"idle tasks are {idle_pct:.0f}% of the off-CPU time"
                if _of_sleep(measured)
                else f"CPUs idle in {idle_pct:.0f}% of the samples"
            )
            notes.append(
                f"{idle}: shares are of the rest, and at least "
                f"{100 * LEAST_BUSY:.0f}% of the time counts as busy"
            )
    return notes
