# SPDX-License-Identifier: MIT
"""``lockscale bench``: every case in one run, its target beside it."""

from dataclasses import asdict
from typing import Any

from lockscale.bench.comparison import repairman_rows
from lockscale.bench.durations import process_rows, s1_row
from lockscale.bench.explorer import explorer_rows
from lockscale.bench.fits import fit_rows
from lockscale.bench.folding import fold_row
from lockscale.bench.rounds import engines
from lockscale.bench.row import machine
from lockscale.bench.setting import Setting
from lockscale.bench.virtual_time import virtual_time_rows
from lockscale.progress import progress


def bench(setting: Setting | None = None) -> list[dict[str, Any]]:
    """All rows, each with the machine it was measured on. Raises BadInput without SimPy or Ciw."""
    setting = setting or Setting()
    compared = engines()
    here = machine()
    told = 0
    with progress("bench", setting.steps()) as shown:

        def done(what: str) -> None:
            nonlocal told
            told += 1
            shown.update(told, what)

        rows = [
            *repairman_rows(compared, setting, done),
            s1_row(setting, done),
            *process_rows(setting, done),
            *fit_rows(setting, done),
            fold_row(setting, done),
            *explorer_rows(setting, done),
            *virtual_time_rows(setting, done),
        ]
    return [{**asdict(row), **here} for row in rows]
