# SPDX-License-Identifier: MIT
"""Which maximum, minimum, mean and deviation can belong to each other."""

import numpy as np
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from lockscale.tools.mdtest_rows import is_mean_of, is_summary_of, mean_fits_inverses


@settings(max_examples=300)
@given(st.lists(st.floats(0.001, 1e6), min_size=1, max_size=9), st.booleans())
def test_the_summary_of_any_rates_is_one(rates, sample_sd):
    ddof = 1 if sample_sd and len(rates) > 1 else 0
    printed = (np.max(rates), np.min(rates), np.mean(rates), np.std(rates, ddof=ddof))
    rounded = [float(f"{value:.3f}") for value in printed]
    assert is_summary_of(len(rates), *rounded, sample_sd=bool(ddof))


@given(st.lists(st.floats(1, 1e6), min_size=1, max_size=3), st.integers(0, 3), st.floats(1.01, 9))
@example([1.0, 4.0, 158.0], 0, 1.25)
def test_a_changed_summary_of_up_to_three_is_none_where_the_printed_deviation_shows_it(rates, which, factor):
    printed = [np.max(rates), np.min(rates), np.mean(rates), np.std(rates)]
    printed[which] = printed[which] * factor + 1
    if len(rates) == 3:
        # the third value follows from the other numbers; near two equal ones the deviation is flat
        most, least, mean, sd = printed
        assume(abs(np.std([most, least, 3 * mean - most - least]) - sd) > 0.02)
    assert not is_summary_of(len(rates), *map(float, printed), sample_sd=False)


def test_a_changed_time_of_some_milliseconds_shows_in_the_deviation():
    # 0.100, 0.094, 0.049: mean 0.081, SD 0.0278
    assert is_summary_of(3, 0.100, 0.049, 0.081, 0.028, sample_sd=True)
    assert not is_summary_of(3, 0.110, 0.049, 0.081, 0.028, sample_sd=True)
    assert not is_summary_of(3, 0.100, 0.049, 0.081, 0.033, sample_sd=True)


def test_the_mean_is_between_what_the_other_values_allow():
    assert is_mean_of(4, 10.0, 1.0, 3.25)  # 10, 1, 1, 1
    assert not is_mean_of(4, 10.0, 1.0, 3.2)
    assert is_mean_of(4, 10.0, 1.0, 7.75)  # 10, 10, 10, 1
    assert not is_mean_of(4, 10.0, 1.0, 7.8)
    assert is_mean_of(1, 2.0, 2.0, 2.0) and not is_mean_of(1, 2.0, 2.0, 2.001)


def stats(values, ddof):
    printed = (np.max(values), np.min(values), np.mean(values), np.std(values, ddof=ddof))
    return [float(f"{value:.3f}") for value in printed]


@settings(max_examples=300)
@given(st.lists(st.floats(0.002, 900.0), min_size=2, max_size=9), st.booleans(), st.floats(1, 1e6))
def test_rates_and_times_of_any_run_fit_each_other(times, sample_sd, items):
    """Of each rank rate x time is the items."""
    of_times = stats(times, int(sample_sd))
    of_rates = stats([items / time for time in times], int(sample_sd))
    assert mean_fits_inverses(len(times), items, of_rates, of_times[2], sample_sd=sample_sd)
    assert mean_fits_inverses(len(times), items, of_times, of_rates[2], sample_sd=sample_sd)


def test_a_mean_that_the_deviation_of_the_inverses_forbids():
    # 1, 2 and 4 s for 8 items: rates 8, 4, 2 with mean 14 / 3 and SD 2.494; times with mean 7 / 3
    rates = (8.0, 2.0, 4.667, 2.494)
    assert mean_fits_inverses(3, 8, rates, 2.333, sample_sd=False)
    assert not mean_fits_inverses(3, 8, rates, 2.1, sample_sd=False)  # 8 and 2.8 in shares 0.359, 0.641: 2.19
    assert not mean_fits_inverses(3, 8, rates, 2.55, sample_sd=False)  # 2 and 7 in shares 0.467, 0.533: 2.48
