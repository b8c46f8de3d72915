# SPDX-License-Identifier: MIT
"""What a real kernel with an arm's patches gave, as the letter before them says it."""

from typing import Any, NamedTuple

import pandas as pd

from lockscale.errors import BadInput
from lockscale.kernels.mail import read_mail, subject_of
from lockscale.measure.compare_arms import boots_apart_pct, rate_repeats
from lockscale.measure.rows import where_measured
from lockscale.measure.run_folder import curated_run, find_run, target_of
from lockscale.predict.predicted_against_measured import judge_gains
from lockscale.show.commit_text import Paragraph, begun, joined
from lockscale.show.protocol import heads_of, machine_in_virtual_time, noise_of, rerun_command, versions_of
from lockscale.show.story import Story, open_story
from lockscale.study.arms_of_a_text import base_of
from lockscale.study.file import load_study
from lockscale.study.study import Study


def what_was_measured(study_name: str, arm: str, run_name: str = "") -> str:
    """Rates of the study's run at each number of processes, beside what was predicted.

    run_name: a run in virtual time or on hardware, by default the latest one in data/measured. Then the text
    is empty where there is none that measured the arm, and for the unpatched arm, which every other is
    compared with. Raises BadInput for a run that is named and has no such rates.
    """
    if not run_name:
        try:
            run = curated_run(study_name, rates=True)
        except BadInput:
            return ""
        return _measured(arm, open_story(study_name, str(run.folder)))
    if (target_of(run := find_run(run_name)) or ("", ""))[0] != study_name:
        raise BadInput(f"run {run_name} is not of study {study_name}: name one of its runs")
    if arm == load_study(study_name).unpatched.name:
        raise BadInput(f"{arm} is the arm that others are compared with, so it has no gain: leave out --run")
    if text := _measured(arm, open_story(study_name, str(run.folder))):
        return text
    raise BadInput(
        f"run {run_name} has no rates of {arm} and of the unpatched arm in virtual time or on hardware: name "
        "another run, or leave out --run"
    )


def _measured(arm: str, story: Story) -> str:
    study, run = story.study, story.measured
    if not run.rows.is_file() or arm == study.unpatched.name or not story.is_benchmark:
        return ""
    provenance, cpus = story.provenance, int(rate_repeats(story.rows, study.operation).cpus.max())
    rows = story.rows[story.rows.cpus == cpus]  # rates on several numbers of CPUs have no mean
    judged = judge_gains(story.read_prediction() if run.prediction.is_file() else {}, rows)
    told = {int(str(one.threads)): one for one in judged[judged.arm == arm].itertuples()}
    gains = _gains(study, arm, rate_repeats(rows, study.operation), told)
    if not gains:
        return ""
    of_what = (
        f"{begun(study.metric)}, measured {where_measured(provenance)}, {cpus} CPUs, Linux "
        f"{versions_of(provenance['kernels'])}, means of the boots of each arm."
    )
    said = [Paragraph(f"Rates {story.where}:", fixed=True), Paragraph(of_what)]
    for one in gains:
        said += [Paragraph(one.head), Paragraph(one.table, fixed=True)]
    said += map(Paragraph, noise_of(boots_apart_pct(rows, study, [arm, *(one.over for one in gains)])))
    if told and (written := provenance.get("prediction")):
        when = (
            f"The intervals were predicted from the rates of {study.unpatched.name} alone and written before "
            f"any other arm was booted, {written['written_before_utc']}; the prediction's sha256 is "
            f"{written['sha256']}."
        )
        said.append(Paragraph(when))
    said += [*machine_in_virtual_time(provenance), Paragraph("To repeat it:")]
    again = [rerun_command(study, provenance), f"lockscale patches export {study.name}/{arm} --format mbox"]
    return joined([*said, *(Paragraph(f"  {line}", fixed=True) for line in again)])


class _Gain(NamedTuple):
    """A table of the gain over an arm, and what stands above it."""

    over: str
    head: str
    table: str


def _gains(study: Study, arm: str, rates: pd.DataFrame, told: dict[int, Any]) -> list[_Gain]:
    """Over the arm that the series applies to, and over the unpatched one, which predictions are of.

    Empty where the unpatched one was not measured.
    """
    base, unpatched = _applies_to(study, arm), study.unpatched.name
    predicted = ", and its 90% interval as it was predicted" if told else ""
    if not (table := _table(unpatched, arm, rates, told)):
        return []
    if base in (unpatched, arm):
        return [_Gain(unpatched, f"The gain over {unpatched}{predicted}:", table)]
    own = "; ".join(subject_of(read_mail(one)) for one in study.series_of(unpatched).patches)
    other = f"{unpatched} ({own})" if own else unpatched
    over_other = _Gain(unpatched, f"The gain over another arm, {other}{predicted}:", table)
    over_base = _table(base, arm, rates, {})
    if not over_base:
        return [over_other]
    return [_Gain(base, f"The gain over {base}, which the series applies to:", over_base), over_other]


def _applies_to(study: Study, arm: str) -> str:
    """The arm to whose source the series is applied; empty where no arm is that source."""
    try:
        return base_of(study, study.arm(arm)).name
    except BadInput:
        return ""


def _table(unpatched: str, arm: str, rates: pd.DataFrame, told: dict[int, Any]) -> str:
    """One line a number of processes at which both arms were measured; empty where none was."""
    means = rates.groupby(["threads", "arm"]).value.mean().unstack()
    if not {unpatched, arm} <= set(means.columns):
        return ""
    before, after = heads_of((unpatched, arm), (19, 19), 38)
    lines = [f"{'procs':>5} {before} {after}   gain{'  predicted' if told else ''}"]
    for n, row in means[[unpatched, arm]].dropna().iterrows():
        line = f"{n:>5} {row[unpatched]:>19.0f} {row[arm]:>19.0f} {row[arm] / row[unpatched]:>6.2f}"
        if one := told.get(int(str(n))):
            line += f"  {one.predicted_low:.2f} to {one.predicted_high:.2f}{'' if one.inside else ', missed'}"
        lines.append(line)
    return "\n".join(lines)
