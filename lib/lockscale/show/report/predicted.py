# SPDX-License-Identifier: MIT
"""The prediction that was written before the run, beside what was published and what was measured."""

from collections.abc import Iterator
from typing import Any

from lockscale.measure.rows import is_benchmark, origin_in_words
from lockscale.predict.judge import judge_counters, judge_guests, judge_published, judge_rates
from lockscale.show.report.page import ReportTable, ReportText
from lockscale.show.story import Story

PUBLISHED = ["arm", "threads", "unit", "predicted", "low", "high", "published", "error_pct", "inside"]
RATES = ["arm", "cpus", "threads", "unit", "predicted", "predicted_low", "predicted_high", "measured"]
COUNTS = ["fitted_arm", "arm", "cpus", "threads", "metric", "unit", "predicted", "predicted_low"]
BOUNDS = ["cpus", "threads", "predicted_low", "predicted_high", "extra", "low", "high", "holds"]


def counts_in_words(story: Story) -> str:
    """The origin of what was counted: of a plain guest the counts are the proof, so they have a word."""
    return f"{'counted' if story.provenance['origin'] == 'qemu' else 'measured'} {story.where}"


def rates_in_words(story: Story) -> str:
    """The origin of rates and times, with what they are worth."""
    worth = "" if is_benchmark(story.provenance["origin"]) else "; not a benchmark"
    return f"measured {story.where}{worth}"


def prediction_parts(story: Story) -> Iterator[ReportTable | ReportText]:
    """Its hash and when it was written, then each kind of prediction that the study makes."""
    prediction, rows, study = story.read_prediction(), story.rows, story.study
    yield ReportText(_written(story, prediction))
    base = origin_in_words(str(prediction.get("origin", "published")))
    from_base, here = f"predicted, from the unpatched arm as {base}", counts_in_words(story)
    published = judge_published(prediction, study)
    known = len(published) and published.published.notna().any()
    found = (
        ("On the published machine", f"{from_base}{'; published' if known else ''}", published, PUBLISHED),
        ("Rates", f"{from_base}; {rates_in_words(story)}", judge_rates(prediction, rows),
         [*RATES, "measured_low", "measured_high", "inside"]),
        ("Bounds of the extra counts", f"predicted; {here}",
         judge_guests(prediction, rows, study).dropna(subset=["holds"]), BOUNDS),
        ("Counts, from those of one arm", f"predicted, from one arm as {here}; {here}",
         judge_counters(prediction, rows, study),
         [*COUNTS, "predicted_high", "measured", "measured_low", "measured_high", "inside"]),
    )  # fmt: skip
    for title, origin, frame, columns in found:
        if len(frame):
            yield ReportTable(title, origin, frame[columns].dropna(axis="columns", how="all"))


def _written(story: Story, prediction: dict[str, Any]) -> str:
    said = story.provenance.get("prediction") or {}
    before = said.get("written_before_utc")
    when = f", written before {before}, when nothing was measured" if before else ""
    return f"The prediction has the sha256 {prediction['sha256']}{when}."
