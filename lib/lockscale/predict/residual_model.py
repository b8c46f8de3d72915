# SPDX-License-Identifier: MIT
"""The patched kernel of which only its next queue is known. Apart, because a model imports the compiler."""

from typing import Annotated

from lockscale.sim.builder import Builder
from lockscale.sim.delays import exponential, us
from lockscale.sim.model import Note, model


@model(unit="operations/s")
def residual_bottleneck(
    m: Builder,
    *,
    elsewhere_us: Annotated[float, Note("the rest of an operation", "base at one thread")] = 80.0,
    alone_us: Annotated[float, Note("hold when nobody waits", "given")] = 10.0,
    handover_us: Annotated[float, Note("more of it when somebody waits", "given")] = 10.0,
) -> None:
    """One queued lock and work elsewhere."""
    bottleneck = m.queued_lock("residual bottleneck", hold=us(alone_us), handover=us(handover_us))
    p = m.path("operation")
    p.spend(exponential(us(elsewhere_us)), "the rest")
    p.lock(bottleneck)
    p.unlock(bottleneck)
