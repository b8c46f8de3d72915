# SPDX-License-Identifier: MIT
"""A wide interval that includes no change is put into words: what is known, and what more boots give."""

import math

import pandas as pd
import pytest
from scipy import stats

from lockscale.show.undecided import MORE, NARROWER, least_known, why_no_star

NARROW = {
    "arm": "patched",
    "threads": 1,
    "low_pct": -1.0,
    "high_pct": 2.0,
    "p": 0.4,
    "significant": False,
    "blocks": 3,
    "aa_alike": True,
}
WIDE = {**NARROW, "threads": 16, "low_pct": -21.4, "high_pct": 40.2}
WIDEST = {**NARROW, "threads": 64, "low_pct": -30.0, "high_pct": 50.0}
SEEN = {**NARROW, "threads": 48, "low_pct": 30.0, "high_pct": 900.0, "p": 0.002, "significant": True}


def test_the_widest_is_told_with_its_ends_and_what_four_times_the_boots_leave_of_it():
    assert least_known(pd.DataFrame([NARROW, WIDE, SEEN])) == (
        "The least certain change is that of patched at 16 processes: -21% "
        "to +40% (95% interval of 3 boots per arm). 12 boots would narrow that to about a quarter."
    )
    assert "at 64 processes: " in least_known(pd.DataFrame([NARROW, WIDE, WIDEST]))
    assert "at 1 process: " in least_known(pd.DataFrame([WIDE | {"threads": 1}]))
    assert least_known(pd.DataFrame([WIDE | {"blocks": 7}])).endswith(
        "28 boots would narrow that to about half."
    )


def test_where_a_change_that_matters_is_ruled_out_or_seen_nothing_is_said():
    assert least_known(pd.DataFrame([NARROW, SEEN])) == ""
    assert least_known(pd.DataFrame([WIDE | {"low_pct": 3.0}])) == ""
    assert least_known(pd.DataFrame([WIDE | {"low_pct": math.nan, "high_pct": math.nan}])) == ""


@pytest.mark.parametrize("boots", [2, 3, 4, 5, 8, 20])
def test_so_much_of_an_interval_is_left_by_students_t(boots: int):
    share = {"a tenth": 0.1, "a quarter": 0.25, "a third": 1 / 3, "half": 0.5}[NARROWER.get(boots, "half")]
    many, few = (stats.t.isf(0.025, n - 1) / n**0.5 for n in (MORE * boots, boots))
    assert many / few == pytest.approx(share, rel=0.1 if boots in NARROWER else 0.25)


def test_why_there_is_no_star():
    (wide,) = pd.DataFrame([WIDE]).itertuples()
    (apart,) = pd.DataFrame([SEEN | {"significant": False, "aa_alike": False}]).itertuples()
    (alone,) = pd.DataFrame([SEEN | {"significant": False}]).itertuples()
    (near,) = pd.DataFrame([SEEN | {"significant": False, "p": 0.0545}]).itertuples()
    assert why_no_star(near, 8) == "not significant: it may be no change at all"  # by the test that decides
    assert why_no_star(wide, 8) == "not significant: it may be no change at all"
    assert why_no_star(apart, 8) == "not significant, as two boots of the same kernel differ there too"
    assert why_no_star(alone, 8) == "significant by itself, but not over all 8 rows of the table together"
