# SPDX-License-Identifier: MIT
"""What each patch gave: published, simulated, by a real kernel in virtual time, and as predicted before.

Of the first curated run in virtual time of each study. A gain is an arm's rate over another arm's at the
same number of threads: over the unpatched one, or where the published table lacks that, over the first of the
study's arms that it has. Rates of two machines do not compare; gains do, where no machine decides them. Where
a run has a number of threads on several numbers of CPUs, its gain, and what was predicted, are of the most.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from lockscale import paths
from lockscale.measure.compare_arms import rate_repeats
from lockscale.measure.rows import read_rows
from lockscale.measure.run_folder import (
    Run,
    curated_runs,
    first_of_each_study,
    read_prediction,
    read_provenance,
)
from lockscale.measure.significance import POINT
from lockscale.predict.predicted_against_measured import judge_gains, measured_gain, told_ends
from lockscale.study.file import Study, load_study
from lockscale.study.tables import EXTREMES
from lockscale.tables import published
from lockscale.text_table import from_to, text_table, yes_no
from lockscale.tools.fsload import PHASES

SOURCE_STAYS = 0.05
"""A published gain within this of 1 is taken for none."""
Compared = tuple[str, str, str, int]
"""Load, arm, over which arm, threads."""


@dataclass(frozen=True)
class GainRow:
    """One arm at one number of threads; what is not known is None. low, high: of the extreme repeats.

    simulated: by the study's model as it is calibrated to published tables, from the exported figure. inside:
    the predicted interval, 90%, held: the gain in virtual time lies in it.
    """

    study: str
    load: str
    arm: str
    over: str
    threads: int
    published: float | None
    simulated: float | None
    virtual: float | None
    low: float | None
    high: float | None
    predicted: float | None = None
    predicted_low: float | None = None
    predicted_high: float | None = None
    inside: bool | None = None


@dataclass(frozen=True)
class GainTotals:
    """off: the geometric mean of how far gains in virtual time are from the published ones, as a factor.

    same_sign: of `significant` published gains so many point the same way in virtual time. held: of
    `predicted` gains so many lie in their intervals; width: the median of high over low.
    """

    compared: int
    off: float | None
    significant: int
    same_sign: int
    predicted: int
    held: int
    width: float | None


def gain_rows() -> list[GainRow]:
    """Of every study that has a curated run in virtual time, in the order of their names."""
    return [row for name, run in first_virtual().items() for row in _rows(load_study(name), run)]


def first_virtual() -> dict[str, Run]:
    """Of every study the first curated run in virtual time, whose gains are shown."""
    measured = (run for run in curated_runs() if run.rows.is_file())
    return first_of_each_study(run for run in measured if read_provenance(run.folder)["origin"] == "virtual")


def _rows(study: Study, run: Run) -> Iterator[GainRow]:
    """What was published, then what only was predicted, then numbers of threads that were not published."""
    measured, unpatched, load = _Measured(read_rows(run.rows)), study.unpatched.name, study.operation
    judged: Any = judge_gains(read_prediction(run), measured.rows).to_dict("records")
    told = {
        (load, one["arm"], unpatched, one["threads"]): one
        for one in judged
        if one["cpus"] == measured.cpus(load, one["arm"], unpatched, one["threads"])
    }
    printed = [pair for table in study.published_tables for pair in _published(study, table)]
    known = dict.fromkeys([*dict(printed), *told])
    between = {(*at[:3], n) for at in known for n in measured.threads(*at[:3])}
    others = [at for at in [*known, *sorted(between - known.keys())] if at not in dict(printed)]
    simulated = _simulated_rates(study)
    for at, gain in [*printed, *((at, None) for at in others)]:
        patched, base = (simulated.get((at[0], name, at[3])) for name in at[1:3])
        ratio, one = patched / base if patched and base else None, told.pop(at, None)
        ends = told_ends(one) if one else ()
        yield GainRow(study.name, *at, gain, ratio, *measured.gain(*at), *ends)


def _simulated_rates(study: Study) -> dict[tuple[str, str, int], float]:
    """The exported ones by load, arm and threads: the study's models simulate its own load alone."""
    file = paths.FIGURES / f"{study.name}-simulated.csv"
    if not file.is_file():
        return {}
    table = pd.read_csv(file)
    here = table[table.origin == "simulated"]
    rates = zip(here.arm, here.threads, here.value, strict=True)
    return {(study.operation, str(arm), int(n)): float(value) for arm, n, value in rates}


class _Measured:
    """The rates of a run by load, arm, CPUs and number of processes."""

    def __init__(self, rows: pd.DataFrame) -> None:
        self.rows, self.rates = rows, dict[str, dict[tuple[str, int, int], "pd.Series[float]"]]()

    def cpus(self, load: str, arm: str, over: str, n: int) -> int | None:
        """The most on which both arms were measured; None where either was not."""
        of = self._of(load)
        both = [cpus for name, cpus, k in of if (name, k) == (arm, n) and (over, cpus, n) in of]
        return max(both, default=None)

    def gain(self, load: str, arm: str, over: str, n: int) -> tuple[float | None, float | None, float | None]:
        """Mean over mean, least over most, most over least; None where either was not measured."""
        cpus = self.cpus(load, arm, over, n)
        if cpus is None:
            return None, None, None
        patched, unpatched = (self._of(load)[name, cpus, n] for name in (arm, over))
        return measured_gain(patched, unpatched)[:3]

    def threads(self, load: str, arm: str, over: str) -> set[int]:
        """At which both were measured."""
        return {n for _, _, n in self._of(load) if self.cpus(load, arm, over, n)}

    def _of(self, load: str) -> dict[tuple[str, int, int], "pd.Series[float]"]:
        if load not in self.rates:
            measured = (self.rows.test == load) & (self.rows.metric == "rate")
            grouped = rate_repeats(self.rows, load).groupby(["arm", *POINT]) if measured.any() else ()
            self.rates[load] = {(str(a), int(str(c)), int(str(k))): of.value for (a, c, k), of in grouped}
        return self.rates[load]


def _published(study: Study, table: str) -> list[tuple[Compared, float]]:
    """The gains of a table's first rate, or of its times."""
    frame = published(table)
    if not {"arm", "threads", "metric", "unit", "statistic"} <= set(frame.columns):
        return []
    rated = frame[
        (frame.unit.str.endswith("/s") | (frame.metric == "time")) & ~frame.statistic.isin(EXTREMES)
    ]
    if rated.empty:
        return []
    rated = rated[rated.metric == rated.metric.iloc[0]]
    means = rated.groupby(["arm", "threads"]).value.mean()
    known = [name for name in study.arm_names if name in means.index.get_level_values("arm")]
    load = next((PHASES[one][0] for one in study.workloads_beside if table.endswith(one)), study.operation)
    power = -1.0 if rated.metric.iloc[0] == "time" else 1.0
    return [
        ((load, arm, known[0], int(n)), float((value / means[known[0], n]) ** power))
        for arm in known[1:]
        for n, value in means[arm].items()
        if (known[0], n) in means.index
    ]


def gain_totals(rows: list[GainRow]) -> GainTotals:
    both = [(row.published, row.virtual) for row in rows if row.published and row.virtual]
    logs = np.abs([np.log(virtual / said) for said, virtual in both])
    clear = [(said, virtual) for said, virtual in both if abs(said - 1) > SOURCE_STAYS]
    told = [row for row in rows if row.inside is not None]
    ends = [(row.predicted_low, row.predicted_high) for row in told]
    widths = [high / low for low, high in ends if low and high]
    return GainTotals(
        compared=len(both),
        off=float(np.exp(logs.mean())) if both else None,
        significant=len(clear),
        same_sign=sum((said > 1) == (virtual > 1) for said, virtual in clear),
        predicted=len(told),
        held=sum(bool(row.inside) for row in told),
        width=float(np.median(widths)) if widths else None,
    )


def gains_text(rows: list[GainRow]) -> str:
    """The table and a sentence on each of both comparisons."""
    if not rows:
        return (
            "there is no curated run in virtual time: `lockscale study keep RUN` copies one to data/measured"
        )
    totals = gain_totals(rows)
    said = [
        "Gain: the rate of an arm over that of another arm; 1 is no change.",
        "Lowest to highest: the repeats in virtual time. Held: their mean is in the predicted interval.\n",
        _table(_by_threads(rows)),
    ]
    if totals.off:
        said.append(
            f"in virtual time against published, {totals.compared} gains: off by a factor of "
            f"{totals.off:.2f} (geometric mean); {totals.same_sign} of the {totals.significant} gains "
            f"other than 1 have the same direction (published within {SOURCE_STAYS:.0%} counts as 1)"
        )
    if totals.width:
        said.append(
            f"predicted from the unpatched arm alone, {totals.predicted} gains: {totals.held} of the 90% "
            f"intervals held, median width {totals.width:.2f} (high over low); from that arm in virtual "
            "time: whatif STUDY goes by what was published of it"
        )
    return "\n".join(said)


def _by_threads(rows: list[GainRow]) -> list[GainRow]:
    """Each arm's in ascending order, the published ones too; the arms as they come."""
    arms = list(dict.fromkeys(_compared(row) for row in rows))
    return sorted(rows, key=lambda row: (arms.index(_compared(row)), row.threads))


def _compared(row: GainRow) -> tuple[str, str, str, str]:
    return row.study, row.load, row.arm, row.over


def _table(rows: list[GainRow]) -> str:
    said = [
        {
            "study": row.study,
            "load": row.load,
            "arm": row.arm,
            "over": row.over,
            "threads": row.threads,
            "published": row.published,
            "simulated": row.simulated,
            "virtual time": row.virtual,
            "lowest to highest": from_to(row.low, row.high),
            "predicted": row.predicted,
            "90% interval": from_to(row.predicted_low, row.predicted_high),
            "held": yes_no(row.inside),
        }
        for row in rows
    ]
    return text_table(pd.DataFrame(said).round(2))
