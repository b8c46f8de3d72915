# SPDX-License-Identifier: MIT
"""Which model of the simulator explains which published table, and which of its parameters are fitted.

Every constant of a model that is not fitted here is held at 0, so that no assumed number has a part in a
fit; what remains in the model files are 5 ns for a line that is at hand and 20 ns for a few loads and
stores under a lock.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np
from scipy.optimize import brentq

from lockscale.fitting.column import Column
from lockscale.fitting.published_table import published_columns
from lockscale.fitting.simulated_arm import Arm, Values
from lockscale.fitting.simulated_model import SimulatedModel
from lockscale.sim import Result, simulate
from lockscale.sim.models import AnyModel

Ranges = Mapping[str, tuple[float, float]]


@dataclass(frozen=True)
class Simulated:
    """`arms` by column of the table, in its order; all fitted parameters are shared by all columns."""

    table: str
    model: AnyModel
    free: Ranges
    arms: Mapping[str, Arm]
    held: Mapping[str, object] = field(default_factory=dict)
    operations: int = 2000
    scales: bool = True
    made: Callable[[], Sequence[Column]] | None = None

    def columns(self) -> list[Column]:
        """The published curves that the arms explain, or those of `made`; what is given is in the arms."""
        found = published_columns(self.table) if self.made is None else self.made()
        return [replace(one, given=None) for one in found if one.name in self.arms]

    def simulated_model(self) -> SimulatedModel:
        return SimulatedModel(
            self.model,
            self.free,
            self.held,
            arms=tuple(self.arms.values()),
            scales=self.scales,
            operations=self.operations,
            scan_starts=16,
        )

    def fixed(self) -> dict[str, float]:
        """Which arm is which column's, as `fit` takes it."""
        return {f"arm[{column}]": k for k, column in enumerate(self.arms)}


OF_ALL = ("elsewhere_us", "others_us", "handle_ns", "apart_pct")
OWN_GOAL = {"trylock": True, "per_inode_goal": True}


def containers(threads: int, free: Values) -> Values:
    """S3: one container meets no other and moves no line; of many, each meets fewer than all the others.

    others_us: lines that others wrote last. skip_us: the linear search passes groups that others hold.
    apart_pct: the share by which every queue is shorter for each container; the same in all three columns
    and in no text, so effective. A truncate frees behind the goal, in another group the further behind the
    more containers share the goal; commits and start skew would do likewise.
    """
    together = 1 - free["apart_pct"] / 100 * threads
    alone = threads == 1
    elsewhere_us = free["elsewhere_us"]
    elsewhere_us += 0 if alone else free["others_us"] + free.get("skip_us", 0)
    queues = [name for name in ("handle_ns", "moved_ns", "search_ns") if name in free]
    used = queues[:1] if alone else queues  # the others' lines are its own
    return {"elsewhere_us": elsewhere_us, **{name: free[name] * together for name in used}}


S3 = Simulated(
    "s3_fallocate2",
    "group_trylock",
    {
        "elsewhere_us": (0.5, 4),
        "others_us": (0.3, 10),
        "skip_us": (0.3, 10),
        "moved_ns": (2000, 12000),
        "handle_ns": (400, 3000),
        "search_ns": (500, 5000),
        "apart_pct": (0.05, 1.2),
    },
    {
        "wait-group fallocate_rate aggregate": Arm({"search_ns": 0}, (*OF_ALL, "moved_ns"), containers),
        "inode-goal-scan0 fallocate_rate aggregate": Arm(OWN_GOAL, (*OF_ALL, "skip_us"), containers),
        "inode-goal-scan1 fallocate_rate aggregate": Arm(
            {**OWN_GOAL, "scan": True}, (*OF_ALL, "search_ns"), containers
        ),
    },
    {"hold_ns": 0, "pass_ns": 0, "serial_ns": 0, "free_us": 0, "try_ns": 0},
)


def clients(threads: int, free: Values) -> Values:
    """S4's creat_clo: a line is another client's with the chance 1 - 1/N, and then it costs.

    others_us: such lines outside the locks. hold_ns: what the orphan list's mutex moves at each of its two
    updates; per_waiter_ns: more of it for each that waits. What one client's own lines cost is part of
    elsewhere_us.
    """
    moved = 1 - 1 / threads
    given = {
        "elsewhere_us": free["elsewhere_us"] + free["others_us"] * moved,
        "journal_us": free["journal_us"],
    }
    if "hold_ns" in free:
        given |= {"hold_ns": free["hold_ns"] * moved, "per_waiter_ns": free["per_waiter_ns"]}
    return given


OF_BOTH = ("elsewhere_us", "others_us", "journal_us")
CREAT_CLO = Simulated(
    "s4_creat_clo",
    "creat_clo",
    {
        "elsewhere_us": (25, 100),
        "others_us": (10, 150),
        "journal_us": (8, 30),
        "hold_ns": (2000, 25000),
        "per_waiter_ns": (400, 2500),
    },
    {
        "orphan-mutex throughput": Arm({}, (*OF_BOTH, "hold_ns", "per_waiter_ns"), clients),
        "orphan-lockless throughput": Arm({"patched": True}, OF_BOTH, clients),
    },
    {"journal_pass_us": 0, "moved_ns": 0, "access_ns": 0},
)


@cache
def journal_of_off_ns() -> dict[int, float]:
    """S4's stress-orphan: what makes the simulated `off` arm the published one, at each number of threads.

    One thread alone meets nobody: its time is all elsewhere. The reference column is given, as in the paired
    laws, and none of these numbers is adjusted to the other columns.
    """
    off = next(one for one in published_columns(ORPHANS) if one.name == "orphan-off threads / time")
    rates = dict(zip(off.threads.astype(int).tolist(), off.rates_per_s.tolist(), strict=True))
    return {n: _journal_ns(n, rate / rates[1]) if n > 1 else 0.0 for n, rate in rates.items()}


def _journal_ns(threads: int, speed_up: float) -> float:
    """By bisection, for so many times the rate of one thread."""

    def excess(log_ns: float) -> float:
        given = {**NO_ORPHANS, "off": True, "elsewhere_us": ALONE_US, "access_ns": 0, "hold_ns": 0}
        given["journal_ns"] = float(np.exp(log_ns))
        run = simulate("orphan_file", threads, given, seed=1, replications=4, operations=2000)
        return float(np.log(run.rate_per_s * ALONE_US / 1e6 / speed_up))

    low, high = np.log(1e3 * ALONE_US * np.array([1e-3, 1.0]))
    return float(np.exp(brentq(excess, low, high, xtol=2e-3)))


def truncates(threads: int, free: Values) -> Values:
    """S4's stress-orphan given `off`: what an orphan adds to a truncate whose rest is known.

    access_ns: what all do at once. block_ns: its part in each of the two turns of the journal. near_ns: one
    section under of_lock whose lines another CPU wrote last (chance 1 - 1/N); far_ns: more of it if that CPU
    is of another domain, of domain_threads threads each, as in the law paired_remote.
    """
    alone = threads == 1
    given = {"elsewhere_us": ALONE_US, "access_ns": free["access_ns"]}
    given["journal_ns"] = 0 if alone else journal_of_off_ns()[threads] + free["block_ns"]
    if "near_ns" in free:
        domain = free["domain_threads"]
        far = 1 - (domain - 1) / (threads - 1) if threads > domain else 0
        given["hold_ns"] = free["near_ns"] * (1 - 1 / threads) + free["far_ns"] * far
    return given


def _in_unit_of_one(run: Result) -> float:
    """Rate in units of one thread's work, when one thread alone takes what it does in the table."""
    off = next(one for one in published_columns(ORPHANS) if one.name == "orphan-off threads / time")
    return float(run.rate_per_s * ALONE_US / 1e6 * off.rates_per_s[off.threads == 1][0])


ORPHANS = "s4_stress_orphan"
ALONE_US = 10.0  # any: the amount of work is unpublished, so only ratios count
NO_ORPHANS = {"journal_pass_ns": 0, "moved_ns": 0, "list_ns": 0, "list_moved_ns": 0, "line_ns": 0}
OF_AN_ORPHAN = ("access_ns", "block_ns")
STRESS_ORPHAN = Simulated(
    ORPHANS,
    "orphan_file",
    {
        "access_ns": (50, 2000),
        "block_ns": (10, 1000),
        "near_ns": (50, 4000),
        "far_ns": (300, 10000),
        "domain_threads": (1.5, 16),
    },
    {
        "orphan-locked given orphan-off": Arm(
            {"locked": True},
            (*OF_AN_ORPHAN, "near_ns", "far_ns", "domain_threads"),
            truncates,
            _in_unit_of_one,
        ),
        "orphan-lockless given orphan-off": Arm({"hold_ns": 0}, OF_AN_ORPHAN, truncates, _in_unit_of_one),
    },
    NO_ORPHANS,
)
