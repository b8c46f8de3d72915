# SPDX-License-Identifier: MIT
"""The checks of every arm in one go: series, build, boot, counters."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from lockscale.errors import RunFailed
from lockscale.experiment.layout import new_run
from lockscale.kernels.arms import arms_file
from lockscale.kernels.series import Series, chosen_series
from lockscale.progress import progress
from lockscale.proof.boot import runs_its_load
from lockscale.proof.campaign import Counted, arms_to_count, campaign
from lockscale.proof.counters import CounterEntry, counters_of
from lockscale.proof.series_checks import (
    Entry,
    adds_no_warning,
    applies,
    builds,
    differs,
    has_style,
)
from lockscale.study import DEFAULT_TARGET, load_target


@dataclass
class Checked:
    """An arm with the outcome of each check, and of each counter it is compared by."""

    study: str
    arm: str
    checks: dict[str, Entry] = field(default_factory=dict)
    counters: list[CounterEntry] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return all(c.ok for c in self.checks.values()) and not any(c.fails for c in self.counters)

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "ok": self.ok}


def check(
    which: str | None, *, build: bool = False, boot: bool = False, iterations: int = 5
) -> list[Checked]:
    """One entry per arm of `which`: a study, a study/arm, or everything.

    With `boot` every study's counters are counted too, `iterations` times an arm; the counts stay in
    runs/patches-check-<time>.
    """
    chosen = chosen_series(which)
    found = {series.name: Checked(series.study, series.arm) for series in chosen}
    steps: list[tuple[str, Callable[[Series], Entry]]] = [("applies", applies), ("differs", differs)]
    if build:
        steps += [("checkpatch", has_style), ("W=1", adds_no_warning), ("builds", builds)]
    if boot:
        steps += [("boots", _boots)]
    with progress("check series", len(chosen)) as shown:
        for done, series in enumerate(chosen, start=1):
            for name, step in steps:
                if all(entry.ok for key, entry in found[series.name].checks.items() if key != "differs"):
                    found[series.name].checks[name] = step(series)
            shown.update(done, series.name)
    if boot:
        _count(chosen, found, iterations)
    return list(found.values())


def _boots(series: Series) -> Entry:
    try:
        return Entry(True, runs_its_load(series, load_target(DEFAULT_TARGET)))
    except RunFailed as error:
        return Entry(False, str(error))


def _count(chosen: Sequence[Series], found: dict[str, Checked], iterations: int) -> None:
    """Counters of each study; an arm whose guest fails has no counters, and says so."""
    studies = defaultdict(list)
    for series in chosen:
        studies[series.study].append(series.arm)
    folder = new_run("patches-check").folder
    for study, arms in studies.items():
        try:
            counted = campaign(
                study, arms_to_count(study, arms), load_target(DEFAULT_TARGET), iterations, folder
            )
        except RunFailed as error:
            for arm in arms:
                found[f"{study}/{arm}"].checks["counts"] = Entry(False, str(error))
            continue
        _judge(study, arms, counted, found, folder)


def _judge(
    study: str, arms: Sequence[str], counted: Sequence[Counted], found: dict[str, Checked], folder: Path
) -> None:
    entries = counters_of(arms_file(study), counted)
    for arm in arms:
        one = found[f"{study}/{arm}"]
        one.counters = [entry for entry in entries if entry.arm_name == arm]
        one.checks["counts"] = Entry(True, f"{len(one.counters)} comparison(s), counts in {folder}")
