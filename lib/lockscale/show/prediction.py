# SPDX-License-Identifier: MIT
"""What a patch would give, written down before it is measured: notebook 03 keeps it with its hash."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

import pandas as pd

from lockscale.errors import BadInput, near
from lockscale.measure.count_calls import BY_HAND, ArmToCount, FirstCounts
from lockscale.predict.answer import Answer, Open, Predicted
from lockscale.predict.gain_interval import Discrepancy
from lockscale.predict.guest_case import GuestCase
from lockscale.predict.guest_counts import predict_guests
from lockscale.predict.unpatched_run import predict_gains
from lockscale.show.repredicted import KEPT, kept_repredicted, learned_from_others
from lockscale.studies.registry import studies, study_parts
from lockscale.study.file import Study, list_studies
from lockscale.study.tables import EXTREMES
from lockscale.tables import list_tables, published

NOT_COUNTED = FirstCounts(None, why_none=BY_HAND)


def ask(study: str, given: Mapping[str, float] | None = None) -> Answer:
    """What the study's unpatched arm says of its patches. given: measurements that close what is open.

    What was published is put beside it when all is said, and may be absent. Raises BadInput for a study or
    a measurement that there is not.
    """
    parts = study_parts(study)
    if not (answer := parts.whatif):
        if study in list_studies():
            raise BadInput(
                f"study {study} predicts nothing from its unpatched arm: give --profile, --rates and "
                f"--model, or write a whatif into its study.py"
            )
        known = {one.name: one for one in studies() if one.whatif}
        raise BadInput(f"whatif knows no study {study!r}{near(study, known)}")
    takes = parts.given
    for name, value in (given or {}).items():
        if name not in takes:
            raise BadInput(f"--given does not take {name!r} for study {study}{near(name, takes)}")
        if not 0 < value < 1e9:
            raise BadInput(f"{name} is {value:g}: give a number above 0 and below 1e9")
    found = answer(given or {})
    if not isinstance(found, Answer):
        raise BadInput(f"the whatif of study {study} returned {found!r}: make it return an Answer")
    return replace(found, published=_published(found.predictions))


def answer_for(study: Study) -> Answer:
    """Of a study of one's own, of which nothing is published, an answer that predicts nothing."""
    if study_parts(study.name).whatif:
        return ask(study.name)
    rates = next(iter(study.own_tables), "CSV")
    command = f"lockscale whatif --profile FILE --rates {rates} --model {study.model}"
    how = f"{command}, with a profile and rates of your unpatched kernel"
    unknown = Open("everything", "nothing of its unpatched kernel is published", how)
    return Answer(study.name, [], [], [], [], [unknown], [], naive_reason="")


def predict(
    study: Study,
    first: FirstCounts = NOT_COUNTED,
    answer: Answer | None = None,
    unpatched: pd.DataFrame | None = None,
) -> dict[str, Any]:
    """Everything that notebook 03 writes before notebook 05 measures; no published patched value.

    first: what the run counted of one arm on its own target. answer: that of answer_for(), if it is known.
    unpatched: the rows of the unpatched arm, where the run measured it first.
    """
    gains = None if unpatched is None else predict_gains(study, unpatched, learned_elsewhere(study))
    parts = study_parts(study.name)
    bounds = parts.guest_bounds(study) if parts.guest_bounds else []
    found, guests = answer or answer_for(study), predict_guests(study, first, case_of(study), bounds)
    return {
        "study": study.name,
        "used": found.used,
        "origin": found.origin,
        "published_machine": _machine(study, found),
        "predictions": [asdict(one) for one in found.predictions],
        "guests": guests.rows,
        "guest_fit": guests.said,
        **({"run": gains.as_json()} if gains else {}),
    }


def learned_elsewhere(study: Study) -> Discrepancy:
    """How far simulated gains are off in the curated runs of other studies; the prior where none is kept."""
    return learned_from_others(study.name, kept_repredicted() if KEPT.is_file() else [])


def case_of(study: Study) -> GuestCase | None:
    """None for a study of which no model says what its arms count."""
    case = study_parts(study.name).guest_case
    return case(study) if case else None


def arm_to_count_first(study: Study) -> ArmToCount | None:
    """The arm that notebook 03 counts before any other is measured, and what of it."""
    case = case_of(study)
    return case.counted(study) if case else None


def _machine(study: Study, found: Answer) -> dict[str, Any] | None:
    """The patched arm at the most threads; None where it is not predicted."""
    arm = study.patched.name
    of_arm = [p for p in found.predictions if p.arm == arm]
    if not of_arm:
        return None
    row = asdict(max(of_arm, key=lambda p: p.threads))
    del row["sign"]
    gain = {f"gain_{e}": getattr(p, e) for p in found.parameters if p.name == "gain" for e in ("low", "high")}
    return {**row, **gain, "open": [f"{one.parameter}: {one.measurement}" for one in found.open]}


def _published(predictions: list[Predicted]) -> list[dict[str, Any]]:
    """The published values of the predicted arms: for the reader, never used."""
    arms, metrics = {p.arm for p in predictions}, {p.metric for p in predictions}
    rows: list[dict[str, Any]] = []
    for table in list_tables():
        frame = published(table)
        if {"arm", "metric", "threads"} <= set(frame.columns):
            kept = frame[frame.arm.isin(arms) & frame.metric.isin(metrics)]
            kept = kept[~kept.statistic.isin(EXTREMES)]
            means = kept.groupby(["arm", "threads", "metric"], sort=False).value.mean().reset_index()
            rows += [
                {"table": table, **{str(k): v for k, v in row.items()}} for row in means.to_dict("records")
            ]
    return rows
