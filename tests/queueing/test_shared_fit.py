# SPDX-License-Identifier: MIT
"""Several columns at once: what they share is one number, and each says what the other cannot."""

import numpy as np
import pytest

from lockscale.errors import BadInput
from lockscale.queueing import AMDAHL, MACHINE_REPAIRMAN, USL
from lockscale.queueing.fit import fit_model

N = np.array([1.0, 2, 4, 8, 16, 32, 64])
LATE = N[4:]
WOBBLE = np.array([1.02, 0.97, 1.01, 1.03, 0.98, 0.99, 1.01])
BEFORE = MACHINE_REPAIRMAN(N, Z_us=50, s_us=8) * WOBBLE
AFTER = MACHINE_REPAIRMAN(N, Z_us=50, s_us=2) * WOBBLE[::-1]
BOTH = {"before": (N, BEFORE), "after": (N, AFTER)}


def test_a_shared_parameter_is_one_number_and_the_rest_are_each_columns_own():
    found = fit_model(BOTH, MACHINE_REPAIRMAN, share=["Z_us"])
    assert list(found.params) == ["Z_us", "s_us[before]", "s_us[after]"]
    truth = {"Z_us": 50, "s_us[before]": 8, "s_us[after]": 2}
    assert found.params == pytest.approx(truth, rel=0.05)
    assert all(p.status == "identified" for p in found.parameters)
    assert found.free_parameters == 3 and len(found.points) == 14


def test_columns_may_differ_in_scale_alone():
    two = {"a": (N, AMDAHL(N, lambda_per_s=100, sigma=0.1)), "b": (N, AMDAHL(N, lambda_per_s=300, sigma=0.1))}
    found = fit_model(two, AMDAHL, share=["sigma"])
    assert found.params == pytest.approx(
        {"lambda_per_s[a]": 100, "lambda_per_s[b]": 300, "sigma": 0.1}, rel=1e-6
    )


def test_arms_may_be_many():
    """Twenty-one parameters: a search needs a direction for each."""
    few = np.array([1.0, 8])
    table = {
        f"arm {k}": (few, AMDAHL(few, lambda_per_s=100 + k, sigma=0.1) * [1, 1 + 0.001 * (k % 3)])
        for k in range(20)
    }
    found = fit_model(table, AMDAHL, share=["sigma"])
    assert found.params["sigma"] == pytest.approx(0.1, rel=0.01) and found.free_parameters == 21


def test_one_column_says_what_the_other_cannot():
    """Saturated from the first point on, the slow arm alone says nothing of Z; the fast arm does."""
    slow = MACHINE_REPAIRMAN(LATE, Z_us=50, s_us=40) * WOBBLE[4:]
    alone = fit_model((LATE, slow), MACHINE_REPAIRMAN)
    together = fit_model({"slow": (LATE, slow), "fast": (N, AFTER)}, MACHINE_REPAIRMAN, share=["Z_us"])
    assert alone.parameters[0].status != "identified"
    assert together.parameters[0].status == "identified"
    assert together.parameters[0].low < 50 < together.parameters[0].high


def test_everything_shared_is_one_fit_of_all_rows():
    same = fit_model({"x": (N, BEFORE), "y": (N, BEFORE * WOBBLE)}, MACHINE_REPAIRMAN, share=["Z_us", "s_us"])
    rows = fit_model((np.tile(N, 2), np.concatenate([BEFORE, BEFORE * WOBBLE])), MACHINE_REPAIRMAN)
    assert same.params == pytest.approx(rows.params, rel=1e-4)


def test_order_of_columns_does_not_matter():
    turned = dict(reversed(BOTH.items()))
    one, other = (fit_model(table, MACHINE_REPAIRMAN, share=["Z_us"]) for table in (BOTH, turned))
    assert one.params == pytest.approx(other.params, rel=1e-5)


def test_prediction_names_its_column():
    found = fit_model(BOTH, MACHINE_REPAIRMAN, share=["Z_us"])
    for name, (_, rates) in BOTH.items():
        predicted = found.predict([16], column=name)
        assert predicted.low[0] < rates[4] < predicted.high[0]
    with pytest.raises(BadInput, match="name one of before, after"):
        found.predict([16])


def test_leave_one_out_leaves_out_one_row_of_one_column():
    found = fit_model(BOTH, MACHINE_REPAIRMAN, share=["Z_us"])
    rest = {"before": BOTH["before"], "after": (N[:-1], AFTER[:-1])}
    predicted = fit_model(rest, MACHINE_REPAIRMAN, share=["Z_us"]).predict([64], column="after").value[0]
    assert found.held_out_pct[-1] == pytest.approx(100 * (1 - predicted / AFTER[-1]), rel=1e-3)


def test_a_fixed_parameter_may_be_of_one_column():
    found = fit_model(BOTH, MACHINE_REPAIRMAN, share=["Z_us"], fixed={"s_us[after]": 2})
    assert found.params["s_us[after]"] == 2 and found.free_parameters == 2


@pytest.mark.parametrize(
    ("table", "share"),
    [
        (BOTH, []),
        (BOTH, ["z"]),
        (BOTH, "Z_us"),
        ({"before": BOTH["before"]}, ["Z_us"]),
        (BOTH["before"], ["Z_us"]),
        ({"before": BOTH["before"], "after": (N, AFTER[:-1])}, ["Z_us"]),
        ({"before": BOTH["before"], "after": 7}, ["Z_us"]),
    ],
)
def test_a_share_that_cannot_be_is_refused_in_one_sentence(table, share):
    with pytest.raises(BadInput) as refused:
        fit_model(table, MACHINE_REPAIRMAN, share=share)
    assert str(refused.value).endswith(".") and ". " not in str(refused.value)


@pytest.mark.slow
def test_intervals_of_a_shared_fit_cover_the_truth():
    rng = np.random.default_rng(12)
    truth = {"lambda_per_s": 1e5, "sigma[a]": 0.05, "sigma[b]": 0.2, "kappa": 0.0008}
    curves = [USL(N, lambda_per_s=1e5, sigma=s, kappa=0.0008) for s in (0.05, 0.2)]
    hits = []
    for _ in range(40):
        noisy = [(N, curve * np.exp(rng.normal(0, 0.05, N.size))) for curve in curves]
        found = fit_model({"a": noisy[0], "b": noisy[1]}, USL, share=["lambda_per_s", "kappa"])
        hits += [p.low <= truth[p.name] <= p.high for p in found.parameters if p.status == "identified"]
    assert len(hits) > 140
    assert 0.91 < np.mean(hits) < 0.99


def test_an_arm_of_one_point_has_no_error_without_it():
    """Without its point nothing says what its own parameter is."""
    found = fit_model({"after": (N, AFTER), "before": ([8], [BEFORE[3]])}, MACHINE_REPAIRMAN, share=["Z_us"])
    assert found.params == pytest.approx({"Z_us": 50, "s_us[after]": 2, "s_us[before]": 8}, rel=0.1)
    assert found.not_determined == (8,) and found.loo_pct is None
    assert "machine_repairman: 1 to 64 threads, points: 8" in repr(found)
