# SPDX-License-Identifier: MIT
"""Rates as a person types them, or as lines of a CSV."""

import pytest

from lockscale.errors import BadInput
from lockscale.tools.rates import rates_of


@pytest.mark.parametrize(
    ("text", "rates"),
    [
        ("1:35k,4:140k", {1: 35e3, 4: 140e3}),
        ("48: 1.2M ; 96:1.5e6", {48: 1.2e6, 96: 1.5e6}),
        ("1:0.5G", {1: 5e8}),
        ("threads,rate\n1,35000\n4,1.4e5\n", {1: 35e3, 4: 140e3}),
        ("# base\n1\t35k\n\n4\t140k\n", {1: 35e3, 4: 140e3}),
        ("1 35k\n4 140k", {1: 35e3, 4: 140e3}),
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
        ("threads,rate\n1,35000\n4,fast\n", "line 3, '4,fast', is not of the form threads,rate"),
        ("1,35000,4", "is not of the form threads,rate"),
    ],
)
def test_what_is_no_rate_is_named(text, said):
    with pytest.raises(BadInput, match=said):
        rates_of(text)
