# SPDX-License-Identifier: MIT
"""A simulated trace for ui.perfetto.dev and chrome://tracing.

Source: Chrome's Trace Event Format. Times are whole nanoseconds, since Perfetto rounds to them, start
and duration each for itself, and drops slices that then overlap.
"""

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

from lockscale.sim.delays import PS_PER_NS, PS_PER_US
from lockscale.sim.trace import Hold, Trace

# Numbers that no thread has: Perfetto takes one that is a process's for its main thread.
THREADS, LOCKS = 1_000_000, 2_000_000
FIRST_LOCK = 100_000


def perfetto(trace: Trace) -> dict[str, Any]:
    """The trace as a JSON object: a track for each thread, and one for each lock that was held.

    Locks that readers share have as many tracks as there are readers at a time.
    """
    tracks = lock_tracks(trace.holds)
    events = sorted([*_threads(trace), *_locks(tracks)], key=lambda event: float(event["ts"]))
    return {
        "displayTimeUnit": "ns",
        "otherData": {
            "origin": "simulated",
            "model": trace.model,
            "calibration": trace.calibration or "not calibrated",
            "parameters": dict(trace.parameters),
            "threads": trace.threads,
            "seed": trace.seed,
            "from_us": trace.from_ps / PS_PER_US,
            "to_us": trace.to_ps / PS_PER_US,
            "cut": trace.cut,
        },
        "traceEvents": [*_names(trace, [track[0].lock for track in tracks]), *events],
    }


def lock_tracks(holds: Iterable[Hold]) -> list[list[Hold]]:
    """The holds, given by lock, then time, of each lock on as many tracks as keep them apart."""
    found: list[list[Hold]] = []
    for _, of_lock in itertools.groupby(holds, key=lambda hold: hold.lock):
        tracks: list[list[Hold]] = []
        for hold in of_lock:
            free = next((track for track in tracks if track[-1].end_ps <= hold.start_ps), None)
            if free is None:
                tracks.append([hold])
            else:
                free.append(hold)
        found += tracks
    return found


def _threads(trace: Trace) -> Iterator[dict[str, Any]]:
    for s in trace.spans:
        args = {"step": s.step, "primitive": s.primitive, "holds": s.holds}
        told = {name: value for name, value in args.items() if value}
        yield _slice(f"{s.state}: {s.step}", s.state, THREADS, s.thread + 1, s.start_ps, s.end_ps, told)


def _locks(tracks: list[list[Hold]]) -> Iterator[dict[str, Any]]:
    for tid, track in enumerate(tracks, start=FIRST_LOCK):
        for h in track:
            how = "read" if h.read else "held"
            args = {"lock": h.lock, "thread": h.thread}
            yield _slice(f"thread {h.thread}", how, LOCKS, tid, h.start_ps, h.end_ps, args)


def _slice(
    name: str, category: str, pid: int, tid: int, start_ps: int, end_ps: int, args: dict[str, Any]
) -> dict[str, Any]:
    start_ns, end_ns = start_ps // PS_PER_NS, end_ps // PS_PER_NS
    return {
        "name": name,
        "cat": category,
        "ph": "X",
        "ts": start_ns / 1000,
        "dur": (end_ns - start_ns) / 1000,
        "pid": pid,
        "tid": tid,
        "args": args,
    }


def _names(trace: Trace, locks: list[str]) -> Iterator[dict[str, Any]]:
    """What the tracks are called, in the order in which they are to stand."""
    tracks = [(THREADS, thread + 1, f"thread {thread}") for thread in range(trace.threads)]
    tracks += [(LOCKS, FIRST_LOCK + k, name) for k, name in enumerate(locks)]
    for pid, name in ((THREADS, "threads"), (LOCKS, "locks: who holds")):
        yield _name("process_name", pid, 0, name=f"{name} ({trace.model}, simulated)")
    for order, (pid, tid, name) in enumerate(tracks):
        yield _name("thread_name", pid, tid, name=name)
        yield _name("thread_sort_index", pid, tid, sort_index=order)


def _name(what: str, pid: int, tid: int, **args: object) -> dict[str, Any]:
    return {"name": what, "ph": "M", "pid": pid, "tid": tid, "args": args}
