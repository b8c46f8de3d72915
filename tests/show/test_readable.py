# SPDX-License-Identifier: MIT
"""Tables of notebooks: no text is cut off, no number is raw, and what is not known is empty."""

import re

import numpy as np
import pandas as pd
import pytest
from IPython.core.interactiveshell import InteractiveShell

from lockscale.show.readable import MOST_ROWS, cell, facts, html_of, sentences, show_tables_whole

LONG = "8.59 to 11.91 times the unpatched rate at 48: it removes retries, and what is left is the lock " * 3


def texts(html: str) -> list[str]:
    return re.findall(r"<td[^>]*>(.*?)</td>", html, re.DOTALL)


def test_a_long_text_is_whole():
    assert texts(html_of(pd.DataFrame({"why": [LONG]}))) == [LONG]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (float("nan"), ""), (None, ""), (pd.NA, ""), (True, "yes"), (np.bool_(False), "no"),
        (1.014032e1, "10.14"), (814394.631819, "814,395"), (0.000123456, "0.0001235"),
        (48, "48"), (np.int64(1234567), "1,234,567"), (float("inf"), "inf"), (["a", 2.5], "a, 2.5"),
        ({"x": 1}, "x 1"), ("<b>", "<b>"), (np.float64(0.25), "0.25"), (-20000.4, "-20,000"),
        (9999.6, "10,000"), (-9999.6, "-10,000"), (9999.4, "9999"),
    ],
)  # fmt: skip
def test_a_value_as_a_reader_takes_it(value: object, shown: str):
    assert cell(value) == shown


def test_numbers_are_to_the_right_and_words_to_the_left_and_the_count_of_rows_is_left_out():
    html = html_of(pd.DataFrame({"n": [1.5, None], "why": ["a", "b"]}))
    assert re.findall(r"<th([^>]*)>", html)[1:] == ["", ' style="text-align:left"']
    assert texts(html) == ["1.5", "a", "", "b"]


def test_an_index_with_names_is_a_column():
    html = html_of(pd.DataFrame({"rate": [1.0]}, index=pd.Index([8], name="threads")))
    assert re.findall(r"<th(?: [^>]*)?>(.*?)</th>", html) == ["threads", "rate"]


def test_an_index_may_have_no_name_or_that_of_a_column():
    arms = html_of(pd.DataFrame({"line": ["mkfs.ext4"]}, index=["base"]))
    assert texts(arms) == ["base", "mkfs.ext4"] and "index" not in arms
    twice = pd.DataFrame({"arm": ["b"]}, index=pd.Index(["a"], name="arm"))
    assert texts(html_of(twice)) == ["a", "b"]


def test_a_wide_table_says_below_it_what_is_alike_in_all_rows():
    """16 columns of counters are wider than a cell, and their last one is whether a change is significant."""
    frame = pd.DataFrame({f"column_{k}": ["a_b", "a_b"] for k in range(12)}).assign(
        p_holm=[0.1, 0.2], origin="qemu"
    )
    html = html_of(frame)
    assert re.findall(r"<th(?: [^>]*)?>(.*?)</th>", html) == ["p_<wbr>holm"] and texts(html) == ["0.1", "0.2"]
    assert "in all rows: column_0 a_b; " in html and "origin qemu" in html
    one = html_of(frame.head(1))
    assert len(texts(one)) == 14 and "in all rows" not in one
    assert "in all rows" not in html_of(frame[["p_holm", "origin"]])


def test_an_intervals_ends_and_its_value_stay_beside_each_other():
    columns = {f"column_{k}": ["a", "a"] for k in range(9)}
    frame = pd.DataFrame({**columns, "low": [1, 1], "value": [2, 2], "high": [3, 4]})
    assert texts(html_of(frame)) == ["1", "2", "3", "1", "2", "4"]


def test_a_zero_has_no_sign_and_a_command_is_set_as_code():
    assert cell(-0.0) == "0"
    assert "<p>run <code>make a&amp;b</code></p>" in sentences("run `make a&b`").data


def test_many_rows_end_with_their_number_and_no_row_is_said():
    html = html_of(pd.DataFrame({"n": range(MOST_ROWS + 5)}))
    assert len(texts(html)) == MOST_ROWS and "and 5 more rows" in html
    assert html_of(pd.DataFrame({"n": []})) == "<i>no rows</i>"


def test_markup_in_a_cell_is_text():
    assert texts(html_of(pd.DataFrame({"a": ["<script>"]}))) == ["&lt;script&gt;"]


def test_sentences_are_paragraphs():
    assert sentences(["One. ", "a < b"]).data == "<p>One. </p><p>a &lt; b</p>"
    assert sentences("One.").data == "<p>One.</p>"


def test_facts_are_sentences_numbers_and_tables():
    html = facts({"note": "it was counted", "factor": 1.23456, "counts": [{"block": 1}, {"block": 2}]}).data
    assert html.startswith("<p>it was counted</p>")
    assert texts(html) == ["factor", "1.235", "1", "2"] and "<p>counts:</p>" in html


def test_a_notebook_shows_every_frame_like_this(monkeypatch: pytest.MonkeyPatch):
    shell = InteractiveShell()
    monkeypatch.setattr("lockscale.show.readable.get_ipython", lambda: shell)
    show_tables_whole()
    data, _ = shell.display_formatter.format(pd.DataFrame({"why": [LONG]}))
    assert LONG in data["text/html"] and "..." not in data["text/html"]
