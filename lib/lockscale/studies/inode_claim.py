# SPDX-License-Identifier: MIT
"""S1, inode-claim: what its unpatched profile and unpatched rates say of a create that loses no claim."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import pandas as pd

from lockscale import paths
from lockscale.errors import BadInput
from lockscale.measure.compare_arms import calls_per_operation, function_costs
from lockscale.measure.rows import origin_of, read_rows
from lockscale.predict import guest_case as guest
from lockscale.predict.answer import (
    Answer,
    Idea,
    Open,
    ParameterEstimate,
    Predicted,
    creates_per_s,
    gains_over,
    idea_by_gain,
    worth_by_interval,
)
from lockscale.predict.guest_case import Chances, GuestCase, SimulatedArm, Told
from lockscale.predict.unpatched_columns import Storm, UnpatchedColumns, mean_interval, read_backwards, waits
from lockscale.queueing.laws.retry_storm import gain_from_attempts, threshold_us
from lockscale.sim import Result
from lockscale.studies.hooks import Scene, StudyParts, simulated_arm, switches_of
from lockscale.studies.inode_claim_costs import (
    ACCESS,
    COST,
    NAME,
    THREADS,
    check,
    lost_claims,
    one_process_constant,
)
from lockscale.studies.inode_claim_tables import CLAIMS, CREATE, FITTED, RATES
from lockscale.study.file import Study, load_study
from lockscale.tables.function_costs import Cost

BEFORE, UPSTREAM, OURS = "steal-retry", "search-locked", "claim-spread"

NAIVE = (
    "it subtracts the time in _raw_spin_lock from ext4_create: too little, because the threads in "
    "jbd2__journal_start wait for handles whose owners spin, and will no longer wait either"
)
_WAITS_FOR = {
    "_raw_spin_lock": "the owner of the group lock, who claims the bit that all of them found",
    "jbd2__journal_start": "handles of threads that spin for the group lock",
}


WHY_SHORT = (
    "In the model every waiting thread spins for the group lock; by the table some eight "
    "of 48 wait in jbd2__journal_start. A model with that wait cannot meet both figures: its attempts could "
    "not exceed the 40 threads that are left, and the table has 43.7 (data/README.md)."
)
CALLS = "calls_without_retry"
GIVEN = {CALLS: "get_write_access calls of a create by one process, on the profile's own kernel"}
_NOT_COMPARED = ("create", "raw_spin_lock", ACCESS)


class Calls(NamedTuple):
    """Calls a create, their 95% interval, and where they were counted."""

    value: float
    low: float
    high: float
    source: str


class _Read(NamedTuple):
    """What was read off the unpatched side; all pairs are (low, high)."""

    costs: dict[str, Cost]
    calls: Calls
    in_loop: tuple[float, float]
    gain: tuple[float, float]
    rate_per_s: tuple[float, float, float]


def whatif(given: Mapping[str, float]) -> Answer:
    """The patched creation rate of S1's machine: an interval, and why."""
    unpatched = UnpatchedColumns(BEFORE)
    read = _read(unpatched, given)
    storms = [read_backwards(THREADS, read.rate_per_s[0], w) for w in read.in_loop]
    predictions = _predictions(read, storms)
    return Answer(
        study=NAME,
        used=[*unpatched.used, read.calls.source],
        parameters=_parameters(read, storms),
        waits=waits(read.costs, "ext4_create", THREADS, _WAITS_FOR),
        predictions=predictions,
        open=_open(given),
        ideas=_ideas(storms, predictions[0], read.rate_per_s[0]),
        naive_reason=NAIVE,
        notes=[
            f"A storm needs more than {_interval(threshold_us(THREADS, s.think_us) for s in storms)} us of "
            f"lock time an attempt; it takes {_interval(s.attempt_us for s in storms)} us."
        ],
        waits_origin="published",
        origin="published",
    )


def _read(unpatched: UnpatchedColumns, given: Mapping[str, float]) -> _Read:
    costs = unpatched.costs(COST)
    found = costs[ACCESS].calls / costs["ext4_create"].calls
    calls = _given_calls(given[CALLS], found) if CALLS in given else calls_without_retry(BEFORE, costs)
    # Of the loop's threads those that lost are surely in it; whether the first attempt counts is open.
    in_loop = (found - calls.high, found - calls.low + 1)
    low, high = (gain_from_attempts(THREADS, w) for w in in_loop)
    rate_per_s = mean_interval(unpatched.repeats(RATES, "create_rate"))
    return _Read(costs, calls, in_loop, (low, high), rate_per_s)


def _parameters(read: _Read, storms: list[Storm]) -> list[ParameterEstimate]:
    rates = f"{RATES}: N - W threads make the creates"
    return [
        ParameterEstimate(CALLS, "get_write_access calls/create", *read.calls[:3], "outside", read.calls[3]),
        ParameterEstimate.between(
            "attempts",
            "attempts/create",
            read.in_loop,
            "identified",
            f"{COST} less these calls, without the first attempt or with it",
        ),
        ParameterEstimate.between(
            "gain",
            "x",
            read.gain,
            "identified",
            "N / (N - attempts) of both ends, and the middle of them; before the scatter of the rates",
        ),
        ParameterEstimate.between("elsewhere_us", "us", [s.think_us for s in storms], "identified", rates),
        ParameterEstimate.between(
            "attempt_us", "us", [s.attempt_us for s in storms], "identified", f"{RATES}: 1 / (X W)"
        ),
    ]


def _predictions(read: _Read, storms: list[Storm]) -> list[Predicted]:
    create, spin = read.costs["ext4_create"], read.costs["_raw_spin_lock"]
    # a ratio: the traced run made half as many creates as the one whose rates were published
    naive = read.rate_per_s[0] * create.avg_us / (create.avg_us - spin.total_us / create.calls)
    low, high = (read.rate_per_s[1] * read.gain[0], read.rate_per_s[2] * read.gain[1])
    value = read.rate_per_s[0] * sum(read.gain) / 2
    # A claim spread over groups waits for no one; the cured lock's queue is all that it can save.
    return [
        creates_per_s(arm, THREADS, value, (low, most), naive, read.rate_per_s[0])
        for arm, most in ((UPSTREAM, high), (OURS, high * _queue_of_cured(storms)))
    ]


def _queue_of_cured(storms: list[Storm]) -> float:
    """How many times as fast creates without retries would be without the group lock's queue, at most."""
    return max(1e6 * THREADS / s.think_us / s.cured_per_s(THREADS)[0] for s in storms)


def _open(given: Mapping[str, float]) -> list[Open]:
    calls = Open(
        CALLS,
        "the profile counts get_write_access without saying which calls are attempts at the bitmap",
        "profile one process on the same kernel, and subtract",
        CALLS,
    )
    behind = Open(
        "the queue behind the group lock",
        "what would limit creates at ten times the rate shows no queue in the unpatched kernel",
        "none on the unpatched kernel: it shows in the patched profile",
    )
    return [behind] if given else [calls, behind]


def _ideas(storms: list[Storm], upstream: Predicted, base_per_s: float) -> list[Idea]:
    more = _queue_of_cured(storms)
    full = sorted(s.lock_is_full_at() for s in storms)
    return [
        idea_by_gain(
            UPSTREAM,
            gains_over(upstream.low, upstream.high, base_per_s),
            THREADS,
            "it removes every retry, and the retries hold nine threads of ten",
        ),
        Idea(
            OURS,
            worth_by_interval(1.0, more),
            f"beside {UPSTREAM}: once no claim is lost the group lock costs {THREADS} threads "
            f"{100 * (more - 1):.1f}% at most, so there is no patch; it is the limit from {full[0]} to "
            f"{full[1]} threads on, or from half as many if the second hold of each create is as long",
        ),
    ]


def _interval(ends: Iterable[float]) -> str:
    low, high = sorted(ends)
    return f"{low:.3f} to {high:.3f}"


def _given_calls(calls: float, found: float) -> Calls:
    if calls >= found:
        raise BadInput(f"{CALLS} is {calls:g}: a create of the profile makes {found:.1f} calls: give fewer")
    return Calls(calls, calls, calls, f"given: {CALLS}={calls:g}")


def calls_without_retry(arm: str, costs: dict[str, Cost]) -> Calls:
    """get_write_access calls of a create that loses no claim: from the run that the study's file names.

    Always from that one, so that no run that is kept later changes a published prediction. One process has
    nobody to lose to. The rows are those of the unpatched arm in data/measured; the count is Linux 6.12's,
    not that of the published kernel, and of smaller directories. How far the two create paths differ is taken
    from the functions that both profiles count: each calls get_write_access once at most, but where it splits
    a directory block, so the calls of a create may differ by as much as theirs do together. costs: the
    published profile.
    """
    path = paths.MEASURED / (one_process_constant(load_study(NAME)).run or "") / "rows.csv"
    if not path.is_file():
        raise BadInput(
            f"{NAME}.yaml: calls_without_retry: its run is not in data/measured: restore it from git"
        )
    rows = read_rows(path)
    calls = calls_per_operation(rows, ACCESS)
    one = calls[(calls.threads == 1) & (calls.arm == arm)]
    if len(one) < 2:
        raise BadInput(f"{path.parent.name} has no two profiles of {arm} with one process: measure them")
    cpus = int(one.cpus.max())
    value, low, high = mean_interval(one.value.tolist())
    other = _differences(function_costs(rows, arm, cpus, 1), costs)
    source = (
        f"data/measured: {len(one)} profiles of one process in {path.parent.name} "
        f"({origin_of(rows)}; +-{high - value:.3f}), and +-{other:.3f} for another kernel and larger "
        "directories, as other functions' calls differ"
    )
    return Calls(value, low - other, high + other, source)


def _differences(measured: pd.DataFrame, costs: dict[str, Cost]) -> float:
    """Calls a create of functions in both profiles: the sum of their differences."""
    here = _per_create({str(f): float(n) for f, n in zip(measured.function, measured["count"], strict=True)})
    there = _per_create({name: float(cost.calls) for name, cost in costs.items()})
    return sum(abs(here[name] - there[name]) for name in here.keys() & there.keys())


def _per_create(counts: dict[str, float]) -> dict[str, float]:
    plain = {name.lstrip("_").removeprefix("ext4_"): count for name, count in counts.items()}
    return {name: n / plain["create"] for name, n in plain.items() if name not in _NOT_COMPARED}


def guests(study: Study) -> GuestCase:
    """The patched arm says how old a bit is when it is claimed; the retries are what is to be told."""
    from lockscale.studies.models.lost_bits import FOUND, lost_bits  # a model's file imports the compiler

    def lost(run: Result) -> Chances:
        return run.lines[FOUND].lost, guest.operations(run)

    create, before = "trace:ext4_allocate_inode", study.unpatched
    return GuestCase(
        first_arm=study.patched.name,
        simulated=SimulatedArm(lost_bits),
        scaled={"elsewhere_us": 58.54},
        count="trace:ext4_lost_inode_bit",
        per=create,
        seen=lost,
        operation=create,
        arms={before.name: simulated_arm(study, before.name)},
        told=(Told(f"extra {study.called_function}", "calls/create", guest.retries, create),),
        limits="The lost bits are counted with lock statistics on, the extra calls with more functions "
        "profiled: both lengthen the time between search and claim, by different amounts.",
    )


def scenes(study: Study) -> tuple[Scene, ...]:
    """The storm, with any kind of lock in place of the group lock."""
    return (
        Scene(
            name=NAME,
            model="any_lock",
            title="S1: one bit of the inode bitmap, claimed by all",
            arms=switches_of(study, BEFORE, UPSTREAM),
            patch=(BEFORE, UPSTREAM),
            lock="group lock",
            table=RATES,
            metric="create_rate",
            statistic="single",
            threads=THREADS,
            counts=(1, 8, 16, 24, 32, 40, 48),
            any_kind=True,
        ),
    )


STUDY = StudyParts(
    name=NAME,
    order=1,
    whatif=whatif,
    given=GIVEN,
    guest_case=guests,
    guest_bounds=lost_claims,
    scenes=scenes,
    claims=CLAIMS,
    simulated=(FITTED,),
    unfitted={COST: lambda study: check(study).rows},
    why_short={COST: WHY_SHORT},
    scale=(CREATE,),
)
