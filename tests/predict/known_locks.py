# SPDX-License-Identifier: MIT
"""Profiles of locks by hand, and what the shipped casebook has learned."""

from functools import lru_cache

from lockscale.predict.casebook import past, read_casebook
from lockscale.predict.published_gains import GainModel, learn
from lockscale.tools.lock_functions import wait_of
from lockscale.tools.lock_profile import SAMPLES, SLEEP, LockProfile
from lockscale.tools.profile_entry import Entry
from lockscale.tools.registry import profile_of


@lru_cache
def learned() -> GainModel:
    return learn(past(read_casebook()))


def profile(*entries: Entry) -> LockProfile:
    return LockProfile("perf_report", "on-CPU samples", entries, "by hand")


def waiting(caller: str, pct: float, line: int = 1, lock: str = "queued_spin_lock_slowpath") -> Entry:
    return Entry(lock, line, (caller,), "spin", None, "self", pct)


def timed(tool: str, *waits: tuple[str, float]) -> LockProfile:
    entries = tuple(Entry(name, n, None, "spin", wait_ns=1e9 * s) for n, (name, s) in enumerate(waits, 1))
    return LockProfile(tool, "lock waits", entries, of_locks=tool == "lock_stat")


def stack(count: float, line: int, *path: str, off: bool = False) -> Entry:
    """One whole stack, the nearest first."""
    asleep = {"wait_ns": count * 1e9} if off else {}
    return Entry(path[0], line, path[1:], wait_of(path), None, "self", count, **asleep)


def stacks(*entries: Entry, off: bool = False) -> LockProfile:
    return LockProfile("folded", SLEEP if off else SAMPLES, entries, disjoint=True)


FLAT = "# Samples: 10K of event 'cycles'\n# Overhead  Command  Shared Object  Symbol\n"


def flat(*rows: tuple[str, float]) -> LockProfile:
    return profile_of(FLAT + "".join(f"    {pct:.2f}%  fsmark  [kernel]  [k] {name}\n" for name, pct in rows))
