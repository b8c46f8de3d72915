# SPDX-License-Identifier: MIT
"""The picture of a prediction: its interval, what deleting the waits would say, and what was published."""

import pandas as pd
import pytest

from lockscale.show.figures.formats import alt_text
from lockscale.show.figures.predicted import predicted_line

ROWS = pd.DataFrame(
    [
        ("search-locked", 8, "create_rate", 1e5, 0.9e5, 1.2e5, None, 0.9e5, "creates/s"),
        ("search-locked", 48, "create_rate", 8e5, 7e5, 9.5e5, 8.1e5, 1.8e5, "creates/s"),
        ("claim-spread", 48, "create_rate", 8e5, 7e5, 9.6e5, None, 1.8e5, "creates/s"),
        ("claim-spread", 48, "time", 3.0, 2.0, 4.0, None, 3.0, "s"),
    ],
    columns=["arm", "threads", "metric", "predicted", "low", "high", "published", "naive_value", "unit"],
)


def test_each_arm_is_a_line_at_its_most_threads():
    predicted, naive, published = predicted_line(ROWS).data
    assert list(predicted.y) == ["search-locked", "claim-spread"] and list(predicted.x) == [8e5, 8e5]
    assert list(predicted.error_x.array) == pytest.approx([1.5e5, 1.6e5])
    assert list(naive.x) == [1.8e5, 1.8e5]
    assert list(published.x) == [8.1e5] and list(published.y) == ["search-locked"]


def test_it_says_where_its_numbers_are_from_and_that_its_axis_is_logarithmic():
    layout = predicted_line(ROWS).layout
    assert (
        "predicted from the unpatched kernel alone" in layout.meta["says"]
        and "low to high" in layout.meta["says"]
    )
    assert layout.xaxis.title.text == "create rate (creates/s) (log scale)"


def test_its_words_for_those_who_do_not_see_it_have_rates_at_arms():
    assert "predicted: 800,000 at search-locked, 800,000 at claim-spread." in alt_text(predicted_line(ROWS))


def test_where_nothing_was_published_nothing_is_drawn_as_published():
    assert "published" not in predicted_line(ROWS.assign(published=None)).layout.meta["says"]
    names = [trace.name for trace in predicted_line(ROWS.assign(published=None)).data]
    assert names == ["predicted", "if waits vanished"]
