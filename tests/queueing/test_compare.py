# SPDX-License-Identifier: MIT
"""What a comparison says: the noise floor, who ties with the best, who predicts large thread counts."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import binom
from scipy.stats import f as f_distribution

from lockscale.errors import BadInput
from lockscale.queueing import AMDAHL, MACHINE_REPAIRMAN, RETRY_STORM, USL
from lockscale.queueing.comparison.compare import compare, rank
from lockscale.queueing.comparison.equal_worth import p_misfit, p_same, p_signs
from lockscale.queueing.comparison.held_out import coverage_pct, extrapolation_pct
from lockscale.queueing.comparison.noise_floor import noise_floor
from lockscale.queueing.comparison.tell_apart import tell_apart
from lockscale.queueing.inference.fit import fit
from lockscale.queueing.laws.two_queue import TWO_QUEUE
from lockscale.queueing.points import points

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
    ranked = compare(threads, noisy(np.array(threads), 0.05, 0), [USL])
    assert ranked.noise is None
    assert "No repeats" in repr(ranked)


def test_a_model_within_the_noise_is_said_to_be_the_end_of_the_search():
    threads, wobble = np.repeat(THREADS, 2), np.tile([1.05, 1 / 1.05], 7)
    ranked = compare(threads, USL(threads, **TRUTH) * wobble, [USL, RETRY_STORM])
    assert ranked.within_noise == ("usl",)
    assert "in sample within it: usl" in repr(ranked) and "stop here" in repr(ranked)


def test_a_calibrated_fit_is_not_within_the_noise():
    threads = [1, 1, 8, 8, 64, 64]
    ranked = compare(threads, noisy(np.array(threads), 0.05, 2), [USL])
    assert ranked.best.calibrated and ranked.within_noise == ()
    assert "not ranked" in repr(ranked)


def test_signs_of_held_out_errors_by_hand():
    """Every way to sign seven differences, counted one by one."""
    one, other = (fit(THREADS, noisy(THREADS, 0.05, 4), model) for model in (USL, MACHINE_REPAIRMAN))
    apart = np.abs(one.held_out_pct) - np.abs(other.held_out_pct)
    sums = [abs(np.dot(signs, apart)) for signs in itertools.product([1, -1], repeat=7)]
    assert p_signs(one, other) == np.mean([s >= abs(apart.sum()) - 1e-9 for s in sums])
    assert p_signs(one, one) == p_same(one, one) == 1


def test_models_of_equal_worth_are_told_apart_once_in_twenty():
    rng = np.random.default_rng(0)
    pairs = [[SimpleNamespace(held_out_pct=rng.normal(0, 5, 9)) for _ in range(2)] for _ in range(400)]
    told = sum(p_signs(one, other) < 0.05 for one, other in pairs)
    low, high = binom.ppf([0.001, 0.999], 400, 0.05)
    assert low <= told <= high


def test_a_model_that_cannot_fall_is_told_from_one_that_can():
    falling = noisy(np.arange(1, 17), 0.01, 5) / np.arange(1, 17)
    ranked = compare(np.arange(1, 17), falling, [USL, MACHINE_REPAIRMAN])
    assert ranked.not_told_apart == ("usl",)
    assert "The data tell usl from every other model" in repr(ranked)


def test_a_gross_misfit_is_told_from_the_truth_in_five_thread_counts():
    """Five signs give p >= 2 / 2^5; the F test sees that a storm would fall."""
    threads = THREADS[2:]
    ranked = compare(threads, noisy(threads, 0.01, 6), MODELS)
    assert ranked.best.model == "usl" and min(p_signs(ranked.best, one) for one in ranked.fits) > 0.05
    assert "retry_storm" not in ranked.not_told_apart


def test_misfit_by_hand():
    """Residual mean squares 4 s^2 and s^2 with 4 and 5 degrees of freedom."""
    usl, repairman = (fit(THREADS, noisy(THREADS, 0.05, 4), model) for model in (USL, MACHINE_REPAIRMAN))
    ratio = (repairman.best.ss / 5) / (usl.best.ss / 4)
    assert p_misfit(usl, repairman) == pytest.approx(f_distribution.sf(ratio, 5, 4))


@pytest.mark.slow
def test_a_right_model_is_told_from_the_best_about_as_often_as_the_level_says():
    """The table is Amdahl's; the USL that contains it may win, and must not exclude it."""
    told = 0
    for seed in range(16):
        rng = np.random.default_rng(seed)
        table = AMDAHL(THREADS, lambda_per_s=1e5, sigma=0.05) * np.exp(rng.normal(0, 0.05, 7))
        told += "amdahl" not in compare(THREADS, table, [AMDAHL, USL]).not_told_apart
    assert told <= 4  # binomial(16, 0.05) is above 4 once in a thousand


def test_many_thread_counts_take_random_signs_and_stay_the_same():
    threads = np.arange(1, 26)
    one, other = (fit(threads, noisy(threads, 0.05, 7), model) for model in (USL, MACHINE_REPAIRMAN))
    assert 0 < p_signs(one, other) == p_signs(one, other) <= 1


def test_extrapolation_sees_nothing_of_the_larger_half():
    broken = noisy(THREADS, 0.02, 8)
    broken[4:] *= 10
    half = fit(THREADS[:4], broken[:4], USL).predict(THREADS[4:]).value
    assert extrapolation_pct(fit(THREADS, broken, USL)) == pytest.approx(
        100 * np.mean(np.abs(half / broken[4:] - 1)), rel=1e-4
    )


@pytest.mark.slow
def test_intervals_cover_what_is_left_out_as_often_as_they_say():
    found = [coverage_pct(fit(THREADS, noisy(THREADS, 0.05, seed), USL)) for seed in range(8)]
    assert 85 < np.mean(found) <= 100


def test_intervals_of_a_model_that_is_too_sure_do_not_cover():
    """A table of two regimes: what USL learns from four of five regular points is wrong at the fifth."""
    assert coverage_pct(fit(THREADS[:4], noisy(THREADS[:4], 0.02, 0), USL)) is None
    regular = USL(THREADS, **TRUTH)
    regular[6] /= 3
    assert coverage_pct(fit(THREADS, regular, MACHINE_REPAIRMAN)) < 100


def test_ranking_is_by_leave_one_out_and_calibrated_fits_come_last():
    table = noisy(THREADS[:3], 0.05, 9)
    calibrated, judged = (fit(THREADS[:3], table, model) for model in (USL, MACHINE_REPAIRMAN))
    assert rank([calibrated, judged], {}).fits == (judged, calibrated)


def test_html_holds_every_model_and_every_finding():
    ranked = compare(THREADS, noisy(THREADS, 0.05, 10), MODELS)
    page = ranked._repr_html_()
    for text in ("usl", "machine_repairman", "retry_storm", "leave-one-out", "tell usl"):
        assert text in page
    assert page.count("<tr>") == 4


def test_html_of_a_fit_has_a_row_for_each_parameter():
    page = fit(THREADS, noisy(THREADS, 0.05, 11), USL)._repr_html_()
    assert page.count("<tr>") == 4 and "95% interval" in page and "identified" in page


def test_where_to_measure_is_about_the_two_best():
    ranked = compare(THREADS, noisy(THREADS, 0.05, 12), MODELS)
    assert ranked.where_to_measure([3, 128]) == tell_apart(ranked.fits[0], ranked.fits[1], [3, 128])
    with pytest.raises(BadInput, match="one model only"):
        compare(THREADS, noisy(THREADS, 0.05, 12), [USL]).where_to_measure([3])


def test_models_that_are_left_out_share_a_sentence_for_one_reason():
    said = repr(compare([1, 48], [1e4, 8e4], [MACHINE_REPAIRMAN, USL, TWO_QUEUE]))
    assert "Left out: usl and two_queue: more free parameters than 2 thread counts." in said
    with pytest.raises(BadInput, match="nothing to compare: more free parameters than 1 thread count"):
        compare([48], [8e4], MODELS)
    with pytest.raises(BadInput, match="no model was given"):
        compare([1, 48], [1e4, 8e4], [])
