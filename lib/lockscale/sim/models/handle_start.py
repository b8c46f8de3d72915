# SPDX-License-Identifier: MIT
"""jbd2's handles: start_this_handle() and stop_this_handle(), line by line (fs/jbd2/transaction.c, 6.12).

A handle does seven atomic operations on two lines that all CPUs write: read_lock() and read_unlock() of
j_state_lock, then t_outstanding_credits, t_updates and t_handle_count as it starts, which share a line, and
two of these again as it stops. And jbd2_journal_stop() looks at t_expires, which lies on that line.
"""

from collections.abc import Sequence
from typing import Annotated

from lockscale.errors import BadInput
from lockscale.sim.builder import Builder
from lockscale.sim.delays import exponential, ns, us
from lockscale.sim.model import Note, model
from lockscale.sim.path import Path
from lockscale.sim.primitives import Line

TABLE = "calibrated: S3, linear, "
ELSEWHERE = Note("mean of an operation before its handles", TABLE + "1 container, less the rest")
WITHIN = Note("mean between the start of a handle and its stop", "assumed: half a microsecond")
LINE = Note("the line from another CPU; effective", TABLE + "64 containers")
HANDLES = Note("handles per operation", "1: a fallocate; a truncate of a sparse file has 3")
BATCH = 128  # percpu_counter_batch of 64 CPUs: so many hits until one takes the counter's lock
OWN = ns(5)  # assumed: a locked operation on the CPU's own line


@model(
    unit="operations/s",
    calibration="calibrated: 2 free parameters (elsewhere_us, line_ns) from S3's linear at 1 and 64 "
    "containers; no figure of a kernel with another jbd2 is used",
)
def handle_start(
    m: Builder,
    *,
    elsewhere_us: Annotated[float, ELSEWHERE] = 2.95,
    within_us: Annotated[float, WITHIN] = 0.5,
    line_ns: Annotated[float, LINE] = 112.0,
    operation_handles: Annotated[int, HANDLES] = 1,
    layout: Annotated[bool, Note("t_expires off the counters' line", "ours")] = False,
    handle_count: Annotated[bool, Note("t_handle_count per CPU", "ours")] = False,
    percpu_updates: Annotated[bool, Note("updates per CPU, no j_state_lock", "ours")] = False,
    local_hits: Annotated[bool, Note("es_stats_cache_hits per CPU", "ours")] = False,
    one_visit: Annotated[bool, Note("what lies side by side is done in one visit", "assumed: no")] = False,
) -> None:
    """All handles join one transaction: two lines for all CPUs, one of them also read as a handle stops.

    A line serves those who want it one after the other, and a look at it is a visit as well. Where many
    wait, each operation on it is one more visit; or, with one_visit, those that follow one another are one.
    Not modelled: commits, waits for space in the log, other locks of an operation, NUMA.
    """
    if not 1 <= operation_handles <= 16:
        raise BadInput(f"operation_handles is {operation_handles}: give 1 to 16 handles per operation")
    state = m.cache_line("j_state_lock", own=OWN, socket=ns(line_ns))
    counters = m.cache_line("counters of the transaction", own=OWN, socket=ns(line_ns))
    hits = m.cache_line("es_stats_cache_hits", own=OWN, socket=ns(line_ns))

    p = m.path("operation")
    p.spend(exponential(us(elsewhere_us)), "the rest of the operation")
    for _ in range(operation_handles):
        if not percpu_updates:
            p.atomic(state)  # read_lock()
        started = ["t_outstanding_credits"] + ["t_updates"] * (not percpu_updates)
        visit(p, counters, [*started, *["t_handle_count"] * (not handle_count)], one_visit)
        if not percpu_updates:
            p.atomic(state)  # read_unlock()
        p.spend(exponential(us(within_us)), "what the handle is for")
        if not layout:
            p.atomic(counters)  # a look at t_expires, in jbd2_journal_stop()
        visit(p, counters, started, one_visit)
    if not local_hits:
        with p.sometimes(1 / BATCH):  # ext4_es_lookup_extent()
            p.atomic(hits)


def visit(p: Path, counters: Line, fields: Sequence[str], one_visit: bool) -> None:
    """An atomic operation for each of the fields, or one for all."""
    for _ in fields[:1] if one_visit else fields:
        p.atomic(counters)
