# SPDX-License-Identifier: MIT
"""S1's function-cost table is predicted from the calibrated model, to which nothing of it was fitted."""

from typing import Any

import pytest

from lockscale.errors import BadInput
from lockscale.studies.inode_claim_costs import FunctionCostCheck, function_cost_check

COST_TABLE: dict[str, Any] = {
    "threads": 48,
    "create_avg_us": 1185.72,
    "creates": 1_440_000,
    "spin_total_us": 1_317_641_501,
    "spin_calls": 180_899_929,
    "access_calls": 73_077_185,
    "access_calls_without_retry": 7.93,
}


@pytest.fixture(scope="module")
def check() -> FunctionCostCheck:
    return function_cost_check(**COST_TABLE)


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
    with pytest.raises(BadInput, match="no hold time"):
        function_cost_check(**{**COST_TABLE, "create_avg_us": 20.0})


@pytest.mark.parametrize("name", ["creates", "spin_calls", "access_calls_without_retry"])
def test_an_empty_row_of_the_table_is_refused(name: str) -> None:
    with pytest.raises(BadInput, match="not above zero"):
        function_cost_check(**{**COST_TABLE, name: 0})
