# SPDX-License-Identifier: MIT
"""Rates as a person types them."""

import pytest

from lockscale.errors import BadInput
from lockscale.predict.observed import RATE_SD, of_rates
from lockscale.predict.user_rates import rate_curve, rates_of, read_rates


@pytest.mark.parametrize(
    ("text", "rates"),
    [
        ("1:35k,4:140k", {1: 35e3, 4: 140e3}),
        ("48: 1.2M ; 96:1.5e6", {48: 1.2e6, 96: 1.5e6}),
        ("1:0.5G", {1: 5e8}),
    ],
)
def test_each_form(text, rates):
    assert rates_of(text) == rates


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no rate given"),
        ("1:35k,4", "'4' is not of the form threads:rate"),
        ("1:35k,1:40k", "the thread count 1 appears twice"),
        ("0:35k", "needs threads and a rate above zero"),
        ("4:0", "needs threads and a rate above zero"),
        ("1:1e-300,4:5", "is no rate: give one from 1e-12"),
        ("1:5,4:1e300", "is no rate: give one from 1e-12"),
        ("1:-35k", "is not of the form threads:rate"),
        ("1:35kk", "is not of the form threads:rate"),
    ],
)
def test_what_is_no_rate_is_named(text, said):
    with pytest.raises(BadInput, match=said):
        rates_of(text)


def test_a_row_counts_as_often_as_its_runs_with_a_model_and_without(tmp_path):
    file = tmp_path / "rates.csv"
    file.write_text("threads,value,runs\n1,100,1\n8,400,10\n1,200,9\n")
    means, _ = read_rates(str(file))
    assert means == pytest.approx({1: 100**0.1 * 200**0.9, 8: 400})
    observed = of_rates(rate_curve(str(file)), lambda threads: 0.0)
    assert [one.value for one in observed] == pytest.approx([*means.values()])
    assert [one.sd for one in observed] == pytest.approx([RATE_SD / 10**0.5] * 2)
