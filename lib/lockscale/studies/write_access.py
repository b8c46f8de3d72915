# SPDX-License-Identifier: MIT
"""S2, write-access: what the slow get_write_access's profile says of a kernel with a cheap one.

Threads of the slow kernel sleep in lock_buffer(), few meet at the group lock, and what an attempt
costs when many do is not in the profile. What is: the work outside the retry loop, and so the cost
above which a storm begins (4 Z / N^2) and the one above which it is slower than the slow kernel.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from lockscale.fitting.column import Column
from lockscale.fitting.simulated_model import Simulated, SimulatedColumn, Values, figures
from lockscale.predict.answer import (
    Answer,
    Idea,
    Open,
    ParameterEstimate,
    Predicted,
    Waiting,
    creates_per_s,
    gains_over,
    idea_by_gain,
)
from lockscale.predict.unpatched_columns import Storm, UnpatchedColumns, regression_above_us
from lockscale.queueing.laws.retry_storm import threshold_us
from lockscale.sim import Result
from lockscale.studies.hooks import Scene, StudyParts, switches_of
from lockscale.studies.inode_claim_costs import access_calls_a_create, calls_without_retry, lost_claims
from lockscale.studies.write_access_tables import ACCESS, CLAIMS, CREATE, FIVE_RUNS, SURVEY, WITH, WITHOUT
from lockscale.study.file import Study
from lockscale.tables import function_cost, published
from lockscale.tables.function_costs import Cost

NAME = "write-access"
BEFORE, FAST = "slow-retry", "fast-retry"
CURED = ("fast-search", "slow-search")
BACKOFF = "timed-backoff"
THREADS = 48
GIVEN = {"contended_us": "the group lock's time for one attempt when many wait for it"}

CHEAP_ACCESS_NS = 430.0  # get_write_access in the table of the fast arm
LINE_US = 0.1  # assumed: a cache line from another CPU, as T. David et al., SOSP 2013
LINES = 2  # the lock's and the bitmap's
# Functions that call get_write_access and are no part of the retry loop (fs/ext4/inode.c, namei.c,
# super.c): their whole time bounds what they spend in it, although the second calls the first, for the
# directory (add_dirent_to_buf()): that is counted twice, 2.5 us of 58 for a create.
_OTHER_CALLERS = ("ldiskfs_reserve_inode_write", "ldiskfs_dx_add_entry", "ldiskfs_quota_write")

NAIVE = (
    "it subtracts the time in jbd2_journal_get_write_access: even its sign is wrong, because threads that "
    "slept there stayed away from the group lock, where most of them lose and retry"
)


class _Read(NamedTuple):
    """Read off the slow kernel: rates of its pair and its five runs, work outside the loop, attempts."""

    costs: dict[str, Cost]
    rate_per_s: float
    noise: float
    think_us: tuple[float, float]
    attempts: float


def whatif(given: Mapping[str, float]) -> Answer:
    """Sign and threshold of the regression; its size once `contended_us` is given."""
    unpatched = UnpatchedColumns(BEFORE)
    read = _read(unpatched)
    costs_us = _contended_us(read, given)
    limits = [regression_above_us(THREADS, z, read.rate_per_s) for z in read.think_us]
    thresholds = [threshold_us(THREADS, z) for z in read.think_us]
    predictions = _predictions(read, costs_us)
    return Answer(
        study=NAME,
        used=unpatched.used,
        parameters=_parameters(read, costs_us, limits, bool(given)),
        waits=_waits(read),
        predictions=predictions,
        open=_open(given),
        ideas=_ideas(predictions, read.rate_per_s),
        naive_reason=NAIVE,
        notes=[
            f"A cheap get_write_access storms where an attempt costs more than {thresholds[0]:.3f} to "
            f"{thresholds[1]:.3f} us, and is slower than the slow one above {min(limits):.3f} to "
            f"{max(limits):.3f} us."
        ],
        waits_origin="published",
        origin="published",
    )


def _read(unpatched: UnpatchedColumns) -> _Read:
    rate = unpatched.repeats(SURVEY, "create_rate")[0]
    five = unpatched.repeats(FIVE_RUNS, "create_rate")
    noise = (sum(five) / len(five)) / rate  # the same arm twice, perhaps on one machine
    costs = unpatched.costs(WITHOUT)
    creates = costs[CREATE].calls
    access_us = costs[ACCESS].total_us / creates
    others_us = sum(costs[name].total_us for name in _OTHER_CALLERS) / creates
    cycle_us = 1e6 * THREADS / rate
    other_calls = sum(costs[name].calls for name in _OTHER_CALLERS) / creates
    # One more call for the group descriptor: what then is left are attempts, at most, for the table is of
    # the dearest functions only: Lustre's own indices and the split of a directory block call it too.
    attempts = costs[ACCESS].calls / creates - other_calls - 1
    return _Read(costs, rate, noise, (cycle_us - access_us, cycle_us - access_us + others_us), attempts)


def _contended_us(read: _Read, given: Mapping[str, float]) -> tuple[float, float]:
    """From a free lock and its cache-line transfers to one that is never free and taken by read.attempts."""
    if given:
        return given["contended_us"], given["contended_us"]
    least = read.costs["_raw_spin_lock"].avg_us + LINES * LINE_US
    return least, 1e6 / (read.rate_per_s * read.attempts)


def _parameters(
    read: _Read, costs_us: tuple[float, float], limits: list[float], given: bool
) -> list[ParameterEstimate]:
    thresholds = sorted(threshold_us(THREADS, z) for z in read.think_us)

    outside = f"{WITHOUT}: N / X less get_write_access, with and without its callers outside the loop"
    contended = (
        "given" if given else f"a free lock call and {LINES} lines of {LINE_US} us, to a lock never free"
    )
    return [
        ParameterEstimate.between("elsewhere_us", "us", read.think_us, "identified", outside),
        ParameterEstimate.between("storm_above_us", "us", thresholds, "identified", "4 Z / N^2"),
        ParameterEstimate.between(
            "slower_above_us", "us", limits, "identified", "the storm at the slow kernel's rate"
        ),
        ParameterEstimate.between("contended_us", "us", costs_us, "outside" if given else "open", contended),
    ]


def _waits(read: _Read) -> list[Waiting]:
    cycle_us = 1e6 * THREADS / read.rate_per_s
    think_us = sum(read.think_us) / 2
    rows = [
        ("create", "", cycle_us, ""),
        (ACCESS, "create", cycle_us - think_us, "the owner of the bitmap's lock_buffer(), asleep"),
        ("the rest", "create", think_us, ""),
    ]
    return [Waiting(place, within, THREADS * us / cycle_us, us, whom) for place, within, us, whom in rows]


def _predictions(read: _Read, costs_us: tuple[float, float]) -> list[Predicted]:
    naive = 2e6 * THREADS / sum(read.think_us)  # as _waits() has it
    storms = [Storm(z, s) for z in read.think_us for s in costs_us]
    found = [one.stormy_per_s(THREADS) for one in storms]
    low, high = min(found) / read.noise, max(found) * read.noise
    best = max(one.cured_per_s(THREADS)[1] for one in storms)
    cured = (read.rate_per_s / read.noise, best * read.noise)
    # A sleep after a lost claim: from the storm without it to no storm at all.
    ends = {FAST: (low, high), **dict.fromkeys(CURED, cured), BACKOFF: (low, cured[1])}
    return [
        creates_per_s(arm, THREADS, _middle(*both), both, naive, read.rate_per_s)
        for arm, both in ends.items()
    ]


def _middle(low: float, high: float) -> float:
    return float((low * high) ** 0.5)


def _open(given: Mapping[str, float]) -> list[Open]:
    contended = Open(
        "contended_us",
        "few threads meet at the group lock of the slow kernel: what an attempt costs among many is not seen",
        "time one attempt (lock, test-and-set, unlock) with all threads on one group, in a loop of its own",
        "contended_us",
    )
    others = [
        Open(
            "the sleep of timed-backoff",
            "its patch, posted in 2017, is not available here",
            "no measurement: choose it, and simulate",
        ),
        Open(
            "the queue behind the group lock",
            "what would limit creates without retries shows no queue in the unpatched kernel",
            "none on the unpatched kernel: it shows in the patched profile",
        ),
    ]
    return others if given else [contended, *others]


def _ideas(predictions: list[Predicted], base_per_s: float) -> list[Idea]:
    arguments = {
        FAST: "alone it can bring the storm: write it only with the search under the lock",
        "fast-search": "no retries and no sleep; what creates then wait for is not in the profile",
        "slow-search": "no retries; what lock_buffer() then costs a create is one pass of it",
        BACKOFF: "between a storm and none, by the length of a sleep that is not known here",
    }
    return [
        idea_by_gain(p.arm, gains_over(p.low, p.high, base_per_s), THREADS, arguments[p.arm])
        for p in predictions
    ]


def published_figures() -> list[Column]:
    """Rate, get_write_access calls a create, and the mean time of create_inode, of both arms."""
    rates = published(SURVEY).query("statistic == 'overall'").set_index("arm").value
    found = []
    for arm, table in ((BEFORE, WITHOUT), (FAST, WITH)):
        cost = function_cost(table).set_index("function")
        creates = cost["count"][CREATE]
        calls = cost["count"][ACCESS] / creates
        found += [
            figures(SURVEY, f"{arm} create_rate", THREADS, [rates[arm]], "ops/s"),
            figures(table, f"{arm} {ACCESS}", THREADS, [calls], "calls/create"),
            figures(table, f"{arm} {CREATE}", THREADS, [cost.avg_us[CREATE]], "us/call"),
        ]
    return found


def _create_inode_us(run: Result) -> float:
    """A closed loop: what of a create's time is not elsewhere."""
    return 1e6 * run.threads / run.rate_per_s - float(run.parameters["elsewhere_us"])


def access_calls_of(run: Result) -> float:
    """get_write_access calls a create of a simulated run."""
    return access_calls_a_create(run, calls_without_retry())


def _fast(threads: int, free: Values) -> Values:
    return {**free, "access_ns": CHEAP_ACCESS_NS}


def _arms() -> dict[str, SimulatedColumn]:
    slow = SimulatedColumn({}, ("elsewhere_us", "hold_ns", "buffer_hold_us", "buffer_wake_us"))
    fast = SimulatedColumn({"fast_access": True}, ("elsewhere_us", "hold_ns"), _fast)
    found = {}
    for name, arm in ((BEFORE, slow), (FAST, fast)):
        calls = replace(arm, figure=access_calls_of, power=0)
        inside = replace(arm, figure=_create_inode_us, power=1)
        found[f"{name} create_rate"] = arm
        found[f"{name} {ACCESS}"] = calls
        found[f"{name} {CREATE}"] = inside
    return found


FITTED = Simulated(
    SURVEY,
    "write_access",
    {
        "elsewhere_us": (50, 150),
        "hold_ns": (300, 1200),
        "buffer_hold_us": (0.4, 4),
        "buffer_wake_us": (0.03, 0.6),
    },
    _arms(),
    operations=1000,
    made=published_figures,
)


def scenes(study: Study) -> tuple[Scene, ...]:
    """The paradox: what the cheaper access gives is lost in retries."""
    return (
        Scene(
            name=NAME,
            model="write_access",
            title="S2: cheaper journal access, slower creates",
            arms=switches_of(study, BEFORE, FAST, "slow-search", "fast-search"),
            patch=(BEFORE, FAST),
            lock="group lock",
            table=SURVEY,
            metric="create_rate",
            statistic="overall",
            threads=THREADS,
            counts=(1, 8, 16, 24, 32, 40, 48),
        ),
    )


STUDY = StudyParts(
    name=NAME,
    order=2,
    whatif=whatif,
    given=GIVEN,
    guest_bounds=lost_claims,
    scenes=scenes,
    claims=CLAIMS,
    simulated=(FITTED,),
)
