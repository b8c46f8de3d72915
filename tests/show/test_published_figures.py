# SPDX-License-Identifier: MIT
"""A published table's figure shows what was printed, says so, and can be read in a column and in grey."""

import csv

import pandas as pd
import plotly.graph_objects as go
import pytest

from lockscale import paths
from lockscale.show.figures.formats import alt_text
from lockscale.show.figures.tables import MOST_FUNCTIONS, published_figure, table_figure
from lockscale.show.figures.template import (
    BELOW_PX,
    COLOURS,
    FONT_PX,
    HEIGHT_PX,
    LEGEND_LINE_PX,
    SAYS_PX,
    WIDTH_PX,
    figure,
    log_ticks,
    room_for_legend,
)
from lockscale.study.tables import StudyTable
from lockscale.tables import list_tables

COLUMN_MM = 85  # of a two-column page
POINT_MM = 25.4 / 72


def printed(table: str) -> list[dict[str, str]]:
    with (paths.PUBLISHED / f"{table}.csv").open() as lines:
        return list(csv.DictReader(lines))


@pytest.mark.parametrize("table", list_tables())
def test_every_published_table_has_a_figure_that_says_published_and_where(table: str):
    drawn = published_figure(table)
    assert f"published in {table[:2].upper()} ({table})" in drawn.layout.meta["says"]
    assert drawn.layout.title.text.replace("<br>", " ").startswith(drawn.layout.meta["title"])


@pytest.mark.parametrize("table", [t for t in list_tables() if "cost" not in t])
def test_each_printed_value_is_a_point_and_no_percentage_is(table: str):
    drawn = published_figure(table)
    points = sorted(float(value) for trace in drawn.data for value in trace.y)
    assert points == sorted(float(row["value"]) for row in printed(table) if row["unit"] != "%")


@pytest.mark.parametrize("table", [t for t in list_tables() if "cost" in t])
def test_the_dearest_functions_are_drawn_and_the_others_counted(table: str):
    rows = sorted(printed(table), key=lambda row: -float(row["total_us"]))
    (bars,) = published_figure(table).data
    assert list(bars.y) == [row["function"] for row in rows[:MOST_FUNCTIONS]]
    assert list(bars.x) == pytest.approx([float(row["total_us"]) / 1e6 for row in rows[:MOST_FUNCTIONS]])
    left = len(rows) - MOST_FUNCTIONS
    assert (f"{left} cheaper functions" in published_figure(table).layout.meta["says"]) == (left > 0)


@pytest.mark.parametrize("table", ["s1_rates", "s2_mds_survey", "s2_five_runs"])
def test_two_arms_at_one_number_of_threads_are_bars_from_0_with_their_ratio(table: str):
    drawn = published_figure(table)
    assert {trace.type for trace in drawn.data} == {"bar"}
    assert drawn.layout.yaxis.type is None and drawn.layout.yaxis.rangemode == "tozero"
    assert " times" in drawn.layout.meta["says"]


def test_the_ratio_of_s1_is_that_of_the_means_of_three_runs():
    """(810669 + 812805 + 813965) / (79033 + 81463 + 79875) = 10.14."""
    assert "create rate: 10.1 times" in published_figure("s1_rates").layout.meta["says"]


def test_a_file_at_one_number_of_threads_is_bars_that_name_no_statistic():
    rows = {"arm": ["base", "patched"], "threads": 8, "metric": "rate", "statistic": "", "unit": "ops/s"}
    frame = pd.DataFrame({**rows, "value": [100.0, 200.0], "origin": "simulated"})
    drawn = table_figure(StudyTable("rates.csv", frame, paths.ROOT / "rates.csv"))
    assert drawn.layout.meta["says"] == "simulated (rates.csv); rate: 2 times"
    assert [one.name for one in drawn.data] == ["rate"]


def test_letters_are_six_points_high_in_a_column():
    assert min(FONT_PX, SAYS_PX) / WIDTH_PX * COLUMN_MM >= 6 * POINT_MM


def luminance(colour: str) -> float:
    """Relative luminance of sRGB (WCAG 2.1), 0 to 1."""
    parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_the_first_two_colours_stand_out_from_white_and_the_dash_tells_them_apart_in_grey():
    """3:1 against white is WCAG's bound for graphics."""
    assert all(1.05 / (luminance(colour) + 0.05) >= 3 for colour in COLOURS[:3])
    first, second = published_figure("s4_creat_clo").data
    assert first.line.dash != second.line.dash and first.marker.symbol != second.marker.symbol


def test_a_title_that_does_not_fit_goes_on_in_the_next_line():
    long = figure("a title of some forty letters, as long as one line holds, and then some more", "s", "", "")
    assert long.layout.title.text.count("<br>") == 2
    assert figure("short", "s", "", "").layout.title.text.count("<br>") == 1


def legend_of(names: list[str]) -> go.Layout:
    drawn = figure("T", "simulated", "x", "y")
    for name in names:
        drawn.add_scatter(x=[1], y=[1], name=name)
    return room_for_legend(room_for_legend(drawn)).layout  # again changes nothing


def test_a_long_legend_makes_the_figure_higher_and_its_axes_no_lower():
    found = [legend_of([f"series {k}" for k in range(count)]) for count in (1, 4, 11)]
    assert [layout.height for layout in found] == [HEIGHT_PX, HEIGHT_PX, HEIGHT_PX + 4 * LEGEND_LINE_PX]
    below = [layout.height - (layout.margin.b or BELOW_PX) for layout in found]
    assert len(set(below)) == 1


def test_long_names_stand_one_a_line():
    names = [f"an arm with a rather long name {k}" for k in range(4)]
    assert legend_of(names).legend.entrywidth == 1
    assert legend_of(names).height == HEIGHT_PX + 2 * LEGEND_LINE_PX


def test_ticks_of_a_logarithmic_axis_hold_what_is_drawn():
    assert log_ticks(3, 40) == [1, 2, 5, 10, 20, 50, 100, 200, 500]


def test_alt_text_says_what_it_is_its_axes_and_the_ends_of_each_curve():
    """S4 prints 14705.88 at 1 client, 14283.52 at 31 and at most 45226.13, at 9."""
    text = alt_text(published_figure("s4_creat_clo"))
    assert text.startswith("reaim creat_clo on a ramdisk, orphan list against orphan file. published in S4")
    assert "Axes: processes or threads, throughput (ops/s)." in text
    assert "orphan-mutex: 14,700 at 1 to 14,300 at 31, highest 45,200 at 9." in text


def test_alt_text_has_few_points_one_by_one_and_passes_over_what_is_unknown():
    drawn = figure("T", "simulated", "x", "y").add_scatter(x=[1, 2, 3], y=[0.5, None, 7], name="a")
    assert alt_text(drawn) == "T. simulated. Axes: x, y. a: 0.5 at 1, 7 at 3."
    drawn.add_scatter(x=[1], y=[None], name="b")
    assert alt_text(drawn).endswith("b: no points.")


def test_alt_text_of_bars_and_of_what_has_no_points():
    drawn = go.Figure().add_bar(x=[3.0, 1.0], y=["f", "g"], orientation="h", name="cost")
    drawn.add_icicle(labels=["a"], parents=[""], name="flames")
    assert alt_text(drawn) == "Figure. cost: 3 at f, 1 at g. flames: a icicle."


def test_alt_text_of_very_many_series_ends():
    drawn = go.Figure([go.Scatter(x=[1], y=[1], name=f"s{k}") for k in range(20)])
    assert alt_text(drawn).endswith("And 8 more series.")
