# SPDX-License-Identifier: MIT
"""One arm of a study counted before anything is measured: what a prediction of the others is made from."""

from dataclasses import dataclass

import pandas as pd

from lockscale.measure.counting import Sources
from lockscale.measure.layout import Run
from lockscale.measure.observe import count_steps
from lockscale.measure.plan import Step
from lockscale.measure.rows import read_rows
from lockscale.measure.run_files import read_provenance
from lockscale.study.file import LocalTarget, ManycoreTarget, Study, Target

FEWEST = 2
"""Processes: one alone meets nobody."""

BLOCKS = 4
"""At least: fewer say hardly anything of how far counts vary."""

LOCAL = "a local target boots no kernel of ours, so nothing of the base is counted there"
IN_VIRTUAL_TIME = "a machine in virtual time gives rates: for a prediction of counts name target qemu"
BY_HAND = "the base is counted by a run alone, before it measures: lockscale study run"
LATE = "arms were measured before the base was counted, and a prediction made now would be none"
ALONE = "no point of the study has two processors, so nobody meets anybody"
NONE_NAMED = "of this study it is not worked out which arm's counts tell those of the others"


@dataclass(frozen=True)
class Base:
    """The arm to count, and what of it: sources as in the counters of a study."""

    arm: str
    sources: tuple[str, ...]


@dataclass(frozen=True)
class BaseCounts:
    """Rows of the base's counts, or a sentence that says why there are none.

    host_cpus: processors under a guest's virtual ones; None: the target is no guest.
    """

    rows: pd.DataFrame | None
    host_cpus: int | None = None
    why_none: str = ""


def base_of(run: Run) -> Run:
    """Where the counts of a run's base lie, laid out like the run itself."""
    return Run(run.folder / "base")


def count_base(run: Run, study: Study, target: Target, base: Base | None) -> BaseCounts:
    """Boot and count what is left of the base in the run's own target, and no other arm."""
    if base is None:
        return BaseCounts(None, why_none=NONE_NAMED)
    if isinstance(target, LocalTarget):
        return BaseCounts(None, why_none=LOCAL)
    if isinstance(target, ManycoreTarget):
        return BaseCounts(None, why_none=IN_VIRTUAL_TIME)
    if run.journal.is_file():
        return read_base(run, LATE)
    if steps := base_steps(study, base.arm):
        count_steps(base_of(run), run, study, target, steps, Sources.of(base.sources))
    return read_base(run, ALONE)


def read_base(run: Run, why_none: str = BY_HAND) -> BaseCounts:
    """What the run counted of its base; where nothing, `why_none`."""
    into = base_of(run)
    if not into.rows.is_file():
        return BaseCounts(None, why_none=why_none)
    said = read_provenance(into.folder)
    guest = said["origin"] == "qemu"
    return BaseCounts(read_rows(into.rows), int(said["host"]["cpus"]) if guest else None)


def base_steps(study: Study, arm: str) -> list[Step]:
    """A boot of each guest a block, at up to as many processes as processors.

    With more of them the scheduler has a say, which no model has. Two processes are always counted: the
    most for which a small host still has a processor each.
    """
    blocks = range(1, max(BLOCKS, study.parameters.iterations) + 1)
    guests = [guest for guest in study.parameters.guests if guest.cpus >= FEWEST]
    boots = [(block, guest) for block in blocks for guest in guests]
    return [
        Step(
            k,
            "ab",
            block,
            block,
            arm,
            guest.cpus,
            base_points(guest.cpus, guest.processes),
            guest.containers,
        )
        for k, (block, guest) in enumerate(boots, start=1)
    ]


def base_points(cpus: int, processes: list[int]) -> tuple[int, ...]:
    """Numbers of processes at which the base is counted on `cpus` processors."""
    return tuple(sorted({FEWEST, *(n for n in processes if FEWEST <= n <= cpus)}))
