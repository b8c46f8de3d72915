# SPDX-License-Identifier: MIT
"""How often the interval of a gain held the published one, beside two simpler ways to tell it.

Each case is predicted from its unpatched side and from cases of other families alone. `delete_waits` takes
the promise itself, within a quarter; `history` is a line through the origin from promises to gains (both as
logarithms), whatever the kind of the change. Both need a share of a profile and are scored where there is
one. Of a case with several loads at its most threads each is a row, and counts its part of the case.

`hindsight` predicts nothing: of the cases whose change leaves the same of the lock it is the shortest
interval that holds nine in ten of their own gains, all of them known. Who knows of a case only what its
change leaves is no narrower for the same coverage.
"""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.special import stdtrit

from lockscale.predict.answer import LEAST_GAIN
from lockscale.predict.casebook import CaseLoad, PublishedCase, UnpatchedSide, asked_of, past, read_casebook
from lockscale.predict.published_gains import HOLDS, GainInterval, PublishedGain, learn

QUARTER = 1.25

Predictor = Callable[[tuple[PublishedGain, ...], UnpatchedSide], GainInterval | None]


def learned(before: tuple[PublishedGain, ...], unpatched: UnpatchedSide) -> GainInterval:
    return _learn(before).gain(unpatched.left, unpatched.promise, unpatched.most)


_learn = lru_cache(maxsize=128)(learn)  # the cases of one family are predicted from the same others


def delete_waits(before: tuple[PublishedGain, ...], unpatched: UnpatchedSide) -> GainInterval | None:
    promise = unpatched.promise
    return None if promise is None else GainInterval(promise / QUARTER, promise, promise * QUARTER)


def history_alone(before: tuple[PublishedGain, ...], unpatched: UnpatchedSide) -> GainInterval | None:
    """ln gain = k ln promise, with the scatter of the cases about it."""
    if unpatched.promise is None:
        return None
    known = [(np.log(one.promise), np.log(one.gain), one.weight) for one in before if one.promise]
    x, y, weight = (np.array(column) for column in zip(*known, strict=True))
    k = (weight * x) @ y / ((weight * x) @ x)
    scatter = np.sqrt((weight * (y - k * x) ** 2).sum() / max(weight.sum() - 1, 1.0))
    half = float(stdtrit(max(weight.sum() - 1, 1.0), (1 + HOLDS) / 2) * scatter)
    value = float(k * np.log(unpatched.promise))
    return GainInterval(*(float(np.exp(value + side * half)) for side in (-1, 0, 1)))


def score_cases(cases: Sequence[PublishedCase]) -> dict[str, Any]:
    """The score as JSON, learned from the shipped cases; see `lockscale casebook score`.

    Gains are ratios, `held_pct` and `sign_pct` percent of the cases, `width` is high over low.
    """
    known = read_casebook()
    asked = [one for case in cases for one in asked_of(case)]
    before = {case.id: tuple(past(others(case, known))) for case in cases}
    rows = {
        name: [
            _row(one, interval)
            for one in asked
            if (interval := how(before[one.case.id], one.unpatched)) is not None
        ]
        for name, how in PREDICTORS.items()
    }
    mine = rows.pop("learned")
    return {
        "cases": mine,
        **_summary(mine),
        "by_kind": _by(mine, "kind"),
        "by_subsystem": _by(mine, "subsystem"),
        "baselines": {name: _summary(of) for name, of in rows.items()},
        "hindsight": _summary(_in_hindsight(asked)),
        "origin": "predicted from published bases; published gains beside them",
    }


PREDICTORS: dict[str, Predictor] = {
    "learned": learned,
    "delete_waits": delete_waits,
    "history": history_alone,
}
_JUDGED = ("held", "sign_right", "gained", "wrong_side")
"""None of a case whose gain is not known."""


def _in_hindsight(asked: Sequence[CaseLoad]) -> list[dict[str, Any]]:
    """A row for each published gain, the interval of those that leave the same of the lock."""
    of_left: dict[str | None, list[CaseLoad]] = {}
    for one in asked:
        if one.published is not None:
            of_left.setdefault(one.unpatched.left, []).append(one)
    return [
        _row(one, interval) for alike in of_left.values() for interval in [_shortest(alike)] for one in alike
    ]


def _shortest(alike: Sequence[CaseLoad]) -> GainInterval:
    """The shortest interval with so much of the cases' weight; gains are compared as logarithms."""
    known = sorted((one.published or 0.0, one.weight) for one in alike)
    gains, reached = [gain for gain, _ in known], np.cumsum([0.0, *(weight for _, weight in known)])
    wanted = HOLDS * reached[-1] - 1e-9
    ends = [(low, int(np.searchsorted(reached, reached[low] + wanted))) for low in range(len(known))]
    enough = [(gains[low], gains[high - 1]) for low, high in ends if high <= len(known)]
    low, high = min(enough, key=lambda pair: pair[1] / pair[0])
    middle = _weighted_median(gains, np.array([weight for _, weight in known]))
    return GainInterval(low, middle, high)


def others(case: PublishedCase, known: Sequence[PublishedCase]) -> list[PublishedCase]:
    """The known cases that are of no family of this one: by its own word, its id, its commit or its mail."""
    same = {one.family for one in known if _is_same(one, case)} | {case.family}
    return [one for one in known if not _is_same(one, case) and one.family not in same - {""}]


def _is_same(one: PublishedCase, other: PublishedCase) -> bool:
    urls = [str(case.source.get("url") or "") for case in (one, other)]
    mails, commits = ([of(case) for case in (one, other)] for of in (_mail, _commit))
    return (
        one.id == other.id
        or urls[0] == urls[1] != ""
        or mails[0] == mails[1] != ""
        or _is_one_commit(*commits)
    )


def _mail(case: PublishedCase) -> str:
    """The message's id: an archive has one mail at several addresses, as /r/, /all/ or a list's name."""
    found = re.search(r"/([^/\s]+@[^/\s#?]+)", str(case.source.get("url") or "").replace("%40", "@"))
    return found[1] if found else str(case.source.get("message-id") or "").strip(" <>")


def _commit(case: PublishedCase) -> str:
    """As the source says it, or the address of one."""
    said = str(case.source.get("commit") or "")
    return said or str(case.source.get("url") or "").rstrip("/").rpartition("/")[2]


_HASH = re.compile(r"[0-9a-f]{9,}")  # a mail gives no fewer digits of a commit where it does not give all


def _is_one_commit(one: str, other: str) -> bool:
    shorter, longer = sorted((one.lower(), other.lower()), key=len)
    return _HASH.fullmatch(shorter) is not None and longer.startswith(shorter)


def _row(asked: CaseLoad, interval: GainInterval) -> dict[str, Any]:
    gain, case = asked.published, asked.case
    judged: dict[str, bool | None] = (
        {
            "held": interval.low <= gain <= interval.high,
            "sign_right": (interval.value > LEAST_GAIN) == (gain > LEAST_GAIN),
            "gained": gain > LEAST_GAIN,
            "wrong_side": (interval.low > 1 > gain) or (interval.high < 1 < gain),
        }
        if gain is not None
        else dict.fromkeys(_JUDGED)
    )
    return {
        "id": case.id,
        "label": asked.label,
        "subsystem": case.subsystem.split("/")[0],
        "kind": asked.unpatched.kind,
        "threads": asked.unpatched.threads,
        "promise": asked.unpatched.promise,
        "low": interval.low,
        "value": interval.value,
        "high": interval.high,
        "published": gain,
        "width": interval.width,
        **judged,
        "weight": asked.weight,
    }


def _summary(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    judged = [row for row in rows if row["published"] is not None]
    if not judged:
        nothing = dict.fromkeys(("held_pct", "median_width", "sign_pct", "gained_pct"))
        return {"n": 0, **nothing, "wrong_side": 0}
    weight = np.array([row["weight"] for row in judged])

    def pct(key: str) -> float:
        return float(100 * weight @ np.array([row[key] for row in judged], dtype=float) / weight.sum())

    return {
        "n": len({row["id"] for row in judged}),
        "held_pct": pct("held"),
        "median_width": _weighted_median([row["width"] for row in judged], weight),
        "sign_pct": pct("sign_right"),
        "gained_pct": pct("gained"),
        "wrong_side": sum(row["wrong_side"] for row in judged),
    }


def _weighted_median(values: Sequence[float], weight: Any) -> float:
    """The value that halves the weight; the mean of the two, where one ends and the next begins there."""
    order = np.argsort(values)
    ranked, reached = np.asarray(values)[order], np.cumsum(weight[order]) / weight.sum()
    first, last = np.searchsorted(reached, [0.5 - 1e-9, 0.5 + 1e-9])
    return float((ranked[first] + ranked[last]) / 2)


def _by(rows: Sequence[dict[str, Any]], key: str) -> dict[str, dict[str, Any]]:
    names = sorted({str(row[key]) for row in rows})
    return {name: _summary([row for row in rows if str(row[key]) == name]) for name in names}
