# SPDX-License-Identifier: MIT
"""What a patch would give, written down before it is measured: notebook 03 keeps it with its hash."""

from dataclasses import asdict
from typing import Any

from lockscale.experiment.observe_base import BY_HAND, BaseCounts
from lockscale.study import Study
from lockscale.whatif.answer import Answer, Open
from lockscale.whatif.ask import STUDIES, ask
from lockscale.whatif.guests import predict_guests

NOT_COUNTED = BaseCounts(None, why_none=BY_HAND)
_ENDS = ("low", "high")


def answer_for(study: Study) -> Answer:
    """Of a study of one's own, of which nothing is published, an answer that predicts nothing."""
    if study.name in STUDIES:
        return ask(study.name)
    rates = next(iter(study.own_tables), "CSV")
    asked = f"lockscale whatif --profile FILE --rates {rates} --model {study.model}"
    said = f"{asked}, with a profile and the rates of your base"
    unknown = Open("everything", "nothing of this study's base is published", said)
    return Answer(study.name, [], [], [], [], [unknown], [], naive_reason="")


def predict(study: Study, base: BaseCounts = NOT_COUNTED) -> dict[str, Any]:
    """Everything that notebook 03 writes before notebook 05 measures; no published patched value.

    base: what the run counted of one arm on its own target.
    """
    found, guests = answer_for(study), predict_guests(study, base)
    return {
        "study": study.name,
        "used": found.used,
        "published_machine": _machine(study, found),
        "predictions": [asdict(one) for one in found.predictions],
        "guests": guests.rows,
        "guest_fit": guests.said,
    }


def _machine(study: Study, found: Answer) -> dict[str, Any] | None:
    """The upstream arm at the most threads; None where it is not predicted."""
    arm = study.arm("upstream").name
    of_arm = [p for p in found.predictions if p.arm == arm]
    if not of_arm:
        return None
    said = max(of_arm, key=lambda p: p.threads)
    gain = {f"gain_{end}": getattr(p, end) for p in found.parameters if p.name == "gain" for end in _ENDS}
    row = {name: value for name, value in asdict(said).items() if name != "sign"}
    return {**row, **gain, "open": [f"{one.parameter}: {one.measurement}" for one in found.open]}
