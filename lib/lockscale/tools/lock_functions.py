# SPDX-License-Identifier: MIT
"""Which functions wait for a lock, and of which kind; which are idle. By the names in Linux and glibc."""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

IDLE = re.compile(
    r"(?:intel_idle\w*|mwait_idle\w*|acpi_idle_\w+|acpi_safe_halt|native_safe_halt|pv_native_safe_halt"
    r"|default_idle|poll_idle|io_idle|arch_cpu_idle|cpuidle_enter\w*|cpuidle_idle_call|do_idle"
    r"|cpu_startup_entry|start_secondary|cpu_idle_poll|default_idle_call|cpu_do_idle"
    r"|acpi_processor_ffh_cstate_enter|amd_e400_idle|xen_safe_halt|tdx_safe_halt|psci_cpu_suspend_enter"
    r"|snooze_loop|stop_loop|power[0-9]_idle\w*|plpar_hcall_norets\w*)"
)
# kind -> the functions that wait for such a lock; the first that fits
WAITS = {
    "rwlock:R": r"queued_read_lock_slowpath|(?:do_)?_?raw_read_lock\w*|__raw_read_lock\w*",
    "rwlock:W": r"queued_write_lock_slowpath|(?:do_)?_?raw_write_lock\w*|__raw_write_lock\w*",
    "spin": r"(?:(?:native|pv|__pv)_)?queued_spin_lock_slowpath|(?:do_)?_?raw_spin_lock\w*"
    r"|__raw_spin_lock\w*|spin_lock\w*|ticket_spin_lock\w*|__ticket_spin_lock\w*",
    "rwsem:R": r"rwsem_down_read_slowpath|rwsem_down_read_failed\w*|call_rwsem_down_read\w*|down_read\w*",
    "rwsem:W": r"rwsem_(?:optimistic_spin|spin_on_owner|down_write_slowpath|down_write_failed\w*)"
    r"|call_rwsem_down_write\w*|down_write\w*",
    "mutex": r"mutex_spin_on_owner|mutex_optimistic_spin|__mutex_lock\w*|mutex_lock\w*|__ww_mutex_lock\w*",
    "rt-mutex": r"rt_mutex_slowlock\w*|rtlock_slowlock\w*|rt_mutex_adjust_prio_chain|rt_spin_lock\w*",
    "percpu-rwsem:R": r"__percpu_down_read|percpu_down_read\w*",
    "percpu-rwsem:W": r"percpu_down_write\w*",
    "semaphore": r"__down\w*|down(?:_interruptible|_killable|_timeout)?",
    "mutex or rwsem": r"osq_lock",
    "buffer": r"__lock_buffer|lock_buffer|__wait_on_buffer",
    "futex": r"(?:__GI_)?_{0,3}pthread_mutex_(?:lock|timedlock)\w*|__lll_lock_wait\w*|futex_wait\w*",
    "user spin": r"(?:__GI_)?_{0,2}pthread_spin_lock",
}
# kind -> what gives such a lock back, and spins meanwhile for the lock inside of it
RELEASES = {
    "rwsem:R": r"(?:__)?up_read\w*",
    "rwsem:W": r"(?:__)?up_write\w*|downgrade_write|rwsem_wake\w*",
    "mutex": r"__mutex_unlock\w*|mutex_unlock\w*|ww_mutex_unlock",
    "semaphore": r"(?:__)?up",
}
# calls no other function to wait for the lock
INNERMOST = re.compile(
    r"\w*slowpath|osq_lock|\w*spin_on_owner|\w*optimistic_spin|__lll_lock_wait\w*|futex_wait\w*"
)
_MOVES = re.compile(r"\w*_trylock\w*|(?:__)?up_(?:read|write)\w*|\w*(?:spin|read|write|mutex)_unlock\w*")
_FUTEX = re.compile(r"futex_wait\w*")
# what gcc appends to a function of which it made another one
_MADE = re.compile(r"(?:\.(?:isra|constprop|part|cold|llvm|lto_priv)(?:\.\d+)?)+$")
_VERSION = re.compile(r"@@?[A-Z][A-Za-z]*_[\w.]+$")
_OFFSET = re.compile(r"\+0x[0-9a-f]+(?:/0x[0-9a-f]+)?(?: \[\w+\])?$")


@lru_cache(maxsize=1 << 16)  # a profile has many stacks of few functions
def function_of(symbol: str) -> str:
    """The function of `vfs_create.isra.0+0x51/0x90`, or of `pthread_spin_lock@@GLIBC_2.34`."""
    return _MADE.sub("", _VERSION.sub("", _OFFSET.sub("", symbol.strip())))


@lru_cache(maxsize=1 << 16)
def kind_of(function: str) -> str | None:
    """The kind of lock for which this function waits; None where it is no wait for a lock.

    A trylock never waits: its time is that of the cache line that it moves, as an unlock's is.
    """
    name = function_of(function)
    if "trylock" in name:
        return None
    return next((kind for kind, names in WAITS.items() if re.fullmatch(names, name)), None)


def moves_a_lock(function: str) -> bool:
    """Whether this function takes or gives back a lock without waiting: its time is the cache line's."""
    return bool(_MOVES.fullmatch(function_of(function)))


@lru_cache(maxsize=1 << 16)
def _released_by(function: str) -> str | None:
    """The kind of lock that this function gives back."""
    name = function_of(function)
    return next((kind for kind, names in RELEASES.items() if re.fullmatch(names, name)), None)


def may_be_one_lock(some: Iterable[str], others: Iterable[str]) -> bool:
    """Whether waits of these kinds can be for one lock: to read or to write, and in osq_lock of either."""
    first, second = (
        {name for kind in kinds for name in kind.partition(":")[0].split(" or ")} for kinds in (some, others)
    )
    return bool(first & second)


def is_for_any_work(path: Sequence[str]) -> bool:
    """Whether a stack sleeps in futex_wait() for no user's lock that is known: maybe for work."""
    kinds = {function_of(name) for name in path if kind_of(name) == "futex"}
    return bool(kinds) and all(map(_FUTEX.fullmatch, kinds))


def waits_at(path: Sequence[str]) -> int | None:
    """Where in a stack, the nearest first, is the outermost function that waits for a lock.

    futex_wait() sleeps until it is woken; while it spins, it is for the spin lock of its hash bucket, which
    futex_wake() takes too. Who spins in rwsem_wake() waits for the rwsem's own lock: no other one.
    """
    kinds = [kind_of(name) for name in path]
    spins = "spin" in kinds
    found = [
        at
        for at, kind in enumerate(kinds)
        if kind and not (spins and _FUTEX.fullmatch(function_of(path[at])))
    ]
    if not found:
        return None
    at = found[-1]
    while kinds[found[-1]] == "spin" and at + 1 < len(path) and _released_by(path[at + 1]):
        at += 1
    return at


def wait_of(path: Sequence[str]) -> str | None:
    """The kind of the outermost lock that a stack, the nearest first, waits for."""
    at = waits_at(path)
    return None if at is None else kind_of(path[at]) or _released_by(path[at])


def wait_below(function: str, callers: Sequence[str]) -> str | None:
    """The kind of lock for which that function waits, as its callers, the nearest first, tell the lock; None
    where it is no wait for one, whatever its callers do."""
    return wait_of((function, *callers)) if kind_of(function) else None
