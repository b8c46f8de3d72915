# SPDX-License-Identifier: MIT
"""Queueing models fitted to the columns of a published table."""

from typing import Any

import pandas as pd

from lockscale.errors import BadInput
from lockscale.progress import progress
from lockscale.queueing import MODELS
from lockscale.queueing.fit import fit
from lockscale.tables import published


def fit_table(table: str, model: str | None = None, n_min: int = 1) -> list[dict[str, Any]]:
    """Every column of rates against threads from `n_min` on, with every model or the one named."""
    if model is not None and model not in MODELS:
        raise BadInput(f"there is no queueing model {model!r} (there are: {', '.join(MODELS)})")
    frame = published(table)
    if not {"threads", "metric", "value", "statistic"} <= set(frame.columns):
        raise BadInput(f"table {table} has no rates against threads: fit a table that has")
    columns = _columns(frame[frame.unit.str.endswith("/s") & (frame.threads >= n_min)])
    if not columns:
        raise BadInput(f"no column of {table} has rates at three or more thread counts from {n_min} on")
    wanted = [(column, one) for column in columns for one in ([MODELS[model]] if model else MODELS.values())]
    found = []
    with progress(f"fit {table}", len(wanted)) as shown:
        for done, (column, one) in enumerate(wanted, start=1):
            points = columns[column]
            result = fit(points.threads.to_numpy(), points.value.to_numpy(), one)
            found.append(result.to_json(table=table, column=column))
            shown.update(done, f"{one.name}, {column}")
    return found


def _columns(rates: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """threads and value of each column; what is published per container becomes the sum over them."""
    columns = {}
    for (arm, metric, statistic), column in rates.groupby(["arm", "metric", "statistic"], sort=False):
        if column.threads.nunique() < 3:
            continue
        if statistic == "mean_per_container":
            whole = column.assign(value=column.value * column.threads)
            columns[f"{arm} {metric} aggregate"] = whole
        else:
            columns[f"{arm} {metric}"] = column
    return columns
