# SPDX-License-Identifier: MIT
"""The unpatched arm's rates at every number of processes, before any other arm is booted.

On a target whose rates count: from them a run predicts every other arm. They lie in the run's folder
`unpatched`, with journal and provenance like the run's, and are in no comparison of arms: for that the plan
measures the unpatched arm again, in its turn.
"""

from dataclasses import asdict

import pandas as pd

from lockscale.files import locked, write_json
from lockscale.measure.arm_boot import measure
from lockscale.measure.plan import Step
from lockscale.measure.resume import open_journal, refuse_other, says_how_to_go_on
from lockscale.measure.rows import read_rows, write_rows
from lockscale.measure.run import Work, carry_out, rows_of
from lockscale.measure.run_folder import Run
from lockscale.measure.target import hold_target
from lockscale.progress import progress
from lockscale.study.file import ManycoreTarget, Study, Target

MOST_BOOTS = 2
"""Two say how far boots lie apart; the prediction's intervals are wider than what more would tell."""


def first_rates_of(run: Run) -> Run:
    """Where they lie, laid out like the run itself."""
    return Run(run.folder / "unpatched")


def read_first_rates(run: Run) -> pd.DataFrame | None:
    """The rows, as read_rows() has them; None where the unpatched arm was not measured first."""
    into = first_rates_of(run)
    return read_rows(into.rows) if into.rows.is_file() else None


def measure_first_arm(run: Run, study: Study, target: Target) -> pd.DataFrame | None:
    """Boot and measure what is left of the unpatched arm, and no other arm; its rows.

    None on a target that gives no rates, or one that boots a server for each arm, which takes long; and where
    other arms were measured before, so that a prediction made now would be none.
    """
    if not isinstance(target, ManycoreTarget) or run.journal.is_file():
        return read_first_rates(run)
    into, steps = first_rates_of(run), first_rate_steps(study)
    into.folder.mkdir(parents=True, exist_ok=True)
    alone = study.model_copy(update={"arms": [study.unpatched]})
    with locked(into.folder / "lock", f"first rates of run {run.id}"), says_how_to_go_on(run):
        journal = open_journal(into, study)
        with hold_target(run, alone, target) as held:
            refuse_other(journal, steps, held.label)
            write_json(into.provenance, {"run": run.id, "origin": held.origin, **held.describe()})
            work = Work(run, study, held, journal)
            with progress(f"first rates of {study.unpatched.name} on {held.label}", len(steps)) as shown:
                for step, done in carry_out(
                    work, steps, shown, lambda step, booted, told: measure(booted, study, step, told)
                ):
                    rows = [asdict(row) for row in rows_of(work, step, done)]
                    journal.add(step, rows=rows, wall_s=round(done.wall_s, 1))
        write_rows(into.rows, journal.rows(steps))
    return read_first_rates(run)


def first_rate_steps(study: Study) -> list[Step]:
    """A boot of each guest a block, at every number of processes of the plan."""
    blocks = range(1, min(MOST_BOOTS, study.parameters.iterations) + 1)
    boots = [(block, guest) for block in blocks for guest in study.parameters.guests]
    arm = study.unpatched.name
    return [
        Step(k, "ab", block, block, arm, guest.cpus, tuple(guest.processes), guest.containers)
        for k, (block, guest) in enumerate(boots, start=1)
    ]
