# SPDX-License-Identifier: MIT
"""Small models whose course is known beforehand: each thread comes once, at a time of its own."""

from collections.abc import Callable
from typing import Any

from lockscale.sim.builder import Builder
from lockscale.sim.delays import ns
from lockscale.sim.path import Path
from lockscale.sim.program import Program
from lockscale.sim.replicate import Counts, replicate
from lockscale.sim.trace import Hold, Span, events_of, window

FAR_NS, TO_PS = 1_000_000, 20_000_000
Steps = Callable[[Path, Any], None]


def comings(kind: Callable[[Builder], Any], *who: tuple[int, Steps]) -> Program:
    """Threads 1, 2, ... come once, each at its time in ns, to what `kind` makes. Thread 0 does nothing."""
    m = Builder(1)
    shared = kind(m)
    m.path("idle").spend(ns(FAR_NS))
    for number, (at_ns, steps) in enumerate(who, start=1):
        path = m.path(f"path {number}", threads=1, counted=False, start=ns(at_ns))
        steps(path, shared)
        path.spend(ns(FAR_NS), "gone")
    return m.compile()


def ran(program: Program) -> Counts:
    """One operation of thread 0, the first 20 us of all recorded."""
    traced: dict[str, Any] = {"trace_events": 1000, "trace_ps": (0, TO_PS)}
    return replicate(program, seed=1, replication=0, operations=1, warm_up=0, **traced)


def seen(program: Program) -> tuple[tuple[Span, ...], tuple[Hold, ...]]:
    """What its threads did and held in the first 20 us."""
    return window(program, events_of(ran(program)), 0, TO_PS)


def held(program: Program) -> list[tuple[int, float, float]]:
    """(thread, from ns, to ns) of each hold, in the order in which they began."""
    return [(one.thread, one.start_ps / 1000, one.end_ps / 1000) for one in seen(program)[1]]


def times(program: Program, thread: int, state: str = "") -> list[tuple[str, float, float]]:
    """(step, from ns, to ns) of a thread, but for what it does once it is gone; in one state or in any."""
    spans = [one for one in seen(program)[0] if one.thread == thread and one.step != "gone"]
    return [(s.step, s.start_ps / 1000, s.end_ps / 1000) for s in spans if state in ("", s.state)]


def left(program: Program, thread: int) -> float:
    """When a thread was through with its steps, in ns."""
    return next(s.start_ps / 1000 for s in seen(program)[0] if s.thread == thread and s.step == "gone")
