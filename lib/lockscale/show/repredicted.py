# SPDX-License-Identifier: MIT
"""What the present method tells of every kept run's other arms, from its unpatched part alone.

A prediction that was kept with a run is never changed. Whether a later way to predict is better is asked by
telling those gains again: from the rates of the unpatched arm that were measured before any other, with
what other studies' runs say of how far models are off, never with the study's own. That is not blind, for the
gains were known when the method was written, and it is said so wherever it is shown. The simulated part
takes minutes a study, so it is kept beside the runs.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd

from lockscale import paths
from lockscale.errors import BadInput
from lockscale.files import sha256_of, write_json
from lockscale.measure.count_calls import first_counts_of, observed, read_first_counts
from lockscale.measure.rows import read_rows
from lockscale.measure.run import first_rates_of, read_first_rates
from lockscale.measure.run_folder import (
    Run,
    curated_runs,
    first_of_each_study,
    read_prediction,
    read_study_file,
)
from lockscale.predict.gain_interval import (
    Discrepancy,
    GainsSimulated,
    GainsTold,
    JudgedGain,
    learned,
    tell_gains,
)
from lockscale.predict.guest_counts import predict_guests
from lockscale.predict.predicted_against_measured import gains_off, judge_counters, judge_gains, told_ends
from lockscale.predict.unpatched_run import simulate_gains
from lockscale.studies.registry import study_parts
from lockscale.study.file import Study, load_study
from lockscale.text_table import from_to, text_table, yes_no

KEPT = paths.MEASURED / "repredicted.json"


@dataclass(frozen=True)
class Resimulated:
    """A kept run's gains as the fitted models have them. sha256: of the unpatched rows that they are from."""

    run: str
    sha256: str
    simulated: GainsSimulated


@dataclass(frozen=True)
class CountsAgain:
    """A kept run's counts as told from those of one arm: rows as in a prediction's `guests`.

    sha256: of the rows of that arm that they are from.
    """

    run: str
    sha256: str
    guests: list[dict[str, Any]]


@dataclass(frozen=True)
class GainAgain:
    """A measured gain, what was predicted before it was measured, and what is told now; 90% intervals.

    held, holds: the gain lies in the first and in the later interval.
    """

    study: str
    arm: str
    threads: int
    measured: float
    first: float
    first_low: float
    first_high: float
    held: bool
    again: float
    again_low: float
    again_high: float
    holds: bool


@dataclass(frozen=True)
class AgainTotals:
    """Of `gains` so many lie in their intervals; width: the median of high over low.

    wrong_side: intervals wholly above 1 of what was below, or the other way round.
    """

    gains: int
    held: int
    first_width: float
    holds: int
    width: float
    wrong_side: int


def runs_to_tell() -> list[Run]:
    """The curated runs whose unpatched arm was measured before any other, the first of each study."""
    told = (run for run in curated_runs() if run.rows.is_file() and first_rates_of(run).rows.is_file())
    return list(first_of_each_study(told).values())


def resimulate(run: Run) -> Resimulated:
    """Fit and simulate a run's arms; of minutes."""
    rows = read_first_rates(run)
    assert rows is not None, "runs_to_tell() has runs with first rates alone"
    return Resimulated(run.id, sha256_of(first_rates_of(run).rows), simulate_gains(study_of(run), rows))


def retell_counts() -> list[CountsAgain]:
    """Of every curated run that counted one arm first."""
    found = []
    for run in curated_runs():
        base, study = read_first_counts(run), study_of(run)
        make = study_parts(study.name).guest_case
        if base.rows is not None and make and run.rows.is_file():
            rows = predict_guests(study, base, make(study), []).rows
            found.append(CountsAgain(run.id, sha256_of(first_counts_of(run).rows), rows))
    return found


def kept_counts() -> list[CountsAgain]:
    """Raises BadInput where the file is not there or not whole."""
    return [CountsAgain(**one) for one in _read()["counts"]]


def counts_held(told: Sequence[CountsAgain]) -> pd.DataFrame:
    """Each count beside what was counted, columns COUNTS."""
    found = []
    for one in told:
        run = Run(paths.MEASURED / one.run)
        files = [file for file in (run.rows, observed(run).rows) if file.is_file()]
        rows = pd.concat([read_rows(file) for file in files], ignore_index=True)
        study = study_of(run)
        judged = judge_counters({"guests": one.guests}, rows, study).dropna(subset=["inside"])
        found.append(judged.assign(study=study.name))
    return pd.concat(found, ignore_index=True)[COUNTS]


def study_of(run: Run) -> Study:
    """As the run was carried out."""
    begun = read_study_file(run.folder)
    return load_study(begun["name"], begun["parameters"])


def keep_repredicted(found: Sequence[Resimulated], counts: Sequence[CountsAgain]) -> None:
    gains = [{**asdict(one), "simulated": one.simulated.as_json()} for one in found]
    write_json(KEPT, {"gains": gains, "counts": [asdict(one) for one in counts]})


def kept_repredicted() -> list[Resimulated]:
    """Raises BadInput where the file is not there or not whole."""
    return [
        Resimulated(one["run"], one["sha256"], GainsSimulated.of_json(one["simulated"]))
        for one in _read()["gains"]
    ]


def _read() -> dict[str, Any]:
    try:
        said = json.loads(KEPT.read_text())
        return {"gains": said["gains"], "counts": said["counts"]}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadInput(
            f"{KEPT} cannot be read: make it with `lockscale scoreboard --again --keep`"
        ) from error


def learned_from_others(study: str, known: Sequence[Resimulated]) -> Discrepancy:
    """How far models were off in the kept runs of all studies but this one."""
    return learned(one for other in known for one in _judged(other, but=study))


def _judged(one: Resimulated, but: str) -> Iterator[JudgedGain]:
    run = Run(paths.MEASURED / one.run)
    name = read_study_file(run.folder)["name"]
    if name != but and run.rows.is_file():
        yield from gains_off(one.simulated, read_rows(run.rows), name)


def told_again(one: Resimulated, known: Sequence[Resimulated]) -> GainsTold:
    study = study_of(Run(paths.MEASURED / one.run))
    return tell_gains(one.simulated, learned_from_others(study.name, known), study.parameters.seed)


def gains_again(known: Sequence[Resimulated]) -> list[GainAgain]:
    """Every gain that was predicted before it was measured."""
    return [row for one in known for row in _rows(one, known)]


def _rows(one: Resimulated, known: Sequence[Resimulated]) -> Iterator[GainAgain]:
    run = Run(paths.MEASURED / one.run)
    rows, name = read_rows(run.rows), read_study_file(run.folder)["name"]
    first, again = (
        {(of["arm"], of["cpus"], of["threads"]): of for of in judge_gains(said, rows).to_dict("records")}
        for said in (read_prediction(run), {"run": told_again(one, known).as_json()})
    )
    for (arm, cpus, threads), now in again.items():
        if before := first.get((arm, cpus, threads)):
            yield GainAgain(name, arm, threads, now["measured"], *told_ends(before), *told_ends(now))


def again_totals(rows: Sequence[GainAgain]) -> AgainTotals:
    return AgainTotals(
        gains=len(rows),
        held=sum(row.held for row in rows),
        first_width=float(np.median([row.first_high / row.first_low for row in rows])),
        holds=sum(row.holds for row in rows),
        width=float(np.median([row.again_high / row.again_low for row in rows])),
        wrong_side=sum(row.again_low > 1 > row.measured or row.again_high < 1 < row.measured for row in rows),
    )


def again_text(rows: Sequence[GainAgain], counts: pd.DataFrame) -> str:
    """Each gain, each study, each count, and a sentence on both."""
    names = dict.fromkeys(row.study for row in rows)
    by_study = {name: again_totals([row for row in rows if row.study == name]) for name in names}
    totals, held = again_totals(rows), counts.inside.astype(bool)
    return "\n".join(
        [
            text_table(pd.DataFrame(map(_in_words, rows)).round(2)),
            text_table(pd.DataFrame([{"study": n, **_totals_in_words(of)} for n, of in by_study.items()])),
            f"predicted before they were measured, {totals.gains} gains: {totals.held} of the 90% "
            f"intervals held, median width {totals.first_width:.2f} (high over low)",
            "predicted again by the present method from the unpatched arm alone, using what other studies "
            f"show about model errors, so not blind: {totals.holds} of the intervals held, median width "
            f"{totals.width:.2f}, {totals.wrong_side} entirely on the wrong side of 1",
            text_table(_counts_in_words(counts)),
            f"counts at 4 CPUs, predicted again from those of one arm: {held.sum()} of the "
            f"{len(counts)} intervals of 95% held",
        ]
    )


def _in_words(row: GainAgain) -> dict[str, Any]:
    return {
        "study": row.study,
        "arm": row.arm,
        "threads": row.threads,
        "gain": row.measured,
        "predicted": row.first,
        "90% interval": from_to(row.first_low, row.first_high),
        "held": yes_no(row.held),
        "again": row.again,
        "its 90% interval": from_to(row.again_low, row.again_high),
        "held again": yes_no(row.holds),
    }


def _totals_in_words(of: AgainTotals) -> dict[str, Any]:
    return {
        "gains": of.gains,
        "held": of.held,
        "median width": round(of.first_width, 2),
        "held again": of.holds,
        "its median width": round(of.width, 2),
        "on the wrong side of 1": of.wrong_side,
    }


def _counts_in_words(counts: pd.DataFrame) -> pd.DataFrame:
    names = {"predicted_low": "95% low", "predicted_high": "95% high", "inside": "held"}
    numbers = counts.select_dtypes("number")
    counts = counts.assign(**numbers.mask(numbers.abs() < SMALLEST_COUNT, 0.0))
    return counts.assign(inside=[str(yes_no(bool(one))) for one in counts.inside]).rename(columns=names)


SMALLEST_COUNT = 1e-9  # per operation: what is left of a sum that is zero
COUNTS = [
    *("study", "arm", "threads", "metric", "measured"),
    *("predicted", "predicted_low", "predicted_high", "inside"),
]
