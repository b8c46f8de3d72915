# SPDX-License-Identifier: MIT
"""What a comparison says: the noise floor, who ties with the best, who predicts large thread counts."""

import re
from html import escape

import numpy as np
import pytest
from scipy.stats import binom
from scipy.stats import f as f_distribution

from lockscale.errors import BadInput
from lockscale.queueing import (
    AMDAHL,
    AMDAHL_SPILL,
    HAND_OVER,
    IMPATIENT,
    MACHINE_REPAIRMAN,
    RETRY_STORM,
    USL,
    USL_EXPONENT,
)
from lockscale.queueing.compare import compare_models, rank
from lockscale.queueing.evidence import (
    contains,
    coverage_pct,
    noise_floor,
    p_extra,
    p_misfit,
    p_same,
    tell_apart,
)
from lockscale.queueing.fit import fit_model
from lockscale.queueing.fitted import Fit
from lockscale.queueing.laws.boyd_wickizer import TWO_QUEUE
from lockscale.queueing.points import points
from lockscale.queueing.search import problem_of, search

THREADS = np.array([1, 2, 4, 8, 16, 32, 64])
TRUTH = {"lambda_per_s": 1e5, "sigma": 0.05, "kappa": 0.0008}
MODELS = (USL, MACHINE_REPAIRMAN, RETRY_STORM)


def noisy(threads, noise, seed):
    return USL(threads, **TRUTH) * np.exp(np.random.default_rng(seed).normal(0, noise, len(threads)))


def test_the_floor_of_repeats_by_hand():
    """ln 100 +- 0.1 twice: variance (2 x 0.1^2) / 1 of one run, half of it for the mean of two."""
    floor = noise_floor(points([4, 4], [100 * np.exp(0.1), 100 * np.exp(-0.1)]))
    assert (floor.source, floor.dof) == ("repeats", 1)
    assert floor.pct == pytest.approx(100 * np.sqrt(0.02 / 2) * np.sqrt(2 / np.pi))


def test_the_floor_is_the_error_of_the_true_curve():
    threads = np.repeat(THREADS, 4)
    tables = [noisy(threads, 0.05, seed) for seed in range(200)]
    floor = np.mean([noise_floor(points(threads, table)).pct for table in tables])
    means = [np.exp(points(threads, table).log_rate) for table in tables]
    truth = USL(THREADS, **TRUTH)
    error = np.mean([np.mean(np.abs(truth / mean - 1)) for mean in means])
    assert floor == pytest.approx(100 * error, rel=0.05)


def test_neighbours_know_the_noise_of_a_dense_straight_table():
    """Gasser, Sroka and Jennen-Steinmetz: unbiased for the variance where ln X is a line."""
    threads = np.arange(1, 21)
    rng = np.random.default_rng(3)
    tables = [np.exp(0.1 * threads + rng.normal(0, 0.05, 20)) for _ in range(300)]
    found = [noise_floor(points(threads, table)) for table in tables]
    assert {floor.source for floor in found} == {"neighbours"}
    variances = [(floor.pct / 100) ** 2 * np.pi / 2 for floor in found]
    assert np.mean(variances) == pytest.approx(0.05**2, rel=0.05)


@pytest.mark.parametrize("threads", [THREADS, np.arange(1, 10), [*range(1, 12), 64]])
def test_without_repeats_or_dense_thread_counts_the_noise_is_not_known(threads):
    ranked = compare_models((threads, noisy(np.array(threads), 0.05, 0)), [USL])
    assert ranked.noise is None
    assert "No repeats" in repr(ranked)


def test_a_model_within_the_noise_is_said_to_be_the_end_of_the_search():
    threads, wobble = np.repeat(THREADS, 2), np.tile([1.05, 1 / 1.05], 7)
    ranked = compare_models((threads, USL(threads, **TRUTH) * wobble), [USL, RETRY_STORM])
    assert ranked.within_noise == ("usl",)
    assert "in sample within it: usl" in repr(ranked) and "stop here" in repr(ranked)


def test_a_law_that_cannot_fall_is_none_of_a_curve_that_does():
    """Amdahl's law is 12% off on average, so the mean alone would not tell it."""
    threads = [1, 2, 4, 8, 16, 32, 64]
    rates = [50e3, 96e3, 170e3, 270e3, 390e3, 464e3, 296e3]
    ranked = compare_models((threads, rates), [AMDAHL])
    assert ranked.best.misfit and ranked.best.misses_fall and ranked.best.mape_pct < 25
    assert {one.status for one in ranked.best.reported} == {"misfit"}
    assert "The rate falls at the most threads, and amdahl, the least bad, does not" in repr(ranked)
    assert "the rate falls at the most threads, and this law does not: its" in str(ranked.best)
    assert "no fit within" not in str(ranked.best)
    assert not compare_models((threads, [*rates[:-1], 455e3]), [AMDAHL]).best.misses_fall


def test_a_model_with_a_parameter_for_each_point_is_not_said_to_be_within_the_noise():
    """Four thread counts, four parameters; and an error that is printed as the noise is within it."""
    rates = [1000, 1100, 1900, 2100, 2500, 2550, 2600, 2590]
    ranked = compare_models((np.repeat([1, 2, 4, 8], 2), rates), [HAND_OVER, USL_EXPONENT, AMDAHL_SPILL])
    said = re.search(r"in sample within it: (.*?)\.", repr(ranked))[1]
    assert (
        said == "usl_exponent and hand_over (amdahl_spill has a parameter for each point, which says nothing)"
    )


def test_how_far_runs_scatter_is_said_beside_what_their_means_leave():
    """Of 20 runs with 5% scatter the mean is known to 5% / sqrt(20), and is off by 0.8 of that on average."""
    threads = np.repeat(THREADS, 20)
    floor = compare_models((threads, noisy(threads, 0.05, 3)), [USL]).noise
    assert floor.one_run_pct == pytest.approx(5, rel=0.15)
    assert floor.pct == pytest.approx(floor.one_run_pct * np.sqrt(2 / np.pi / 20))
    assert f"scatter by {floor.one_run_pct:.1f}% (standard deviation" in str(floor)


def test_copied_rows_are_told_and_a_table_of_which_no_law_is_right_does_not_end_the_search():
    threads = np.repeat(THREADS, 2)
    rates = noisy(threads, 0.05, 4)
    copied = compare_models((np.tile(threads, 10), np.tile(rates, 10)), [USL])
    assert "126 of 140 rows have the threads and the rate of another row" in repr(copied)
    assert "of another row" not in repr(compare_models((threads, rates), [USL]))
    far = compare_models(([1, 4, 8, 8, 16], [1000, 3000, 3100, 99, 3000]), [USL, RETRY_STORM])
    assert "None fits within" in repr(far) and "stop here" not in repr(far)


def test_a_calibrated_fit_is_not_within_the_noise():
    threads = [1, 1, 8, 8, 64, 64]
    ranked = compare_models((threads, noisy(np.array(threads), 0.05, 2)), [USL])
    assert ranked.best.calibrated and ranked.within_noise == ()
    assert "not ranked" in repr(ranked)


def test_extra_sum_of_squares_by_hand():
    """Amdahl's law in the USL: one more parameter, seven points, F with 1 and 4 degrees of freedom."""
    usl, amdahl = (fit_model((THREADS, noisy(THREADS, 0.05, 4)), model) for model in (USL, AMDAHL))
    assert contains(usl, amdahl) and not contains(amdahl, usl)
    ratio = (amdahl.best.ss - usl.best.ss) / (usl.best.ss / 4)
    assert p_extra(usl, amdahl) == pytest.approx(f_distribution.sf(ratio, 1, 4))
    assert p_extra(amdahl, usl) == p_same(usl, usl) == 1


def test_a_model_that_is_not_contained_is_charged_with_every_parameter_of_the_best():
    usl, repairman = (
        fit_model((THREADS, noisy(THREADS, 0.05, 4)), model) for model in (USL, MACHINE_REPAIRMAN)
    )
    ratio = (repairman.best.ss - usl.best.ss) / 3 / (usl.best.ss / 2)
    assert p_extra(usl, repairman) == pytest.approx(f_distribution.sf(ratio, 3, 2))


def quick(threads, rates, model):
    """The fit without intervals, of which these tests ask nothing."""
    problem = problem_of(model, points(threads, rates), {})
    return Fit(problem, search(problem)[0], None, ())


@pytest.mark.slow
@pytest.mark.parametrize("last", [8, *(pytest.param(n, marks=pytest.mark.long) for n in (16, 32)), 64])
@pytest.mark.parametrize(
    ("truth", "params", "rivals"),
    [
        (AMDAHL, {"lambda_per_s": 13000, "sigma": 0.02}, (USL, USL_EXPONENT)),
        (MACHINE_REPAIRMAN, {"Z_us": 60.0, "s_us": 4.0}, (AMDAHL, USL)),
    ],
    ids=["nested", "not nested"],
)
def test_a_true_model_is_excluded_in_no_more_than_five_of_a_hundred_tables(truth, params, rivals, last):
    """Whichever rival fits best: a harder choice than by leave-one-out."""
    threads = np.arange(1.0, last + 1)
    told = 0
    for seed in range(200):
        table = truth(threads, **params) * np.exp(np.random.default_rng(seed).normal(0, 0.03, last))
        best = min((quick(threads, table, one) for one in rivals), key=lambda one: one.best.ss)
        told += p_same(best, quick(threads, table, truth), len(rivals)) < 0.05
    assert told <= binom.ppf(0.999, 200, 0.05)


def test_exact_tables_do_not_tell_models_apart_that_draw_the_same_curve():
    """Errors of 1e-14 and 1e-16 are both nothing."""
    ranked = compare_models(
        (np.arange(1, 17), AMDAHL(np.arange(1, 17), lambda_per_s=1e4, sigma=0.02)), [AMDAHL, USL]
    )
    assert set(ranked.not_told_apart) == {"amdahl", "usl"}


def test_a_calibrated_fit_is_not_said_to_miss_by_more_than_the_noise():
    threads = [1, 1, 8, 8, 64, 64]
    said = repr(compare_models((threads, noisy(np.array(threads), 0.05, 2)), [USL, AMDAHL]))
    assert "every model that is not calibrated" in said or "in sample within it" in said
    assert "every model has a parameter for each point, so a small error says nothing" in repr(
        compare_models((threads, noisy(np.array(threads), 0.05, 2)), [USL])
    )


def test_a_law_with_a_parameter_for_each_point_is_not_said_to_go_through_them():
    """Amdahl's law cannot fall: its best is a rate between both, and sigma on its bound."""
    ranked = compare_models(([1, 1, 2, 2], [100, 101, 80, 81]), [AMDAHL])
    assert ranked.best.calibrated and ranked.best.mape_pct > 10
    assert "so a small error" in repr(ranked) and "so a small error" in str(ranked.best)


def test_a_model_that_cannot_fall_is_told_from_one_that_can():
    falling = noisy(np.arange(1, 17), 0.01, 5) / np.arange(1, 17)
    ranked = compare_models((np.arange(1, 17), falling), [USL, MACHINE_REPAIRMAN])
    assert ranked.not_told_apart == ("usl",)
    assert "The data exclude every other model, if usl is right" in repr(ranked)


def test_a_gross_misfit_is_told_from_the_truth_in_five_thread_counts():
    """No point is left for the parameters of both; the mean squares see that a storm would fall."""
    threads = THREADS[2:]
    ranked = compare_models((threads, noisy(threads, 0.01, 6)), MODELS)
    assert ranked.best.model == "usl" and p_extra(ranked.best, ranked.fits[-1]) == 1
    assert "retry_storm" not in ranked.not_told_apart


def test_misfit_by_hand():
    """Residual mean squares 4 s^2 and s^2 with 4 and 5 degrees of freedom."""
    usl, repairman = (
        fit_model((THREADS, noisy(THREADS, 0.05, 4)), model) for model in (USL, MACHINE_REPAIRMAN)
    )
    ratio = (repairman.best.ss / 5) / (usl.best.ss / 4)
    assert p_misfit(usl, repairman) == pytest.approx(f_distribution.sf(ratio, 5, 4))


def test_extrapolation_sees_nothing_of_the_larger_half():
    broken = noisy(THREADS, 0.02, 8)
    broken[4:] *= 10
    half = fit_model((THREADS[:4], broken[:4]), USL).predict(THREADS[4:]).value
    (row,) = compare_models((THREADS, broken), [USL]).to_json("t", "c")
    assert row["extrapolation_pct"] == pytest.approx(100 * np.mean(np.abs(half / broken[4:] - 1)), rel=1e-4)


@pytest.mark.slow
def test_intervals_cover_what_is_left_out_as_often_as_they_say():
    found = [coverage_pct(fit_model((THREADS, noisy(THREADS, 0.05, seed)), USL)) for seed in range(8)]
    assert 85 < np.mean(found) <= 100


def test_intervals_of_a_model_that_is_too_sure_do_not_cover():
    """A table of two regimes: what USL learns from four of five regular points is wrong at the fifth."""
    assert coverage_pct(fit_model((THREADS[:4], noisy(THREADS[:4], 0.02, 0)), USL)) is None
    regular = USL(THREADS, **TRUTH)
    regular[6] /= 3
    assert coverage_pct(fit_model((THREADS, regular), MACHINE_REPAIRMAN)) < 100


def test_ranking_is_by_leave_one_out_and_calibrated_fits_come_last():
    table = noisy(THREADS[:4], 0.05, 9)
    calibrated, judged = (fit_model((THREADS[:4], table), model) for model in (TWO_QUEUE, MACHINE_REPAIRMAN))
    assert rank([calibrated, judged], {}).fits == (judged, calibrated)


def test_html_holds_every_model_and_every_finding():
    ranked = compare_models((THREADS, noisy(THREADS, 0.05, 10)), MODELS)
    page = ranked._repr_html_()
    found = ranked.to_json("t", "c")[0]["findings"]
    assert len(found) >= 2
    for text in ("usl", "machine_repairman", "retry_storm", "leave-one-out", *map(escape, found)):
        assert text in page
    assert page.count("<tr>") == 4


def test_html_of_a_fit_has_a_row_for_each_parameter():
    page = fit_model((THREADS, noisy(THREADS, 0.05, 11)), USL)._repr_html_()
    assert page.count("<tr>") == 4 and "95% interval" in page and "identified" in page


def test_where_to_measure_is_about_the_two_best():
    ranked = compare_models((THREADS, noisy(THREADS, 0.05, 12)), MODELS)
    assert ranked.where_to_measure([3, 128]) == tell_apart(ranked.fits[0], ranked.fits[1], [3, 128])
    with pytest.raises(BadInput, match="only one model"):
        compare_models((THREADS, noisy(THREADS, 0.05, 12)), [USL]).where_to_measure([3])


def test_two_thread_counts_rank_no_models():
    """Each has as many parameters as there are points, and passes through all."""
    assert not compare_models(([1, 48], [1e4, 8e4]), [MACHINE_REPAIRMAN, AMDAHL]).is_ranked
    assert compare_models((THREADS, noisy(THREADS, 0.05, 12)), MODELS).is_ranked


def test_models_that_are_left_out_share_a_sentence_for_one_reason():
    said = repr(compare_models(([1, 48], [1e4, 8e4]), [MACHINE_REPAIRMAN, USL, TWO_QUEUE]))
    assert "Left out: usl and two_queue: more free parameters than 2 thread counts." in said
    with pytest.raises(BadInput, match="nothing to compare: more free parameters than 1 thread count"):
        compare_models(([48], [8e4]), MODELS)
    with pytest.raises(BadInput, match="no model was given"):
        compare_models(([1, 48], [1e4, 8e4]), [])


def test_no_law_is_the_best_where_none_predicts_what_was_left_out():
    """Rates that jump up and down: whatever ranks first, held out it misses by more than 25%."""
    threads = [1, 2, 4, 8, 16, 32]
    found = compare_models((threads, [1e4, 9e4, 5e3, 2e5, 8e3, 3e5]), [AMDAHL, USL])
    assert found.best.misfit and found.best.loo_pct > 25
    said = str(found)
    assert f"None fits within 25% leave-one-out; the least bad is {found.best.model} (" in said
    assert "cannot tell" not in said and "exclude" not in said
    row = found.best.to_json("t", "c")
    assert "identified" not in {one["status"] for one in row["parameters"]}
    assert "no fit within 25% leave-one-out" in str(found.best)


def test_a_misfit_of_which_nothing_can_be_held_out_is_told_by_its_error_in_sample():
    """Amdahl's law never falls; two numbers of threads leave none to hold out."""
    fit = fit_model(([1, 64], [1e6, 1e3]), AMDAHL)
    assert fit.loo_pct is None and fit.mape_pct > 25 and fit.misfit
    assert "no fit within 25% in sample" in str(fit) and "identified" not in str(fit)


def test_a_law_within_25_percent_is_no_misfit():
    threads = [1, 2, 4, 8, 16, 32]
    found = compare_models((threads, AMDAHL(threads, lambda_per_s=1e4, sigma=0.1)), [AMDAHL, USL])
    assert not found.best.misfit and "None fits" not in str(found)
    assert "no fit within" not in str(found.best)


def test_of_exact_models_the_one_with_fewest_parameters_is_first():
    """Rates of the machine repairman, which the impatient customers' law contains (T = infinity)."""
    threads = [1, 2, 4, 8, 16, 32, 64]
    rates = MACHINE_REPAIRMAN(threads, Z_us=20.0, s_us=5.0)
    found = compare_models((threads, rates), [IMPATIENT, MACHINE_REPAIRMAN, USL])
    assert found.best.model == "machine_repairman" and "impatient" in found.not_told_apart
