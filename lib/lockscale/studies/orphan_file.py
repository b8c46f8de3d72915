# SPDX-License-Identifier: MIT
"""S4, orphan-file: what unpatched stress-orphan and creat_clo columns allow without the orphans' lock."""

import re
from collections.abc import Mapping

from lockscale.predict import residual_bottleneck as residual
from lockscale.predict.answer import (
    Answer,
    Idea,
    Open,
    Predicted,
    gains_over,
    sign_of_change,
    worth_by_interval,
)
from lockscale.predict.guest_case import Chances, GuestCase, Told, operations, waits
from lockscale.predict.unpatched_columns import UnpatchedColumns, UnpatchedCurve
from lockscale.sim import Result
from lockscale.studies.hooks import Scene, StudyParts, default_times, simulated_arm, switches_of
from lockscale.studies.orphan_file_tables import (
    CLAIMS,
    CLO_FITTED,
    CREAT_CLO,
    CREATE_AND_CLOSE,
    STRESS,
    STRESS_FITTED,
    TRUNCATE,
)
from lockscale.study.file import Study
from lockscale.tables import describe

NAME = "orphan-file"
LOCKED, MUTEX, LOCKLESS, OFF = "orphan-locked", "orphan-mutex", "orphan-lockless", "orphan-off"
OFF_SHARE = 0.5
"""Assumed at most: of one thread's truncate, handling its orphan."""
GIVEN = {f"{table}_{name}": said for table in ("stress", "clo") for name, said in residual.GIVEN.items()}

NAIVE = (
    "it subtracts all waiting, as if each thread were as fast as one alone. But the waiters then meet at "
    "the journal's handles, which are a queue too"
)


def whatif(given: Mapping[str, float]) -> Answer:
    """Times of stress-orphan and rates of creat_clo; each table closed by its own share."""
    stress, clo = UnpatchedColumns(LOCKED), UnpatchedColumns(MUTEX)
    times, rates = stress.curve(STRESS, "time"), clo.curve(CREAT_CLO, "throughput")
    speeds = UnpatchedCurve(times.threads, [n / t for n, t in zip(times.threads, times.values, strict=True)])
    of_stress, of_clo = _given(given, "stress"), _given(given, "clo")
    predictions = [
        *_stress(LOCKLESS, speeds, of_stress, 0.0),
        *_stress(OFF, speeds, of_stress, OFF_SHARE),
        *_clo(rates, of_clo),
    ]
    return Answer(
        study=NAME,
        used=[*stress.used, *clo.used],
        parameters=[
            *residual.estimates(speeds, of_stress, "stress_"),
            *residual.estimates(rates, of_clo, "clo_"),
        ],
        waits=[
            *residual.waits(speeds, "stress-orphan", ["of_lock"]),
            *residual.waits(rates, "creat_clo", ["s_orphan_lock"]),
        ],
        waits_origin=residual.WHENCE,
        predictions=predictions,
        open=_open(of_stress, of_clo),
        ideas=_ideas(predictions, times, rates),
        naive_reason=NAIVE,
        notes=[
            "stress-orphan's amount of work is not published: its times hold for that amount alone.",
            *residual.notes(given),
        ],
        origin="published",
    )


def _given(given: Mapping[str, float], table: str) -> dict[str, float]:
    return {name.removeprefix(f"{table}_"): v for name, v in given.items() if name.startswith(f"{table}_")}


def _band(
    unpatched: UnpatchedCurve, given: Mapping[str, float], cpus: int | None, less_work: float
) -> residual.Band:
    return (
        residual.behind(unpatched, given) if given else residual.between(unpatched, cpus, less_work=less_work)
    )


def _stress(
    arm: str, speeds: UnpatchedCurve, given: Mapping[str, float], less_work: float
) -> list[Predicted]:
    found = re.search(r"(\d+) CPU", str(describe(STRESS)["machine"]))
    band = _band(speeds, given, int(found[1]) if found else None, less_work)
    alone_s = 1 / residual.alone(speeds)
    rows = []
    for n, unpatched, *ends in zip(speeds.threads, speeds.values, *band, strict=True):
        time_s, high_s, low_s = (n / end for end in ends)
        said = sign_of_change(low_s, high_s, n / unpatched, is_time=True)
        rows.append(Predicted(arm, n, "time", "s", time_s, low_s, high_s, alone_s, said))
    return rows


def _clo(rates: UnpatchedCurve, given: Mapping[str, float]) -> list[Predicted]:
    alone, band = residual.alone(rates), _band(rates, given, None, 0.0)
    rows = []
    for n, unpatched, value, low, high in zip(rates.threads, rates.values, *band, strict=True):
        said = sign_of_change(low, high, unpatched)
        rows.append(Predicted(LOCKLESS, n, "throughput", "ops/s", value, low, high, n * alone, said))
    return rows


def _open(of_stress: Mapping[str, float], of_clo: Mapping[str, float]) -> list[Open]:
    stress = residual.open_share(of_stress, ["of_lock"], "stress_")
    clo = residual.open_share(of_clo, ["s_orphan_lock"], "clo_")
    off = Open(
        "orphan handling of one thread",
        f"orphan-off also saves its work, assumed to be at most {OFF_SHARE:.0%} of a truncate",
        "function cost of ext4_orphan_add and ext4_orphan_del, and of ext4_setattr, with one thread",
    )
    return [*stress, *clo, off]


def _ideas(predictions: list[Predicted], times: UnpatchedCurve, rates: UnpatchedCurve) -> list[Idea]:
    """Over both tables: of a patch that helps in one and may harm in the other it is not known."""
    of_lockless = [p for p in predictions if p.arm == LOCKLESS]
    gains, said = [], []
    for table, metric, unpatched in (("stress-orphan", "time", times), ("creat_clo", "throughput", rates)):
        n, value = unpatched.threads[-1], unpatched.values[-1]
        (last,) = [p for p in of_lockless if (p.metric, p.threads) == (metric, n)]
        gains.append(gains_over(last.low, last.high, value, is_time=metric == "time"))
        least, most = gains[-1]
        said.append(f"{table}: {least:.2f} to {most:.2f} times the unpatched rate at {n}")
    both = worth_by_interval(min(least for least, _ in gains), max(most for _, most in gains))
    return [
        Idea(LOCKLESS, both, "; ".join(said)),
        Idea(OFF, "no", "unsafe whatever the gain: it is the limit to compare the others with"),
    ]


def guests(study: Study) -> GuestCase:
    """The list under its mutex is counted; the arms with the file are told."""
    unpatched = study.unpatched
    arms = {arm: simulated_arm(study, arm) for arm in study.arm_names}
    return GuestCase(
        first_arm=unpatched.name,
        simulated=arms.pop(unpatched.name),
        scaled=default_times(study.model_of(unpatched), "elsewhere_us"),
        count="trace:ext4_orphan_lock_wait",
        per="truncates",
        seen=_waits_of_all,
        operation="truncates",
        arms=arms,
        told=(Told("waits for an orphan lock", "per orphan", _waits, "calls:ext4_orphan_add"),),
        limits="How much longer the mutex is held than the spin lock is not counted: it is the model's.",
    )


def _waits(run: Result) -> Chances:
    return waits(run, "s_orphan_lock", "of_lock")


def _waits_of_all(run: Result) -> Chances:
    """As counted: nobody counts how often the lock is taken."""
    return _waits(run)[0], operations(run)


def scenes(study: Study) -> tuple[Scene, ...]:
    """The truncates, and reaim creat_clo."""
    return (
        Scene(
            name=NAME,
            model="orphan_file",
            title="S4: orphan list, orphan file, lockless slots",
            arms=switches_of(study, MUTEX, LOCKED, LOCKLESS, OFF),
            patch=(LOCKED, LOCKLESS),
            lock="journal",
            locks={MUTEX: "s_orphan_lock", LOCKED: "of_lock"},
            table=STRESS,
            metric="time",
            statistic="mean_of_5",
            threads=64,
            counts=tuple(2**k for k in range(7)),
            scaled=OFF,
            assumed=(MUTEX,),
        ),
        Scene(
            name="creat-clo",
            model="creat_clo",
            title="S4: reaim creat_clo on a ramdisk",
            arms={MUTEX: {}, LOCKLESS: {"patched": True}},  # of a model that the study file does not name
            patch=(MUTEX, LOCKLESS),
            lock="journal",
            locks={MUTEX: "s_orphan_lock"},
            table=CREAT_CLO,
            metric="throughput",
            statistic="mean_of_5",
            threads=31,
            counts=(1, 3, 5, 9, 15, 21, 31, 48),
        ),
    )


STUDY = StudyParts(
    name=NAME,
    order=4,
    whatif=whatif,
    given=GIVEN,
    guest_case=guests,
    scenes=scenes,
    claims=CLAIMS,
    simulated=(STRESS_FITTED, CLO_FITTED),
    scale=(TRUNCATE, CREATE_AND_CLOSE),
)
