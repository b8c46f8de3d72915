# SPDX-License-Identifier: MIT
"""S4: what the base columns of stress-orphan and creat_clo allow without the orphans' lock."""

import re
from collections.abc import Mapping

from lockscale.tables import describe
from lockscale.whatif import left, verdict
from lockscale.whatif.answer import Answer, Idea, Open, Predicted
from lockscale.whatif.base import Base, Curve

LOCKED, MUTEX, LOCKLESS, OFF = "orphan-locked", "orphan-mutex", "orphan-lockless", "orphan-off"
STRESS, CLO = "s4_stress_orphan", "s4_creat_clo"
OFF_SHARE = 0.5
"""Assumed at most: of one thread's truncate, handling its orphan."""
GIVEN = {f"{table}_{name}": said for table in ("stress", "clo") for name, said in left.GIVEN.items()}

NAIVE = (
    "it deletes all waiting: each thread as fast as one alone. The handles of the journal are a queue "
    "of their own, and the waiters then meet there"
)


def answer(given: Mapping[str, float]) -> Answer:
    """Times of stress-orphan and rates of creat_clo; each table closed by its own share."""
    stress, clo = Base(LOCKED), Base(MUTEX)
    times, rates = stress.curve(STRESS, "time"), clo.curve(CLO, "throughput")
    speeds = Curve(times.threads, [n / t for n, t in zip(times.threads, times.values, strict=True)])
    of_stress, of_clo = _given(given, "stress"), _given(given, "clo")
    predictions = [
        *_stress(LOCKLESS, speeds, of_stress, 0.0),
        *_stress(OFF, speeds, of_stress, OFF_SHARE),
        *_clo(rates, of_clo),
    ]
    return Answer(
        study="orphan-file",
        used=[*stress.used, *clo.used],
        parameters=[
            *left.estimates(speeds, of_stress, "stress_"),
            *left.estimates(rates, of_clo, "clo_"),
        ],
        waits=[
            *left.waits(speeds, "stress-orphan", ["of_lock"]),
            *left.waits(rates, "creat_clo", ["s_orphan_lock"]),
        ],
        predictions=predictions,
        open=_open(of_stress, of_clo),
        ideas=_ideas(predictions, times, rates),
        naive_reason=NAIVE,
        notes=[
            "stress-orphan's amount of work is not published: its times hold for that amount alone.",
            *left.notes(given),
        ],
    )


def _given(given: Mapping[str, float], table: str) -> dict[str, float]:
    return {name.removeprefix(f"{table}_"): v for name, v in given.items() if name.startswith(f"{table}_")}


def _band(base: Curve, given: Mapping[str, float], cpus: int | None, less_work: float) -> left.Band:
    return left.behind(base, given) if given else left.between(base, cpus, less_work=less_work)


def _stress(arm: str, speeds: Curve, given: Mapping[str, float], less_work: float) -> list[Predicted]:
    found = re.search(r"(\d+) CPU", str(describe(STRESS)["machine"]))
    band = _band(speeds, given, int(found[1]) if found else None, less_work)
    alone_s = 1 / left.alone(speeds)
    rows = []
    for n, base, *ends in zip(speeds.threads, speeds.values, *band, strict=True):
        time_s, high_s, low_s = (n / end for end in ends)
        said = verdict.sign(low_s, high_s, n / base, is_time=True)
        rows.append(Predicted(arm, n, "time", "s", time_s, low_s, high_s, alone_s, said))
    return rows


def _clo(rates: Curve, given: Mapping[str, float]) -> list[Predicted]:
    alone, band = left.alone(rates), _band(rates, given, None, 0.0)
    rows = []
    for n, base, value, low, high in zip(rates.threads, rates.values, *band, strict=True):
        said = verdict.sign(low, high, base)
        rows.append(Predicted(LOCKLESS, n, "throughput", "ops/s", value, low, high, n * alone, said))
    return rows


def _open(of_stress: Mapping[str, float], of_clo: Mapping[str, float]) -> list[Open]:
    stress = left.open_share(of_stress, ["of_lock"], "stress_")
    clo = left.open_share(of_clo, ["s_orphan_lock"], "clo_")
    off = Open(
        "orphan handling of one thread",
        f"orphan-off also saves its work, assumed to be at most {OFF_SHARE:.0%} of a truncate",
        "function cost of ext4_orphan_add and ext4_orphan_del, and of ext4_setattr, with one thread",
    )
    return [*stress, *clo, off]


def _ideas(predictions: list[Predicted], times: Curve, rates: Curve) -> list[Idea]:
    """Over both tables: of a patch that helps in one and may harm in the other it is not known."""
    of_lockless = [p for p in predictions if p.arm == LOCKLESS]
    gains, said = [], []
    for table, metric, base in (("stress-orphan", "time", times), ("creat_clo", "throughput", rates)):
        n, value = base.threads[-1], base.values[-1]
        (last,) = [p for p in of_lockless if (p.metric, p.threads) == (metric, n)]
        gains.append(verdict.gains(last.low, last.high, value, is_time=metric == "time"))
        least, most = gains[-1]
        said.append(f"{table}: {least:.2f} to {most:.2f} times the base at {n}")
    both = verdict.worth(min(least for least, _ in gains), max(most for _, most in gains))
    return [
        Idea(LOCKLESS, both, "; ".join(said)),
        Idea(OFF, "no", "unsafe at any gain: it is the floor beside which the others stand"),
    ]
