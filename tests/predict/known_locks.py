# SPDX-License-Identifier: MIT
"""Profiles of locks by hand, and what the shipped casebook has learned."""

from functools import lru_cache

from lockscale.predict.casebook import past, read_casebook
from lockscale.predict.published_gains import GainModel, learn
from lockscale.tools.lock_profile import LockProfile
from lockscale.tools.profile_entry import Entry


@lru_cache
def learned() -> GainModel:
    return learn(past(read_casebook()))


def profile(*entries: Entry) -> LockProfile:
    return LockProfile("perf_report", "on-CPU samples", entries, "by hand")


def waiting(caller: str, pct: float, line: int = 1, lock: str = "queued_spin_lock_slowpath") -> Entry:
    return Entry(lock, line, (caller,), "spin", None, "self", pct)


def timed(tool: str, *waits: tuple[str, float]) -> LockProfile:
    entries = tuple(Entry(name, n, None, "spin", wait_ns=1e9 * s) for n, (name, s) in enumerate(waits, 1))
    return LockProfile(tool, "lock waits", entries)
