# SPDX-License-Identifier: MIT
"""Tables as people have them: fitted right, or refused in one clear sentence. Warnings are errors here."""

import datetime
import json
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lockscale.errors import BadInput
from lockscale.queueing import AMDAHL, MACHINE_REPAIRMAN, MODELS, USL
from lockscale.queueing.fit import fit_model
from lockscale.queueing.points import points

THREADS = [1, 2, 4, 8, 16, 32, 64]
RATES = (
    USL(THREADS, lambda_per_s=1e5, sigma=0.05, kappa=0.0008) * [1.02, 0.97, 1.01, 1.03, 0.98, 1, 1]
).tolist()

ODD_CELLS = [None, pd.NA, pd.NaT, True, np.bool_(True), b"7", 1j, {}, [], [1, 2], "1e3"]
ODD_NUMBERS = [Decimal("2.5"), Decimal("NaN"), Fraction(1, 3)]
DATES = [datetime.date(2026, 1, 1), np.datetime64("2026-01-01"), pd.Timestamp(0)]
CELLS = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True),
    st.integers(-(10**30), 10**30),
    st.text(max_size=4),
    st.sampled_from([*ODD_CELLS, *ODD_NUMBERS, *DATES]),
)
GOOD_RATES = st.floats(1e-9, 1e14)
GOOD = st.tuples(st.integers(1, 128), GOOD_RATES)
FRAME = pd.DataFrame({"threads": THREADS, "value": RATES})


def refusal(*arguments, **options):
    with pytest.raises(BadInput) as refused:
        fit_model(*arguments, **options)
    text = str(refused.value)
    assert text.endswith(".") and ". " not in text and "\n" not in text and len(text) < 250
    return text


# of tables of odd cells alone none is used
ODD = st.tuples(CELLS, CELLS)
ROWS = st.one_of(*(st.lists(one, max_size=6) for one in (GOOD, GOOD | st.tuples(CELLS, GOOD_RATES), ODD)))


@given(ROWS)
@example([(1, 10.0), (2, "19"), (2, 20)])
def test_whatever_is_in_the_cells_it_is_used_or_refused_in_one_sentence(rows):
    try:
        table = points([n for n, _ in rows], [x for _, x in rows])
    except BadInput as refused:
        text = str(refused)
        assert text.endswith(".") and ". " not in text and "\n" not in text
        return
    assert np.all(np.isfinite(table.log_rate)) and np.all(np.diff(table.threads) > 0)
    assert set(table.threads) == {float(n) for n, _ in rows}


@settings(max_examples=20)
@given(
    st.sampled_from(list(MODELS.values())),
    st.lists(GOOD, min_size=1, max_size=6),
)
def test_any_model_on_any_positive_rates_is_fitted_or_refused(model, rows):
    try:
        found = fit_model(tuple(zip(*rows, strict=True)), model)
    except BadInput:
        assert len({n for n, _ in rows}) < len(model.parameters)
        return
    json.dumps(found.to_json("t", "c"), allow_nan=False)
    assert found.calibrated == (len(found.points) == len(model.parameters))


def test_one_point_is_enough_for_no_model_and_says_what_to_do():
    text = refusal(([48], [8e4]), MACHINE_REPAIRMAN)
    assert text == (
        "model machine_repairman has 2 free parameters and the table 1 thread count(s): "
        "measure more of them or fix parameters."
    )


def test_two_points_calibrate_two_parameters_and_say_so():
    found = fit_model(([1, 48], [1.7e4, 8e4]), MACHINE_REPAIRMAN)
    assert found.calibrated and {p.status for p in found.parameters} == {"calibrated"}
    assert found.mape_pct == pytest.approx(0, abs=1e-4)


def test_one_point_with_everything_fixed_is_judged():
    found = fit_model(([48], [8e4]), MACHINE_REPAIRMAN, fixed={"Z_us": 50, "s_us": 10})
    assert found.mape_pct == pytest.approx(25)


def test_duplicates_are_repeats():
    twice = fit_model((THREADS * 2, RATES * 2), USL)
    assert twice.params == pytest.approx(fit_model((THREADS, RATES), USL).params, rel=1e-6)
    assert twice.points.repeat_dof == 7


def test_decreasing_thread_counts_are_the_same_table():
    backward = fit_model((THREADS[::-1], RATES[::-1]), USL)
    assert backward.parameters == fit_model((THREADS, RATES), USL).parameters


def test_rates_that_fall_with_threads_are_a_curve_like_any_other():
    found = fit_model(([1, 2, 4, 8], [100.0, 60, 35, 20]), USL)
    assert found.mape_pct < 10


@pytest.mark.parametrize(
    ("threads", "values", "says"),
    [
        ([1, 2, 4], [1, 0, 2], "values row 2 is 0"),
        ([1, 2, 4], [1, -3, 2], "values row 2 is -3"),
        ([1, 2, 4], [1, float("nan"), 2], "values row 2 is nan"),
        ([1, 2, 4], [1, "fast", 2], "values has a cell that is not a number: row 2 is 'fast'"),
        ([1, 2, 4], [1, "1,234", 2], "row 2 is '1,234'"),
        ([1, 2, 4], [True, True, False], "row 1 is 'True'"),
        (["8 threads"], [1], "threads has a cell that is not a number: row 1 is '8 threads'"),
        ([0, 2, 4], [1, 2, 3], "threads row 1 is 0: thread counts are whole numbers"),
        ([1, 2.5, 4], [1, 2, 3], "threads row 2 is 2.5"),
        ([295_287, 141_330, 135_460], [1, 2, 4], "check that the columns are not swapped"),
        ([1, 2, 4], [1e-20, 2e-20, 3e-20], "check the unit"),
        ([1, 2, 4], [1e20, 2e20, 3e20], "check the unit"),
        ([1, 2, 4], [[1, 2], [3, 4], [5, 6]], "one column of numbers"),
        ([1, 2, 4], [[1], [3, 4], [5]], "row 1 is '[1]'"),
        ([1, 2, 4], [1, None, 3], "row 2 is 'None'"),
        ([1, 2, 4], [1, float("inf"), 3], "values row 2 is inf"),
        ([1, 2, 4], [10**400, 2, 3], "values has a cell that is not a number: row 1 is '1000"),
        ([4, 4, 4], [1, 2, 3], "2 free parameters and the table 1 thread count"),
        ([1, 2, 4], pd.DataFrame({"a": [1, 2, 3], "b": [1, 2, 3]}), "one column of numbers"),
        ([1, 2, 4], [1, 2], "have 3, 2 and 2 rows"),
        ([], [], "the table has no rows"),
    ],
)
def test_the_sentence_names_the_row_and_the_cure(threads, values, says):
    assert says in refusal((threads, values), AMDAHL)


@pytest.mark.parametrize(
    "table",
    [
        None,
        7,
        "my.csv",
        (THREADS,),
        (THREADS, RATES, RATES),
        pd.DataFrame({"threads": THREADS, "value": RATES}),
    ],
)
def test_what_is_no_pair_of_columns_is_sent_to_where_files_are_read(table):
    assert "lockscale.fitting.fit" in refusal(table, USL)


@pytest.mark.parametrize("kind", [np.int32, np.float32, object, str, "Series", "Int64"])
def test_the_type_of_the_columns_does_not_matter(kind):
    whole = [round(x) for x in RATES]
    columns = (
        [pd.Series(c, dtype=None if kind == "Series" else "Int64") for c in (THREADS, whole)]
        if kind in ("Series", "Int64")
        else [np.array(c).astype(kind) for c in (THREADS, whole)]
    )
    assert fit_model(tuple(columns), USL).params == pytest.approx(
        fit_model((THREADS, whole), USL).params, rel=1e-4
    )


@pytest.mark.slow
def test_a_million_rows_of_text_are_a_table_too():
    rows = 1_000_000
    table = points((THREADS * (rows // 7 + 1))[:rows], ["12500.5"] * rows)
    assert len(table) == 7 and table.repeat_dof == rows - 7 and table.repeat_ss < 1e-9


def test_five_thousand_thread_counts_are_one_fit():
    n = np.arange(1, 5001)
    truth = {"lambda_per_s": 1000.0, "sigma": 0.001}
    noisy = AMDAHL(n, **truth) * np.exp(np.random.default_rng(1).normal(0, 0.05, n.size))
    found = fit_model((n, noisy), AMDAHL)
    assert found.params == pytest.approx(truth, rel=0.02)
