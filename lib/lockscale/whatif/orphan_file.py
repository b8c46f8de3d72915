# SPDX-License-Identifier: MIT
"""S4: what the base columns of stress-orphan and creat_clo allow without the orphans' lock."""

import re
from collections.abc import Mapping

from lockscale.tables import describe
from lockscale.whatif import left
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
        ideas=_ideas(predictions, speeds, rates),
        naive_reason=NAIVE,
        notes=["stress-orphan's amount of work is not published: its times hold for that amount alone."],
    )


def _given(given: Mapping[str, float], table: str) -> dict[str, float]:
    return {name.removeprefix(f"{table}_"): v for name, v in given.items() if name.startswith(f"{table}_")}


def _band(base: Curve, given: Mapping[str, float], cpus: int | None, less_work: float) -> left.Band:
    return left.behind(base, given) if given else left.between(base, cpus, less_work=less_work)


def _stress(arm: str, speeds: Curve, given: Mapping[str, float], less_work: float) -> list[Predicted]:
    found = re.search(r"(\d+) CPU", str(describe(STRESS)["machine"]))
    band = _band(speeds, given, int(found[1]) if found else None, less_work)
    alone_s = 1 / left.alone(speeds)
    return [
        Predicted(arm, n, "time", "s", n / value, n / high, n / low, alone_s, "faster" if n > 1 else "")
        for n, value, low, high in zip(speeds.threads, *band, strict=True)
    ]


def _clo(rates: Curve, given: Mapping[str, float]) -> list[Predicted]:
    alone = left.alone(rates)
    return [
        Predicted(LOCKLESS, n, "throughput", "ops/s", value, low, high, n * alone, "faster" if n > 1 else "")
        for n, value, low, high in zip(rates.threads, *_band(rates, given, None, 0.0), strict=True)
    ]


def _open(of_stress: Mapping[str, float], of_clo: Mapping[str, float]) -> list[Open]:
    stress = left.open_share(of_stress, ["of_lock"], "stress_")
    clo = left.open_share(of_clo, ["s_orphan_lock"], "clo_")
    off = Open(
        "orphan handling of one thread",
        f"orphan-off also saves its work, assumed to be at most {OFF_SHARE:.0%} of a truncate",
        "function cost of ext4_orphan_add and ext4_orphan_del, and of ext4_setattr, with one thread",
    )
    return [*stress, *clo, off]


def _ideas(predictions: list[Predicted], speeds: Curve, rates: Curve) -> list[Idea]:
    def share(base: Curve) -> str:
        n, rate = base.threads[-1], base.values[-1]
        return f"{n} threads do the work of {rate / left.alone(base):.1f} alone"

    return [
        Idea(LOCKLESS, "yes", f"stress-orphan: {share(speeds)}; creat_clo: {share(rates)}"),
        Idea(OFF, "no", "unsafe: it is the floor beside which the others stand"),
    ]
