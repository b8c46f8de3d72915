# SPDX-License-Identifier: MIT
"""Whether a patch of a lock is worth writing, and what the data about it lack or assume."""

from collections.abc import Sequence
from dataclasses import dataclass

from lockscale.errors import BadInput
from lockscale.predict.lock_data import ASSUMED_THREADS, MOST_BUSY, UnpatchedData
from lockscale.predict.patch_language import Change, Patch
from lockscale.predict.published_gains import LEAST_BUSY, ROOM, promise_of
from lockscale.tools.lock_functions import IDLE, function_of, kind_of
from lockscale.tools.lock_profile import LOCK_WAITS, SAMPLES, Match
from lockscale.tools.profile_entry import caller_of

SURE, UNLIKELY = 0.9, 0.5
IF_IT_LIMITS, NOT_KNOWN = "if it limits", "not known"
CONTRADICTION = "the data contradict each other"
UNEXPLAINED = "the waits do not explain the rates"
WHICH_LOCK = "the profile does not say which lock it is"
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
) -> str:
    """Why it is not known whether a patch is worth writing; empty where it is.

    Work that is no wait is taken for waiting, so it can say no, but not yes.
    """
    if measured.impossible:
        return CONTRADICTION if measured.off_scale or measured.overfull else UNEXPLAINED
    if None in shares and not _of_rates(measured):
        return "the share of the time spent waiting is not known"
    if chance < UNLIKELY:
        return ""
    if many := _many_locks(asked):
        return many
    if chance < SURE:
        return f"the chance is between {UNLIKELY:.0%} and {SURE:.0%}"
    if _unfounded(measured, asked):
        return "no wait for that lock is in the profile"
    if next_ends_at is not None and next_ends_at < ROOM:
        return f"another wait may limit the gain to {next_ends_at:.2f}"
    return "one rate shows no limit" if _of_rates(measured) and len(measured.ladder) < 2 else ""


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


def _many_locks(asked: MatchedPatch) -> str:
    """That a name is of a function in which several others wait for their locks; empty where it is of one."""
    for change, match in asked.matched:
        if change.of_work or not kind_of(match.name):
            continue
        callers = list(dict.fromkeys(who for one in match.waits if (who := caller_of(one.path))))
        if len(callers) > 1:
            more = f" and {len(callers) - 2} more" if len(callers) > 2 else ""
            return f"{match.name} is called for {' and '.join(callers[:2])}{more}: name one of them"
    return ""


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
            held_s = max((row.hold_ns or 0.0 for row in rows if row.kind != "read"), default=0.0) / 1e9
            if measured.lasted_s and held_s > MOST_BUSY * measured.lasted_s:
                found.append(
                    f"{match.name} was held for {held_s:.3g} s, and the load ran {measured.lasted_s:g} s: "
                    "these are several locks of one class, or --seconds is wrong"
                )
    return list(dict.fromkeys(found))


def names_no_lock(measured: UnpatchedData) -> bool:
    """Whether the longest wait is in a function where every lock of its kind waits."""
    waits = measured.profile.waits if measured.profile else ()
    return bool(waits and kind_of(waits[0].name) in waits[0].kinds)


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
    if measured.overfull:
        found.append(f"{measured.overfull}: correct --seconds or --threads, or others waited too")
    if measured.off_scale:
        found.append(f"{measured.off_scale}: is a suffix such as k missing?")
    if measured.contradiction or measured.waits_unseen:
        found.append(f"{UNEXPLAINED}, so whether a patch is worth writing is not known")
    return found


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
            said += (
                " on a CPU, and who sleeps is not in this profile. The gains are those of published patches, "
                "and too high unless many sleep"
            )
        notes.append(said)
    if measured.wait_share and measured.wait_share < LEAST_SHARE:
        share_pct = 100 * measured.wait_share
        notes.append(
            f"--share {share_pct:g} is {share_pct:g}%: for {100 * share_pct:g}% write {100 * share_pct:g}"
        )
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
        if names_no_lock(measured) and any(
            waits[0].name == change.lock for one in asked for change in one.changes
        ):
            notes.append(f"{waits[0].name} is where every lock of its kind waits, and {_which(measured)}")
        timed = any(one.wait_ns is not None for one in waits)
        if timed and measured.profile.of != SAMPLES and not measured.lasted_s and measured.wait_share is None:
            notes.append(
                "the duration of the load is unknown, so its waits are not used, and no verdict is given: "
                "give --seconds"
            )
        if (idle_pct := measured.profile.idle_pct or 0.0) >= LEAST_IDLE_PCT:
            notes.append(
                f"CPUs idle in {idle_pct:.0f}% of the samples: shares are of the rest, and at least "
                f"{100 * LEAST_BUSY:.0f}% of the time counts as busy"
            )
    return notes
