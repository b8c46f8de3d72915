# SPDX-License-Identifier: MIT
"""A study's answer; what was published is put beside it when all is said, and may be absent."""

import difflib
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from lockscale.errors import BadInput
from lockscale.tables import list_tables, published
from lockscale.whatif import group_trylock, inode_claim, orphan_file, write_access
from lockscale.whatif.answer import Answer, Predicted

Asked = Callable[[Mapping[str, float]], Answer]

STUDIES: dict[str, tuple[Asked, Mapping[str, str]]] = {
    "inode-claim": (inode_claim.answer, inode_claim.GIVEN),
    "write-access": (write_access.answer, write_access.GIVEN),
    "group-trylock": (group_trylock.answer, group_trylock.GIVEN),
    "orphan-file": (orphan_file.answer, orphan_file.GIVEN),
}
"""Each study with the measurements that it can be given, by name."""


def ask(study: str, given: Mapping[str, float] | None = None) -> Answer:
    """What the study's base says of its patches. given: measurements that close what is open.

    Raises BadInput for a study or a measurement that there is not.
    """
    if study not in STUDIES:
        raise BadInput(f"whatif knows no study {study!r}{_near(study, STUDIES)}")
    answer, known = STUDIES[study]
    for name, value in (given or {}).items():
        if name not in known:
            raise BadInput(f"{study} has no measurement {name!r} to be given{_near(name, known)}")
        if not 0 < value < 1e9:
            raise BadInput(f"{name} is {value:g}: give a number above 0 and below 1e9")
    found = answer(given or {})
    return replace(found, published=_published(found.predictions))


def _published(predictions: list[Predicted]) -> list[dict[str, Any]]:
    """The published values of the predicted arms: for the reader, never used."""
    arms, metrics = {p.arm for p in predictions}, {p.metric for p in predictions}
    rows = []
    for table in list_tables():
        frame = published(table)
        if {"arm", "metric", "threads"} <= set(frame.columns):
            kept = frame[frame.arm.isin(arms) & frame.metric.isin(metrics)]
            kept = kept[~kept.statistic.isin(["min", "max"])]
            for key, found in kept.groupby(["arm", "threads", "metric"], sort=False):
                rows.append({"table": table, **_row(key, float(found.value.mean()))})
    return rows


def _row(key: Any, value: float) -> dict[str, Any]:
    arm, threads, metric = key
    return {"arm": str(arm), "threads": int(threads), "metric": str(metric), "value": value}


def _near(name: str, known: Mapping[str, object]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    return f": did you mean {near[0]}?" if near else f" (there are: {', '.join(known) or 'none'})"
