# SPDX-License-Identifier: MIT
"""Each notebook's one sentence says what its tables say, where the number is from, and no more."""

import numpy as np
import pandas as pd

from lockscale.fitting.column import Column
from lockscale.measure.count_calls import OBSERVE, observed_counters
from lockscale.predict.predicted_against_measured import CANNOT_BE_TOLD, NO, YES, Fitted
from lockscale.queueing import AMDAHL, USL
from lockscale.queueing.compare import compare_models
from lockscale.show.headlines import (
    MIME,
    Headline,
    audited,
    built,
    counted,
    judged,
    measured,
    predicted,
    simulated,
    written,
)
from lockscale.study.file import load_study

NO_CURVE = Fitted(
    Column("t", "base on 4 CPUs", np.array([1.0]), np.array([1.0]), None, "ops/s", "qemu", ""), None
)


def test_claims_are_counted_by_verdict():
    claims = pd.DataFrame({"verdict": ["holds", "holds", "fails", "unknown"], "note": "ratio of means"})
    found = audited(claims)
    assert found.says == "of 4 claims 2 hold, 1 fail and 1 unknown"
    assert found.numbers == {"claims_hold": 2, "claims_fail": 1, "claims_unknown": 1}
    claims.loc[2, "note"] = "our check; threads at those rates"
    assert audited(claims).says == "of 4 claims 2 hold, 1 fail (not claimed by the source) and 1 unknown"
    claims.loc[0, "verdict"] = "fails"
    assert "2 fail (1 not claimed by the source)" in audited(claims).says
    claims.loc[0, "note"] = "not ldiskfs_bread; our check"
    assert "2 fail (not claimed by the source)" in audited(claims).says
    assert "no table of the study prints a claim" in audited(pd.DataFrame({"verdict": []})).says


def test_the_worst_error_counts_whichever_its_sign():
    errors = pd.DataFrame({"error_pct": [1.0, -7.25, 3.0], "origin_of_table": "published"})
    found = simulated(errors)
    assert found.says == "simulated: up to 7.2% off at 3 published points, calibrated ones included"
    assert found.numbers["largest_error_pct"] == 7.25
    assert simulated(pd.DataFrame({"error_pct": []})).says == "no point of the table was simulated"


def test_the_error_where_nothing_was_fitted_stands_beside_that_of_calibrated_points():
    errors = pd.DataFrame({"error_pct": [0.1, -0.2], "origin_of_table": "published"})
    found = simulated(errors, pd.DataFrame({"error_pct": [4.0, -19.2]}))
    assert found.says.endswith("calibrated ones included; up to 19.2% off at 2 numbers that were not fitted")
    assert found.numbers["largest_unfitted_error_pct"] == 19.2
    derived = pd.DataFrame({"error_pct": [4.0, -9.2, 19.2], "derived_from": ["", "", "calls"]})
    assert simulated(errors, derived).says.endswith("up to 9.2% off at 2 numbers that were not fitted")


def test_points_of_ones_own_are_never_called_published_or_calibrated():
    for origin, words in (("hardware", "measured on hardware"), ("not stated", "origin not stated")):
        found = simulated(pd.DataFrame({"error_pct": [1.0], "origin_of_table": origin}))
        assert found.says == f"simulated: up to 1.0% off at 1 points ({words})"


def test_a_prediction_is_an_interval_and_none_is_said_to_be_none():
    said = {"arm": "patched", "low": 690_000.0, "high": 960_000.4, "unit": "creates/s", "threads": 48}
    found = predicted({"published_machine": said})
    says = "690,000 to 960,000 creates/s by patched at 48 threads"
    assert found.says == f"predicted for the published machine, low to high: {says}"
    assert predicted({"published_machine": None}).numbers == {}
    for origin, place in (
        ("published", "for the published machine"),
        ("not stated", "from the unpatched arm alone"),
    ):
        assert predicted({"published_machine": said, "origin": origin}).says.startswith(
            f"predicted {place}, low"
        )


def test_a_predicted_time_of_a_second_is_not_rounded_to_it():
    said = {"arm": "patched", "low": 1.1423, "high": 162.84, "unit": "s", "threads": 128}
    assert predicted({"published_machine": said}).says.endswith("1.142 to 162.8 s by patched at 128 threads")


def test_arms_of_one_kernel_have_one_build_id():
    one = {"release": "6.12.117-lockscale-a", "build_id": "aa"}
    assert built({"x": one, "y": one}).says == "2 arms of Linux 6.12.117 with 1 build-ids"
    assert "on the server" in built({}).says


def test_what_was_measured_says_where():
    rows = pd.DataFrame(
        {
            "arm": ["a", "b", "a"],
            "cpus": [4, 4, 4],
            "threads": [1, 1, 8],
            "pair": ["ab", "ab", "aa"],
            "block": [1, 2, 0],
        }
    )
    assert measured(rows, "on hardware").says == "measured on hardware: 2 arms at 2 points in 2 blocks"


def test_the_counter_is_told_at_the_point_where_it_is_farthest_apart():
    table = {"extra": [0.1, 2.5], "low": [0.0, 2.0], "high": [0.2, 3.0], "cpus": [4, 4], "threads": [1, 48]}
    table["level_pct"] = [96.4, 96.4]
    study = load_study("orphan-file")
    sources = observed_counters(study)[study.counter].sources
    rows = pd.DataFrame({"metric": sources, "tool": OBSERVE})
    found = counted(pd.DataFrame(table).assign(significant=True), rows, study, "in QEMU (tcg)")
    assert found.says.startswith(
        "counted in QEMU (tcg): 2.5 [2, 3] (96%) more waits for an orphan lock per operation"
    )
    assert found.says.endswith("48 processes on 4 CPUs: significant")
    unsure = counted(pd.DataFrame(table).assign(significant=[True, False]), rows, study, "in QEMU (tcg)")
    assert unsure.says.endswith("4 CPUs: not significant with all points together (Holm, 5%)")
    assert found.numbers == {"extra": 2.5, "extra_low": 2.0, "extra_high": 3.0}
    other = counted(pd.DataFrame(table).assign(significant=True), rows.assign(metric="x"), study, "in QEMU")
    assert other.says.endswith(f"significant. It proves nothing: the run did not count {study.counter}")


def test_only_what_was_predicted_can_hold():
    guests = pd.DataFrame({"holds": [YES, NO, None]}, dtype=object)
    counters = pd.DataFrame({"inside": [True, True, False, None]}, dtype=object)
    rates, gains = counters[:2], counters[1:3]
    no_bounds, no_counts, none = guests[2:], counters[3:], counters[:0]
    of_bounds, of_counts = (
        "1 of 2 predicted bounds hold",
        "2 of 3 predicted counts lie in their 95% intervals",
    )
    of_rates = "2 of 2 predicted rates lie in their intervals"
    of_gains = "1 of 2 predicted gains lie in their 90% intervals"
    said = f"{of_bounds}; {of_counts}; {of_rates}; {of_gains}"
    assert judged(NO_CURVE, guests, counters, rates, gains).says == said
    assert judged(NO_CURVE, guests, no_counts, none, none).says == of_bounds
    assert judged(NO_CURVE, no_bounds, counters, none, none).says == of_counts
    assert judged(NO_CURVE, no_bounds, no_counts, rates, none).says == of_rates
    assert judged(NO_CURVE, no_bounds, no_counts, none, gains).says == of_gains
    assert judged(NO_CURVE, no_bounds, no_counts, none, none).says == "nothing was predicted that was counted"


def test_a_bound_that_the_counts_do_not_resolve_is_neither_held_nor_broken():
    guests = pd.DataFrame({"holds": [YES, CANNOT_BE_TOLD, CANNOT_BE_TOLD, NO]})
    found = judged(NO_CURVE, guests, *(3 * [pd.DataFrame({"inside": []})]))
    assert found.says == "1 of 4 predicted bounds hold, 2 undecided"
    assert (found.numbers["bounds_hold"], found.numbers["bounds_not_decided"]) == (1, 2)


def test_the_changelogs_widest_line_is_told():
    assert (
        written("ab\nabcd\n---\nthe protocol\n", "in QEMU").says
        == "written of what was measured in QEMU: 2 lines of at most 4 columns"
    )


def test_jupyter_shows_the_sentence_and_keeps_the_numbers():
    shown = Headline("a < b", {"rate_per_s": 2.0})._repr_mimebundle_()
    assert shown["text/plain"] == "a < b" and shown["text/html"] == "<p>a &lt; b</p>"
    assert shown[MIME] == {"says": "a < b", "numbers": {"rate_per_s": 2.0}}


def test_a_law_that_describes_nothing_is_the_least_bad():
    column = Column("t", "base on 4 CPUs", np.array([1.0]), np.array([1.0]), None, "ops/s", "qemu", "")
    for rates, says in (
        ([1e4, 9e4, 5e3, 2e5, 8e3, 3e5], "no law describes base on 4 CPUs; amdahl is the least bad"),
        ([1e4, 18e3, 31e3, 47e3, 64e3, 78e3], "amdahl describes base on 4 CPUs best"),
    ):
        found = Fitted(column, compare_models(([1, 2, 4, 8, 16, 32], rates), [AMDAHL]))
        empty = pd.DataFrame({"holds": [], "inside": []})
        assert says in judged(found, empty, empty, empty, empty).says


def test_a_law_that_no_point_was_left_to_test_is_not_called_the_best():
    column = Column("t", "base on 4 CPUs", np.array([1.0]), np.array([1.0]), None, "ops/s", "qemu", "")
    found = Fitted(column, compare_models(([1, 2], [1e4, 18e3]), [AMDAHL]))
    assert found.comparison and found.comparison.best.loo_pct is None
    empty = pd.DataFrame({"holds": [], "inside": []})
    says = judged(found, empty, empty, empty, empty).says
    assert says.endswith("no law was tested on points of base on 4 CPUs that it was not fitted to")


def test_a_law_that_cannot_be_told_from_others_is_not_called_the_one():
    column = Column("t", "base on 4 CPUs", np.array([1.0]), np.array([1.0]), None, "ops/s", "qemu", "")
    rates = [1e4, 18e3, 31e3, 47e3, 64e3, 78e3]
    found = Fitted(column, compare_models(([1, 2, 4, 8, 16, 32], rates), [AMDAHL, USL]))
    assert found.comparison and set(found.comparison.not_told_apart) == {"amdahl", "usl"}
    empty = pd.DataFrame({"holds": [], "inside": []})
    said = judged(found, empty, empty, empty, empty).says
    least = "misses base on 4 CPUs least (by 0.5% at points left out)"
    assert f"{least}, and the data cannot tell it from 1 other law" in said
