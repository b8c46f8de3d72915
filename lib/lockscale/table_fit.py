# SPDX-License-Identifier: MIT
"""Queueing models fitted to the columns of a published table."""

from typing import Any

from lockscale.errors import BadInput
from lockscale.queueing import MODELS
from lockscale.queueing.fit import fit
from lockscale.tables import published


def fit_table(table: str, model: str | None = None, n_min: int = 1) -> list[dict[str, Any]]:
    """Every column of rates against threads, with every model or the one named."""
    if model is not None and model not in MODELS:
        raise BadInput(f"there is no queueing model {model!r} (there are: {', '.join(MODELS)})")
    frame = published(table)
    if not {"threads", "metric", "value", "statistic"} <= set(frame.columns):
        raise BadInput(f"table {table} has no rates against threads: fit a table that has")
    rates = frame[frame.unit.str.endswith("/s") & (frame.threads >= n_min)]
    found = []
    for (arm, metric), column in rates.groupby(["arm", "metric"], sort=False):
        if column.threads.nunique() < 3:
            continue
        for one in [MODELS[model]] if model else MODELS.values():
            result = fit(column.threads.to_numpy(), column.value.to_numpy(), one)
            found.append({**result.to_json(table=table, column=f"{arm} {metric}")})
    if not found:
        raise BadInput(f"no column of {table} has rates at three or more thread counts from {n_min} on")
    return found
