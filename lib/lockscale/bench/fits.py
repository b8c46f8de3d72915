# SPDX-License-Identifier: MIT
"""What a person waits for from the queueing models: one fit, and every table with every model."""

import statistics
import time

from lockscale.bench.row import Row
from lockscale.bench.setting import Done, Setting
from lockscale.fitting.published_table import all_published_columns, published_columns
from lockscale.fitting.table_fit import compare_column, fit_column, models_of
from lockscale.queueing import MODELS

FIT_LIMIT_S, ALL_LIMIT_S = 0.2, 20.0
SEVEN_POINTS = "s3_fallocate2"


def fit_rows(setting: Setting, done: Done) -> list[Row]:
    """A fit of seven points with the slowest model; every model on every table, fitted and compared."""
    return [_one_fit(setting, done), *_every_fit(setting, done)]


def _one_fit(setting: Setting, done: Done) -> Row:
    column = published_columns(SEVEN_POINTS)[0]
    seconds: dict[str, list[float]] = {model: [] for model in MODELS}
    for _ in range(setting.rounds):
        for model, taken in seconds.items():
            started_s = time.perf_counter()
            fit_column(column, model)
            taken.append(time.perf_counter() - started_s)
        done("fit of 7 points")
    medians = {model: statistics.median(taken) for model, taken in seconds.items()}
    slowest = max(medians, key=lambda model: medians[model])
    return Row(
        case="fit_7_points",
        engine=slowest,
        seconds=medians[slowest],
        target=f"<= {FIT_LIMIT_S:g} s",
        met=medians[slowest] <= FIT_LIMIT_S,
        note=f"slowest of {len(medians)} models; median {statistics.median(medians.values()):.3f} s",
    )


def _every_fit(setting: Setting, done: Done) -> list[Row]:
    columns = all_published_columns()[: setting.compared_columns]
    started_s = time.perf_counter()
    fits = [fit_column(column, model) for column in columns for model in models_of(column)]
    fitted_s = time.perf_counter() - started_s
    for column in columns:
        compare_column(column)
    compared_s = time.perf_counter() - started_s - fitted_s
    done("every table with every model")
    what = f"{len(fits)} fits of {len(columns)} curves"
    return [
        Row(
            case="every_table_every_model",
            engine="fit",
            seconds=fitted_s,
            target=f"<= {ALL_LIMIT_S:g} s",
            met=fitted_s <= ALL_LIMIT_S,
            note=what,
        ),
        Row(
            case="every_table_every_model",
            engine="compare",
            seconds=compared_s,
            note=f"{what}, each also without each thread count in turn",
        ),
    ]
