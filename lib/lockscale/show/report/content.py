# SPDX-License-Identifier: MIT
"""What a report shows of a measured run: headline, figures, numbers, the prediction beside them, the text."""

from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from lockscale.measure.compare_arms import (
    aa_rates,
    counted_arms,
    function_costs,
    most_extra,
    proof_of,
    unit_of,
)
from lockscale.measure.profiling import lock_waits_of
from lockscale.measure.steadiness import steady_lines
from lockscale.measure.where_time_went import gains_at_price_ends
from lockscale.predict.predicted_against_measured import (
    fit_rates,
    fullest_guest,
    judge_bounds,
    judge_counters,
    judge_gains,
    judge_rates,
)
from lockscale.show.changelog import letter_of
from lockscale.show.commit_text import as_text
from lockscale.show.exports import study_drawings
from lockscale.show.figures import function_shares
from lockscale.show.headlines import counted, judged, measured, predicted
from lockscale.show.report.page import ReportFigure, ReportSection, ReportTable, ReportText
from lockscale.show.report.predicted import counts_in_words, prediction_parts, rates_in_words
from lockscale.show.report.provenance import provenance_parts
from lockscale.show.story import Story
from lockscale.show.undecided import least_known, why_no_star

LONGEST_WAITS = 10
"""Of each arm: beyond them a wait is a small part of the time."""
RATES = ["arm", "cpus", "threads", "unpatched", "value", "change_pct", "low_pct", "high_pct", "significant"]
COUNTS = ["arm", "cpus", "threads", "unpatched", "value", "change", "low", "high", "level_pct", "significant"]


def title_of(story: Story) -> str:
    """The run's name and what it asked."""
    return f"{story.measured.id}: {story.study.question}"


def sections_of(story: Story) -> list[ReportSection]:
    """In the order in which a reader asks: what was found, the numbers, what was expected, of what it is."""
    text = ReportText(as_text(letter_of(story)), fixed=True, origin=f"measured {story.where}; predicted")
    return [
        ReportSection("What was found", [*_headlines(story), *_arms(story)]),
        ReportSection("Figures", list(_figures(story))),
        ReportSection("Numbers", list(_numbers(story))),
        ReportSection("Prediction against measurement", list(prediction_parts(story))),
        ReportSection("Where the numbers come from", list(provenance_parts(story))),
        ReportSection("Changelog text", [text]),
    ]


def _headlines(story: Story) -> Iterator[ReportText]:
    rows, study, prediction = story.rows, story.study, story.read_prediction()
    worth = ""
    if story.is_benchmark:
        yield ReportText(_gain(story))
    else:
        worth = ". The counts are the proof; the rates are not a benchmark"
    counter = proof_of(rows, study)
    yield ReportText(str(counted(story.extra, rows, study, story.where)))
    yield ReportText(str(measured(rows, story.where)) + worth)
    yield ReportText(str(predicted(prediction)))
    judgements = (
        fit_rates(rows, study, fullest_guest(rows)) if story.is_benchmark else None,
        judge_bounds(prediction, counter, story.extra),
        judge_counters(prediction, rows, study),
        judge_rates(prediction, rows),
        judge_gains(prediction, rows),
    )
    yield ReportText(f"prediction against measurement: {judged(*judgements)}")


def _gain(story: Story) -> str:
    """The patched arm against the unpatched one at the most processes, of these on the most CPUs."""
    compared = story.compared
    here = compared[compared.arm == story.study.patched.name]
    most: Any = here.sort_values(["threads", "cpus"]).iloc[-1]
    interval = ""
    if pd.notna(most.low_pct):
        ends = f"{most.low_pct:+z.1f}%, {most.high_pct:+z.1f}%"
        interval = f" [{ends}] (95%, from {int(most.blocks)} boots of each arm)"
    sure = "significant" if most.significant else why_no_star(most, len(compared))
    return (
        f"measured {story.where}, {most.threads} processes on {most.cpus} CPUs, {story.study.metric}: "
        f"{most.unpatched:,.0f} by {story.study.unpatched.name}, {most.value:,.0f} by {most.arm}, "
        f"{most.change_pct:+z.1f}%{interval}, {sure}"
    )


def _arms(story: Story) -> Iterator[ReportTable]:
    rows = [
        {
            "arm": arm.name,
            "role": arm.role,
            "patches": ", ".join(one.name for one in story.study.series_of(arm.name).patches) or "none",
            "made and mounted with": " ".join(
                [*arm.mkfs, *arm.mount, *(f"{k}={v}" for k, v in arm.knobs.items())]
            )
            or None,
        }
        for arm in story.study.arms
    ]
    frame = pd.DataFrame(rows).dropna(axis="columns", how="all")
    yield ReportTable("Arms", "from the study's file and kernel-patches as they are now", frame)


def _figures(story: Story) -> Iterator[ReportFigure]:
    for one in study_drawings(story):
        elsewhere = "" if one.run in ("", story.measured.id) else f"; of run {one.run}, not of this one"
        yield ReportFigure.of(one.stem, one.figure, elsewhere)
    most = most_extra(story.extra)
    costs = [function_costs(story.rows, arm, *most) for arm in story.study.sides]
    if all(map(len, costs)):
        says = f"measured {story.where}, profiled; {most[0]} CPUs, {most[1]} processes"
        drawn = function_shares(costs[0], costs[1], story.study.sides, says)
        yield ReportFigure.of(f"{story.study.name}-costs", drawn)


def _numbers(story: Story) -> Iterator[ReportTable | ReportText]:
    rows, study, timed = story.rows, story.study, rates_in_words(story)
    counter = proof_of(rows, study)
    counts = counted_arms(rows, study)
    if story.is_benchmark:
        yield ReportTable(
            f"Rates of all processes, {study.metric}", timed, _only(story.compared, RATES),
            f"Against {study.unpatched.name}, by blocks, with the interval of the change; significant: "
            f"p < 5% over all rows together, at points where the A/A pair does not differ. Changes are "
            f"geometric means over blocks, a changelog's are ratios of means.{_more_boots(story)}",
        )  # fmt: skip
    proof = "The proof" if counter == study.counter else "Counted, but no proof"
    yield ReportTable(
        f"{proof}: {counter}, {unit_of(study, counter)}", counts_in_words(story),
        _only(counts[counts.counter == counter], COUNTS), "Rank-based intervals, each row by itself.",
    )  # fmt: skip
    most = most_extra(story.extra)
    waits = lock_waits_of(rows, story.study.sides, *most).groupby("arm", sort=False)
    yield from _unless_empty(
        f"Longest waits for locks, {most[0]} CPUs, {most[1]} processes", timed,
        waits.head(LONGEST_WAITS).drop(columns="origin"),
    )  # fmt: skip
    yield from _unless_empty(
        "The patch's gain with each price at the ends of its range", timed, gains_at_price_ends(rows, study)
    )
    if not story.is_benchmark:
        yield ReportText("Rates of this machine are not a benchmark: they are in rows.csv alone.")
        return
    pair = _only(aa_rates(rows, study), ["cpus", "threads", "first", "second", "difference_pct", "alike"])
    twice = ", ".join(rows[rows.pair == "aa"].arm.unique())
    yield from _unless_empty(
        f"The A/A pair: {twice}, booted twice (ops/s)", timed, pair,
        "alike: their difference is within the noise of this run's blocks (not: p < 5% over all points), "
        "however small or large that noise is.",
    )  # fmt: skip
    yield ReportText("Stability: " + "; ".join(steady_lines(rows)) + ".")


def _more_boots(story: Story) -> str:
    """On rates that leave a change of the patched arm open."""
    compared = story.compared
    said = least_known(compared[compared.arm == story.study.patched.name])
    if not said:
        return ""
    return f" {said} `lockscale study run {story.study.name} --detect 10%` makes as many as 10% needs."


def _unless_empty(title: str, origin: str, frame: pd.DataFrame, note: str = "") -> Iterator[ReportTable]:
    if len(frame):
        yield ReportTable(title, origin, frame, note)


def _only(frame: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    return frame[[name for name in columns if name in frame]]
