# SPDX-License-Identifier: MIT
"""Where a profile crosses its limit, whatever the first guess of the distance."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockscale.queueing.interval import crossing


@given(
    width=st.floats(1e-6, 1e3),
    guess=st.floats(1e-9, 1e6),
    side=st.sampled_from([-1.0, 1.0]),
    centre=st.floats(-10, 10),
)
def test_a_parabola_is_left_at_its_width_however_wrong_the_first_step(
    width: float, guess: float, side: float, centre: float
):
    """SS = ((x - centre) / width)^2 reaches 1 at centre +- width; 1% is what an interval needs."""
    found = crossing(lambda at: abs(at - centre) / width - 1, centre, guess, centre + side * 1e7)
    assert found is not None
    assert side * (found - centre) == pytest.approx(width, rel=0.01, abs=1e-7)


def test_a_profile_that_stays_low_up_to_the_bound_has_no_end():
    assert crossing(lambda at: -1.0, 0.0, 0.1, 5.0) is None


def test_a_crossing_just_before_the_bound_is_found():
    assert crossing(lambda at: at - 4.9, 0.0, 1e-3, 5.0) == pytest.approx(4.9, rel=0.01)


def test_a_cliff_is_found_from_a_step_beyond_it():
    found = crossing(lambda at: np.inf if at > 0.5 else -1.0, 0.0, 400.0, 1000.0)
    assert found is not None and 0.4 < found <= 0.51


def test_where_nothing_is_inside_the_interval_it_ends_where_it_begins():
    assert crossing(lambda at: at + 0.1, 0.0, 0.1, 5.0) == 0.0
