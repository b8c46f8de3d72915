# SPDX-License-Identifier: MIT
"""The figure of a fit: points, curve, band, knee, residuals and the table, each what the fit says."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest

from lockscale.fitting.column import Column
from lockscale.fitting.table_fit import fit_column
from lockscale.queueing import USL
from lockscale.queueing.diagnosis import diagnose
from lockscale.show.figures.fit import draw_fit, fit_figure, fit_numbers

THREADS = np.array([1.0, 2, 4, 8, 16, 32, 64])
RATES = USL(THREADS, lambda_per_s=1e4, sigma=0.05, kappa=0.002) * [1.01, 0.99, 1, 1.02, 0.98, 1.01, 0.99]
COLUMN = Column("s0_made_up", "arm", THREADS, RATES, None, "ops/s", "published")


@pytest.fixture(scope="module")
def one():
    return fit_column(COLUMN, "usl")


@pytest.fixture(scope="module")
def quick():
    """Without a degree of freedom there is no interval to search for."""
    return fit_column(replace(COLUMN, threads=THREADS[:3], rates_per_s=RATES[:3]), "usl")


@pytest.fixture(scope="module")
def drawn(one) -> go.Figure:
    return draw_fit(COLUMN, one)


def traces(drawn: go.Figure) -> dict:
    return {trace.name: trace for trace in drawn.data}


def test_points_curve_and_residuals_are_those_of_the_fit(drawn: go.Figure, one):
    found = traces(drawn)
    assert list(found["published"].y) == pytest.approx(RATES)
    assert list(found["residual"].y) == pytest.approx(one.residuals_pct)
    curve = dict(zip(found["usl"].x, found["usl"].y, strict=True))
    assert curve[16] == pytest.approx(one.predict([16]).value[0])
    assert set(THREADS) <= set(curve)


def test_the_band_is_the_interval_of_one_more_run(drawn: go.Figure, one):
    band = traces(drawn)["95% for one more run"]
    at_16 = sorted(y for x, y in zip(band.x, band.y, strict=True) if x == 16)
    ahead = one.predict([16])
    assert at_16 == pytest.approx([ahead.low[0], ahead.high[0]], rel=1e-3)


def test_the_knee_is_marked_where_it_is(drawn: go.Figure, one):
    knee = diagnose(one)[0].value
    lines = [shape.x0 for shape in drawn.layout.shapes if shape.x0 == shape.x1]
    assert lines == pytest.approx([knee])
    (said,) = (note for note in drawn.layout.annotations if note.text.startswith("knee"))
    assert 10**said.x == pytest.approx(knee)


def test_the_table_beside_it_has_parameters_and_landmarks(drawn: go.Figure, one):
    names, values, intervals, statuses = traces(drawn)["parameters"].cells["values"]
    assert list(names[:3]) == ["lambda_per_s", "sigma", "kappa"] and "knee_threads" in names
    assert float(values[0]) == pytest.approx(one.params["lambda_per_s"], rel=1e-2)
    assert set(statuses) == {"identified"} and all(" to " in text for text in intervals)


@pytest.mark.parametrize(
    ("origin", "says"),
    [
        ("published", "published"),
        ("simulated", "simulated"),
        ("qemu", "measured in QEMU"),
        ("hardware", "measured on hardware"),
        ("not stated", "origin not stated"),
    ],
)
def test_the_title_says_where_the_points_are_from(origin: str, says: str, quick):
    title = draw_fit(replace(COLUMN, origin=origin), quick).layout.title.text
    assert f"points: {says} (s0_made_up)" in title and "line: fitted" in title


@pytest.mark.parametrize(
    ("unit", "says"),
    [("ops/s", "operations per second"), ("", "operations per second"), ("threads/s", "threads/s"),
     ("B/s", "B/s"), ("creates/s", "creates/s")],
)  # fmt: skip
def test_the_axis_says_what_is_counted(unit: str, says: str, quick):
    assert draw_fit(replace(COLUMN, unit=unit), quick).layout.yaxis.title.text == says


def test_a_calibrated_fit_has_no_band_and_an_open_one_stays_in_the_figure():
    three = Column("t", "c", THREADS[:3], RATES[:3], None, "ops/s", "published")
    alone = draw_fit(three, fit_column(three, "usl"))
    assert "95% for one more run" not in traces(alone) and "band" not in alone.layout.title.text
    loose = Column("t", "c", THREADS[:4], RATES[:4] * [1, 3, 0.3, 2], None, "ops/s", "published")
    band = traces(draw_fit(loose, fit_column(loose, "usl")))["95% for one more run"]
    assert np.isfinite(np.array(band.y, dtype=float)).all()


def test_of_a_law_that_does_not_describe_the_table_nothing_is_identified():
    falls = replace(COLUMN, rates_per_s=1e4 / THREADS)
    one = fit_column(falls, "amdahl")
    statuses = traces(draw_fit(falls, one))["parameters"].cells["values"][3]
    assert one.misfit and "misfit" in statuses and "identified" not in statuses


def test_many_rows_are_drawn_as_their_means():
    rng = np.random.default_rng(0)
    many = Column(
        "t", "c", np.repeat(THREADS, 500), np.repeat(RATES, 500) * rng.normal(1, 0.01, 3500), None, "", "qemu"
    )
    found = traces(draw_fit(many, fit_column(many, "usl")))
    assert len(found["mean of each thread count"].y) == 7


def test_a_curve_given_another_is_drawn_where_that_one_is_known():
    given = replace(COLUMN, rates_per_s=0.8 * RATES, given=COLUMN)
    drawn = draw_fit(given, fit_column(given, "paired_serial"))
    assert list(traces(drawn)["paired_serial"].x) == list(THREADS)
    assert not drawn.layout.shapes or all(shape.x0 != shape.x1 for shape in drawn.layout.shapes)


def test_numbers_beside_the_figure(one):
    numbers = fit_numbers(COLUMN, one)
    assert list(numbers.threads) == list(THREADS) and set(numbers.origin) == {"published"}
    assert list(numbers.value) == pytest.approx(list(RATES))
    assert (100 * (1 - numbers.model / numbers.value)).tolist() == pytest.approx(list(numbers.residual_pct))
    assert ((numbers.low < numbers.model) & (numbers.model < numbers.high)).all()


def test_one_line_draws_a_file(inside: Path):
    pd.DataFrame({"threads": THREADS, "value": RATES}).to_csv("my.csv", index=False)
    assert "points: origin not stated (my.csv)" in fit_figure("my.csv", "usl").layout.title.text


def test_a_parameter_that_is_known_is_fixed_in_the_figure_too():
    drawn = fit_figure(pd.DataFrame({"threads": THREADS, "value": RATES}), "usl", fixed={"sigma": 0.05})
    (table,) = [one for one in drawn.data if one.type == "table"]
    names, values, _, status = table.cells.values
    assert ("sigma", "0.05", "fixed") in zip(names, values, status, strict=True)
