# SPDX-License-Identifier: MIT
"""What a study expects of a counter, and when counts bear it out."""

import numpy as np
import pytest
from scipy.stats import mannwhitneyu

from lockscale.prove.counters import judge
from lockscale.study.checks import Relation, relations

ARMS = ("before", "upstream", "ours")


def test_a_chain_is_read_link_by_link():
    assert relations("before > upstream >= ours", ARMS) == [
        Relation("before", ">", "upstream"),
        Relation("upstream", ">=", "ours"),
    ]
    assert relations("ours = 0", ARMS) == [Relation("ours", "=", "0")]


@pytest.mark.parametrize(
    "said",
    ["before", "", "before < upstream", "before = upstream", "before = 1", "0 > ours", "before > 0"],
)
def test_a_sign_that_is_none_is_refused(said: str):
    with pytest.raises(ValueError, match=r"^expect .*(arm > arm)"):
        relations(said, ARMS)


def test_an_arm_that_is_none_is_named():
    with pytest.raises(ValueError, match=r"^expect .*: there is no arm 'theirs', only "):
        relations("before > theirs", ARMS)
    with pytest.raises(ValueError, match="ours >= ours compares an arm with itself"):
        relations("before > ours >= ours", ARMS)


def test_five_interleaved_repeats_that_do_not_overlap_show_a_direction():
    values = {"before": [5.0, 4.0, 6.0, 5.5, 4.5], "upstream": [1.0, 2.0, 1.5, 3.0, 2.5]}
    assert judge(Relation("before", ">", "upstream"), values).holds
    assert not judge(Relation("upstream", ">", "before"), values).holds
    assert not judge(Relation("upstream", ">=", "before"), values).holds


def test_three_repeats_cannot_show_one():
    values = {"before": [5.0, 4.0, 6.0], "upstream": [1.0, 2.0, 1.5]}
    judged = judge(Relation("before", ">", "upstream"), values)
    assert judged.found.level < 0.95 and not judged.holds


def test_equal_arms_are_at_least_each_other_and_not_more():
    values = {"before": [1.0, 2.0, 3.0, 4.0, 5.0], "upstream": [1.5, 2.5, 3.5, 2.0, 3.0]}
    for left, right in (("before", "upstream"), ("upstream", "before")):
        assert judge(Relation(left, ">=", right), values).holds
        assert not judge(Relation(left, ">", right), values).holds


def test_zero_means_never():
    assert judge(Relation("ours", "=", "0"), {"ours": [0.0, 0.0, 0.0]}).holds
    assert not judge(Relation("ours", "=", "0"), {"ours": [0.0, 1e-6, 0.0]}).holds


def test_a_direction_that_is_shown_is_one_that_scipy_finds_too():
    """The interval leaves out zero only where the two-sided exact rank test rejects at 5%."""
    rng = np.random.default_rng(6)
    shown = 0
    for shift in np.linspace(0, 4, 60):
        values = {"before": list(rng.normal(shift, 1, 5)), "ours": list(rng.normal(0, 1, 5))}
        if judge(Relation("before", ">", "ours"), values).holds:
            shown += 1
            assert mannwhitneyu(values["before"], values["ours"], method="exact").pvalue <= 0.05
    assert 10 < shown < 60
