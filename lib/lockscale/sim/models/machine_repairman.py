# SPDX-License-Identifier: MIT
"""The teaching case: N machines break down and queue for one repairman (M/M/1//N)."""

from typing import Annotated

from lockscale.sim.builder import Builder
from lockscale.sim.delays import exponential, us
from lockscale.sim.model import Note, model

TEACHING = "teaching case; theory: closed network, e.g. Lazowska et al. 1984, ch. 6"


@model(unit="repairs/s")
def machine_repairman(
    m: Builder,
    *,
    think_us: Annotated[float, Note("mean time between breakdowns", TEACHING)] = 10.0,
    service_us: Annotated[float, Note("mean repair time", TEACHING)] = 1.0,
) -> None:
    """Exponential think time, then exponential service under one queued lock."""
    repairman = m.queued_lock("repairman", hold=exponential(us(service_us)))

    repair = m.path("repair")
    repair.spend(exponential(us(think_us)), "work until broken")
    repair.lock(repairman)
    repair.unlock(repairman)
