# SPDX-License-Identifier: MIT
"""Rates as a person types them."""

import pytest

from lockscale.errors import BadInput
from lockscale.predict.user_rates import rates_of


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
