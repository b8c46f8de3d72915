# SPDX-License-Identifier: MIT
"""What a patch of locks would give if nothing else were in the way, and what no rate of it can exceed."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from lockscale.predict.change_kind import GONE, KEPT, LESS
from lockscale.predict.lock_data import UnpatchedData
from lockscale.predict.lock_verdict import MatchedPatch
from lockscale.predict.one_lock import from_wait_share
from lockscale.predict.patch_language import Change
from lockscale.predict.published_gains import TYPICAL, promise_of
from lockscale.tools.lock_match import Match
from lockscale.tools.lock_profile import SAMPLES

MOST_OF_RATES = float(np.exp(TYPICAL))
"""The highest promise where only rates are known, which do not say what the lock's share is."""
RAREST = 1e-6  # of the acquisitions, where none is left


def wait_shares(measured: UnpatchedData, asked: MatchedPatch) -> list[float | None]:
    """The share of the threads' time that waits for each change's lock; None where nothing shows it."""
    return [_waiting(measured, match) for _, match in asked.pairs]


def promise_of_patch(
    measured: UnpatchedData, asked: MatchedPatch, shares: Sequence[float | None]
) -> float | None:
    """The gain of all its changes; None where nothing says it. shares: of wait_shares()."""
    promises = [_promise(measured, *pair, share) for pair, share in zip(asked.pairs, shares, strict=True)]
    promise = _together(measured, promises, asked)
    if promise is not None and not any(change.of_work for change in asked.changes):
        promise = min(promise, _most_of_locks(asked))
        if None not in shares and not any(change.saved for change in asked.changes):
            promise = min(promise, float(measured.most_threads))  # somebody does not wait
    return promise


def most_gain(measured: UnpatchedData, asked: MatchedPatch) -> float:
    """N times the rate of one thread, which gets faster where work is avoided or a hold gets shorter."""
    left: dict[object, float] = {}  # of each lock's hold
    work = 0.0
    for change, match in asked.pairs:
        saved = change.saved
        if change.word == "avoid":
            waiting = _waits_there(measured, match)
            everything = (measured.share(match, waits=False) if match else None) or waiting
            work += max(everything - waiting, 0.0) * (1 - change.visits)
            saved = (1 - change.visits) if waiting else 0.0
        lock = _lock_of(change, match)
        left[lock] = left.get(lock, 1.0) * (1 - saved)
    return measured.most_gain(_of_holds(measured, [1 - one for one in left.values()]), work)


def _of_holds(measured: UnpatchedData, saved: Sequence[float]) -> float:
    """What shorter holds save of one thread's time, in times the longest that one lock is held.

    One thread holds one lock after the other: as many fit in as N threads do times what it does.
    """
    one, of_all = (measured.ladder.get(n) for n in (1, measured.most_threads))
    room = max(of_all / one, 1.0) if one and of_all else 1.0
    largest_first = enumerate(sorted(saved, reverse=True))
    return sum(part * min(max(room - place, 0.0), 1.0) for place, part in largest_first)


def _lock_of(change: Change, match: Match | None) -> object:
    """The same for changes of one lock."""
    return match.waits or match.entries if match else change.lock


def _waits_there(measured: UnpatchedData, match: Match | None) -> float:
    """The share of the threads' time that waits for locks where work is avoided; 0 of mere work."""
    if match is None:
        return measured.wait_share or 0.0
    return (_waiting(measured, match) or 0.0) if match.waits else 0.0


def _most_of_locks(asked: MatchedPatch) -> float:
    """What no patch of these locks exceeds: were all work so much shorter as the lock that it leaves least
    of, the gain would be just that. Several changes of one lock act on what the others leave."""
    left: dict[object, float] = {}
    for change, match in asked.pairs:
        lock = _lock_of(change, match)
        left[lock] = left.get(lock, 1.0) * change.left_of_lock
    least = min(left.values())
    return 1 / least if least else float("inf")


def _waiting(measured: UnpatchedData, match: Match | None) -> float | None:
    """The share of the threads' time that waits for a change's lock; None where nothing shows it."""
    if measured.wait_share is not None:
        return measured.wait_share
    return None if match is None or measured.waits_unseen else measured.share(match, waits=True)


def _promise(
    measured: UnpatchedData, change: Change, match: Match | None, waiting: float | None
) -> float | None:
    """Of one change. Where only rates are known, what the change leaves of the lock bounds it."""
    n = measured.most_threads
    if waiting is None:
        return _promise_of_rates(measured, change)
    if change.of_work:
        if match and is_own(change, measured):
            return promise_of(measured.own_share(match))
        everything = measured.share(match, waits=False) if match else waiting
        gone = 1.0 if change.word == "unshare" else 1 - change.visits
        linear = promise_of(max(everything or 0.0, waiting) * gone)
        if change.word == "avoid" and (there := _waits_there(measured, match)):  # who is left waits less, too
            rare = replace(change, visits=max(change.visits, RAREST))
            shorter = from_wait_share(there, n).gain(n, rare)
            if match and measured.profile and measured.profile.of == SAMPLES:  # its holds are in its samples
                shorter = min(shorter, promise_of(max(everything or 0.0, waiting)))
            return max(linear, shorter)
        return linear
    whole = min(promise_of(waiting), float(n))  # who holds a lock does not wait for it
    if change.left == KEPT or (change.left == GONE and not change.pooled and change.parts == 1):
        return whole
    gain = from_wait_share(waiting, n).gain(n, change)
    return gain if change.left == LESS else min(gain, whole)  # a shorter or rarer hold is less work, too


def is_own(change: Change, measured: UnpatchedData) -> bool:
    """Whether the change is of what a function itself does, as whole stacks tell it: the waits below stay."""
    return change.word == "unshare" and measured.profile is not None and measured.profile.disjoint


def _promise_of_rates(measured: UnpatchedData, change: Change) -> float | None:
    """None unless the patch says how much is left: rates alone do not say what the lock's share is."""
    if len(measured.ladder) < 2 or not (change.parts > 1 or change.hold < 1 or 0 < change.visits < 1):
        return None
    base, n = measured.lock_of_the_rates, measured.most_threads
    return min(base.gain(n, change), MOST_OF_RATES)


def _together(measured: UnpatchedData, promises: Sequence[float | None], asked: MatchedPatch) -> float | None:
    """Of several changes: what each takes away of the time is taken away, and nothing of it twice."""
    known = [promise for promise in promises if promise is not None]
    if len(known) < len(promises) or not known:
        return None
    if len(known) == 1:
        return known[0]
    gone = sum(1 - 1 / promise for promise in known)
    most = measured.wait_share
    if most is None:
        most = measured.share_together(asked.matches, [change.of_work for change in asked.changes])
    if most is None and not asked.matches:  # of rates alone, as each of them
        return min(promise_of(gone), MOST_OF_RATES)
    together = promise_of(gone if most is None else min(gone, max(most, *(1 - 1 / one for one in known))))
    return max(together, *known)  # of which one may be above what a share promises
