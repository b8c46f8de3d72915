# SPDX-License-Identifier: MIT
"""S1's function-cost table is predicted from the calibrated model, to which nothing of it was fitted."""

import pytest

from lockscale.errors import BadInput
from lockscale.studies.inode_claim_costs import FunctionCostCheck, function_cost_check
from lockscale.tables.function_costs import Cost

TABLE = {
    "ext4_create": Cost(total_us=1_707_436_800, calls=1_440_000, avg_us=1185.72),
    "_raw_spin_lock": Cost(total_us=1_317_641_501, calls=180_899_929, avg_us=7.28),
    "jbd2_journal_get_write_access": Cost(total_us=1, calls=73_077_185, avg_us=1.0),
}


@pytest.fixture(scope="module")
def check() -> FunctionCostCheck:
    return function_cost_check(TABLE, 7.93)


def test_traced_run_has_the_tables_rate(check: FunctionCostCheck) -> None:
    assert check.rate_per_s == pytest.approx(48 / 1185.72e-6)
    assert check.simulated.rate_per_s == pytest.approx(check.rate_per_s, rel=1e-3)


def test_traced_attempts_and_spin_obey_the_storms_laws(check: FunctionCostCheck) -> None:
    """W = N - X Z, X s W = 1, and spin = cycle - elsewhere - W (access + hold)."""
    elsewhere_us = float(check.simulated.parameters["elsewhere_us"])
    access, predicted, spin = (row.predicted for row in check.rows)
    attempts = 48 - check.rate_per_s * elsewhere_us / 1e6
    assert predicted == pytest.approx(attempts, rel=0.02)
    assert access - predicted == pytest.approx(7.93 - 1)
    assert check.rate_per_s * check.traced_hold_ns * predicted == pytest.approx(1e9, rel=0.01)
    outside_us = elsewhere_us + predicted * (250 + check.traced_hold_ns) / 1e3
    assert spin * 180_899_929 / 1_440_000 == pytest.approx(1185.72 - outside_us, rel=0.01)


def test_published_side_is_the_tables_arithmetic(check: FunctionCostCheck) -> None:
    published = [row.published for row in check.rows]
    assert published == pytest.approx([50.748, 50.748 - 6.93, 7.2838], abs=1e-3)
    for row in check.rows:
        assert row.error_pct == pytest.approx(100 * (row.predicted - row.published) / row.published)


def test_a_rate_beyond_the_hardware_is_refused() -> None:
    fast = TABLE["ext4_create"]._replace(avg_us=20.0)
    with pytest.raises(BadInput, match="no hold time"):
        function_cost_check({**TABLE, "ext4_create": fast}, 7.93)


@pytest.mark.parametrize(("function", "calls"), [("ext4_create", 7.93), ("_raw_spin_lock", 7.93), ("", 0.0)])
def test_an_empty_row_of_the_table_is_refused(function: str, calls: float) -> None:
    none = {name: cost._replace(calls=0) for name, cost in TABLE.items() if name == function}
    with pytest.raises(BadInput, match="not above zero"):
        function_cost_check({**TABLE, **none}, calls)
