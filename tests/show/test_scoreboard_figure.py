# SPDX-License-Identifier: MIT
"""The scoreboard's figure of a table: every point with both models, nothing drawn that no row says."""

import itertools
from collections.abc import Iterable

import numpy as np
import pytest

from lockscale.show.figures.tables import scoreboard_figure, scoreboard_numbers

THREADS = (1.0, 8.0, 64.0)


def _row(kind: str, column: str, model: float) -> dict:
    curve = [
        {"threads": n, "value": 100 * n, "model": model * n, "residual_pct": 100 - model} for n in THREADS
    ]
    if kind == "simulator":
        curve = [{**point, "low": 0.9 * point["model"], "high": 1.1 * point["model"]} for point in curve]
    fitted = {"free_parameters_of_all_columns": 4, "points_of_all_columns": 6}
    row = {"kind": kind, "table": "s9_t", "column": column, "model": "m", "unit": "ops/s", "curve": curve}
    return {**row, **fitted}


@pytest.fixture
def rows() -> list[dict]:
    return [_row("simulator", "a", 98), _row("simulator", "b", 97), _row("queueing", "a", 95)]


def test_each_point_stands_beside_both_models(rows: list[dict]):
    numbers = scoreboard_numbers(rows, "s9_t")
    assert list(numbers.column) == ["a"] * 3 + ["b"] * 3
    a, b = (numbers[numbers.column == name] for name in "ab")
    assert list(a.published) == [100, 800, 6400] and list(a.simulated) == [98, 784, 6272]
    assert list(a.queueing) == [95, 760, 6080] and b.queueing.isna().all()
    assert np.all((numbers.low < numbers.simulated) & (numbers.simulated < numbers.high))


def test_a_panel_for_each_column_with_its_residuals(rows: list[dict]):
    drawn = scoreboard_figure(rows, "s9_t")
    names = [trace.name for trace in drawn.data]
    assert names.count("published") == names.count("simulator") == 2
    assert names.count("queueing model") == 1
    said = {note.text for note in drawn.layout.annotations}
    assert {"a", "b"} <= said
    (published, _) = (trace for trace in drawn.data if trace.name == "published")
    assert list(published.y) == [100, 800, 6400]


def test_an_open_interval_is_not_drawn(rows: list[dict]):
    rows[0]["curve"] = [{**point, "high": None} for point in rows[0]["curve"]]
    bands = [trace for trace in scoreboard_figure(rows, "s9_t").data if trace.name == "95%"]
    assert len(bands) == 1


def test_a_table_at_one_number_of_threads_is_shown_over_the_published(rows: list[dict]):
    for row in rows:
        row["curve"] = row["curve"][:1]
    (marks,) = scoreboard_figure(rows, "s9_t").data
    assert list(marks.x) == ["a", "b"] and list(marks.y) == pytest.approx([98, 97])
    assert list(marks.error_y.array) == pytest.approx([9.8, 9.7])


def test_a_table_that_nothing_was_fitted_to_is_said_to_be_one(rows: list[dict]):
    for row in rows:
        row["curve"] = [{**row["curve"][0], "low": None, "high": None}]
    assert "nothing was fitted to it" in scoreboard_figure(rows, "s9_t").layout.meta["says"]


def test_the_caption_says_how_many_parameters_were_fitted_to_how_many_points(rows: list[dict]):
    says = scoreboard_figure(rows, "s9_t").layout.meta["says"]
    assert "4 parameters fitted to 6 published points of all columns at once" in says
    assert "proves nothing" not in says
    few = [{**row, "points_of_all_columns": 4, "curve": row["curve"][:1]} for row in rows]
    assert "so the match proves nothing" in scoreboard_figure(few, "s9_t").layout.meta["says"]


def test_labels_of_thread_counts_do_not_meet():
    drawn = scoreboard_figure([_row("simulator", "a", 98) | {"curve": _curve(range(1, 33))}], "s9_t")
    shown = drawn.layout.xaxis.tickvals
    assert shown[0] == 1 and all(b >= 1.3 * a for a, b in itertools.pairwise(shown))


def _curve(threads: Iterable[int]) -> list[dict]:
    return [
        {"threads": float(n), "value": 1.0, "model": 1.0, "low": 0.9, "high": 1.1, "residual_pct": 0.0}
        for n in threads
    ]
