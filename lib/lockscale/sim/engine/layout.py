# SPDX-License-Identifier: MIT
"""The records that a compiled model and the engine share, and the codes in them but for those of ops.

All whole numbers are int64; times end in ``_ps``. A record holds a primitive's costs, its state and
what is counted of it, in this order; a sharded primitive has one record a shard.
"""

import numpy as np

# kinds of delay
FIXED, EXPONENTIAL, GAMMA, UNIFORM, EMPIRICAL = range(5)

# in which order waiters get a lock
FIFO, RANDOM_ORDER, NEAREST = range(3)
# whom a newcomer may overtake: nobody, a sleeper that was woken, a spinner that saw it free too, one that
# has no CPU
IN_TURN, SLEEPERS_OVERTAKEN, ALL_OVERTAKEN, PREEMPTED_OVERTAKEN = range(4)

# to whom a lock is promised that hands off: nobody, its first sleeper, or who was that and spins now
NO_PROMISE, TO_SLEEPER, TO_SPINNER = range(3)

# what a thread does; the columns of time in state
RUNNING, HOLDING, SPINNING, SLEEPING, READY = range(5)
STATES = ("running", "holding", "spinning", "sleeping", "ready")

NEVER = 2**63 - 1
NOBODY = -1
ANYWHERE = -1
"""A cache line that no CPU has written yet."""

# how a run ends
FINISHED, DEADLOCK, LOCKS_CROSS, TOO_LATE, NO_TIME_PASSES, NO_PROGRESS, NOT_OWNER = range(7)
STANDSTILL = 10_000_000
"""Transitions at one instant after which no time is going to pass."""
FRUITLESS = 50_000_000
"""Transitions without an operation done after which none is going to be."""

# histograms: four buckets an octave, by the exponent and two bits of the float's fraction
BUCKETS = 256
WAITS, HOLDS = 0, 1


def _record(*names: str, **others: str) -> np.dtype[np.void]:
    """Padded to a power of two, because the engine multiplies by the size to find each record."""
    formats = [others.get(name, "i8") for name in names]
    used = np.dtype({"names": list(names), "formats": formats}).itemsize
    size = 1 << (used - 1).bit_length()
    return np.dtype({"names": list(names), "formats": formats, "itemsize": size})


OP = _record(
    *("code", "operand", "place", "target", "argument", "register"),
    *("kind", "mean_ps", "shape", "first", "count", "visits"),
    shape="f8",
)
"""One step. ``operand + place's value`` is the primitive's record; ``kind`` to ``count``: its delay."""

LOCK_RECORD = _record(
    *("order", "barging", "handoff", "patience_ps", "shared"),
    *("hold_kind", "hold_ps", "hold_shape", "hold_first", "hold_count"),
    *("handover_kind", "handover_ps", "per_waiter_ps", "remote_ps", "spin_ps", "wake_ps", "wake_cost_ps"),
    *("owner", "readers", "taken_ps", "socket", "promised", "called", "waiting"),
    *("spin_first", "spinners", "sleep_first", "sleepers"),
    *("owner_runs", "most_near", "near"),
    *("requests", "failed_tries", "acquisitions", "handovers", "remote_handovers", "wakes"),
    *("wait_ps", "hold_area_ps", "wait_area_ps", "waiting_before", "waiting_after"),
    "histogram",
    hold_shape="f8",
)
"""``patience_ps``: how long the first sleeper lets others overtake it. ``shared``: it has readers too.
``spin_ps``: NEVER for a spin lock, 0 where waiters sleep at once. ``promised``: who gets it next.
``called``: the first sleeper is woken and on its way. ``owner_runs``: waiters spin only while its owner is
on a CPU. ``near``: hand-overs within a socket in a row, at most ``most_near``. ``hold_area_ps``: time
integral of its holders, ``wait_area_ps`` of its waiters; ``histogram``: the row of its histograms, which
shards share."""

LINE = _record(
    *("own_ps", "socket_ps", "remote_ps", "free_at_ps", "cpu", "socket", "version"),
    *("requests", "wait_ps", "hold_ps", "from_own", "from_socket", "from_remote", "lost"),
)
"""A cache line. Atomic operations on it follow one another; each costs by where the line is."""

BITMAP = _record("next_zero", "searches", "claims", "lost")
"""A bitmap. A bit is only ever claimed as the first zero, so one counter stands for the set bits."""

SLOTS = _record("per_block", "free", "searches", "scanned", "taken", "lost", "full")
"""A block of slots, beside it one byte a slot."""

GATE = _record(
    *("limit", "interval_ps", "commit_kind", "commit_ps", "commit_shape", "commit_first", "commit_count"),
    *("inside", "since_commit", "closing", "open_at_ps", "first", "waiters", "waiting_now"),
    *("requests", "entered", "commits", "wait_ps", "wait_area_ps", "waiting_before", "waiting_after"),
    commit_shape="f8",
)
"""A commit gate: closes after ``limit`` entries, opens again when all have left and the commit is over."""

PLACE = _record("register", "shards", "stride")
"""A thread's own choice among the shards of a primitive."""

THREAD = _record(
    *("key", "counter", "ahead"),
    *("at", "first", "path", "counted", "cpu", "socket"),
    *("state", "state_since_ps", "resume", "due_ps", "left_ps"),
    *("lock", "since_ps", "queued_ps", "nominated", "failed", "reading", "held", "reads", "lost"),
    *("line", "line_from_ps", "line_to_ps", "gate", "in_state_ps"),
    in_state_ps=f"({len(STATES)},)i8",
    key="u8",
    counter="u8",
    ahead="f8",
)
"""``lock``: the lock it waits for, or NOBODY. ``queued_ps``: when it first fell asleep for it. ``left_ps``:
work still to do when it runs again."""

CPU = _record("running", "first", "ready", "slice_end_ps")
"""A CPU that threads share; there are none where each thread has its own."""

PATH = _record(
    *("first", "share", "threads", "counted", "done"),
    *("start_kind", "start_ps", "start_shape", "start_first", "start_count"),
    share="f8",
    start_shape="f8",
)
"""One class of threads: the path it repeats and when it starts."""

EVENT = np.dtype(
    [("time_ps", "i8"), ("thread", "i4"), ("state", "i2"), ("held", "i2"), ("op", "i4"), ("operand", "i4")]
)
"""One entry of the trace: from now on the thread is in this state at this op, and holds so many locks."""
