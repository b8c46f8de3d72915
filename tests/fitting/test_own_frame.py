# SPDX-License-Identifier: MIT
"""A data frame is a table too; what is none is refused in one sentence."""

import numpy as np
import pandas as pd
import pytest

from lockscale.errors import BadInput
from lockscale.fitting import compare, fit
from lockscale.fitting.user_table import read_column, read_columns

FRAME = pd.DataFrame({"threads": [1, 2, 4], "value": [100.0, 190, 350]})
NO_TABLES = {
    "pair": (([1, 2, 4], [100, 190, 350]), "the table is tuple"),
    "dict": ({"threads": [1]}, "the table is dict"),
    "array": (np.ones((3, 2)), "the table is ndarray"),
    "nothing": (None, "the table is NoneType"),
    "number": (7, "the table is int"),
    "series": (FRAME.value, "the table is Series"),
    "levels": (pd.concat([FRAME], axis=1, keys=["a"]), "columns of several levels"),
    "twice": (pd.concat([FRAME, FRAME], axis=1), "column 'threads' twice"),
    "complex": (FRAME.assign(value=[1j, 2, 3]), "row 1, column value is '1j'"),
    "one complex": (FRAME.assign(value=pd.Series([1, 1j, 3], dtype=object)), "row 2, column value"),
    "bool": (FRAME.assign(threads=[True, False, True]), "row 1, column threads is 'True'"),
    "one bool": (FRAME.assign(value=pd.Series([1, True, 3], dtype=object)), "row 2, column value is 'True'"),
    "dates": (FRAME.assign(value=pd.to_datetime(["2026-01-01"] * 3)), "column value is '2026-01-01"),
    "huge": (FRAME.assign(value=pd.Series([1, 10**400, 3], dtype=object)), "row 2, column value is '1000"),
    "lists": (FRAME.assign(value=[[1], {}, None]), "row 1, column value|row 3, column value"),
    "no rows": (FRAME.iloc[:0], "has no rows"),
    "no columns": (pd.DataFrame(), "no column threads"),
    "index": (FRAME.set_index("threads"), "no column threads"),
}


@pytest.mark.parametrize("name", NO_TABLES)
def test_what_is_no_table_is_refused_in_one_sentence(name: str):
    table, says = NO_TABLES[name]
    with pytest.raises(BadInput, match=says) as refused:
        compare(table)
    assert str(refused.value).isprintable() and len(str(refused.value)) < 500


@pytest.mark.parametrize("kind", ["int32", "Int64", "float32", "str", "object", "category"])
def test_numbers_of_any_kind_in_a_data_frame_are_numbers(kind: str):
    found = read_column(FRAME.astype({"value": int}).astype(kind))
    assert found.rates_per_s.tolist() == [100, 190, 350]


def test_a_data_frame_is_a_table_too():
    frame = pd.DataFrame({"threads": [1, 2, 4, 8], "value": [100.0, 190, 350, 500]}, index=[7, 7, 7, 7])
    assert fit(frame, "amdahl").params == pytest.approx(fit(frame.astype(str), "amdahl").params)
    with pytest.raises(BadInput, match="the data frame row 2, column value is -1"):
        compare(frame.assign(value=[1, -1, 2, 3]))
    with pytest.raises(BadInput, match="row 1, column threads"):
        compare(frame.assign(threads=[[1], [2], {}, 3]))


def test_curves_of_which_one_has_no_name_have_two_names():
    frame = pd.DataFrame({"test": ["a"] * 4 + [None] * 4, "threads": [1, 2, 4, 8] * 2, "value": range(1, 9)})
    assert len({one.name for one in read_columns(frame)}) == 2


@pytest.mark.parametrize("kind", ["object", "category", "str"])
def test_texts_of_any_kind_in_a_data_frame_are_those_of_a_file(kind: str):
    """An empty cell among them is an empty cell, and an arm that is a whole number is called so."""
    texts = {"unit": "kops/s", "arm": [1, 1, 1, 2, 2, 2], "origin": ["simulated"] * 3 + [None] * 3}
    texts["profiled"] = [False, False, False, False, False, None]
    frame = pd.concat([FRAME, FRAME]).assign(**texts)
    found = read_columns(frame.astype(dict.fromkeys(texts, kind)) if kind != "str" else frame)
    assert [one.name for one in found] == ["1", "2"]
    assert [one.origin for one in found] == ["simulated", "not stated"]
    assert all(one.rates_per_s.tolist() == [100_000, 190_000, 350_000] for one in found)


def test_two_curves_of_one_name_are_refused():
    """Fitted together, one would take the other's place."""
    two = [FRAME.assign(arm="a b", test="c"), FRAME.assign(arm="a", test="b c")]
    with pytest.raises(BadInput, match="has two curves called 'a b c': give them different names in arm"):
        fit(pd.concat([*two, FRAME.assign(arm="d", test="e")]), "amdahl", share=["sigma"])
