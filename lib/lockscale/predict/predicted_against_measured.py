# SPDX-License-Identifier: MIT
"""The prediction judged by what was measured, gain by gain and count by count; and models fitted to it."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from lockscale.errors import BadInput
from lockscale.fitting.column import Column
from lockscale.fitting.table_fit import compare_column
from lockscale.measure.compare_arms import counted, extra_calls, proof_of, rate_repeats
from lockscale.measure.rows import is_benchmark, origin_of
from lockscale.predict.gain_interval import GainsSimulated, JudgedGain, spread_of
from lockscale.queueing.compare import Comparison
from lockscale.sim.results import rate_interval
from lockscale.study.file import Study
from lockscale.study.tables import EXTREMES
from lockscale.tables import published
from lockscale.tables.claim import difference_of_means

YES, NO, CANNOT_BE_TOLD = "yes", "no", "undecided"
"""Whether a bound holds; the last where the counts do not resolve it."""

EXTRA = "extra "
"""Before a counter's name: more of it than the patched arm has."""

FEWEST_BLOCKS = 3
"""For an interval of what was measured: that of two blocks is 13 times as wide as they lie apart."""


@dataclass(frozen=True)
class Fitted:
    """One arm's measured rates, each repeat a row, and every queueing model on them.

    `comparison` is None where no model can be fitted, as with too few numbers of processes: see `why_none`.
    """

    column: Column
    comparison: Comparison | None
    why_none: str = ""


def fit_rates(rows: pd.DataFrame, study: Study, cpus: int) -> Fitted:
    """The patched arm's rates on a guest of `cpus` CPUs. Raises BadInput where none were measured."""
    arm = study.patched.name
    repeats = rate_repeats(rows)
    here = repeats[(repeats.arm == arm) & (repeats.cpus == cpus)]
    if here.empty:
        raise BadInput(
            f"the run did not measure {arm} on {cpus} CPUs: choose a number of CPUs that it measured"
        )
    origin = origin_of(here)
    column = Column(
        table=str(here.run.iloc[0]),
        name=f"{arm} on {cpus} CPUs",
        threads=here.threads.to_numpy(float),
        rates_per_s=here.value.to_numpy(float),
        runs=None,
        unit="ops/s",
        origin=origin,
        made_of="" if is_benchmark(origin) else "not a benchmark",
    )
    try:
        return Fitted(column, compare_column(column))
    except BadInput as refused:
        return Fitted(column, None, str(refused))


def fullest_guest(rows: pd.DataFrame) -> int:
    """The CPUs of the guest, or of the server, that was measured at the most numbers of processes."""
    points = rows[["cpus", "threads"]].drop_duplicates().cpus
    return int(points.mode().iloc[0])


def judge_published(prediction: dict[str, Any], study: Study) -> pd.DataFrame:
    """Each prediction for the published machine, its interval, and the published value.

    `published`, `error_pct` and `inside` are None where nobody published that arm, error_pct also where
    another table than that of the unpatched side did, whose rates are of other runs. `table`: where it was
    published; two loads of one study have two.
    """
    points, found = _published_points(study), []
    truths = points[~points.statistic.isin(EXTREMES)].groupby(POINT).value.mean().to_dict()
    own = points.drop_duplicates(POINT).set_index(POINT).table.to_dict()
    first = points.drop_duplicates("metric").set_index("metric").table.to_dict()
    machine = prediction.get("published_machine")  # None where nothing could be predicted
    for said in prediction.get("predictions") or [machine] * (machine is not None):
        at, usual = tuple(said[name] for name in POINT), first.get(said["metric"])
        truth, table = truths.get(at), own.get(at, usual)
        found.append(
            {
                "table": table,
                "arm": said["arm"],
                "threads": said["threads"],
                "metric": said["metric"],
                "predicted": said["value"],
                "low": said["low"],
                "high": said["high"],
                "published": truth,
                "error_pct": 100 * (said["value"] / truth - 1) if truth and table == usual else None,
                "inside": truth and said["low"] <= truth <= said["high"],
                "naive_value": said["naive_value"],
                "unit": said["unit"],
            }
        )
    return pd.DataFrame(found)


POINT = ["arm", "threads", "metric"]


def _published_points(study: Study) -> pd.DataFrame:
    """POINT, statistic, value and table of all that the study's published tables have of rates and times."""
    tables = [(name, published(name)) for name in study.published_tables]
    parts = [table.assign(table=name) for name, table in tables if "metric" in table]
    return pd.concat(parts) if parts else pd.DataFrame(columns=[*POINT, "statistic", "value", "table"])


def judge_guests(prediction: dict[str, Any], rows: pd.DataFrame, study: Study) -> pd.DataFrame:
    """judge_bounds() of what a run counted."""
    return judge_bounds(prediction, proof_of(rows, study), extra_calls(rows, study))


def judge_bounds(prediction: dict[str, Any], counter: str, extra: pd.DataFrame) -> pd.DataFrame:
    """Predicted bounds of more of the proof's counter, the measured interval, and whether the bounds hold.

    `counter` is the run's proof_of(), `extra` its extra_calls(). holds: YES, NO or CANNOT_BE_TOLD. Where
    no bound of that counter was predicted it is empty, as the bounds are.
    """
    bounds_of = [one for one in prediction["guests"] if one.get("kind", "bound") == "bound"]
    said = [one for one in bounds_of if one["metric"] == f"{EXTRA}{counter}"]
    bounds = pd.DataFrame(said, columns=["cpus", "threads", "low", "high"])
    bounds = bounds.rename(columns={"low": "predicted_low", "high": "predicted_high"})
    found = extra[["cpus", "threads", "extra", "low", "high", "level_pct", "spread", "origin"]]
    table = bounds.merge(found, on=["cpus", "threads"], how="right" if bounds.empty else "inner")
    if bounds.empty:
        return table.assign(holds=None)
    return table.assign(holds=[_held(row) for row in table.itertuples()])


def _held(row: Any) -> str:
    """Of one point of judge_bounds(): its bounds, and the measured extra with interval and base's spread.

    More than `predicted_low` is what was predicted, so an interval that reaches down into the spread
    of the unpatched side's own repeats shows neither more nor none.
    """
    if row.low - row.spread > row.predicted_high or row.high + row.spread < row.predicted_low:
        return NO
    shows = row.low > row.predicted_low + row.spread or row.predicted_high == 0
    return YES if shows and row.extra - row.spread <= row.predicted_high else CANNOT_BE_TOLD


class Measured(NamedTuple):
    """Mean, least and most of a rate's repeats; of a gain mean over mean, least over most, most over least.

    repeats: of a gain those of the fewer of the two sides.
    """

    value: float
    low: float
    high: float
    repeats: int


RATES = [
    *("arm", "cpus", "threads", "unit", "predicted", "predicted_low", "predicted_high"),
    *("measured", "measured_low", "measured_high", "repeats", "error_pct", "inside", "naive_value"),
]


def judge_rates(prediction: dict[str, Any], rows: pd.DataFrame) -> pd.DataFrame:
    """Predicted rates beside those that the run measured, where the unpatched side's were of the same origin.

    Columns RATES. inside: the predicted interval held, the measured mean lies in it. measured_low and _high
    are the least and the most of the repeats. There are no rows where the unpatched side is of another
    machine: what is predicted from a published table says nothing of a run's own.
    """
    said = prediction.get("predictions", [])
    if prediction.get("origin", "published") != origin_of(rows):
        said = []
    repeats, found = rate_repeats(rows), []
    for one in said:
        here = repeats[(repeats.arm == one["arm"]) & (repeats.threads == one["threads"])]
        for cpus, of in here.groupby("cpus"):
            rate = Measured(float(of.value.mean()), float(of.value.min()), float(of.value.max()), len(of))
            found.append({**_beside(one, rate), "cpus": int(str(cpus))})
    return pd.DataFrame(found, columns=RATES)


GAINS = [
    *("arm", "cpus", "threads", "predicted", "predicted_low", "predicted_high"),
    *("measured", "measured_low", "measured_high", "repeats", "error_pct", "inside", "naive_gain"),
]


def judge_gains(prediction: dict[str, Any], rows: pd.DataFrame) -> pd.DataFrame:
    """What was predicted from the unpatched arm's rates, beside the gains that the run then measured.

    Columns GAINS; a gain is an arm's mean rate over the unpatched arm's at the same point, measured_low and
    _high that of the extreme repeats. inside: the predicted interval held, the measured gain lies in it.
    Where an arm was not measured there is no row.
    """
    said = prediction.get("run")
    if said is None:
        return pd.DataFrame(columns=GAINS)
    measured = measured_gains(rows, said["unpatched"])
    judged = ((one, measured.get((one["arm"], one["cpus"], one["threads"]))) for one in said["gains"])
    return pd.DataFrame([_beside(one, gain) for one, gain in judged if gain], columns=GAINS)


def told_ends(judged: dict[Any, Any]) -> tuple[float, float, float, bool]:
    """What was predicted, its interval, and whether that held: of a row of judge_gains()."""
    low, high = judged["predicted_low"], judged["predicted_high"]
    return judged["predicted"], low, high, bool(judged["inside"])


def measured_gains(rows: pd.DataFrame, unpatched: str) -> dict[tuple[str, int, int], Measured]:
    """By arm, CPUs and processes, of each arm over the unpatched one at the same point."""
    by_point = {
        (str(arm), int(str(cpus)), int(str(n))): of.value
        for (arm, cpus, n), of in rate_repeats(rows).groupby(["arm", "cpus", "threads"])
    }
    return {
        at: measured_gain(of, by_point[(unpatched, *at[1:])])
        for at, of in by_point.items()
        if (unpatched, *at[1:]) in by_point
    }


def measured_gain(patched: "pd.Series[float]", unpatched: "pd.Series[float]") -> Measured:
    least, most = patched.min() / unpatched.max(), patched.max() / unpatched.min()
    mean = patched.mean() / unpatched.mean()
    return Measured(float(mean), float(least), float(most), min(len(patched), len(unpatched)))


def _beside(said: dict[str, Any], measured: Measured) -> dict[str, Any]:
    """A prediction with the measured rate or gain, and whether its interval held."""
    return {
        **said,
        **{f"predicted{end}": said[of] for end, of in _ENDS.items()},
        "measured": measured.value,
        "measured_low": measured.low,
        "measured_high": measured.high,
        "repeats": measured.repeats,
        "error_pct": 100 * (said["value"] / measured.value - 1),
        "inside": said["low"] <= measured.value <= said["high"],
    }


def gains_off(simulated: GainsSimulated, rows: pd.DataFrame, study: str) -> list[JudgedGain]:
    """For learning from it: how far each gain of the fitted models was off, before what they lack."""
    rng = np.random.default_rng(0)
    measured, found = measured_gains(rows, simulated.unpatched), []
    for one in simulated.gains:
        logs = one.draws(rng)
        gain = measured.get((one.arm, one.cpus, one.threads))
        if gain is None:
            continue
        median = float(np.median(logs))
        off = float(np.log(gain.value)) - median
        missed = one.off * -np.expm1(-abs(median))
        spread = float(np.hypot(spread_of(logs), missed))
        found.append(JudgedGain(study, one.arm, off, abs(median), spread))
    return found


JUDGED = [
    *("fitted_arm", "arm", "cpus", "threads", "own_processors", "metric", "unit"),
    *("predicted", "predicted_low", "predicted_high", "measured", "measured_low", "measured_high", "blocks"),
    *("error", "error_pct", "inside"),
]


def judge_counters(prediction: dict[str, Any], rows: pd.DataFrame, study: Study) -> pd.DataFrame:
    """What one arm's counts said of the others' beside what these counted, an interval of 95% each.

    Columns JUDGED. inside: the predicted interval held, the measured mean lies in it. What was not counted is
    empty, as is the measured interval of fewer than FEWEST_BLOCKS; there are no rows where nothing was
    predicted.
    """
    said = [one for one in prediction["guests"] if one.get("kind") == "fitted"]
    found = [{**one, **_judged(one, *_repeats(rows, study, one))} for one in said]
    return pd.DataFrame(found, columns=JUDGED)


def _repeats(rows: pd.DataFrame, study: Study, said: dict[str, Any]) -> tuple[list[float], list[float]]:
    """The counter of the arm at the point, a value a block; of an extra also that of the patched arm."""
    try:
        table = counted(rows, study, said["metric"].removeprefix(EXTRA))
    except BadInput:  # the run was cut before it counted
        return [], []
    here = table[(table.cpus == said["cpus"]) & (table.threads == said["threads"])]
    extra = said["metric"].startswith(EXTRA)
    patched = here.value[here.arm == study.patched.name].tolist() if extra else []
    return here.value[here.arm == said["arm"]].tolist(), patched


def _judged(said: dict[str, Any], repeats: list[float], patched: list[float]) -> dict[str, Any]:
    """patched: of an extra, the repeats that it is above."""
    predicted = {f"predicted{end}": said[of] for end, of in _ENDS.items()}
    extra = said["metric"].startswith(EXTRA)
    fewest = min(len(repeats), len(patched)) if extra else len(repeats)
    if not fewest:
        return {**predicted, "blocks": 0}
    told, low, high = fewest >= FEWEST_BLOCKS, None, None
    measured = float(np.mean(repeats) - (np.mean(patched) if extra else 0.0))
    if told:  # an extra has the noise of both arms, which can make it less than none
        _, low, high = difference_of_means(patched, repeats) if extra else rate_interval(repeats)
    error = said["value"] - measured
    return {
        **predicted,
        "measured": measured,
        "measured_low": low,
        "measured_high": high,
        "blocks": len(repeats),
        "error": error,
        "error_pct": 100 * error / measured if measured else None,
        "inside": said["low"] <= measured <= said["high"],
    }


_ENDS = {"": "value", "_low": "low", "_high": "high"}
