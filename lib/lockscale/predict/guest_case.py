# SPDX-License-Identifier: MIT
"""What a study says of the counts in its guests: which arm is counted, what of it, and what of the others."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from lockscale.measure.count_calls import ArmToCount, sources_of
from lockscale.sim import Result
from lockscale.sim.models import AnyModel
from lockscale.study.file import Study

Chances = tuple[int, int]
"""Events of a simulated run, and how many could have been."""


@dataclass(frozen=True)
class SimulatedArm:
    """An arm in the simulator: a model and what is thrown or held in it."""

    model: AnyModel
    given: Mapping[str, object] = field(default_factory=dict)

    def holding(self, more: Mapping[str, object]) -> "SimulatedArm":
        return replace(self, given={**self.given, **more})


@dataclass(frozen=True)
class Told:
    """A counter of other arms: its name in the rows, its events, and what in the first arm's rows it is per.

    events: where none could have been, as for a lock that the arm has not, none ever is.
    """

    metric: str
    unit: str
    events: Callable[[Result], Chances]
    per: str


@dataclass(frozen=True)
class GuestCase:
    """first_arm: the one that is counted before any other, and says what the others count; it may be the
    patched one. scaled: the times outside the locks, multiplied by the one free factor; all others stay.

    count, per: sources of the fitted ratio in the first arm's rows, `seen` the same two of a simulated
    run. operation: what in the first arm's rows is one operation of the models. arms: those that are
    told. limits: what of them the prediction leaves out. read_off: parameters of the models, of every arm,
    that the first arm's counts for one operation say at a number of processes.
    """

    first_arm: str
    simulated: SimulatedArm
    scaled: Mapping[str, float]
    count: str
    per: str
    seen: Callable[[Result], Chances]
    operation: str
    arms: Mapping[str, SimulatedArm]
    told: tuple[Told, ...]
    limits: str
    read_off: Callable[[Mapping[str, float]], Mapping[str, object]] = field(default=lambda counts: {})

    def counted(self, study: Study) -> ArmToCount:
        """What to count of the first arm."""
        known = sources_of(study)
        kinds = [f"{kind}:{name}" for kind, name in known.locks]
        said = [*(f"trace:{one}" for one in known.trace), *(f"calls:{one}" for one in known.calls), *kinds]
        return ArmToCount(self.first_arm, tuple(dict.fromkeys([*said, self.count])))


def operations(run: Result) -> int:
    """Of all replications."""
    return run.operations * len(run.rates_per_s)


def waits(run: Result, *locks: str) -> Chances:
    """Acquisitions that found the lock taken, of all."""
    found = [run.locks[lock] for lock in locks]
    waited = sum(count for one in found for edge_ns, count in one.wait_histogram if edge_ns > 0)
    return waited, sum(one.acquisitions for one in found)


def skips(run: Result, lock: str) -> Chances:
    """Trylocks that failed, of all."""
    failed = run.locks[lock].failed_tries
    return failed, failed + run.locks[lock].acquisitions


def retries(run: Result) -> Chances:
    """Attempts beyond the first, of all operations."""
    made = operations(run)
    return round((run.attempts_per_op - 1) * made), made
