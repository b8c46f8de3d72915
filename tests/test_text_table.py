# SPDX-License-Identifier: MIT
"""A table printed as text can be read back."""

import math
import re
from typing import Any

import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from lockscale.text_table import text_table

WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
NUMBERS = st.floats(allow_nan=True, allow_infinity=False, width=32)
WHOLE = st.integers(-(10**12), 10**12)


def read(text: str) -> list[list[str]]:
    assert text.endswith("\n")
    return [re.split(" {2,}", line.strip(" ")) for line in text[:-1].split("\n")]


@given(st.lists(st.tuples(WORDS, NUMBERS, WHOLE, st.none() | NUMBERS), min_size=1, max_size=6))
def test_every_value_can_be_read_back(rows: list[tuple[str, float, int, float | None]]):
    frame = pd.DataFrame(rows, columns=["name", "value", "whole", "perhaps"])
    head, *lines = read(text_table(frame))
    assert head == ["name", "value", "whole", "perhaps"] and len(lines) == len(rows)
    for (name, value, whole, perhaps), cells in zip(rows, lines, strict=True):
        assert cells[0] == (" ".join(name.split()) or "-")
        assert same(cells[1], value) and same(cells[3], perhaps)
        assert int(cells[2]) == whole


def same(cell: str, value: float | None) -> bool:
    if value is None or math.isnan(value):
        return cell == "-"
    return math.isclose(float(cell), value, rel_tol=5.1e-4)


@given(st.lists(st.tuples(NUMBERS, WHOLE), min_size=1, max_size=6))
def test_numbers_end_in_one_column(rows: list[tuple[float, int]]):
    lines = text_table(pd.DataFrame(rows, columns=["a", "b"])).splitlines()
    assert len({len(line) for line in lines}) == 1


def test_what_is_missing_is_a_dash_whatever_its_type():
    missing: list[Any] = [None, pd.NA, math.nan, ""]
    frame = pd.DataFrame({"x": pd.Series(missing, dtype="object"), "n": pd.array([1, None, 3, 4], "Int64")})
    assert [line[0] for line in read(text_table(frame))[1:]] == ["-"] * 4
    assert [line[1] for line in read(text_table(frame))[1:]] == ["1", "-", "3", "4"]


def test_four_digits_count():
    found = read(text_table(pd.DataFrame({"value": [0.000123456, 1.23456, 999.96, 80161.7]})))
    assert [line[0] for line in found[1:]] == ["0.0001235", "1.235", "1000", "80162"]


def test_a_list_is_its_entries_with_commas_and_no_python():
    assert text_table(pd.DataFrame({"arms": [["a", "b"], []]})).splitlines()[1:] == ["a, b", "-"]
