# SPDX-License-Identifier: MIT
"""What every registered law must do, whatever its physics."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from lockscale.errors import BadInput
from lockscale.queueing import MODELS
from lockscale.queueing.fit import fit_model
from lockscale.queueing.laws.usl import AMDAHL, AMDAHL_SPILL, USL, USL_EXPONENT
from lockscale.queueing.model import Law

LAWS = [one for one in MODELS.values() if isinstance(one, Law)]
THREADS = np.array([1, 2, 4, 8, 16, 32, 64])
TIMES_US = st.floats(1e-2, 1e3)
# of one operation alone: what it takes without anybody to wait for
ALONE_US = {"Z_us", "s_us", "j_us"}
DEMANDS = {"Z_us", "moved_us", "s_us", "c_us", "h_us", "j_us", "T_us", "sigma", "kappa", "rho"}
# a lock that its waiters slow down is relieved by more work elsewhere: then a longer demand helps
AWAY_FROM_THE_LOCK = {"Z_us", "moved_us", "j_us"}
COLLAPSES = {"boyd_wickizer", "two_queue", "two_queue_sharing", "hand_over", "retry_storm"}


def values(law):
    """Parameters inside the bounds."""
    each = {}
    for p in law.parameters:
        high = min(p.high, 1e3)
        each[p.name] = st.floats(max(p.low, 1e-2), high)
    return st.fixed_dictionaries(each)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
@given(data=st.data())
@settings(max_examples=25)
def test_one_thread_meets_nobody(law, data):
    params = data.draw(values(law))
    second_us = params["ratio"] * params["s_us"] if "ratio" in params else 0.0
    alone_us = sum(value for name, value in params.items() if name in ALONE_US) + second_us
    expected = params["lambda_per_s"] if "lambda_per_s" in params else 1e6 / alone_us
    assert law([1], **params)[0] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
@given(data=st.data(), more=st.floats(1.01, 10))
@settings(max_examples=25)
def test_a_longer_demand_never_helps(law, data, more):
    params = data.draw(values(law))
    rate = law(THREADS, **params)
    assert np.all(np.isfinite(rate) & (rate > 0))
    for p in law.parameters:
        if p.name in DEMANDS and not (p.name in AWAY_FROM_THE_LOCK and law.name in COLLAPSES):
            longer = min(params[p.name] * more, p.high)
            slower = law(THREADS, **params | {p.name: longer})
            assert np.all(slower <= rate * (1 + 1e-9)), p.name


def test_more_work_elsewhere_can_relieve_a_lock_that_collapses():
    lock = {"Z_us": 1.0, "s_us": 1.0, "c_us": 1.0}
    assert MODELS["boyd_wickizer"]([8], **lock | {"Z_us": 2.0}) > MODELS["boyd_wickizer"]([8], **lock)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
def test_a_value_outside_the_domain_is_refused_in_one_sentence(law):
    inside = {p.name: max(p.low, 0.5) for p in law.parameters}
    for p in law.parameters:
        for bad in (p.low - 1, float("nan"), "3", *([p.high + 1] if np.isfinite(p.high) else [])):
            with pytest.raises(BadInput) as refused:
                law([4], **inside | {p.name: bad})
            said = str(refused.value)
            assert p.name in said and law.name in said and said.endswith(".") and "\n" not in said
    with pytest.raises(BadInput, match="needs a value"):
        law([4])


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
def test_the_smallest_and_largest_values_give_a_rate_or_none_and_no_warning(law):
    for extreme in (0.0, 1e-12, 1e12):
        params = {p.name: float(np.clip(extreme, p.low, p.high)) for p in law.parameters}
        params |= {p.name: 1e-12 for p in law.parameters if p.positive and params[p.name] == 0}
        assert np.all(law(THREADS, **params) >= 0)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
def test_the_search_box_lies_inside_the_bounds_for_any_table(law):
    for threads in ([5], [1, 2], [1, 4, 64], [2, 100_000]):
        n = np.array(threads, dtype=float)
        for rates in (1e-3 * n, 1e6 / n, np.full(n.shape, 3.0)):
            box = law.search_box(n, rates)
            assert set(box) >= {p.name for p in law.parameters}
            for p in law.parameters:
                low, high = box[p.name]
                assert 0 < low <= high < np.inf and high >= p.low and low <= p.high


TRUTHS = {
    "usl": {"lambda_per_s": 14_000.0, "sigma": 0.06, "kappa": 0.0015},
    "machine_repairman": {"Z_us": 59.1, "s_us": 2.0},
    "amdahl": {"lambda_per_s": 2e4, "sigma": 0.1},
    "amdahl_spill": {"lambda_per_s": 2e4, "sigma": 0.05, "rho": 0.4, "M_threads": 6.0},
    "usl_exponent": {"lambda_per_s": 3e5, "sigma": 3.0, "b": 0.8},
    "repairman_sharing": {"Z_us": 50.0, "s_us": 5.0, "moved_us": 40.0},
    "two_stations": {"Z_us": 20.0, "s_us": 4.0, "ratio": 0.8},
    "hand_over": {"Z_us": 60.0, "s_us": 3.0, "h_us": 9.0},
    "boyd_wickizer": {"Z_us": 60.0, "s_us": 5.0, "c_us": 1.0},
    "two_queue": {"Z_us": 66.0, "s_us": 11.0, "c_us": 4.0, "j_us": 20.0},
    "two_queue_sharing": {"Z_us": 37.0, "s_us": 12.0, "c_us": 4.4, "j_us": 20.0, "moved_us": 44.0},
    "impatient": {"Z_us": 7.0, "s_us": 1.2, "T_us": 80.0},
    "impatient_saturated": {"s_us": 7.0, "T_us": 700.0},
}


@pytest.mark.parametrize("name", TRUTHS)
def test_a_fit_to_its_own_curve_finds_the_curve_again(name):
    law = MODELS[name]
    found = fit_model((THREADS, law(THREADS, **TRUTHS[name])), law)
    exact = name in ("usl", "machine_repairman")
    assert found.params == pytest.approx(TRUTHS[name], rel=1e-6 if exact else 1e-3)
    assert not exact or {one.status for one in found.parameters} == {"identified"}
    assert found.mape_pct < 1e-3


@given(st.floats(1, 1e6), st.floats(0, 1))
def test_amdahl_is_the_usl_without_crosstalk(lambda_per_s, sigma):
    usl = USL(THREADS, lambda_per_s=lambda_per_s, sigma=sigma, kappa=0)
    assert AMDAHL(THREADS, lambda_per_s=lambda_per_s, sigma=sigma) == pytest.approx(usl, rel=1e-12)
    straight = USL_EXPONENT(THREADS, lambda_per_s=lambda_per_s, sigma=sigma, b=1)
    assert straight == pytest.approx(usl, rel=1e-12)
    nobody_spills = AMDAHL_SPILL(THREADS, lambda_per_s=lambda_per_s, sigma=sigma, rho=9, M_threads=64)
    assert nobody_spills == pytest.approx(usl, rel=1e-12)


def test_amdahl_by_hand():
    assert AMDAHL([10], lambda_per_s=100, sigma=0.1) == pytest.approx([1000 / 1.9])


def test_threads_beyond_the_first_part_of_the_machine_cost_more():
    # 1 + 0.1 x 3 and 1 + 0.1 x 7 + 0.5 x 4
    rate = AMDAHL_SPILL([4, 8], lambda_per_s=1, sigma=0.1, rho=0.5, M_threads=4)
    assert rate == pytest.approx([4 / 1.3, 8 / 3.7])


@given(st.floats(0, 1), st.floats(0, 1))
def test_the_usl_with_an_exponent_up_to_one_falls_only_where_a_second_thread_costs_an_operation(sigma, b):
    rate = USL_EXPONENT(np.arange(1, 100), lambda_per_s=1, sigma=sigma, b=b)
    assert np.all(np.diff(rate) >= -1e-12)
    assert USL_EXPONENT([1, 2], lambda_per_s=1, sigma=1.5, b=b) == pytest.approx([1, 0.8])


@given(st.floats(0.01, 2), st.floats(1.2, 4))
def test_the_peak_of_the_usl_with_an_exponent_is_where_its_formula_says(sigma, b):
    def slope(n):  # of 1 + sigma (N - 1)^b - sigma b N (N - 1)^(b - 1), the sign of dX/dN
        return 1 - sigma * (n - 1) ** (b - 1) * (b * n - n + 1)

    n = np.arange(1, 4000)
    peak = int(n[np.argmax(USL_EXPONENT(n, lambda_per_s=1, sigma=sigma, b=b))])
    assume(1 < peak < 3999)
    assert slope(peak - 1) > 0 > slope(peak + 1)
