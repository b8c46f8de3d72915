# SPDX-License-Identifier: MIT
"""What patches of any lock would give, from a profile, rates, or both, of the unpatched side.

The promise of each candidate is reckoned from the share of the threads' time that waits for its lock
(one_lock.py); how much of a promise arrives is what published patches say of that kind of change
(published_gains.py). Rates bound it: N threads do no more than N times what one does.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from lockscale.errors import BadInput
from lockscale.predict.casebook import past, read_casebook, usual_most
from lockscale.predict.change_kind import GONE
from lockscale.predict.lock_data import FAR_PCT, UnpatchedData
from lockscale.predict.lock_notes import (
    moved_lines,
    no_waits,
    notes_of,
    other_sleep,
    rows_taken_together,
    warnings_of,
)
from lockscale.predict.lock_promise import is_own, most_gain, promise_of_patch, wait_shares
from lockscale.predict.lock_verdict import (
    MatchedPatch,
    all_seen,
    held_over,
    match_patch,
    why_open,
    worth_by_chance,
)
from lockscale.predict.next_bottleneck import NextLimit, ends_at, next_limits
from lockscale.predict.one_lock import from_wait_share, off_by_pct
from lockscale.predict.patch_language import read_patch
from lockscale.predict.published_gains import GainModel, learn, promise_of
from lockscale.tools.lock_match import Match
from lockscale.tools.lock_profile import SAMPLES, LockProfile

MOST_PROMISED = promise_of(1.0)
THE_LOCK = "LOCK"  # where no profile names one
CANDIDATES = ("lockless {}", "split {} 4", "trylock {} 4", "batch {} 8", "shrink {} 50%", "algorithm {}")

ASLEEP = "perf lock contention -ab -- LOAD"
OR_ASLEEP = "or bcc's offcputime -K 10, while the load runs"
PROFILE = "perf record -a -g -- LOAD && perf report --stdio --children"  # cycles, or else cpu-clock
WORTH_IT = 0.95
"""What a measurement has to leave of an interval at most, on average, to be proposed."""
RATES = "-r 1:RATE,N:RATE"


@dataclass(frozen=True)
class IfSeveral:
    """The gain where the waits of the next limit are for several locks, which may limit nothing."""

    low: float
    value: float
    high: float
    chance: float


@dataclass(frozen=True)
class PatchGain:
    """One patch; gains are of the patched over the unpatched rate at `threads`.

    matched: which rows of the profile are meant. promise: the gain if nothing else were in the way; at_least:
    of a share of the time that counts as less than it is (MOST_SHARE). chance: how likely the gain is
    above 1.05, from 0 to 1; worth: by that; open: why it is not known. next_limit: who waits longest with it.
    The gain is that of one lock there; if_several: where it may be more than one.
    """

    patch: str
    left: str
    threads: int
    matched: str
    promise: float | None
    low: float
    value: float
    high: float
    chance: float
    worth: str
    open: str = ""
    next_limit: NextLimit | None = None
    if_several: IfSeveral | None = None

    @property
    def at_least(self) -> bool:
        return self.promise is not None and self.promise >= MOST_PROMISED


@dataclass(frozen=True)
class Advice:
    """command: to be typed with one's own LOAD, or the options that give whatif the answer; empty where no
    one command takes the measurement. note: what else there is to know, may be empty. width: of the interval
    now, high over low; to: what the measurement is expected to leave of it.
    """

    measurement: str
    command: str
    note: str
    width: float
    to: float


@dataclass(frozen=True)
class LockAnswer:
    """Candidates, the best first; predicted, nothing measured.

    warnings: what was not read as it stands, or cannot be right; notes: what was assumed, other_sleep, of a
    sleep for no lock that is longer than the waits, among them. gains, patches: how many gains of how many
    published patches it is learned from.
    """

    used: list[str]
    against_itself: str
    off_by_pct: float | None
    candidates: list[PatchGain]
    advice: Advice
    warnings: list[str]
    notes: list[str]
    other_sleep: str
    gains: int
    patches: int
    origin: str = "predicted"

    @property
    def next_limit(self) -> NextLimit | None:
        """With the best patch."""
        return self.candidates[0].next_limit

    def to_json(self) -> dict[str, Any]:
        """One JSON value; gains are ratios, shares are in percent."""
        said = [{**asdict(one), "promise_at_least": one.at_least} for one in self.candidates]
        return {**asdict(self), "candidates": said, "next_limit": said[0]["next_limit"]}


def ask_lock(
    measured: UnpatchedData, patches: Sequence[str], used: Sequence[str], learned: GainModel | None = None
) -> LockAnswer:
    """Raises BadInput where there is nothing to go by, and for a patch or a lock that is not known."""
    if measured.profile is None and not measured.rates_per_s and measured.wait_share is None:
        raise BadInput(
            "give a profile or rates of the unpatched kernel, or both: --profile FILE, -r 1:35k,64:140k"
        )
    if measured.share_denied:
        raise BadInput(f"{measured.share_denied}: correct --share, --seconds or --threads")
    cases = read_casebook()
    learned = learned or learn(past(cases))
    different = dict.fromkeys(read_patch(text) for text in patches or _usual(measured))
    asked = [match_patch(measured, patch) for patch in different]
    found = [_candidate(measured, one, learned) for one in asked]
    found.sort(key=lambda one: (-one.value, -one.low))
    itself, off = _against_itself(measured)
    return LockAnswer(
        used=list(used),
        against_itself=itself,
        off_by_pct=off,
        candidates=found,
        advice=_advice(learned, found[0], measured, usual_most(cases)),
        warnings=[*warnings_of(measured), *no_waits(measured, asked)],
        notes=[
            *notes_of(measured, asked, [one.promise for one in found]),
            *rows_taken_together(measured, asked),
        ],
        other_sleep=other_sleep(measured),
        gains=learned.gains,
        patches=learned.patches,
    )


def _usual(measured: UnpatchedData) -> list[str]:
    """Of the lock for which is waited the longest."""
    waits = measured.profile.waits if measured.profile else ()
    if measured.profile and not waits:
        left_out = next((f" ({one})" for one in measured.profile.warnings if "left out" in one), "")
        moved = moved_lines(measured, [])
        raise BadInput(
            f"no function that waits for a lock is in this profile{left_out}: name the target of the patch, "
            f'such as --patch "avoid FUNCTION 80%"{"; " if moved else ""}{moved}'
        )
    named = [wait for wait in waits if not wait.name.startswith("(")]  # perf lock report: `(no name)`
    if measured.profile and not named:
        raise BadInput(
            "the locks of this profile have no names: record who takes them, as perf lock contention does, "
            'or name a function of it, such as --patch "lockless FUNCTION"'
        )
    lock = _its_own_name(measured.profile, named[0]) if measured.profile else THE_LOCK
    return [text.format(lock) for text in CANDIDATES]


def _its_own_name(profile: LockProfile, wait: Match) -> str:
    """Of a function that takes a lock, and calls another that takes one too: `lock < function`."""
    if {*profile.match(wait.name).waits} == {*wait.waits}:
        return wait.name
    path = max(wait.waits, key=lambda one: one.share_pct or one.wait_ns or 0.0).path
    at = path.index(wait.name)
    return f"{path[at - 1]} < {wait.name}" if at else wait.name


def _candidate(measured: UnpatchedData, asked: MatchedPatch, learned: GainModel) -> PatchGain:
    shares = wait_shares(measured, asked)
    promise = promise_of_patch(measured, asked, shares)
    over = held_over(measured, asked)
    leaves = [(change, match) for change, match in asked.matched if not is_own(change, measured)]
    others = next_limits(measured, leaves, over)
    following = next(iter(others), None)
    of_one, of_several = ends_at(others)
    seen = all_seen(measured, asked)
    most = most_gain(measured, asked)
    left = _left(asked)
    gain, freer = (
        learned.gain(left, promise, most, timed=seen, next_limit=limit) for limit in (of_one, of_several)
    )
    next_at = following.gain_ends_at if following and not following.none_because else None
    several = next((one.name for one in others if one.limits and one.may_be_several), "")
    why = why_open(measured, gain.worth, next_at, shares, asked, over, (several, freer.worth))
    return PatchGain(
        patch=asked.patch.text,
        left=left,
        threads=measured.most_threads,
        matched="; ".join(dict.fromkeys(match.said(whole=change.of_work) for change, match in asked.matched)),
        promise=None if promise is None or None in shares else min(promise, max(most, 1.0)),
        low=gain.low,
        value=gain.value,
        high=gain.high,
        chance=gain.worth,
        worth=worth_by_chance(measured, gain.worth, why),
        open=why,
        next_limit=following,
        if_several=IfSeveral(*freer) if of_one < of_several else None,
    )


def _left(asked: MatchedPatch) -> str:
    """What the patch leaves of its locks: nothing, where nobody calls any more whoever took them."""
    no_calls = [
        change.word == "avoid" and change.visits == 0 and match.waits for change, match in asked.matched
    ]
    return GONE if no_calls and all(no_calls) else asked.patch.left


MANY_TIMES_PCT = 400


def _against_itself(measured: UnpatchedData) -> tuple[str, float | None]:
    """The first line of the answer, and its number."""
    rates = measured.ladder
    if len(rates) < 2:
        return "The unpatched rates are not checked: that needs rates at two thread counts or more.", None
    n = max(rates)
    waiting = measured.all_waits
    if waiting is None:
        whence = "one lock and the work outside it, fitted to these rates"
        off = off_by_pct(measured.lock_of_the_rates, rates)
    else:
        whence = f"one lock, from the waits at {n} threads"
        off = off_by_pct(from_wait_share(waiting, n, rates[n]), measured.fewer_threads)
    if waiting is None and len(rates) == 2 and off < 1:
        return "The unpatched rates are not checked: two always fit the model, a third would check it.", None
    far = f"{off / 100 + 1:.0f} times" if off >= MANY_TIMES_PCT else f"{off:.0f}%"
    said = f"Check against the unpatched rates: a model of {whence}, is {far} off"
    if off > FAR_PCT and measured.falls and not measured.waits_unseen:
        said += ": more threads do less, which no such model shows"
        said += "" if waiting is None else ", so this check says nothing of the waits"
    elif off > FAR_PCT:
        said += ": lock waits do not explain this curve"
        if measured.waits_unseen:
            said += (
                ". The CPU profile does not show threads that sleep on a lock, or is from another run: "
                "its waits are not used. Give perf lock contention, offcputime, or --share PERCENT"
            )
        elif waiting is not None:
            doubt = "the share is wrong" if measured.profile is None else "the profile is from another run"
            said += f". Something else limits the rates, operations take longer beside others, or {doubt}"
    return said, off


def _how_to_share(measured: UnpatchedData) -> tuple[str, str, str]:
    """What tells the share of the time that threads wait for the lock, the command, and a note."""
    if measured.waits_unseen:
        return "the time that threads sleep, waiting for the lock", ASLEEP, OR_ASLEEP
    timed = measured.profile is not None and any(one.wait_ns is not None for one in measured.profile.entries)
    if measured.profile and measured.profile.of != SAMPLES and timed and not measured.lasted_s:
        return "how long the profiled load ran", "--seconds SECONDS", ""
    return "the share of the time spent waiting for the lock", PROFILE, ""


def _advice(learned: GainModel, best: PatchGain, measured: UnpatchedData, usual_most: float) -> Advice:
    """Of the measurements that are missing the one that leaves the narrowest interval.

    usual_most: N times one thread's rate over the rate of N, in the middle of published cases.
    """
    options = []
    left, promise, width, most = best.left, best.promise, best.high / best.low, measured.most_gain()
    if promise is None:
        widths = [learned.gain(left, one, most).width for one in learned.promises]
        options.append(Advice(*_how_to_share(measured), width, float(np.exp(np.mean(np.log(widths))))))
    if not np.isfinite(most):
        what = "the rate of one thread, which bounds the rate of all threads"
        bounded = learned.gain(left, promise, usual_most).width
        options.append(Advice(what, RATES, "of the same load", width, bounded))
    useful = [option for option in options if option.to < WORTH_IT * width]
    if not useful:
        may = "" if np.isfinite(most) else f". The rate of one thread ({RATES}) can narrow it"
        what = "the work" if read_patch(best.patch).of_work else "the lock"
        return Advice(
            f"to narrow the interval, measure a draft without {what}, where no data can be lost that matter",
            "",
            f"what limits the rate next shows only once {what} is gone{may}",
            width,
            width,
        )
    return min(useful, key=lambda option: option.to)
