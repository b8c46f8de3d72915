# SPDX-License-Identifier: MIT
"""A kernel path for the simulator with a lock that a profile names and one that it may not."""

from typing import Annotated

from lockscale.sim.builder import Builder
from lockscale.sim.delays import exponential, us
from lockscale.sim.model import Note, model


@model(unit="operations/s")
def two_locks(
    m: Builder,
    *,
    outside_us: Annotated[float, Note("work outside of the locks", "drawn by a test")] = 10.0,
    hold_us: Annotated[float, Note("how long the lock is held", "drawn by a test")] = 1.0,
    second_us: Annotated[float, Note("how long the second is held; 0: none", "drawn by a test")] = 0.0,
) -> None:
    """Work, then the lock, then the second one."""
    first = m.queued_lock("lock", hold=exponential(us(hold_us)))
    path = m.path("operation")
    path.spend(exponential(us(outside_us)), "outside")
    path.lock(first)
    path.unlock(first)
    if second_us:
        second = m.queued_lock("second", hold=exponential(us(second_us)))
        path.lock(second)
        path.unlock(second)
