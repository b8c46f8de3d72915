# SPDX-License-Identifier: MIT
"""What was measured of an unpatched kernel or program, and what share of the threads' time waits for whom."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from lockscale.errors import BadInput
from lockscale.fitting.user_table import whole_threads
from lockscale.predict.one_lock import OneLock, from_rates, from_wait_share, off_by_pct
from lockscale.predict.published_gains import most_gain, share_of_busy
from lockscale.queueing.points import points
from lockscale.tools.lock_functions import function_of
from lockscale.tools.lock_match import Match
from lockscale.tools.lock_profile import LOCK_WAITS, SAMPLES, SLEEP, LockProfile
from lockscale.tools.profile_entry import Entry, once

ASSUMED_THREADS = 64
FAR_PCT = 50.0
"""A calculated unpatched rate farther than this from the measured one is not explained by its waits."""
MOST_BUSY = 1.05  # of the threads' time: more waiting than this there cannot have been
ROUNDED = 0.005  # of the time: a share is written in whole percent
FAR_SHARE = 2  # times all that a profile has: no other profile of the same load
COLLAPSE = 30  # times slower than fewer threads; the worst collapse of the casebook is 3.5
SCATTER = 0.05  # of a rate, from one run to the next
SPEED_UP = 8  # times as fast as so many times fewer threads; caches, and batches that fill, explain less


@dataclass(frozen=True)
class UnpatchedData:
    """Rates in operations/s by threads; seconds: how long the profile's load ran.

    threads: at which the profile was taken, of the rates the most that are looked at. wait_share: of the
    threads' time that waits for the lock in question, 0 to 1, where somebody knows it otherwise; it is taken
    in place of the profile's. rates_doubt: what is odd about the rates, to be told with the answer. distinct:
    whether somebody knows that functions that wait for one kind of lock wait for different ones. Raises
    BadInput for numbers that are none, and for threads without a rate.
    """

    rates_per_s: Mapping[int, float] = field(default_factory=dict)
    profile: LockProfile | None = None
    threads: int | None = None
    seconds: float | None = None
    wait_share: float | None = None
    rates_doubt: str = ""
    distinct: bool = False

    def __post_init__(self) -> None:
        rates = dict(self.rates_per_s.items())  # of a series, too
        if rates:
            points([*rates], [*rates.values()])  # refuses what is no rate
        object.__setattr__(self, "rates_per_s", {int(n): float(rate) for n, rate in rates.items()})
        if self.threads is not None:
            object.__setattr__(self, "threads", whole_threads("--threads", self.threads))
        if self.wait_share is not None and not 0 <= self.wait_share <= 1:
            raise BadInput("--share is not between 0 and 100 percent: give the share of time spent waiting")
        if self.seconds is not None and not 0 < self.seconds < 1e9:
            raise BadInput("--seconds is not a duration: give how many seconds the load ran")
        if self.threads is not None and self.rates_per_s and self.threads not in self.rates_per_s:
            known = ", ".join(map(str, self.rates_per_s))
            raise BadInput(f"--threads {self.threads} has no rate, only {known} have: give one of these")
        if self.most_threads < 2:
            whose = "--threads 1: " if self.threads else ""
            raise BadInput(f"{whose}one thread alone never waits: give a measurement of several threads")
        n, share = self.threads_said, self.wait_share
        if n and share and share > most_waiting(n) + ROUNDED:
            raise BadInput(
                f"--share {100 * share:g}: one of {n} threads holds the lock, so they wait for it for "
                f"{100 * most_waiting(n):.3g}% of their time at most: correct --share or --threads"
            )

    @property
    def most_threads(self) -> int:
        return self.threads_said or ASSUMED_THREADS

    @property
    def threads_said(self) -> int | None:
        """By whoever asks, by the rates, or by the profile's text; None where nobody says it."""
        of_profile = self.profile.threads if self.profile else None
        return self.threads or max(self.rates_per_s, default=None) or of_profile

    @property
    def lasted_s(self) -> float | None:
        """How long the profile's load ran, as somebody or its text says."""
        return self.seconds or (self.profile.seconds if self.profile else None)

    @cached_property
    def contradiction(self) -> bool:
        """Whether waits, as given or timed, are far too few for rates that grow no more.

        Something else limits them then. Where fewer threads did more, the lock itself may have become slower.
        """
        waiting, n, fewer = self.all_waits, self.most_threads, self.fewer_threads
        if waiting is None or not fewer or self.waits_unseen or self.falls:
            return False
        return off_by_pct(from_wait_share(waiting, n, self.ladder[n]), fewer) > FAR_PCT

    @cached_property
    def lock_of_the_rates(self) -> OneLock:
        """One lock and the work outside it, fitted to the rates alone; there are two or more."""
        return from_rates(self.ladder)

    @cached_property
    def of_no_lock(self) -> bool:
        """Whether rates that grow throughout are far from those of any lock and the work outside it."""
        if len(self.ladder) < 2 or self.falls:
            return False
        return off_by_pct(self.lock_of_the_rates, self.ladder) > FAR_PCT

    @property
    def falls(self) -> bool:
        """Whether fewer threads did more."""
        return self.ladder.get(self.most_threads, 0.0) < max(self.fewer_threads.values(), default=0.0)

    @property
    def off_scale(self) -> str:
        """What a wrong unit is likelier to explain than anything that threads do; empty where nothing is."""
        few, many = min(self.ladder, default=0), self.most_threads
        if few in (0, many):
            return ""
        ratio = self.ladder[many] / self.ladder[few]
        whose = f"{few} thread{'s' * (few > 1)}"
        if ratio < 1 / COLLAPSE:
            return f"{many} threads together are {1 / ratio:.0f} times slower than {whose}"
        if ratio > SPEED_UP * many / few:
            return f"{many} threads together are {ratio:.0f} times as fast as {whose}"
        return ""

    @property
    def impossible(self) -> bool:
        """Whether rates and waits cannot both be right, so that they carry no verdict."""
        return bool(self.contradiction or self.waits_unseen or self.off_scale or self.overfull)

    @property
    def share_denied(self) -> str:
        """That all timed waits together are far less than the share that somebody gives of one lock."""
        timed_s, there_is_s = self._timed_s
        if self.wait_share is None or not there_is_s or self.wait_share * there_is_s <= FAR_SHARE * timed_s:
            return ""
        share = f"--share {100 * self.wait_share:g}%"
        return f"{share}, but all waits of the profile are {100 * timed_s / there_is_s:.2g}% of the time"

    @property
    def overfull(self) -> str:
        """That locks are waited for longer than all threads together had; a lock alone is refused then."""
        waited_s, there_is_s = self._timed_s
        if not there_is_s or waited_s <= MOST_BUSY * there_is_s:
            return ""
        load = f"{self.most_threads} threads in {self.lasted_s:g} s"
        return f"all waits together are {waited_s:.3g} s, but {load} have {there_is_s:.3g} s"

    @property
    def _timed_s(self) -> tuple[float, float]:
        """What all timed waits took together, and the time that all threads had; of samples nothing."""
        if self.profile is None or self.profile.of != LOCK_WAITS:
            return 0.0, 0.0
        waited_ns = sum(entry.wait_ns or 0.0 for entry in self.profile.entries)
        return waited_ns / 1e9, (self.lasted_s or 0.0) * self.most_threads

    @cached_property
    def ladder(self) -> dict[int, float]:
        """The rates up to the threads in question, ascending."""
        return {n: rate for n, rate in sorted(self.rates_per_s.items()) if n <= self.most_threads}

    @property
    def fewer_threads(self) -> dict[int, float]:
        """The rates below the threads in question, by which a model of the waits there is checked."""
        return {n: rate for n, rate in self.ladder.items() if n != self.most_threads}

    def most_gain(self, saved: float = 0.0, work: float = 0.0) -> float:
        """What no patch exceeds, as threads do no more than so many times one; what it saves as there.

        Infinite where one thread alone is slower than its share: its rate is no bound then.
        """
        if self.slower_alone:
            return np.inf
        return max(1.0, most_gain(self.ladder, self.most_threads, saved, work))

    @property
    def slower_alone(self) -> bool:
        """Whether one thread alone does less than its share of what all do, by more than rates scatter."""
        return most_gain(self.ladder, self.most_threads) < 1 - SCATTER

    @cached_property
    def waits_unseen(self) -> bool:
        """Whether a CPU profile's waits are far too few for the rates, as where threads sleep for a lock.

        Tools that time waits see those that sleep too: where they show few, no lock explains the rates.
        """
        waiting, n = self.all_waits, self.most_threads
        is_timed = self.profile is not None and self.profile.of != SAMPLES
        if waiting is None or self.wait_share is not None or not self.fewer_threads or is_timed:
            return False
        base = from_wait_share(waiting, n, self.ladder[n])
        calculated = [base.rate_per_s(k) / rate for k, rate in self.fewer_threads.items()]
        return float(np.median(calculated)) < 1 / (1 + FAR_PCT / 100)

    @property
    def all_waits(self) -> float | None:
        """The share of the threads' time that waits for locks, 0 to 1; None where nothing says it."""
        if self.profile is None or self.wait_share is not None:
            return self.wait_share
        shares = [self.share(wait, waits=True) for wait in self.profile.waits]
        known = [share for share in shares if share is not None]
        return min(sum(known), 1.0) if known else None

    def share(self, match: Match, *, waits: bool) -> float | None:
        """Of the threads' time: waiting for that lock, or all of what is on the stack; None if not known."""
        if self.profile is None:
            return None
        if self.profile.of != SAMPLES and (slept_ns := self._slept_ns(match, waits=waits)) is not None:
            return self._of_seconds(match.name, slept_ns)
        pct = match.wait_pct if waits and match.wait_pct else match.share_pct or match.wait_pct
        return None if pct is None else self._of_busy(pct)

    def _slept_ns(self, match: Match, *, waits: bool) -> float | None:
        """Of a lock its waits; of what waits for none, or is meant whole, all stacks that have the name."""
        if self.profile is None or self.profile.of != SLEEP or (waits and match.waits):
            return match.wait_ns
        known = [one.wait_ns for one in match.on_stack or match.entries if one.wait_ns is not None]
        return sum(known) if known else match.wait_ns

    def is_too_much(self, share: float) -> bool:
        """Whether more of the threads wait than can for one lock; not where their number is assumed."""
        n = self.threads_said
        return n is not None and share > most_waiting(n) * MOST_BUSY

    def own_share(self, match: Match) -> float:
        """Of the threads' time, what the function itself takes, without what it calls: of whole stacks."""
        own = [one for one in match.entries if one.path[0] == function_of(match.name)]
        return self._of_busy(sum(one.share_pct or 0.0 for one in own))

    @property
    def unassigned(self) -> float:
        """Of the threads' time, waiting for locks of which nobody knows who took them."""
        return self._of_busy(self.profile.unassigned_pct) if self.profile and self.wait_share is None else 0.0

    def share_together(self, matches: Sequence[Match], whole: Sequence[bool]) -> float | None:
        """Of several locks or functions: what two of them have in common counts once.

        whole: of which of them not the waits alone are meant, but all that has the name on its stack.
        """
        if self.profile is None:
            return None
        flat = not self.profile.has_callers
        parts = [_parts(match, flat, is_whole) for match, is_whole in zip(matches, whole, strict=True)]
        entries = list(dict.fromkeys(entry for part in parts for entry in part))
        if not entries:
            return None
        if self.profile.of != SAMPLES and any(entry.wait_ns is not None for entry in entries):
            return self._of_seconds(matches[0].name, sum(entry.wait_ns or 0.0 for entry in entries))
        single = entries if self.profile.disjoint else once(entries)
        return self._of_busy(min(sum(entry.share_pct or 0.0 for entry in single), 100.0))

    def _of_busy(self, pct: float) -> float:
        idle_pct = self.profile.idle_pct if self.profile else None
        return share_of_busy(pct / 100, (idle_pct or 0.0) / 100)

    def _of_seconds(self, name: str, wait_ns: float) -> float | None:
        if not self.lasted_s:
            return None
        there_is_s = self.lasted_s * self.most_threads
        share = wait_ns / (1e9 * there_is_s)
        if share > MOST_BUSY:
            raise BadInput(
                f"{name} is waited for {wait_ns / 1e9:.3g} s, but {self.most_threads} threads in "
                f"{self.lasted_s:g} s have {there_is_s:.3g} s in all: correct --seconds or --threads"
            )
        return min(share, 1.0)


def most_waiting(threads: int) -> float:
    """Of the threads' time, waiting for one lock: one of them holds it meanwhile."""
    return 1 - 1 / threads


def _parts(match: Match, flat: bool, whole: bool) -> Sequence[Entry]:
    """Entries whose shares can be summed; of a flat list, which does not say who calls whom, what a function
    does itself: those samples are no other's."""
    if match.waits and not whole:
        return match.waits
    own = [entry for entry in match.entries if entry.counts == "self"] if flat else []
    return own or match.on_stack or match.entries
