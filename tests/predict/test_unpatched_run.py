# SPDX-License-Identifier: MIT
"""Gains predicted from the unpatched arm's rates alone, where the truth is known."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from lockscale.errors import BadInput
from lockscale.files import sha256_of_json
from lockscale.predict.gain_interval import GainsSimulated, GainsTold, JudgedGain, SimulatedGain, learned
from lockscale.predict.gain_interval import told as interval
from lockscale.predict.posterior import (
    OWN_FACTOR,
    PRIOR_FACTOR,
    SD,
    Posterior,
    each_alone,
    of_one_machine,
    posterior,
)
from lockscale.predict.predicted_against_measured import gains_off, judge_gains
from lockscale.predict.published_gains import SUPERLINEAR
from lockscale.predict.unpatched_run import (
    NO_MODEL,
    ONE_POINT,
    _simulated_gain,
    predict_gains,
    replaced_share,
    simulate_gains,
)
from lockscale.predict.user_case import Case
from lockscale.sim import load_model, simulate
from lockscale.study.file import load_study

STUDY = load_study("inode-claim")
UNPATCHED, PATCHED = STUDY.unpatched.name, STUDY.patched.name
THREADS = (1, 4, 16, 32)
TRUTH = {"elsewhere_us": 15.0, "hold_ns": 500.0, "access_ns": 300.0}
"""Another machine than the model's own."""


def rates(arm: str, threads: tuple[int, ...] = THREADS) -> dict[int, float]:
    switches = STUDY.arm(arm).model_parameters
    runs = {n: simulate("inode_claim", n, {**TRUTH, **switches}, operations=8000, seed=7) for n in threads}
    return {n: run.rate_per_s for n, run in runs.items()}


def rows_of(arm: str, by_threads: dict[int, float]) -> pd.DataFrame:
    common = {"run": "r", "study": STUDY.name, "arm": arm, "tool": "fsload", "test": STUDY.operation}
    common |= {"pair": "ab", "block": 1, "iteration": 1, "metric": "rate", "statistic": "total"}
    common |= {"unit": "ops/s", "origin": "virtual", "profiled": False, "cpus": 64}
    return pd.DataFrame([{**common, "threads": n, "value": rate} for n, rate in by_threads.items()])


@pytest.fixture(scope="module")
def unpatched() -> pd.DataFrame:
    return rows_of(UNPATCHED, rates(UNPATCHED))


@pytest.fixture(scope="module")
def told(unpatched: pd.DataFrame) -> GainsTold:
    return predict_gains(STUDY, unpatched, learned([]))


@pytest.fixture(scope="module")
def judged(told: GainsTold, unpatched: pd.DataFrame) -> pd.DataFrame:
    both = pd.concat([unpatched, rows_of(PATCHED, rates(PATCHED))])
    return judge_gains({"run": told.as_json()}, both)


def test_the_gains_of_a_kernel_that_the_model_describes_lie_in_their_intervals(judged: pd.DataFrame):
    assert list(judged.threads) == list(THREADS) and judged.inside.all()
    assert judged.measured.max() > 3  # or nothing would have been predicted


def test_one_process_gains_nothing_and_the_prediction_is_sure_of_it(told: GainsTold):
    alone = next(one for one in told.gains if one.threads == 1)
    assert alone.low < 1 < alone.high < 1.2 and alone.high / alone.low < 1.3


def test_no_gain_is_promised_beyond_what_each_process_does_alone(told: GainsTold):
    assert all(one.value < 1.2 * one.naive_gain for one in told.gains)


def test_the_fit_says_how_far_it_is_off_at_each_number_of_processes(told: GainsTold):
    (fit,) = told.fits
    assert set(fit.off_pct) == set(THREADS) and max(map(abs, fit.off_pct.values())) < 10
    assert fit.parameters["elsewhere_us"] == pytest.approx(TRUTH["elsewhere_us"], rel=0.15)


def test_the_hash_of_what_is_written_is_that_of_what_is_read_back(told: GainsTold):
    said = told.as_json()
    assert sha256_of_json(json.loads(json.dumps(said))) == sha256_of_json(said)


@pytest.mark.slow
def test_another_arms_rates_among_the_rows_change_nothing(told: GainsTold, unpatched: pd.DataFrame):
    mixed = pd.concat([rows_of(PATCHED, {n: 1e6 * n for n in THREADS}), unpatched])
    assert predict_gains(STUDY, mixed, learned([])) == told


def test_an_arm_without_a_model_and_a_single_point_are_said():
    wide = load_study("group-trylock")
    rows = rows_of(wide.unpatched.name, {1: 2e5}).assign(test=wide.operation)
    told = predict_gains(wide, rows, learned([]))
    assert told.gains == [] and told.why_none["trylock"] == ONE_POINT
    assert told.why_none["multi-goal-scan1"] == NO_MODEL


def test_without_a_rate_of_the_unpatched_arm_nothing_is_predicted():
    with pytest.raises(BadInput, match="no row has the rate"):
        predict_gains(STUDY, rows_of(PATCHED, {1: 6e4, 8: 3e5}), learned([]))


def off(study: str, arm: str, *errors: float) -> list[JudgedGain]:
    """Of gains of 2.2 that were told within 10%."""
    return [JudgedGain(study, arm, error, 0.8, 0.03) for error in errors]


def test_gains_that_were_far_off_elsewhere_widen_what_is_told_and_good_ones_narrow_it():
    prior = learned([])
    far = learned([*off("a", "x", 1.5, -1.2), *off("b", "y", 1.1)])
    near = learned([*off("a", "x", 0.05, -0.02), *off("b", "y", 0.04)])
    assert near.relative < prior.relative < far.relative
    assert far.arms == near.arms == 2 and far.studies == ("a", "b")
    rng = np.random.default_rng(1)
    assert near.lacking(0.9, 4000, rng).std() < far.lacking(0.9, 4000, rng).std()


def test_an_arm_counts_once_however_many_points_it_has():
    assert learned(off("a", "x", 1.5)) == learned(off("a", "x", *[1.5] * 8))


def test_one_model_that_is_far_off_among_ten_that_are_near_does_not_decide():
    near = [one for k in range(10) for one in off(f"s{k}", "x", 0.05, -0.08)]
    both = learned([*near, *off("far", "x", 2.0)])
    assert both.relative < 0.5 < np.sqrt(2.0**2 / 11) / 0.8  # as a mean of squares would have it


def test_of_an_arm_that_changes_nothing_nothing_is_learned():
    assert learned([JudgedGain("a", "x", 0.4, 0.0, 0.0)]).relative == learned([]).relative


def test_of_an_arm_that_changes_nothing_only_repeats_are_open_however_far_off_models_are():
    far = learned([one for k in range(9) for one in off(f"s{k}", "x", 1.8)])
    rng = np.random.default_rng(1)
    nothing = interval(simulated(0.0, 0.0), far, rng)
    half = interval(simulated(0.7, 0.0), far, rng)
    assert nothing.high / nothing.low < 1.2 and half.high / half.low > 4


def test_where_another_line_is_full_a_patch_gives_what_is_left_of_it():
    """Of eight tenths in which the line is on its way, two are left: 1.25 times, whatever the model says."""
    none = learned(off("a", "x", 0.0))
    rng = np.random.default_rng(1)
    free, full, part = (
        interval(replace(simulated(1.5, 0.1), full=share), none, rng) for share in (0.0, 0.99, 0.8)
    )
    assert full.low < 1.01 < full.value < 1.15 and full.high < 1.5
    assert part.value == pytest.approx(1.25 * 1.07, rel=0.05) and free.value > 3


def test_of_what_two_processes_lose_any_part_may_go_with_the_lock_but_not_with_an_arm_that_changes_nothing():
    """Two are 1.6 times as slow as they could be; the model leaves all of that to lines that stay."""
    none, rng = learned(off("a", "x", 0.0)), np.random.default_rng(1)
    two = replace(simulated(0.1, 0.01), threads=2, naive=1.6, beside=1.6)
    part, nothing = (interval(replace(two, changes=by), none, rng) for by in (2.0, 0.0))
    assert part.low > 0.95 and part.value == pytest.approx(np.sqrt(1.1 * 1.6), rel=0.06)
    assert 1.5 < part.high < 1.6 * SUPERLINEAR and nothing.high < 1.3


def test_of_the_functions_that_an_arm_replaces_any_part_of_their_time_may_go():
    """Three tenths of one process's time; among others an operation takes longer, and they are less of it."""
    none, one = learned(off("a", "x", 0.0)), replace(simulated(0.0, 0.0), naive=1.0, replaced=0.3)
    rng = np.random.default_rng(1)
    alone, among, known = (
        interval(one, none, rng)
        for one in (
            replace(one, threads=1),
            replace(one, naive=10.0),
            replace(one, threads=1, mean=np.log(1 / 0.7), alone=np.log(1 / 0.7)),  # the model saves it all
        )
    )
    assert 0.9 < alone.low < 1.05 < alone.value < 1.35 < alone.high < 1.1 / 0.7
    assert among.high / among.low < alone.high / alone.low / 1.2 and among.high < 1.15 / 0.97
    assert known.value == pytest.approx(1 / 0.7, rel=0.02)


def test_what_other_arms_replace_is_taken_from_the_function_costs_of_one_process():
    study = STUDY.model_copy(update={"replaced": ["vfs_iget", "no_such_function"]})
    common = {"tool": "ftrace_cost", "arm": study.unpatched.name, "cpus": 64, "pair": "ab", "profiled": True}
    rows = pd.DataFrame(
        [
            {**common, "threads": n, "metric": f"{name}.{what}", "value": value}
            for n, inner_us in ((1, 200.0), (64, 900.0))
            for name, time_us in (("vfs_create", 1000.0), ("vfs_iget", inner_us))
            for what, value in (("calls", 100), ("time", time_us))
        ]
    )
    assert replaced_share(rows, study, 64) == pytest.approx(0.2)
    assert replaced_share(rows, STUDY, 64) == replaced_share(rows, study, 4) == 0.0


def test_a_number_that_an_arm_changes_is_not_that_of_the_fit():
    """M/M/1//8 with a service of a quarter of the time, against the model itself."""
    model, free = load_model("machine_repairman"), {"think_us": 10.0, "service_us": 1.0}
    found = Posterior(tuple(free), np.log([*free.values()]), 1e-9 * np.eye(2), np.zeros(1))
    mean, _ = _simulated_gain(Case(model, {}, [8], [], "ops/s"), found, {"service_us": 0.25}, 8)
    slow, fast = (
        simulate(model, 8, free | changed, operations=16_000).rate_per_s
        for changed in ({}, {"service_us": 0.25})
    )
    assert np.exp(mean) == pytest.approx(fast / slow, rel=0.03) and fast / slow > 1.1


def test_no_interval_goes_beyond_what_each_process_does_alone():
    wide = learned([one for k in range(9) for one in off(f"s{k}", "x", 1.8)])
    one = interval(replace(simulated(0.6, 0.1), naive=2.0), wide, np.random.default_rng(1))
    assert one.high < 2.0 * SUPERLINEAR * 1.1


def simulated(mean: float, sd: float) -> SimulatedGain:
    """Of eight processes that could be ten times as fast."""
    return SimulatedGain(
        arm="x",
        model="m",
        cpus=8,
        threads=8,
        mean=mean,
        sd=sd,
        alone=0.0,
        alone_sd=0.0,
        off=0.0,
        naive=10.0,
        beside=1.0,
        changes=abs(mean),
        full=0.0,
    )


@pytest.mark.slow
def test_what_is_learned_from_a_judged_run_is_its_error(unpatched: pd.DataFrame):
    found = simulate_gains(STUDY, unpatched)
    of_patched = rows_of(PATCHED, {one.threads: 0.0 for one in found.gains})
    base = dict(zip(unpatched.threads, unpatched.value, strict=True))
    of_patched["value"] = [2 * np.exp(one.mean) * base[one.threads] for one in found.gains]
    learned_from = gains_off(found, pd.concat([unpatched, of_patched]), "s")
    truth = [np.log(2) + one.mean for one in found.gains]
    assert [one.changed + one.off for one in learned_from] == pytest.approx(truth, abs=0.02)
    assert GainsSimulated.of_json(found.as_json()) == found


def test_a_run_without_such_a_prediction_has_nothing_to_judge(unpatched: pd.DataFrame):
    assert judge_gains({}, unpatched).empty


def test_a_time_that_no_rate_reaches_follows_those_of_its_machine():
    """A machine three times as slow; what only the patched kernel spends is a jointly normal logarithm."""
    reached = lambda free: np.array([np.log(free["seen_us"] / 30) / 0.01])  # noqa: E731
    start, unseen = {"seen_us": 10.0, "unseen_us": 2.0}, {}
    for name, spread in {"alone": each_alone(2), "machine": of_one_machine(2)}.items():
        found = posterior(start, reached, reached, lambda _: None, spread)
        assert found.best["seen_us"] == pytest.approx(30, rel=0.01)
        unseen[name] = found.best["unseen_us"], found.spread[1]
    correlation = 1 - (np.log(OWN_FACTOR) / np.log(PRIOR_FACTOR)) ** 2
    assert unseen["alone"] == pytest.approx((2.0, SD), rel=1e-3)
    left = SD * np.sqrt(1 - correlation**2)
    assert unseen["machine"] == pytest.approx((2.0 * 3**correlation, left), rel=0.01)


def test_where_the_fit_misses_the_unpatched_rate_a_gain_is_no_better_known():
    near = learned([one for k in range(20) for one in off(f"s{k}", "x", 0.0)])
    rng = np.random.default_rng(1)
    met, missed = (interval(replace(simulated(0.8, 0.05), off=by), near, rng) for by in (0.0, -0.5))
    assert np.log(missed.high / missed.low) > 2 * 1.645 * 0.5 * (1 - np.exp(-0.8))
    assert missed.high / missed.low > 1.5 * met.high / met.low


@pytest.mark.slow
def test_operations_that_take_longer_beside_others_are_told_from_those_that_wait():
    """The S1 model again, on a machine where all that is shared comes from another CPU."""
    slower = {"elsewhere_us": TRUTH["elsewhere_us"] + 6.0}
    both: dict[str, dict[int, float]] = {}
    for arm in (UNPATCHED, PATCHED):
        switches = STUDY.arm(arm).model_parameters
        given = {n: {**TRUTH, **switches, **(slower if n > 1 else {})} for n in THREADS}
        runs = {n: simulate("inode_claim", n, given[n], operations=8000, seed=7) for n in THREADS}
        both[arm] = {n: run.rate_per_s for n, run in runs.items()}
    base = rows_of(UNPATCHED, both[UNPATCHED])
    told = predict_gains(STUDY, base, learned([]))
    (fit,) = told.fits
    assert fit.parameters["elsewhere_us"] == pytest.approx(TRUTH["elsewhere_us"], rel=0.15)
    assert fit.parameters["others_us"] == pytest.approx(6.0, rel=0.4)
    judged = judge_gains({"run": told.as_json()}, pd.concat([base, rows_of(PATCHED, both[PATCHED])]))
    assert judged.inside.all() and judged.measured.max() > 3
