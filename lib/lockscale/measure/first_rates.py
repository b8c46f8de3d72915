# SPDX-License-Identifier: MIT
"""The unpatched arm's rates at every number of processes, before any other arm is booted.

On a target whose rates count: from them a run predicts every other arm. They lie in the run's folder
`unpatched`, with journal and provenance like the run's, and are in no comparison of arms: for that the plan
measures the unpatched arm again, in its turn.
"""

import pandas as pd

from lockscale.measure.arm_boot import measure
from lockscale.measure.plan import boots_of
from lockscale.measure.rows import read_rows
from lockscale.measure.run import measure_apart, rows_of
from lockscale.measure.run_folder import Run
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
    arm = study.unpatched.name
    blocks, what = min(MOST_BOOTS, study.parameters.iterations), f"first rates of {arm}"
    steps = boots_of(study, arm, blocks, lambda guest: guest.processes)
    measure_apart(
        first_rates_of(run), run, study, target, steps, what,
        lambda work, step, booted, told: measure(booted, work.study, step, told), rows_of,
    )  # fmt: skip
    return read_first_rates(run)
