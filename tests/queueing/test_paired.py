# SPDX-License-Identifier: MIT
"""One column given another: laws by hand, S4's two, and what the reference's own noise does."""

import numpy as np
import pytest
from scipy.optimize import minimize

from lockscale.errors import BadInput
from lockscale.queueing.compare import compare_models
from lockscale.queueing.fit import fit_model
from lockscale.queueing.laws.machine_repairman import MACHINE_REPAIRMAN
from lockscale.queueing.laws.paired import paired_models
from lockscale.tables import published

N = np.array([1.0, 2, 4, 8, 16, 32, 64, 128])
REFERENCE = MACHINE_REPAIRMAN(N, Z_us=50, s_us=5)


def model(name, threads=N, reference=REFERENCE, **options):
    return next(m for m in paired_models(threads, reference, **options) if m.name == name)


def times(rates):
    return N / rates


def test_a_serial_cost_adds_n_times_itself_to_the_time():
    after = model("paired_serial").rate(N, {"a_s": 2e-6})
    assert times(after) == pytest.approx(times(REFERENCE) + N * 2e-6)


def test_a_parallel_cost_adds_itself_once():
    after = model("paired_parallel").rate(N, {"a_s": 2e-6, "p_s": 3e-6})
    assert times(after) == pytest.approx(times(REFERENCE) + N * 2e-6 + 3e-6)


def test_a_power_of_n_is_serial_at_one_and_parallel_at_zero():
    law = model("paired_power")
    serial, parallel = law.rate(N, {"a_s": 2e-6, "b": 1.0}), law.rate(N, {"a_s": 2e-6, "b": 0.0})
    assert serial == pytest.approx(model("paired_serial").rate(N, {"a_s": 2e-6}))
    assert times(parallel) == pytest.approx(times(REFERENCE) + 2e-6)


def test_a_lock_is_remote_as_often_as_the_next_owner_is_outside_the_domain():
    """Domain of 4: with 8 threads 4 of the other 7 are outside, with 4 none is."""
    after = model("paired_remote").rate(N, {"a_s": 1e-6, "r_s": 7e-6, "M_threads": 4.0})
    added = (times(after) - times(REFERENCE)) / N
    assert added[:4] == pytest.approx([1e-6, 1e-6, 1e-6, 1e-6 + 4e-6])


def test_at_the_peak_means_where_the_reference_is_fastest():
    falling = np.array([1.0, 1.8, 3.0, 2.5, 2.4, 2.3, 2.2, 2.1])
    free = model("paired_remote", reference=falling)
    held = model("paired_remote_at_peak", reference=falling)
    params = {"a_s": 0.1, "r_s": 0.2}
    assert held.rate(N, params) == pytest.approx(free.rate(N, {**params, "M_threads": 4.0}))


def test_one_changed_demand_turns_one_repairman_into_the_other():
    after = MACHINE_REPAIRMAN(N, Z_us=50, s_us=9)
    found = fit_model((N, after), model("paired_demand"))
    assert found.params == pytest.approx({"z": 10, "k": 1.8}, rel=1e-3)


def test_the_unit_of_work_may_be_unknown():
    """Costs scale with the unit, errors and the ratio of demands do not."""
    after = model("paired_remote_at_peak").rate(N, {"a_s": 1e-6, "r_s": 2e-6})
    after = after * np.exp(0.03 * np.cos(N))
    for name in ("paired_serial", "paired_demand"):
        one = fit_model((N, after), model(name))
        other = fit_model((N, after / 1000), model(name, reference=REFERENCE / 1000))
        assert one.loo_pct == pytest.approx(other.loo_pct, rel=1e-3)


def test_noise_of_the_reference_counts_as_if_its_true_rates_were_free():
    """Total least squares over the reference's unknown true rates finds the same cost and misfit."""
    rng = np.random.default_rng(4)
    column = model("paired_serial").rate(N, {"a_s": 6e-6}) * np.exp(rng.normal(0, 0.02, N.size))
    measured = REFERENCE * np.exp(rng.normal(0, 0.02, N.size))

    def both(x):
        true_reference = measured * np.exp(x[1:])
        expected = 1 / (1 / true_reference + x[0] * 1e-6)
        return np.sum(np.log(column / expected) ** 2) + np.sum(x[1:] ** 2)

    total = minimize(both, np.append(5.0, np.zeros(N.size)), method="BFGS")
    found = fit_model((N, column), model("paired_serial", reference=measured))
    assert found.params["a_s"] == pytest.approx(total.x[0] * 1e-6, rel=0.01)
    assert found.best.ss == pytest.approx(total.fun, rel=0.05)


def test_a_reference_of_many_runs_adds_less_noise():
    rates = 0.5 * REFERENCE
    one_run, many = model("paired_demand"), model("paired_demand", weights=np.full(N.size, 100.0))
    assert one_run.added_variance(N, rates) == pytest.approx(np.ones(N.size))
    assert many.added_variance(N, rates) == pytest.approx(np.full(N.size, 0.01))


@pytest.mark.slow
def test_intervals_cover_a_serial_cost_whose_reference_is_as_noisy_as_itself():
    rng = np.random.default_rng(11)
    truth = 6e-6
    clean = model("paired_serial").rate(N, {"a_s": truth})
    hits = 0
    for _ in range(200):
        column, reference = clean * np.exp(rng.normal(0, 0.05, 8)), REFERENCE * np.exp(rng.normal(0, 0.05, 8))
        (a,) = fit_model((N, column), model("paired_serial", reference=reference)).parameters
        hits += a.low <= truth <= a.high
    assert 181 <= hits <= 198  # 0.1% tails of a binomial of 95%


def test_a_thread_count_that_the_reference_lacks_is_refused():
    with pytest.raises(BadInput, match="no row with 3 threads"):
        fit_model(([1, 2, 3], [1.0, 2, 3]), model("paired_serial"))


@pytest.fixture(scope="module")
def stress():
    """S4's stress-orphan: threads and, by arm, times of an unpublished amount of work."""
    table = published("s4_stress_orphan")
    return {arm: (rows.threads.to_numpy(), rows.value.to_numpy()) for arm, rows in table.groupby("arm")}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arm", "in_sample_pct", "held_out_pct"), [("orphan-locked", 4, 8), ("orphan-lockless", 3, 6)]
)
def test_s4_given_none_in_errors_of_the_published_times(stress, arm, in_sample_pct, held_out_pct):
    threads, none_s = stress["orphan-off"]
    table = threads, threads / stress[arm][1]
    fits = [fit_model(table, m) for m in paired_models(threads, threads / none_s)]
    best = min((one for one in fits if not one.not_determined), key=lambda one: one.loo_pct)
    assert best.free_parameters < len(best.points)
    for of_rates, most in ((best.residuals_pct, in_sample_pct), (best.held_out_pct, held_out_pct)):
        assert 100 * np.mean(np.abs(1 - 1 / (1 - of_rates / 100))) <= most


def test_s4_locked_given_none_is_one_call_and_serial_cost_alone_does_not_explain_it(stress):
    threads, none_s = stress["orphan-off"]
    ranked = compare_models(
        (threads, threads / stress["orphan-locked"][1]), paired_models(threads, threads / none_s)
    )
    assert ranked.best.model.startswith("paired_remote")
    serial = next(one for one in ranked.fits if one.model == "paired_serial")
    assert serial.loo_pct > 3 * ranked.best.loo_pct
