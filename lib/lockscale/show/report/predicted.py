# SPDX-License-Identifier: MIT
"""The prediction that was written before the run, beside what was published and what was measured."""

from collections.abc import Iterator
from typing import Any

import pandas as pd

from lockscale.measure.compare_arms import proof_of, unit_of
from lockscale.measure.rows import origin_in_words
from lockscale.predict.predicted_against_measured import (
    judge_bounds,
    judge_counters,
    judge_gains,
    judge_published,
    judge_rates,
)
from lockscale.show.figures.predicted import prediction_figure
from lockscale.show.headlines import place_of
from lockscale.show.report.page import ReportFigure, ReportTable, ReportText
from lockscale.show.story import Story

PUBLISHED = [
    *("table", "arm", "threads", "unit", "predicted", "low", "high", "published", "error_pct", "inside"),
]
RATES = ["arm", "cpus", "threads", "unit", "predicted", "predicted_low", "predicted_high", "measured"]
COUNTS = ["fitted_arm", "arm", "cpus", "threads", "metric", "unit", "predicted", "predicted_low"]
FEWEST = 3  # numbers of processes for a curve; fewer are read from the table
GAINS = ["arm", "cpus", "threads", "predicted", "predicted_low", "predicted_high", "measured"]
KNOWN = (
    "The predicted gain's interval is at 90%. Some of the measured gains were known when the method of "
    'prediction was written: data/README.md of lockscale says which ("What falls short").'
)
OF_RATES = "Measured low and high are the lowest and the highest repeat: no confidence interval."
REPEATS = (
    " Measured low and high are the lowest patched over the highest unpatched repeat, and the reverse: no "
    "confidence interval."
)
OF_BOUNDS = (
    "holds: yes where the measured interval lies above the predicted low end by more than the spread of one "
    "kernel's repeats; undecided where it reaches down to it. A bound of 0 to 0 says that there is no more."
)
BOUNDS = ["cpus", "threads", "predicted_low", "predicted_high", "extra", "low", "high", "level_pct", "holds"]


def counts_in_words(story: Story) -> str:
    """The origin of what was counted: of a plain guest the counts are the proof, so they have a word."""
    return f"{'counted' if story.provenance['origin'] == 'qemu' else 'measured'} {story.where}"


def rates_in_words(story: Story) -> str:
    """The origin of rates and times, with what they are worth."""
    worth = "" if story.is_benchmark else "; not a benchmark"
    return f"measured {story.where}{worth}"


def prediction_parts(story: Story) -> Iterator[ReportTable | ReportText | ReportFigure]:
    """Its hash and when it was written, then each kind of prediction that the study makes."""
    prediction, rows, study = story.read_prediction(), story.rows, story.study
    yield ReportText(_written(story, prediction))
    base = origin_in_words(str(prediction.get("origin", "published")))
    from_base, here = f"predicted, from the unpatched arm as {base}", counts_in_words(story)
    published = judge_published(prediction, study)
    known = len(published) > 0 and bool(published.published.notna().any())
    rates = judge_rates(prediction, rows)
    yield from _figures(story, published if known else published[:0], rates, from_base)
    own = f"predicted, from the unpatched arm's rates in this run; {rates_in_words(story)}"
    place, counter = place_of(prediction, "on the published machine"), proof_of(rows, study)
    used = ", ".join(prediction.get("used") or [])
    found = (
        ("Gains over the unpatched arm", own, judge_gains(prediction, rows),
         [*GAINS, "measured_low", "measured_high", "error_pct", "inside"], KNOWN + REPEATS),
        (place[0].upper() + place[1:], f"{from_base}{'; published' if known else ''}", published,
         PUBLISHED, f"Of the unpatched side these were used: {used}." if used else ""),
        ("Rates", f"{from_base}; {rates_in_words(story)}", rates,
         [*RATES, "measured_low", "measured_high", "inside"], OF_RATES),
        (f"Bounds of what {study.unpatched.name} counts more: {counter}, {unit_of(study, counter)}",
         f"predicted; {here}", judge_bounds(prediction, counter, story.extra).dropna(subset=["holds"]),
         BOUNDS, OF_BOUNDS),
        ("Counts, from those of one arm", f"predicted, from one arm as {here}; {here}",
         judge_counters(prediction, rows, study),
         [*COUNTS, "predicted_high", "measured", "measured_low", "measured_high", "inside"], ""),
    )  # fmt: skip
    for title, origin, frame, columns, note in found:
        if len(frame):
            shown = frame[columns].dropna(axis="columns", how="all")
            if "table" in shown and shown.table.nunique() == 1:  # it would make each row two lines high
                shown = shown.drop(columns="table")
            yield ReportTable(title, origin, _with_width(shown).rename(columns={"inside": "held"}), note)


def _with_width(shown: pd.DataFrame) -> pd.DataFrame:
    """How many times the least the most is, beside whether the interval held: a wide one always does."""
    ends = [f"{prefix}{end}" for prefix in ("predicted_", "") for end in ("low", "high")]
    low, high = ends[:2] if {*ends[:2]} <= {*shown} else ends[2:]
    if "inside" not in shown or not {low, high} <= {*shown}:
        return shown
    width = shown[high] / shown[low].where(shown[low] > 0)
    return shown.assign(**{"most / least": width.round(1)})


def _figures(
    story: Story, published: pd.DataFrame, rates: pd.DataFrame, from_base: str
) -> Iterator[ReportFigure]:
    """The rates that were predicted for this machine, and the study's metric on the published one."""
    stem = f"{story.study.name}-predicted"
    if rates.threads.nunique() >= FEWEST:
        here = rates.rename(columns={"predicted_low": "low", "predicted_high": "high"})
        says = f"intervals: {from_base}; open marks: {rates_in_words(story)}"
        yield ReportFigure.of(f"{stem}-here", prediction_figure(here, "measured", says, story.study.metric))
    of_one = published[published.metric == published.metric.iloc[0]] if len(published) else published
    if len(of_one) and of_one.threads.nunique() >= FEWEST:
        says = f"intervals: {from_base}; open marks: published"
        y = f"{of_one.metric.iloc[0].replace('_', ' ')} ({of_one.unit.iloc[0]})"
        yield ReportFigure.of(stem, prediction_figure(of_one, "published", says, y))


def _written(story: Story, prediction: dict[str, Any]) -> str:
    said = story.provenance.get("prediction") or {}
    before = said.get("written_before_utc")
    base = story.study.unpatched.name
    so_far = f"only arm {base}" if prediction.get("run") else "nothing"
    when = f", written before {before}, when {so_far} had been measured" if before else ""
    return (
        f"The prediction has the sha256 {prediction['sha256']}{when}. What was known when its method was "
        'written: data/README.md of lockscale ("What falls short").'
    )
