# SPDX-License-Identifier: MIT
"""Of each study: which arm is counted first, what of it is fitted, and which counters are then told."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from lockscale.experiment.counting import sources_of
from lockscale.experiment.observe_base import Base
from lockscale.kernels.arms import arms_file
from lockscale.sim import Result
from lockscale.sim.models import AnyModel
from lockscale.study import Study

Chances = tuple[int, int]
"""Events of a simulated run, and how many could have been."""


@dataclass(frozen=True)
class Simulated:
    """An arm in the simulator: a model and what is thrown or held in it."""

    model: AnyModel
    given: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Told:
    """A counter of other arms: its name in the rows, its events, and what in the base's rows it is per.

    events: where none could have been, as for a lock that the arm has not, none ever is.
    """

    metric: str
    unit: str
    events: Callable[[Result], Chances]
    per: str


@dataclass(frozen=True)
class GuestCase:
    """scaled: the times outside the locks, multiplied by the one free factor; all others stay.

    count, per: sources of the fitted ratio in the base's rows, `seen` the same two of a simulated run.
    operation: what in the base's rows is one operation of the models. arms: those that are told. limits:
    what of them the prediction leaves out.
    """

    base: str
    simulated: Simulated
    scaled: Mapping[str, float]
    count: str
    per: str
    seen: Callable[[Result], Chances]
    operation: str
    arms: Mapping[str, Simulated]
    told: tuple[Told, ...]
    limits: str

    def counted(self, study: str) -> Base:
        """What to count of the base."""
        known = sources_of(arms_file(study))
        kinds = [f"{kind}:{name}" for kind, name in known.locks]
        said = [*(f"trace:{one}" for one in known.trace), *(f"calls:{one}" for one in known.calls), *kinds]
        return Base(self.base, tuple(dict.fromkeys([*said, self.count])))


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


def _group_waits(run: Result) -> Chances:
    return waits(run, "group lock")


def _orphan_waits(run: Result) -> Chances:
    return waits(run, "s_orphan_lock", "of_lock")


def _orphan_waits_of_all(run: Result) -> Chances:
    """As counted: nobody counts how often the lock is taken."""
    return _orphan_waits(run)[0], operations(run)


def _retries(run: Result) -> Chances:
    made = operations(run)
    return round((run.attempts_per_op - 1) * made), made


def _group_trylock(study: Study) -> GuestCase:
    """One model for all arms: with mb_optimize_scan=1 it has none, so those arms are not told."""
    groups = {"block_groups": 128.0}
    switches: dict[str, dict[str, object]] = {
        "trylock": {"trylock": True},
        "inode-goal-scan0": {"inode_goal": True},
        "multi-goal": {"multi_goal": True},
        "goal-spread": {"goal_spread": True},
    }
    allocation = "trace:ext4_mballoc_alloc"
    return GuestCase(
        base="wait-group",
        simulated=Simulated("group_goals", groups),
        scaled={"elsewhere_us": 2.443, "others_us": 4.35},
        count="trace:ext4_group_lock_wait",
        per="acquisitions:&bgl->locks[i].lock",
        seen=_group_waits,
        operation=allocation,
        arms={name: Simulated("group_goals", {**groups, **thrown}) for name, thrown in switches.items()},
        told=(
            Told("waits for a group lock", "per allocation", _group_waits, allocation),
            Told("skipped groups", "per allocation", lambda run: skips(run, "group lock"), allocation),
        ),
        limits="A truncate is one hold of one group's lock, and takes as many as it has extents; other users "
        "of the locks are left out. No model has the lists of groups, so arms with them are not told.",
    )


def _orphan_file(study: Study) -> GuestCase:
    model, base = "orphan_file", study.arm("before")
    others = {arm.name: Simulated(model, dict(arm.model_parameters)) for arm in study.arms if arm != base}
    return GuestCase(
        base=base.name,
        simulated=Simulated(model, dict(base.model_parameters)),
        scaled={"elsewhere_us": 9.0},
        count="trace:ext4_orphan_lock_wait",
        per="truncates",
        seen=_orphan_waits_of_all,
        operation="truncates",
        arms=others,
        told=(Told("waits for an orphan lock", "per orphan", _orphan_waits, "calls:ext4_orphan_add"),),
        limits="How much longer the mutex is held than the spin lock is not counted: it is the model's.",
    )


def _inode_claim(study: Study) -> GuestCase:
    """The cured arm says how old a bit is when it is claimed; the retries are what is to be told."""
    from lockscale.whatif.lost_bits import FOUND, lost_bits  # a model's file imports the compiler

    def lost(run: Result) -> Chances:
        return run.lines[FOUND].lost, operations(run)

    create = "trace:ext4_allocate_inode"
    return GuestCase(
        base=study.arm("upstream").name,
        simulated=Simulated(lost_bits),
        scaled={"elsewhere_us": 58.54},
        count="trace:ext4_lost_inode_bit",
        per=create,
        seen=lost,
        operation=create,
        arms={study.arm("before").name: Simulated("inode_claim")},
        told=(Told(f"extra {study.called_function}", "calls/create", _retries, create),),
        limits="The lost bits are counted with lock statistics on, the extra calls with more functions "
        "profiled: both lengthen the time between search and claim, and not alike.",
    )


CASES: dict[str, Callable[[Study], GuestCase]] = {
    "group-trylock": _group_trylock,
    "orphan-file": _orphan_file,
    "inode-claim": _inode_claim,
}


def case_of(study: Study) -> GuestCase | None:
    """None for a study of which no model says what its arms count."""
    return CASES[study.name](study) if study.name in CASES else None


def base_to_count(study: Study) -> Base | None:
    """The arm that notebook 03 counts before any other is measured, and what of it."""
    case = case_of(study)
    return case.counted(study.name) if case else None
