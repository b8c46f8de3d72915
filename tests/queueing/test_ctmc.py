# SPDX-License-Identifier: MIT
"""The oracle itself, by hand."""

import pytest
from ctmc import closed_network


def test_one_thread_takes_its_times_one_after_the_other():
    rate, number = closed_network(1, 4.0, [lambda _: 1 / 3, lambda _: 1 / 2])
    assert rate == pytest.approx(1 / 9)
    assert number == pytest.approx([3 / 9, 2 / 9])


def test_two_threads_and_one_queue_by_hand():
    # Z = s = 1: p = 2/5, 2/5, 1/5 with 2, 1, 0 thinking
    rate, number = closed_network(2, 1.0, [lambda _: 1.0])
    assert rate == pytest.approx(0.8)
    assert number == pytest.approx([1.2])


def test_two_threads_and_a_queue_that_speeds_up_by_hand():
    # 2 p(0) = 0.5 p(1) and p(1) = p(2): p = 1/9, 4/9, 4/9 and X = 0.5 p(1) + 1 p(2)
    rate, number = closed_network(2, 1.0, [lambda k: 0.5 if k == 1 else 1.0])
    assert rate == pytest.approx(6 / 9)
    assert number == pytest.approx([12 / 9])
