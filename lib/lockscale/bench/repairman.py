# SPDX-License-Identifier: MIT
"""The case that every engine runs, and what one run of it gives."""

from dataclasses import dataclass

from lockscale.queueing.laws.machine_repairman import MACHINE_REPAIRMAN


@dataclass(frozen=True)
class Case:
    """N machines and one repairman, all times exponential; every machine works at time 0.

    An engine runs ``warm_up_us`` of simulated time, then counts repairs for ``counted_us``. The
    queue forgets its start within some N service times, far less than the warm-up.
    """

    threads: int
    counted_us: float
    warm_up_us: float = 1000.0
    think_us: float = 10.0
    service_us: float = 1.0

    def exact_rate_per_s(self) -> float:
        """Repairs per second by exact mean value analysis (``queueing.machine_repairman``)."""
        return float(MACHINE_REPAIRMAN([self.threads], Z_us=self.think_us, s_us=self.service_us)[0])


@dataclass(frozen=True)
class Run:
    """One replication: all repairs (warm-up too), the counted repairs per simulated second, wall time.

    ``seconds`` is the wall time of the simulation proper; building the model is not in it.
    """

    repairs: int
    rate_per_s: float
    seconds: float
