# SPDX-License-Identifier: MIT
"""Earlier runs that tell something of the next one: of the same study, target and load."""

from collections.abc import Iterator
from itertools import chain
from typing import Any

from lockscale.errors import BadInput
from lockscale.measure.journal import Entry, entries_of_another
from lockscale.measure.layout import Run, list_runs
from lockscale.measure.run_files import read_study_file
from lockscale.study.file import Study

LOAD = ("guests", "operations_per_point", "tool")
"""The parameters that the noise and the time of a step depend on: those of another load do not tell them."""


def entries_alike(study: Study, target: str, *besides: str) -> Iterator[list[Entry]]:
    """The journals of those of `study` on `target` with the same LOAD, the latest first, finished or not.

    besides: further parameters that have to be the same.
    """
    wanted = study.parameters.model_dump(mode="json", include={*LOAD, *besides})
    for run in reversed(list_runs()):
        if _is_alike(run, study.name, target, wanted):
            yield entries_of_another(run)


def _is_alike(run: Run, study: str, target: str, wanted: dict[str, Any]) -> bool:
    try:
        said = read_study_file(run.folder)
    except BadInput:
        return False
    asked = said["parameters"]
    same_load = all(asked.get(name) == value for name, value in wanted.items())
    return same_load and (said["name"], said["target"]) == (study, target)


def step_seconds(run: Run, study: Study, target: str) -> list[float]:
    """How long steps took: of this run, else of the latest one alike with the same profilers.

    Empty where nothing was measured yet.
    """
    for entries in chain([entries_of_another(run)], entries_alike(study, target, "profilers")):
        if found := [entry["wall_s"] for entry in entries if "wall_s" in entry]:
            return found
    return []
