# SPDX-License-Identifier: MIT
"""What a real kernel with an arm's patches gave, as the letter before them says it."""

from typing import Any

import pandas as pd

from lockscale.errors import BadInput
from lockscale.measure.compare_arms import aa_apart_pct, rate_repeats
from lockscale.measure.provenance import run_command
from lockscale.measure.rows import read_rows, where_measured
from lockscale.measure.run_folder import curated_run, read_prediction, read_provenance
from lockscale.predict.judge import judge_gains
from lockscale.show.commit_text import wrapped
from lockscale.show.protocol import machine_in_virtual_time
from lockscale.study.file import load_study
from lockscale.study.study import Study


def what_was_measured(study_name: str, arm: str) -> str:
    """Rates of the study's kept run in virtual time at each number of processes, beside what was predicted.

    Empty where there is no such run, and for the unpatched arm, which every other is compared with.
    """
    try:
        study, run = load_study(study_name), curated_run(study_name, rates=True)
    except BadInput:
        return ""
    provenance = read_provenance(run.folder)
    if provenance["origin"] != "virtual" or arm == study.unpatched.name:
        return ""
    rows, prediction = read_rows(run.rows), read_prediction(run)
    table = _table(study, arm, rate_repeats(rows, study.operation), judge_gains(prediction, rows))
    if not table:
        return ""
    said = [_of_what(study, provenance), table, *_noise(rows, study)]
    if provenance.get("prediction"):
        said.append(_when(study, provenance["prediction"]))
    said += [one.text for one in machine_in_virtual_time(provenance)]
    again = f"  {_again(study, provenance)}\n  lockscale patches export {study_name}/{arm} --format mbox"
    parts = [one if one is table else "\n".join(wrapped(one)) for one in said]
    return "\n\n".join(["Rates in virtual time:", *parts, "To repeat it:", again]) + "\n"


def _of_what(study: Study, provenance: dict[str, Any]) -> str:
    versions = sorted({kernel["version"] for kernel in provenance["kernels"].values()})
    cpus = max(guest["cpus"] for guest in provenance["study"]["parameters"]["guests"])
    metric = study.metric[:1].upper() + study.metric[1:]
    return (
        f"{metric}, measured {where_measured(provenance)}, {cpus} CPUs, Linux {', '.join(versions)}, means "
        "of the boots of each arm; the gain, and its 90% interval as it was predicted:"
    )


def _table(study: Study, arm: str, rates: pd.DataFrame, judged: pd.DataFrame) -> str:
    """One line a number of processes at which both arms were measured; empty where none was."""
    unpatched = study.unpatched.name
    means = rates.groupby(["threads", "arm"]).value.mean().unstack()
    if not {unpatched, arm} <= set(means.columns):
        return ""
    told: dict[Any, Any] = {one.threads: one for one in judged[judged.arm == arm].itertuples()}
    lines = [f"{'procs':>5} {unpatched:>19} {arm:>19}   gain  predicted"]
    for n, row in means[[unpatched, arm]].dropna().iterrows():
        line = f"{n:>5} {row[unpatched]:>19.0f} {row[arm]:>19.0f} {row[arm] / row[unpatched]:>6.2f}"
        if one := told.get(n):
            line += f"  {one.predicted_low:.2f} to {one.predicted_high:.2f}{'' if one.inside else ', missed'}"
        lines.append(line)
    return "\n".join(lines)


def _noise(rows: pd.DataFrame, study: Study) -> list[str]:
    apart = aa_apart_pct(rows, study)
    return [] if apart is None else [f"Two boots of the same kernel differ by at most {apart:.1f}%."]


def _when(study: Study, written: dict[str, Any]) -> str:
    return (
        f"The intervals were predicted from the rates of {study.unpatched.name} alone and written before any "
        f"other arm was booted, {written['written_before_utc']}; the prediction's sha256 is "
        f"{written['sha256']}."
    )


def _again(study: Study, provenance: dict[str, Any]) -> str:
    return run_command(study.name, study.model_dump(mode="json")["parameters"], provenance["target"]["name"])
