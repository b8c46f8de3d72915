# SPDX-License-Identifier: MIT
"""What is told with the answer about a patch of a lock: what its data lack, assume or contradict."""

import re
from collections.abc import Sequence
from dataclasses import replace

from lockscale.predict.lock_data import ASSUMED_THREADS, FAR_SHARE, UnpatchedData
from lockscale.predict.lock_verdict import (
    LEAST_IDLE_PCT,
    UNEXPLAINED,
    MatchedPatch,
    all_seen,
    few_samples,
    for_whom_unknown,
    is_of_many_locks,
    longest_held_s,
    names_no_lock,
    of_sleep,
    sleeps_unseen,
    unfounded,
)
from lockscale.predict.published_gains import LEAST_BUSY, promise_of
from lockscale.tools.lock_functions import function_of, kind_of, moves_a_lock
from lockscale.tools.lock_profile import LOCK_WAITS, SAMPLES
from lockscale.tools.profile_entry import caller_of

SLEEPS = re.compile(r"(?:io_|__)?schedule(?:_\w+)?|finish_task_switch|__cond_resched|wait_for_completion\w*")
NO_SYMBOL = "0x"
ROUNDED_PCT = 1.0
ROUNDED_DURATION = 0.02
MOST_NAMED = 4
WAIT_AT_ALL = 0.02  # of the time
NOBODY_WAITS = promise_of(WAIT_AT_ALL)
HAND_OVER = 10  # times a hold; a cache line's way is some holds long, a wake-up many
LEAST_MOVED_PCT = 5.0  # of the samples, in functions that move a lock's cache line
LEAST_SHARE = 0.01  # who gives less may mean a fraction of 1
SLOWER_ALONE = "one thread alone is slower than its share of the total, so its rate is not a bound here"


def rows_taken_together(measured: UnpatchedData, asked: Sequence[MatchedPatch]) -> list[str]:
    """Names with an offset, which is not looked at, and classes of locks held longer than one can be."""
    found = []
    for one in asked:
        for change, match in one.matched:
            rows = match.waits or match.entries
            if function_of(change.lock) != change.lock and len(rows) > 1:
                lines = ", ".join(str(row.line) for row in rows[:4]) + (", ..." if len(rows) > 4 else "")
                found.append(
                    f"offsets are not compared: {change.lock} is all rows of its function and kind of lock "
                    f"(lines {lines})"
                )
            if is_of_many_locks(measured, rows):
                held_s = longest_held_s(rows)
                held = f"{held_s:,.0f} s" if held_s >= 100 else f"{held_s:.3g} s"
                found.append(
                    f"{match.name} was held for {held}, and the load ran {measured.lasted_s:g} s: "
                    "these are several locks of one class, or --seconds is wrong"
                )
    return list(dict.fromkeys(found))


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


def _longest_sleep(measured: UnpatchedData) -> tuple[str, float]:
    """Of off-CPU time: what sleeps longest of what waits for no lock, and its percent.

    Empty where lock waits are longer.
    """
    profile = measured.profile
    if profile is None or not of_sleep(measured) or not profile.waits:
        return "", 0.0
    sleeps: dict[str, float] = {}
    for one in profile.entries:
        if not one.kind:
            where = next((name for name in one.path if not SLEEPS.fullmatch(name)), one.path[0])
            sleeps[where] = sleeps.get(where, 0.0) + (one.share_pct or 0.0)
    name = max(sleeps, key=lambda one: sleeps[one], default="")
    if not name or sleeps[name] <= (profile.waits[0].wait_pct or 0.0):
        return "", 0.0
    return name, sleeps[name]


def other_sleep(measured: UnpatchedData) -> str:
    """That the longest sleep is for no lock; empty where it is for one, or may be."""
    name, slept_pct = _longest_sleep(measured)
    if not name or name.startswith(NO_SYMBOL):
        return ""
    return (
        f"{name} sleeps for {slept_pct:.0f}% of the off-CPU time, and for no lock: where these are the "
        "load's threads, that limits the gain"
    )


def _unnamed_sleep(measured: UnpatchedData) -> str:
    name, slept_pct = _longest_sleep(measured)
    if not name.startswith(NO_SYMBOL):
        return ""
    return (
        f"{name} has {slept_pct:.0f}% of the off-CPU time and no symbol, so it may be a lock: print the "
        "stacks again with the symbols of its module"
    )


def moved_lines(measured: UnpatchedData, asked: Sequence[str]) -> str:
    """That functions which never wait for a lock move its cache line, and what to ask of them.

    Empty where they have next to no samples, or are asked for already.
    """
    profile = measured.profile
    if profile is None or profile.of != SAMPLES:
        return ""
    own = [one for one in profile.entries if profile.disjoint or one.counts == "self"]
    names = dict.fromkeys(one.path[0] for one in own if moves_a_lock(one.path[0]))
    share_pct = sum(one.share_pct or 0.0 for one in own if one.path[0] in names)
    if share_pct < LEAST_MOVED_PCT or {*names} & {*asked}:
        return ""
    patch = " + ".join(f"unshare {name}" for name in names)
    return (
        f"{share_pct:.1f}% of the samples are in {', '.join(names)}, which take or give back a lock without "
        f'waiting: what they cost is its cache line, so ask for --patch "{patch}"'
    )


def _other_duration(measured: UnpatchedData) -> str:
    said_s = measured.profile.seconds if measured.profile else None
    if not said_s or not measured.seconds or abs(measured.seconds / said_s - 1) < ROUNDED_DURATION:
        return ""
    return f"the profile says that it is of {said_s:g} s; --seconds {measured.seconds:g} is taken instead"


def _other_share(measured: UnpatchedData, asked: Sequence[MatchedPatch]) -> str:
    """That somebody's share of one lock is far from that of the profile, which is not used then."""
    if not measured.wait_share or not measured.profile or measured.waits_unseen:
        return ""
    seen = replace(measured, wait_share=None)
    for match in (match for one in asked for match in one.of_locks):
        share = seen.share(match, waits=True) or measured.wait_share
        if not 1 / FAR_SHARE < share / measured.wait_share < FAR_SHARE:
            return (
                f"the profile has {share:.0%} of the time waiting at {match.name}; --share "
                f"{100 * measured.wait_share:g}% is taken instead"
            )
    return ""


def no_waits(measured: UnpatchedData, asked: Sequence[MatchedPatch]) -> list[str]:
    """Of patches of a lock whose name is that of no wait."""
    names = dict.fromkeys(
        name for one in asked if not for_whom_unknown(measured, one) for name in unfounded(measured, one)
    )
    return [
        f"no wait for a lock is below {name} in the profile: all time in it and below it is taken for "
        f'waiting. If it is no lock, ask for --patch "avoid {name} 80%"'
        for name in names
    ]


def notes_of(
    measured: UnpatchedData, asked: Sequence[MatchedPatch], promises: Sequence[float | None]
) -> list[str]:
    """What the answer assumes, in the order in which it matters."""
    said = [
        _nobody_waits(measured, asked, promises) or _sleepers(measured, asked),
        _tiny_share(measured),
        few_samples(measured),
        _other_share(measured, asked),
        other_sleep(measured) or _unnamed_sleep(measured),
        moved_lines(measured, [change.lock for one in asked for change in one.changes]),
        _other_duration(measured),
        "" if measured.threads_said else f"{ASSUMED_THREADS} threads are assumed: give --threads or rates",
        SLOWER_ALONE if measured.slower_alone else "",
        _of_published_alone(measured),
        _of_every_lock(measured, asked),
        _of_several_below(asked),
        _of_readers(asked),
        _hardly_held(measured, asked),
        _no_duration(measured),
        _idle(measured),
    ]
    return [note for note in said if note]


def _nobody_waits(
    measured: UnpatchedData, asked: Sequence[MatchedPatch], promises: Sequence[float | None]
) -> str:
    known = [one for one in promises if one is not None]
    if not known or max(known) >= NOBODY_WAITS:
        return ""
    shares = [
        measured.share(match, waits=True) or 0.0 for one in asked for match in one.matches if match.waits
    ]
    if (waiting := max(shares, default=0.0)) > WAIT_AT_ALL:
        if measured.most_gain() >= NOBODY_WAITS:  # it is the patch that leaves the waits
            return ""
        return (
            f"the profile has {waiting:.0%} of the time waiting here, but by the rates "
            f"{measured.most_threads} threads do about as many times what one does, so that nobody waits: "
            "one of the two is of another load"
        )
    if all(one.patch.of_work for one in asked):
        return "hardly any time is spent here"
    if all(all_seen(measured, one) for one in asked):
        return "hardly anybody waits here"
    seen, unseen = ("asleep", "spins") if of_sleep(measured) else ("on a CPU", "sleeps")
    return (
        f"hardly anybody waits here {seen}, and who {unseen} is not in this profile. The gains are those of "
        f"published patches, and too high unless many {unseen.removesuffix('s')}"
    )


def _sleepers(measured: UnpatchedData, asked: Sequence[MatchedPatch]) -> str:
    kind = next((kind for one in asked if (kind := sleeps_unseen(measured, one))), "")
    return (
        f"who sleeps for a {kind} is not in a CPU profile, so more may wait for it than is seen"
        if kind
        else ""
    )


def _tiny_share(measured: UnpatchedData) -> str:
    if not measured.wait_share or measured.wait_share >= LEAST_SHARE:
        return ""
    share_pct = 100 * measured.wait_share
    return f"--share {share_pct:g} is {share_pct:g}%: for {100 * share_pct:g}% write {100 * share_pct:g}"


def _of_published_alone(measured: UnpatchedData) -> str:
    if measured.profile is not None or measured.wait_share is not None:
        return ""
    bounded = ", bounded by the rates" if measured.most_gain() < float("inf") else ""
    return (
        "without a profile these are the gains of published patches that leave as much of the lock"
        f"{bounded}; patches that gain nothing are seldom published"
    )


def _of_every_lock(measured: UnpatchedData, asked: Sequence[MatchedPatch]) -> str:
    """That the name is of the function in which every lock of a kind is waited for."""
    first = next(iter(measured.profile.waits), None) if measured.profile else None
    names = {change.lock for one in asked for change in one.changes}
    if first is None or first.name not in names or not names_no_lock(first):
        return ""
    return f"{first.name} is where every lock of its kind waits, and {_which(measured)}"


def _of_several_below(asked: Sequence[MatchedPatch]) -> str:
    """That a function which takes no lock itself stands for the locks of several functions below it."""
    for match in (match for one in asked for match in one.of_locks):
        takers = dict.fromkeys(caller_of(one.path) or one.path[0] for one in match.waits)
        of_lock = kind_of(match.name) or moves_a_lock(match.name)
        if match.as_caller and len(takers) > 1 and function_of(match.name) not in takers and not of_lock:
            which = ", ".join([*takers][:MOST_NAMED]) + (", ..." if len(takers) > MOST_NAMED else "")
            return (
                f"{match.name} takes no lock itself: all that {which} wait for below it counts as one lock. "
                "They may be several"
            )
    return ""


def _hardly_held(measured: UnpatchedData, asked: Sequence[MatchedPatch]) -> str:
    """That a lock is held far too little for its waits: while anybody waits for it, somebody holds it."""
    n, lasted_s = measured.most_threads, measured.lasted_s
    for match in (match for one in asked for change, match in one.matched if match.hold_ns and lasted_s):
        held = (match.hold_ns or 0.0) / 1e9 / (lasted_s or 1.0)
        waiting = (measured.share(match, waits=True) or 0.0) * n
        if waiting / (n - 1) > HAND_OVER * held:
            return (
                f"{match.name} is held for {held:.2%} of the time, and {waiting:.2g} threads wait for it on "
                "average: handing it over takes far longer than the hold, or these are not of one run"
            )
    return ""


def _of_readers(asked: Sequence[MatchedPatch]) -> str:
    """What is taken for the waits of readers, whom alone RCU spares."""
    found = [match for one in asked for change, match in one.matched if change.word == "rcu"]
    if not found:
        return ""
    if any(one.side for match in found for one in match.waits):
        return "rcu spares readers: only their waits are counted, although some writers wait for readers"
    return "rcu spares readers: nothing says which waits are theirs, so all are counted"


def _no_duration(measured: UnpatchedData) -> str:
    profile = measured.profile
    if profile is None or profile.of == SAMPLES or measured.lasted_s or measured.wait_share is not None:
        return ""
    if all(one.wait_ns is None for one in profile.waits):
        return ""
    return (
        "the duration of the load is unknown, so its waits are not used, and no verdict is given: "
        "give --seconds"
    )


def _idle(measured: UnpatchedData) -> str:
    idle_pct = (measured.profile.idle_pct if measured.profile else None) or 0.0
    if idle_pct < LEAST_IDLE_PCT:
        return ""
    idle = (
        f"idle tasks are {idle_pct:.0f}% of the off-CPU time"
        if of_sleep(measured)
        else f"CPUs idle in {idle_pct:.0f}% of the samples"
    )
    said = f"{idle}: shares are of the rest, and at least {100 * LEAST_BUSY:.0f}% of the time counts as busy"
    return said if of_sleep(measured) else f"{said}. If the load's own threads sleep then, give --share"
