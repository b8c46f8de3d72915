# SPDX-License-Identifier: MIT
"""S4, 'ext4: Improve scalability of ext4 orphan file handling': its two tables and models of them.

Printed decimals are checked as decimals, so that no binary rounding decides a last digit.
"""

from collections.abc import Callable, Mapping
from decimal import ROUND_HALF_UP, Decimal
from functools import cache

import numpy as np
from scipy.optimize import brentq

from lockscale.fitting.column import Column, published_columns
from lockscale.fitting.simulated_model import Simulated, SimulatedColumn
from lockscale.fitting.simulated_model import Values as Free
from lockscale.sim import Result
from lockscale.studies.hooks import SweptArm, SweptPath, Values, most_published, of_fit
from lockscale.tables.claim import AuditRow, Gap, row, tally, undecided, unstated
from lockscale.tables.datapackage import printed_points, published
from lockscale.tables.percentages import change, how_printed

STRESS, CREAT_CLO = "s4_stress_orphan", "s4_creat_clo"
_CENT = Decimal("0.01")  # last digit of creat_clo's throughputs
_OPS_PER_CLIENT = 3000  # inferred: with it every creat_clo time is a whole number of milliseconds
_SMALL_PCT = 10  # surely "almost completely"; the message gives no number
OF_BOTH = ("elsewhere_us", "others_us", "journal_us")
ALONE_US = 10.0  # any: the amount of work is unpublished, so only ratios count
NO_ORPHANS = {"journal_pass_ns": 0, "moved_ns": 0, "list_ns": 0, "list_moved_ns": 0, "line_ns": 0}
OF_AN_ORPHAN = ("access_ns", "block_ns")
GIVEN_LOCKED, GIVEN_LOCKLESS = (f"orphan-{name} given orphan-off" for name in ("locked", "lockless"))


def _decimals(table: str) -> dict[tuple[str, int], Decimal]:
    return {point: Decimal(text) for point, text in printed_points(table, "mean_of_5").items()}


def times_average_five() -> AuditRow:
    """'average of 5 runs': five times an average of whole milliseconds is whole milliseconds."""
    passed = {f"{arm} at {n}": 5 * 1000 * time_s % 1 == 0 for (arm, n), time_s in _decimals(STRESS).items()}
    claim = "every time is the average of 5 runs, each timed in whole ms"
    return tally(STRESS, claim, passed, "times", "the average of 5 such times can be printed like this")


def orphans_are_out_of_the_picture() -> AuditRow:
    """'addition / deletion of orphaned inodes got almost completely out of picture'."""
    times_s = _decimals(STRESS)
    passed, removed = {}, {}
    for processes in [n for arm, n in times_s if arm == "orphan-off"]:
        locked, lockless, off = (times_s[f"orphan-{arm}", processes] for arm in ("locked", "lockless", "off"))
        left_pct = 100 * (lockless / off - 1)
        passed[f"at {processes} (+{left_pct:.1f}%)"] = left_pct < _SMALL_PCT
        removed[processes] = f"{100 * (locked - lockless) / (locked - off):.0f}% at {processes}"
    few, many = removed[min(removed)], removed[max(removed)]
    claim = f"lockless takes under {_SMALL_PCT}% more time than no orphans at all"
    note = f"of the time that the lock adds over no orphans at all, lockless removes {few}, {many}"
    line = tally(STRESS, claim, passed, "counts", note)
    limit = f"how much is 'almost completely out of picture' (here {_SMALL_PCT}%)"
    return line if all(passed.values()) else undecided(line, limit)


def changes() -> list[AuditRow]:
    """Each percentage is its throughput over vanilla's at the same clients."""
    rates = printed_points(CREAT_CLO, "mean_of_5")
    found = [
        change(f"{arm} at {n}", text, rates["orphan-mutex", n], rates[arm, n])
        for (arm, n), text in printed_points(CREAT_CLO, "vs_vanilla").items()
    ]
    return how_printed(CREAT_CLO, found)


def gains_everywhere() -> AuditRow:
    """'there are also noticeable gains'."""
    texts = printed_points(CREAT_CLO, "vs_vanilla").items()
    passed = {
        f"at {n} ({text})": Decimal(text.strip("%")) > 0 for (arm, n), text in texts if arm != "orphan-mutex"
    }
    line = tally(CREAT_CLO, "patched gains at every number of clients", passed, "counts")
    return line if all(passed.values()) else undecided(line, "where there are 'noticeable gains'")


def times_are_whole_ms() -> AuditRow:
    """Throughput = 3000 N / T: what reaim timed, seen through what it printed."""
    passed, exact, coarsest = {}, 0, Decimal(0)
    for (arm, clients), rate in _decimals(CREAT_CLO).items():
        ops = _OPS_PER_CLIENT * clients
        time_ms = (1000 * ops / rate).quantize(Decimal(1))
        off = abs((1000 * ops / time_ms).quantize(_CENT, ROUND_HALF_UP) - rate)
        passed[f"{arm} at {clients}"] = off <= _CENT
        exact += off == 0
        coarsest = max(coarsest, 100 / time_ms)
    claim = f"every throughput is {_OPS_PER_CLIENT} N / T with T whole ms, to 0.01 ops/s"
    note = (
        f"our check; {exact} to the last digit; 1 ms is up to {coarsest:.2f}% of a throughput; "
        f"{2 * _OPS_PER_CLIENT} N / T with T the mean of five times in ticks of 10 ms gives the same numbers"
    )
    return tally(CREAT_CLO, claim, passed, "rates", note)


def stars_are_significant() -> list[AuditRow]:
    """A star needs the spread of the five runs; the size of a change does not decide it."""
    frame = published(CREAT_CLO)
    if "single" in set(frame["statistic"]):
        return []
    patched = frame[(frame["statistic"] == "vs_vanilla") & (frame["arm"] != "orphan-mutex")]
    starred = patched["starred"].astype(bool)
    least, most = patched.loc[starred, "value"].abs().min(), patched.loc[~starred, "value"].abs().max()
    note = f"the smallest change with a star is {least:.2f}%, the largest without {most:.2f}%"
    line = row(
        CREAT_CLO, "the starred changes are significant", float(starred.sum()), None, "stars", "unknown", note
    )
    return [undecided(line, "the five runs behind each average, or the test")]


def audit_stress() -> list[AuditRow]:
    return [
        times_average_five(),
        orphans_are_out_of_the_picture(),
        *unstated(
            STRESS,
            Gap("the amount of work behind a time", "files, their size or truncates", "metric", "operations"),
            Gap(
                "differences exceed the noise of the runs",
                "the spread of the five runs",
                "statistic",
                "single",
            ),
            Gap("the lock of the orphan file is high in profiles", "any profile", "function"),
        ),
    ]


def audit_creat_clo() -> list[AuditRow]:
    checks = [*changes(), times_are_whole_ms(), gains_everywhere(), *stars_are_significant()]
    return [*checks, *unstated(CREAT_CLO)]


CLAIMS: dict[str, Callable[[], list[AuditRow]]] = {STRESS: audit_stress, CREAT_CLO: audit_creat_clo}


def clients(threads: int, free: Free) -> Free:
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


CLO_FITTED = Simulated(
    CREAT_CLO,
    "creat_clo",
    {
        "elsewhere_us": (25, 100),
        "others_us": (10, 150),
        "journal_us": (8, 30),
        "hold_ns": (2000, 25000),
        "per_waiter_ns": (400, 2500),
    },
    {
        "orphan-mutex throughput": SimulatedColumn({}, (*OF_BOTH, "hold_ns", "per_waiter_ns"), clients),
        "orphan-lockless throughput": SimulatedColumn({"patched": True}, OF_BOTH, clients),
    },
    {"journal_pass_us": 0, "moved_ns": 0, "access_ns": 0},
)


@cache
def journal_of_off_ns() -> dict[int, float]:
    """S4's stress-orphan: what makes the simulated `off` arm the published one, at each number of threads.

    A single thread is uncontended: its time is all elsewhere. The reference column is given, as in the paired
    laws, and none of these numbers is adjusted to the other columns.
    """
    off = _off_column()
    rates = dict(zip(off.threads.astype(int).tolist(), off.rates_per_s.tolist(), strict=True))
    return {n: _journal_ns(n, rate / rates[1]) if n > 1 else 0.0 for n, rate in rates.items()}


def _off_column() -> Column:
    return next(one for one in published_columns(STRESS) if one.name == "orphan-off threads / time")


def _journal_ns(threads: int, speed_up: float) -> float:
    """By bisection, for so many times the rate of one thread."""
    from lockscale.sim import simulate  # imports the compiler, which what else is said of S4 does without

    def excess(log_ns: float) -> float:
        given = {**NO_ORPHANS, "off": True, "elsewhere_us": ALONE_US, "access_ns": 0, "hold_ns": 0}
        given["journal_ns"] = float(np.exp(log_ns))
        run = simulate("orphan_file", threads, given, seed=1, replications=4, operations=2000)
        return float(np.log(run.rate_per_s * ALONE_US / 1e6 / speed_up))

    low, high = np.log(1e3 * ALONE_US * np.array([1e-3, 1.0]))
    return float(np.exp(brentq(excess, low, high, xtol=2e-3)))


def truncates(threads: int, free: Free) -> Free:
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
    off = _off_column()
    return float(run.rate_per_s * ALONE_US / 1e6 * off.rates_per_s[off.threads == 1][0])


STRESS_FITTED = Simulated(
    STRESS,
    "orphan_file",
    {
        "access_ns": (50, 2000),
        "block_ns": (10, 1000),
        "near_ns": (50, 4000),
        "far_ns": (300, 10000),
        "domain_threads": (1.5, 16),
    },
    {
        GIVEN_LOCKED: SimulatedColumn(
            {"locked": True},
            (*OF_AN_ORPHAN, "near_ns", "far_ns", "domain_threads"),
            truncates,
            _in_unit_of_one,
        ),
        GIVEN_LOCKLESS: SimulatedColumn({"hold_ns": 0}, OF_AN_ORPHAN, truncates, _in_unit_of_one),
    },
    NO_ORPHANS,
)


def _off(threads: int, best: Values, drawn: Values) -> Mapping[str, object]:
    nothing = dict.fromkeys(OF_AN_ORPHAN, 0.0)
    at = min(threads, most_published(STRESS_FITTED, GIVEN_LOCKLESS))
    return {**STRESS_FITTED.held, "hold_ns": 0, "off": True, **truncates(at, nothing)}


TRUNCATE = SweptPath(
    "truncate",
    "orphan_file",
    STRESS,
    "times orphan-off at 1 thread",
    {
        "orphan-locked": SweptArm(of_fit(STRESS_FITTED, GIVEN_LOCKED)),
        "orphan-lockless": SweptArm(of_fit(STRESS_FITTED, GIVEN_LOCKLESS)),
        "orphan-off": SweptArm(_off),
    },
    unit_per_s=1e6 / ALONE_US,
)
CREATE_AND_CLOSE = SweptPath(
    "create and close",
    "creat_clo",
    CREAT_CLO,
    "ops/s",
    {
        f"orphan-{name}": SweptArm(of_fit(CLO_FITTED, f"orphan-{name} throughput"))
        for name in ("mutex", "lockless")
    },
)
