# SPDX-License-Identifier: MIT
"""S1: one parameter set gives both arms' rates."""

import pytest

from lockscale.sim import simulate

BASE_PER_S = (79_033 + 81_463 + 79_875) / 3
PATCHED_PER_S = (810_669 + 812_805 + 813_965) / 3


def test_both_arms_of_s1_from_one_parameter_set() -> None:
    base = simulate("inode_claim", 48)
    patched = simulate("inode_claim", 48, {"search_locked": True})
    assert base.rate_per_s == pytest.approx(BASE_PER_S, rel=0.03)
    assert patched.rate_per_s == pytest.approx(PATCHED_PER_S, rel=0.03)
    differ = {k for k in base.parameters if base.parameters[k] != patched.parameters[k]}
    assert differ == {"search_locked"}
