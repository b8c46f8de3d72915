# SPDX-License-Identifier: MIT
"""What a report shows of a measured run: headline, figures, numbers, the prediction beside them, the text.

Kernels, target, prices, tools, commands and hashes are those of the run's own files.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from lockscale.files import sha256_of
from lockscale.measure.compare_arms import (
    aa_rates,
    counted_arms,
    function_costs,
    most_extra,
    proof_of,
    unit_of,
)
from lockscale.measure.count_calls import observed
from lockscale.measure.profiling import lock_waits_of
from lockscale.measure.provenance import how_to_repeat
from lockscale.measure.run_folder import Run
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
from lockscale.show.figures.study import function_shares
from lockscale.show.headlines import counted, judged, measured, predicted
from lockscale.show.protocol import disk_mib, made_of
from lockscale.show.report.page import ReportFigure, ReportSection, ReportTable, ReportText
from lockscale.show.report.predicted import counts_in_words, prediction_parts, rates_in_words
from lockscale.show.story import Story
from lockscale.show.undecided import least_known, why_no_star

LONGEST_WAITS = 10
"""Of each arm: beyond them a wait is a small part of the time."""
RATES = ["arm", "cpus", "threads", "unpatched", "value", "change_pct", "low_pct", "high_pct", "significant"]
COUNTS = ["arm", "cpus", "threads", "unpatched", "value", "change", "low", "high", "level_pct", "significant"]
RECORDED = "recorded by the run (provenance.json)"
KERNEL = ["release", "spin_lock", "build_id", "series", "series_sha256", "source_sha256", "config_sha256"]

OF_ALL = ("spin_lock", "source_sha256", "config_sha256")
"""Of these one is said once, where all arms have the same."""


def sections_of(story: Story) -> list[ReportSection]:
    """In the order in which a reader asks: what was found, the numbers, what was expected, of what it is."""
    text = ReportText(as_text(letter_of(story)), fixed=True, origin=f"measured {story.where}; predicted")
    return [
        ReportSection("What was found", [*_headlines(story), *_arms(story)]),
        ReportSection("Figures", list(_figures(story))),
        ReportSection("Numbers", list(_numbers(story))),
        ReportSection("Prediction against measurement", list(prediction_parts(story))),
        ReportSection("Where the numbers come from", list(_provenance(story))),
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


def _provenance(story: Story) -> Iterator[ReportTable | ReportText]:
    """All that somebody needs to repeat the run or to doubt it."""
    said, run = story.provenance, story.measured
    told = how_to_repeat(run)
    kernels = pd.DataFrame(
        [{"arm": arm, **{k: one.get(k) for k in KERNEL}} for arm, one in said["kernels"].items()]
    )
    alike = [name for name in KERNEL if name in OF_ALL and kernels[name].nunique() == 1]
    shared = {f"{name.replace('_', ' ')} of all kernels": kernels[name].iloc[0] for name in alike}
    facts = {**_run_facts(said, told), **shared}
    known = [(name, value) for name, value in facts.items() if value not in (None, "")]
    yield ReportTable("The run", RECORDED, pd.DataFrame(known, columns=["what", "value"]).astype(str))
    yield ReportTable("Kernels", RECORDED, kernels.drop(columns=alike))
    if prices := said.get("target", {}).get("prices"):
        rows = [{"price": name.replace("_", " "), **one} for name, one in prices.items()]
        yield ReportTable("Prices of virtual time, in ns", "the target's file", pd.DataFrame(rows))
    yield ReportTable("Files", "computed when this report was written", pd.DataFrame(_files(run)))
    yield ReportText("\n".join(["To repeat it:", *told["commands"], *told["needs"]]), fixed=True)


def _run_facts(said: dict[str, Any], told: dict[str, Any]) -> dict[str, object]:
    host, target = said.get("host") or {}, said.get("target") or {}
    disk = dict(target.get("disk") or {})
    disk |= {"size_mib": disk_mib(said)} if "size_mib" in disk else {}
    found = list(said.get("as_found", {}).values())
    systems = [one["file_system"] for one in found if one.get("file_system")]
    machine = [f"{host.get('cpus')} CPUs ({host.get('cpu_model')})", f"Linux {host.get('kernel')}"]
    return {
        "target": f"{target.get('name')} ({target.get('kind')})",
        "machine under it": ", ".join(machine) if host else None,
        "QEMU": said.get("qemu_version"),
        "disk": ", ".join(f"{name} {value}" for name, value in disk.items()) or None,
        "file system": "; ".join(sorted({made_of(one) for one in systems} - {""})),
        "tools": ", ".join(told["tools"]),
        "mkfs": "; ".join(told["mkfs"]),
        "mount": "; ".join(sorted({one["mount_line"] for one in systems})),
        "compilers": "; ".join(sorted({str(one.get("compiler")) for one in said["kernels"].values()})),
        "packages": ", ".join(f"{name} {version}" for name, version in told["packages"].items()),
        "seed": told["seed"],
        "study sha256": told["study_sha256"],
        "predicted numbers, sha256": told["prediction_sha256"],
    }


def _files(run: Run) -> list[dict[str, str]]:
    """The hash of each file from which this page was made."""
    candidates = (run.rows, observed(run).rows, run.provenance, run.prediction, run.folder / "study.json")
    return [
        {"file": path.relative_to(run.folder).as_posix(), "sha256": sha256_of(path)}
        for path in candidates
        if path.is_file()
    ]
